"""Confluent's configuration keys: maps them to our options, ignores those without effect, and refuses the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from streamnative_serdes import _config as config
from streamnative_serdes._nearest import nearest
from streamnative_serdes.errors import ConfigError

_NO_RULES = "Pulsar's registry stores no rules"
_BY_TOPIC = "in Pulsar, a schema belongs to its topic"
_NO_METADATA = "Pulsar's registry stores no metadata"
_CUSTOM = "set bearer.auth.token, which may be a function that returns the token"

# Key -> why it is refused. Empty values (None, False, "") are accepted.
_REFUSED_BY_CLIENT: Final[Mapping[str, str]] = {
    "max.retries": "retries are limited by time: set retries.total.ms",
    "bearer.auth.scopes": "set bearer.auth.scope",
    "bearer.auth.query": "Azure's metadata service is not supported yet",
    "bearer.auth.custom.provider.function": _CUSTOM,
    "bearer.auth.custom.provider.config": _CUSTOM,
}
# Confluent Cloud needs these together with a token; Pulsar ignores them.
_IDLE_IN_CLIENT: Final = ("bearer.auth.logical.cluster", "bearer.auth.identity.pool.id")
_OTHER_NAMES: Final = {
    "url": "schema.registry.url",
    **{
        f"ssl.{name}": f"schema.registry.ssl.{name}"
        for name in ("ca.location", "certificate.location", "key.location", "key.password")
    },
}
_TIMEOUTS: Final = ("http.connect.timeout.ms", "http.read.timeout.ms")

_REFUSED_BY_SERDES: Final[Mapping[str, str]] = {
    "use.schema.id": f"{_BY_TOPIC}, and there are no global schema ids",
    "use.latest.with.metadata": _NO_METADATA,
    "validation.rules.fail.fast": _NO_RULES,
    "validation.rules.executor": _NO_RULES,
}
# Key -> the names of values that ask for our default behaviour, and why others are refused.
_HARMLESS_IN_SERDES: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "subject.name.strategy": (frozenset({"topic_subject_name_strategy"}), _BY_TOPIC),
    "subject.name.strategy.conf": (frozenset({"{}"}), _BY_TOPIC),
    "subject.name.strategy.type": (frozenset({"NONE", "TOPIC"}), _BY_TOPIC),
    "schema.id.serializer": (frozenset({"prefix_schema_id_serializer"}), "SNIP 42 puts the version before the datum"),
    "schema.id.deserializer": (
        frozenset({"prefix_schema_id_deserializer", "dual_schema_id_deserializer"}),
        "SNIP 42 puts the version before the datum",
    ),
    "validation.rules.execution": (frozenset({"DISABLED"}), _NO_RULES),
    # Pulsar compares schemas as parsed: white space and key order never cause a new version.
    "normalize.schemas": (frozenset({"true", "false"}), "expected true or false"),
}


def for_client(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Our registry options for a configuration of Confluent's client, which may contain our own options too.

    Raises:
        ConfigError: an unknown key, an invalid value, or a key that Pulsar cannot support.
    """
    if not isinstance(conf, Mapping):
        raise ConfigError(f"expected the options as a dict, got {type(conf).__name__}", hint='{"url": "http://..."}')
    left = _without_refused(conf, _REFUSED_BY_CLIENT)
    for key in _IDLE_IN_CLIENT:
        left.pop(key, None)
    if left.get("ssl.ca.location") is False:
        raise ConfigError(
            "ssl.ca.location=False is not supported: certificates are always verified",
            hint="set ssl.ca.location to the file of the CA",
        )
    if left.get("bearer.auth.credentials.source") == "CUSTOM":
        raise ConfigError(f"bearer.auth.credentials.source 'CUSTOM' is not supported: {_CUSTOM}")
    for theirs, ours in _OTHER_NAMES.items():
        if theirs in left:
            _refuse_both(left, theirs, ours)
            left[ours] = left.pop(theirs)
    _split_user_info(left)
    if "timeout" in left:
        for ours in _TIMEOUTS:
            _refuse_both(left, "timeout", ours)
        left |= dict.fromkeys(_TIMEOUTS, _milliseconds(left.pop("timeout")))
    _refuse_misspelt(left)
    return config.parse(config.REGISTRY_OPTIONS, left, strict=True)


def _refuse_misspelt(conf: Mapping[str, Any]) -> None:
    """Raises ConfigError for an unknown key that is most like one of Confluent's own; the parser knows ours alone."""
    ours, theirs = {option.key for option in config.REGISTRY_OPTIONS}, {*_OTHER_NAMES, "timeout"}
    for key in conf:
        near = None if key in ours else nearest(str(key), ours | theirs)
        if near in theirs:
            raise ConfigError(f"unknown option {key}", hint=f"did you mean {near}?")


