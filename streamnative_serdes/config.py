"""The options of the SerDes: one table of dotted keys makes defaults, checks and docs/config.md."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ConfigError


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a non-empty string")
    return value


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ValueError("true or false")


def _number(value: object, least: float, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(expected)
    try:
        number = float(value)
    except ValueError:
        raise ValueError(expected) from None
    if not least <= number <= 1e12:
        raise ValueError(expected)
    return number


def _count(value: object) -> int:
    number = _number(value, 1, "a whole number from 1")
    if number != int(number):
        raise ValueError("a whole number from 1")
    return int(number)


def _milliseconds(value: object) -> float:
    return _number(value, 1, "milliseconds, from 1")


def _seconds(value: object) -> float:
    return _number(value, 0, "seconds, from 0")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its dotted key, the value when it is not given, its check, and what it does."""

    key: str
    default: Any
    check: Callable[[object], Any]
    doc: str


REGISTRY_OPTIONS = (
    Option("schema.registry.url", None, _text, "Pulsar's HTTP address, such as `http://localhost:8080`. Required."),
    Option("pulsar.tenant", "public", _text, "Tenant of topics given by a short name."),
    Option("pulsar.namespace", "default", _text, "Namespace of topics given by a short name."),
    Option(
        "bearer.auth.token",
        None,
        _text,
        "JSON web token: the text itself, `token:TEXT`, or `file:///PATH`, which is read again for each request.",
    ),
    Option("http.connect.timeout.ms", 5_000.0, _milliseconds, "Time to connect, in milliseconds."),
    Option(
        "http.read.timeout.ms",
        20_000.0,
        _milliseconds,
        "Time to wait for an answer, in milliseconds. Pulsar may take 15 s to say that a namespace is missing.",
    ),
    Option(
        "retries.total.ms",
        60_000.0,
        _milliseconds,
        "Total time for one request with all its retries, in milliseconds. A broker failover takes about 31 s.",
    ),
    Option(
        "retries.wait.ms", 200.0, _milliseconds, "First wait before a retry, in milliseconds; doubles, with jitter."
    ),
    Option("retries.max.wait.ms", 5_000.0, _milliseconds, "Longest wait before a retry, in milliseconds."),
    Option("cache.capacity", 1_000, _count, "Topics kept in each cache, and versions kept per topic."),
    Option(
        "cache.latest.ttl.sec",
        60.0,
        _seconds,
        "How long a topic's latest schema is believed, in seconds. Versions never change and do not expire.",
    ),
)

SERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    Option(
        "allow.null",
        True,
        _flag,
        'Schemas derived from classes make every field `["null", T]` with default null, as Pulsar\'s '
        "`alwaysAllowNull`. A schema that you give is never rewritten.",
    ),
)

DESERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    Option(
        "fallback.to.latest",
        True,
        _flag,
        "Read a message that names no schema version, or one that the registry does not know, by the topic's latest "
        "schema. With false it is an error.",
    ),
)


# Keys that Confluent's and Pulsar's users know and that are not there yet, with the values that ask for nothing.
NOT_THERE: Mapping[str, tuple[object, ...]] = {
    "auto.register.schemas": (True, "true"),
    "use.latest.version": (False, "false"),
    "use.schema.version": (-1,),
    "use.schema.id": (-1,),
    "normalize.schemas": (False, "false"),
    "validate.strict": (False, "false"),
    "validate.strict.allow.default": (False, "false"),
    "avro.logical.types": (True, "true"),
    "basic.auth.user.info": (),
    "basic.auth.credentials.source": (),
    "bearer.auth.credentials.source": ("STATIC_TOKEN",),
    "subject.name.strategy": (),
    "subject.name.strategy.type": ("TOPIC",),
    "schema.id.serializer": (),
    "schema.id.deserializer": (),
    "schema.registry.ssl.ca.location": (),
    "schema.registry.ssl.certificate.location": (),
    "schema.registry.ssl.key.location": (),
}


def parse(options: tuple[Option, ...], conf: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """All ``options`` with their checked values.

    Args:
        options: the table of the class being configured.
        conf: what the user gave; None stands for "not given".
        strict: whether an unknown key is an error. A constructor is strict; ``configure`` is not, since clients
            pass their whole configuration through it.

    Raises:
        ConfigError: unknown key (with the nearest known one), bad value, no ``schema.registry.url``, or a key of
            NOT_THERE with a value that asks for something: to ignore it would be to do another thing than asked.
    """
    known = {option.key: option for option in options}
    _refuse_not_there(conf)
    if strict:
        _refuse_unknown(known, conf)
    values: dict[str, Any] = {}
    for option in options:
        given = conf.get(option.key)
        try:
            values[option.key] = option.default if given is None else option.check(given)
        except ValueError as expected:
            shown = "a value" if "auth" in option.key else repr(given)[:100]
            raise ConfigError(f"{option.key} takes {expected}, got {shown} of type {type(given).__name__}") from None
    if values["schema.registry.url"] is None:
        raise ConfigError("schema.registry.url is missing", hint="give Pulsar's HTTP address, http://localhost:8080")
    return values


def _refuse_not_there(conf: Mapping[str, Any]) -> None:
    for key, harmless in NOT_THERE.items():
        if conf.get(key) is not None and conf[key] not in harmless:
            shown = "" if "auth" in key else f" with {conf[key]!r:.80}"
            raise ConfigError(f"{key}{shown} is not supported yet", hint="leave it out")


def _refuse_unknown(known: Mapping[str, Option], conf: Mapping[str, Any]) -> None:
    unknown = [str(key) for key in conf if key not in known and key not in NOT_THERE]
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the options here are {', '.join(known)}"
    raise ConfigError(f"unknown option {', '.join(unknown)}", hint=hint)


def _shown(default: object) -> str:
    if default is None:
        return "-"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def markdown(options: tuple[Option, ...]) -> str:
    """The table as it stands in docs/config.md."""
    rows = [f"| `{o.key}` | {_shown(o.default)} | {o.doc} |" for o in options]
    return "\n".join(["| option | default | meaning |", "|---|---|---|", *rows])
