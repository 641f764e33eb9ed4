"""Options of the registries beside Pulsar's: those of Pulsar's, behind ``confluent.``, ``apicurio.`` and ``azure.``.

Apicurio's address has the name that Apicurio's own SerDes give it: ``apicurio.registry.url``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from . import checks, credentials
from .credentials import CREDENTIAL_OPTIONS, TLS_OPTIONS
from .option import PREFIX, Option, prefixed
from .registry import REGISTRY_OPTIONS

CONFLUENT, APICURIO, AZURE, GLUE = "confluent.", "apicurio.", "azure.", "glue."
_URL: Final = "schema.registry.url"
_DOCS: Final[Mapping[str, str]] = {
    CONFLUENT
    + _URL: "HTTP address of a second registry, which has Confluent's REST API, such as `http://localhost:8081`. The "
    "path is kept: Apicurio's is `http://localhost:8080/apis/ccompat/v7`, that of a StreamNative cluster its HTTP "
    "address with `/kafka`, and ids of a context of Confluent's are found below "
    "`http://localhost:8081/contexts/.NAME`. Separate several addresses of one cluster by commas.",
    "confluent.basic.auth.user.info": "`USER:PASSWORD` for the second registry. The password is always sent as it is.",
    "apicurio.registry.url": "HTTP address of an Apicurio registry, with the path of its own API, which names the "
    "version of the API: `http://localhost:8080/apis/registry/v2`, or `v3`.",
    "azure.schema.registry.url": "Address of the namespace with the Azure Schema Registry, such as "
    "`https://NAMESPACE.servicebus.windows.net`.",
    "azure.bearer.auth.token": "As `bearer.auth.token`, for the Azure Schema Registry. A function may get the token "
    'from `azure.identity`: `lambda: credential.get_token("https://eventhubs.azure.net/.default").token`.',
}
_NAMES: Final = {CONFLUENT: "the second registry", APICURIO: "Apicurio's registry", AZURE: "Azure's registry"}


def _behind(option: Option, prefix: str) -> Option:
    key = prefixed(prefix, option.key)
    return replace(option, key=key, doc=_DOCS.get(key, f"As `{option.key}`, for {_NAMES[prefix]}."))


_BY_KEY: Final = {option.key: option for option in REGISTRY_OPTIONS}
_OWN: Final = (
    _BY_KEY[_URL],
    *(option for option in CREDENTIAL_OPTIONS if not option.shared),
    *TLS_OPTIONS,
    _BY_KEY["proxy"],
)

CONFLUENT_OPTIONS: Final = tuple(_behind(option, CONFLUENT) for option in _OWN)

FOREIGN_OPTIONS: Final = (
    *(_behind(option, APICURIO) for option in _OWN),
    Option(
        "apicurio.registry.use-id",
        None,
        checks.one_of("globalId", "contentId"),
        "Which ids the prefixes of Apicurio's messages hold, as its own SerDes call it: by default `globalId` with "
        "`framings=apicurio`, and `contentId` with `apicurio-v3`. Headers say it themselves.",
    ),
    *(_behind(option, AZURE) for option in _OWN),
    Option(
        "glue.registry",
        None,
        checks.text_or_client,
        "AWS region of the Glue Schema Registry, such as `eu-west-1`, where boto3 finds the credentials "
        '(`pip install ".[glue]"`); or an object with the method `get_schema_version` of boto3, for programs that '
        "do not fork.",
    ),
    Option(
        "glue.max.unpacked.size",
        64 * 1024 * 1024,
        checks.between(1, 1 << 31),
        "Maximum size of a compressed message of AWS Glue's, unpacked, in bytes. A larger message is an error.",
    ),
)

# All registries have the same time limits, size limits and caches. SASL_INHERIT means the same Kafka user for both.
_COMMON: Final = tuple(key for key, option in _BY_KEY.items() if option not in _OWN and not key.startswith("pulsar."))


def confluent_conf(conf: Mapping[str, Any], prefix: str = CONFLUENT) -> dict[str, Any] | None:
    """Return another registry's options without their prefix, ``confluent.``; None if it is not configured.

    Args:
        conf: checked options of a serializer or a deserializer.
        prefix: of the registry.
    """
    if conf.get(prefixed(prefix, _URL)) is None:
        return None
    own = {option.key: conf[prefixed(prefix, option.key)] for option in _OWN}
    return {**{key: conf[key] for key in _COMMON}, **own, PREFIX: prefix}


def other_registries(conf: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options of each registry beside Pulsar's that is configured, by its prefix."""
    found = {prefix: confluent_conf(conf, prefix) for prefix in _NAMES}
    if conf.get("glue.registry") is not None:
        found[GLUE] = {key: conf[key] for key in _COMMON} | {"glue.registry": conf["glue.registry"], PREFIX: GLUE}
    return {prefix: one for prefix, one in found.items() if one is not None}


def inherits(conf: Mapping[str, Any]) -> bool:
    """Whether one of the registries uses the Kafka client's own ``sasl.*`` options."""
    return any(credentials.inherits(conf, prefix) for prefix in ("", *_NAMES))


def refuse_contradictions(values: Mapping[str, Any]) -> None:
    """Raise ConfigError if options of another registry contradict each other, or come without its address."""
    for prefix, name in _NAMES.items():
        own = confluent_conf(values, prefix)
        if own is not None:
            credentials.refuse_contradictions(own)
            continue
        given = [key for option in _OWN if values.get(key := prefixed(prefix, option.key)) is not None]
        if given:
            raise ConfigError(
                f"{given[0]} has no effect without {prefixed(prefix, _URL)}", hint=f"set it to the address of {name}"
            )