def _refuse_both(conf: Mapping[str, Any], theirs: str, ours: str) -> None:
    if ours in conf:
        raise ConfigError(f"{theirs} and {ours} set the same option", hint="set only one of them")


def _split_user_info(conf: dict[str, Any]) -> None:
    """Move user and password from the address to their option, since errors show the address."""
    urls = conf.get("schema.registry.url")
    if not isinstance(urls, str) or "@" not in urls:
        return
    parts = [_without_user_info(url.strip()) for url in urls.split(",")]
    conf["schema.registry.url"] = ",".join(url for url, _ in parts)
    given = {info for _, info in parts if info}
    if not given:
        return
    if conf.get("basic.auth.user.info") is not None:
        raise ConfigError("basic.auth.user.info and url both contain user and password", hint="set only one of them")
    if len(given) > 1:
        raise ConfigError("the addresses in url contain different users or passwords", hint="set basic.auth.user.info")
    conf["basic.auth.user.info"] = given.pop()
    if conf.get("basic.auth.credentials.source") == "URL":
        del conf["basic.auth.credentials.source"]


def _without_user_info(url: str) -> tuple[str, str]:
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    info, _, host = authority.rpartition("@")
    return f"{scheme}{mark}{host}{slash}{path}", unquote(info)


def for_serdes(conf: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of our SerDes in a configuration of Confluent's SerDes.

    Raises:
        ConfigError: a key that Pulsar cannot support.
    """
    if not isinstance(conf, Mapping | None):
        raise ConfigError(f"expected the options as a dict, got {type(conf).__name__}")
    left = _without_refused(conf or {}, _REFUSED_BY_SERDES)
    for key, (harmless, reason) in _HARMLESS_IN_SERDES.items():
        value = left.pop(key, None)
        if not _is_empty(value) and _name(value).lower() not in map(str.lower, harmless):
            raise ConfigError(f"{key}={_name(value)!r:.80} is not supported: {reason}", hint="leave it out")
        if key == "normalize.schemas" and _name(value).lower() == "true" and left.get("framing") == config.CONFLUENT:
            raise ConfigError(
                "cannot enable both normalize.schemas and framing=confluent: it would not reach the second registry",
                hint="leave normalize.schemas out; that registry then gives each spelling of a schema its own id",
            )
    return left


def framings(conf: Mapping[str, Any] | None) -> dict[str, str]:
    """The framings of a deserializer with the second registry and without ``framings``, by ``schema.id.deserializer``.

    Confluent's default is ``dual_schema_id_deserializer``: the header, else the prefix.
    """
    given = conf or {}
    if given.get("confluent.schema.registry.url") is None or given.get("framings") is not None:
        return {}
    prefix_only = _name(given.get("schema.id.deserializer")) == "prefix_schema_id_deserializer"
    confluents = config.CONFLUENT if prefix_only else f"{config.CONFLUENT_HEADER},{config.CONFLUENT}"
    return {"framings": f"{config.SNIP_42},{confluents},{config.HEADERLESS}"}


def refuse_rules(rule_conf: object, rule_registry: object) -> None:
    """Refuse rules, such as field encryption, instead of silently not applying them.

    Raises:
        ConfigError: a rule argument is given.
    """
    for name, given in (("rule_conf", rule_conf), ("rule_registry", rule_registry)):
        if given is not None:
            raise ConfigError(f"{name} is not supported: {_NO_RULES}", hint="leave it out")


def leniency(left: Mapping[str, Any]) -> dict[str, Any]:
    """The options that make our serializer as lenient as Confluent's, unless strict validation is on."""
    strict = any(str(left.get(key)).lower() == "true" for key in ("validate.strict", "validate.strict.allow.default"))
    return {"confluent.leniency": not strict, "truncate.times": not strict, "unmatched.columns": "ignore"}


def _without_refused(conf: Mapping[str, Any], refused: Mapping[str, str]) -> dict[str, Any]:
    for key, reason in refused.items():
        if not _is_empty(conf.get(key)):
            raise ConfigError(f"{key} is not supported: {reason}", hint="leave it out")
    return {key: value for key, value in conf.items() if key not in refused and value is not None}


def _is_empty(value: object) -> bool:
    return value is None or value is False or value == ""  # not 0, which equals False, but is an id or a number


def _name(value: object) -> str:
    """The name of a function, the value of an enum member, anything else as text."""
    return str(getattr(value, "__name__", None) or getattr(value, "value", value))


def _milliseconds(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | str):
        raise ConfigError(f"timeout: expected seconds, got {seconds!r:.80}")
    try:
        return float(seconds) * 1000
    except (ValueError, OverflowError):
        raise ConfigError(f"timeout: expected seconds, got {seconds!r:.80}") from None
