"""The options of the SerDes: one table of dotted keys makes defaults, checks and docs/config.md."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast

from .errors import ConfigError


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a non-empty string")
    return value


def _text_or_function(value: object) -> str | Callable[[], str]:
    if callable(value):
        return value
    try:
        return _text(value)
    except ValueError as expected:
        raise ValueError(f"{expected} or a function without arguments") from None


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


def _between(least: int, most: int) -> Callable[[object], int]:
    expected = f"a whole number from {least} to {most}"

    def check(value: object) -> int:
        number = _number(value, least, expected)
        if number != int(number) or number > most:
            raise ValueError(expected)
        return int(number)

    return check


def _one_of(*words: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in words:
            raise ValueError(" or ".join(words))
        return str(value)

    return check


def _version(value: object) -> int:
    number = _number(value, 0, "a schema version, from 0")
    if number != int(number):
        raise ValueError("a schema version, from 0")
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
    Option(
        "schema.registry.url",
        None,
        _text,
        "Pulsar's HTTP address, such as `http://localhost:8080`. Required. Several addresses of one cluster, separated "
        "by commas: the one that answered last is asked first, and the next where it fails. "
        "`mock://SCOPE` is a registry in the memory of this process.",
    ),
    Option("pulsar.tenant", "public", _text, "Tenant of topics given by a short name."),
    Option("pulsar.namespace", "default", _text, "Namespace of topics given by a short name."),
    Option(
        "bearer.auth.token",
        None,
        _text_or_function,
        "JSON web token: the text itself, `token:TEXT`, `file:///PATH`, or a function without arguments that returns "
        "the text. File and function are asked for each request, and once more when Pulsar says that the token is bad.",
    ),
    Option(
        "proxy",
        None,
        _text,
        "HTTP proxy, such as `http://localhost:8030`. Without it, those of the environment count (`HTTP_PROXY`, ...).",
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
    Option("max.schema.size", 4 * 1024 * 1024, _between(1, 1 << 30), "Characters of a schema from the registry."),
    Option("max.schema.names", 10_000, _between(1, 1_000_000), "Named types in a schema from the registry."),
    Option(
        "max.schema.depth",
        200,
        _between(1, 1_000),
        "Levels of nesting in a schema from the registry. Much above the default, Python's own recursion limit is met.",
    ),
    Option("cache.capacity", 1_000, _count, "Topics kept in each cache, and versions kept per topic."),
    Option(
        "cache.missing.ttl.sec",
        5.0,
        _seconds,
        "How long it is believed that a topic has no such schema or version, or does not take one, in seconds. Until "
        "then, messages get the same error again, and the registry is not asked.",
    ),
    Option(
        "cache.latest.ttl.sec",
        60.0,
        _seconds,
        "How long a topic's latest schema is believed, in seconds, and how often (at most once a second) a topic in "
        "use is looked at, in a thread of its own, whether it was deleted and made anew. Versions never change "
        "otherwise.",
    ),
)

# What a codec can be told, here and as keyword arguments of Codec: `max.depth` is max_depth there.
CODEC_OPTIONS = (
    Option(
        "avro.logical.types",
        True,
        _flag,
        "With false, logical types are left aside in both directions: a timestamp is an int, a decimal is bytes.",
    ),
    Option(
        "max.depth",
        256,
        _between(1, 1_000),
        "Levels that records, arrays and maps of one message may nest. Each takes up to 1 KB of the C stack.",
    ),
)

WRITE_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "validate.strict",
        False,
        _flag,
        "An object must have all fields of its record, those with a default too, and no others.",
    ),
    Option(
        "validate.strict.allow.default",
        False,
        _flag,
        "An object must have all fields of its record but those with a default, and no others.",
    ),
    Option(
        "confluent.leniency",
        False,
        _flag,
        "Write True and False for a number as 1 and 0, and a datetime without a zone as local time of the machine, as "
        "Confluent's serializer does. They are errors otherwise.",
    ),
)

READ_OPTIONS = (
    *CODEC_OPTIONS,
    Option(
        "return.record.name",
        False,
        _flag,
        "A record in a union is read as a tuple of its full name and the dict, which can be written again.",
    ),
    Option(
        "ignore.trailing.bytes",
        False,
        _flag,
        "Ignore what follows the datum, as Confluent's deserializer does. It is an error otherwise.",
    ),
    Option(
        "schema.resolution",
        "java",
        _one_of("java", "spec"),
        "Where Java and the letter of Avro's specification differ in reading by another schema: see "
        "[avro-conformance.md](avro-conformance.md).",
    ),
    Option(
        "max.empty.values",
        1 << 20,
        _between(0, 1 << 40),
        "Values of one message that take no bytes (null, records without fields), which cost a sender nothing.",
    ),
    Option(
        "max.items",
        10_000_000,
        _between(0, 1 << 40),
        "Items of all arrays and maps of one message, and fields that are filled in from the reader's defaults.",
    ),
)

SERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *WRITE_OPTIONS,
    Option(
        "auto.register.schemas",
        True,
        _flag,
        "With false, schemas are only looked up: one that the topic does not have is an error. The right to consume is "
        "enough then.",
    ),
    Option(
        "use.latest.version",
        False,
        _flag,
        "Write by the topic's latest schema, whichever the serializer was given. Asks for "
        "`auto.register.schemas=false`.",
    ),
    Option(
        "use.schema.version",
        None,
        _version,
        "Write by this version of the topic's schema, whichever the serializer was given. Asks for "
        "`auto.register.schemas=false`.",
    ),
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
    *READ_OPTIONS,
    Option("auto.register.schemas", True, _flag, "Of no effect here: a deserializer registers nothing."),
    Option(
        "use.latest.version",
        False,
        _flag,
        "Read every message as the topic's latest schema. A schema that the deserializer was given goes before it.",
    ),
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
    "use.schema.id": (-1,),
    "normalize.schemas": (False, "false"),
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
    values = {option.key: _checked(option, conf.get(option.key)) for option in options}
    if values["schema.registry.url"] is None:
        raise ConfigError("schema.registry.url is missing", hint="give Pulsar's HTTP address, http://localhost:8080")
    _refuse_contradictions(values)
    return values


def _refuse_contradictions(values: Mapping[str, Any]) -> None:
    if "use.schema.version" not in values:  # the deserializer's
        return
    asked = {"use.latest.version": values["use.latest.version"], "use.schema.version": values["use.schema.version"]}
    chosen = [key for key, value in asked.items() if value is not None and value is not False]
    if len(chosen) == 2:
        raise ConfigError(f"cannot enable both {' and '.join(chosen)}")
    if chosen and values["auto.register.schemas"]:
        raise ConfigError(f"cannot enable both {chosen[0]} and auto.register.schemas", hint="set the latter to false")


class CodecArguments(TypedDict, total=False):
    """The options of a codec as its keyword arguments: dots are underscores there."""

    avro_logical_types: bool
    max_depth: int
    validate_strict: bool
    validate_strict_allow_default: bool
    confluent_leniency: bool
    return_record_name: bool
    ignore_trailing_bytes: bool
    schema_resolution: Literal["java", "spec"]
    max_empty_values: int
    max_items: int


_ALL_OF_CODEC = {option.key.replace(".", "_"): option for option in (*WRITE_OPTIONS, *READ_OPTIONS)}


def codec_arguments(conf: Mapping[str, Any]) -> CodecArguments:
    """The keyword arguments of Codec that ``conf``, checked options, asks for."""
    given = {name: conf[option.key] for name, option in _ALL_OF_CODEC.items() if option.key in conf}
    return cast(CodecArguments, given)


def codec_options(arguments: CodecArguments) -> dict[str, Any]:
    """All options of a codec by dotted key, checked.

    Raises:
        ConfigError: a bad value.
        TypeError: no such keyword argument.
    """
    for name in arguments:
        if name not in _ALL_OF_CODEC:
            near = difflib.get_close_matches(name, _ALL_OF_CODEC, n=1)
            raise TypeError(f"a codec takes no argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return {option.key: _checked(option, arguments.get(name)) for name, option in _ALL_OF_CODEC.items()}


def _checked(option: Option, given: object) -> Any:
    try:
        return option.default if given is None else option.check(given)
    except ValueError as expected:
        shown = "a value" if "auth" in option.key or option.key == "proxy" else repr(given)[:100]
        raise ConfigError(f"{option.key} takes {expected}, got {shown} of type {type(given).__name__}") from None


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
