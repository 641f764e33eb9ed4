"""Options of the second registry, which has Confluent's REST API: those of the first one, behind ``confluent.``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from streamnative_serdes.errors import ConfigError

from . import credentials
from .credentials import CREDENTIAL_OPTIONS, TLS_OPTIONS
from .option import PREFIX, Option
from .registry import REGISTRY_OPTIONS

CONFLUENT: Final = "confluent."
_URL: Final = "schema.registry.url"
_DOCS: Final[Mapping[str, str]] = {
    _URL: "HTTP address of a second registry, which has Confluent's REST API, such as `http://localhost:8081`. The "
    "path is kept: Apicurio's is `http://localhost:8080/apis/ccompat/v7`, and ids of a context of Confluent's are "
    "found below `http://localhost:8081/contexts/NAME`. Separate several addresses of one cluster by commas.",
    "basic.auth.user.info": "`USER:PASSWORD` for the second registry. The password is always sent as it is.",
}


def _behind(option: Option) -> Option:
    doc = _DOCS.get(option.key, f"As `{option.key}`, for the second registry.")
    return replace(option, key=f"{CONFLUENT}{option.key}", doc=doc)


_BY_KEY: Final = {option.key: option for option in REGISTRY_OPTIONS}
_OWN: Final = (
    _BY_KEY[_URL],
    *(option for option in CREDENTIAL_OPTIONS if not option.shared),
    *TLS_OPTIONS,
    _BY_KEY["proxy"],
)

CONFLUENT_OPTIONS: Final = tuple(_behind(option) for option in _OWN)

# Both registries have the same time limits, size limits and caches. SASL_INHERIT means the same Kafka user for both.
_COMMON: Final = tuple(key for key, option in _BY_KEY.items() if option not in _OWN and not key.startswith("pulsar."))


def confluent_conf(conf: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the second registry's options without their prefix ``confluent.``; None if it is not configured.

    Args:
        conf: checked options of a serializer or a deserializer.
    """
    if conf.get(f"{CONFLUENT}{_URL}") is None:
        return None
    own = {option.key: conf[f"{CONFLUENT}{option.key}"] for option in _OWN}
    return {**{key: conf[key] for key in _COMMON}, **own, PREFIX: CONFLUENT}


def inherits(conf: Mapping[str, Any]) -> bool:
    """Whether one of the registries uses the Kafka client's own ``sasl.*`` options."""
    return credentials.inherits(conf) or credentials.inherits(conf, CONFLUENT)


def refuse_contradictions(values: Mapping[str, Any]) -> None:
    """Raise ConfigError if options of the second registry contradict each other, or come without its address."""
    second = confluent_conf(values)
    if second is not None:
        credentials.refuse_contradictions(second)
        return
    given = [option.key for option in CONFLUENT_OPTIONS if values.get(option.key) is not None]
    if given:
        raise ConfigError(
            f"{given[0]} has no effect without {CONFLUENT}{_URL}", hint="set it to the address of the second registry"
        )
