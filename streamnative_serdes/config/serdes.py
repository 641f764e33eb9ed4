"""Options of the serializer and of the deserializer: those of registry and codec, and their own."""

from __future__ import annotations

from . import checks
from .codec import READ_OPTIONS, WRITE_OPTIONS
from .option import Option
from .registry import REGISTRY_OPTIONS

_ALLOW_NULL = Option(
    "allow.null",
    True,
    checks.flag,
    "Schemas derived from classes are those of Pulsar's Java client with its `alwaysAllowNull`: fields by name, each "
    '`["null", T]` with default null. With false, fields in their order, nullable where the class says so, with its '
    "defaults. A schema that you give, and that of a `pulsar.schema.Record`, is never rewritten.",
)

SERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *WRITE_OPTIONS,
    Option(
        "auto.register.schemas",
        True,
        checks.flag,
        "With false, schemas are only looked up: one that the topic does not have is an error. The right to consume is "
        "enough then.",
    ),
    Option(
        "use.latest.version",
        False,
        checks.flag,
        "Write by the topic's latest schema, whichever the serializer was given. Asks for "
        "`auto.register.schemas=false`.",
    ),
    Option(
        "use.schema.version",
        None,
        checks.version,
        "Write by this version of the topic's schema, whichever the serializer was given. Asks for "
        "`auto.register.schemas=false`.",
    ),
    _ALLOW_NULL,
)

DESERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *READ_OPTIONS,
    Option("auto.register.schemas", True, checks.flag, "Of no effect here: a deserializer registers nothing."),
    Option(
        "use.latest.version",
        False,
        checks.flag,
        "Read every message as the topic's latest schema. A schema that the deserializer was given goes before it.",
    ),
    Option(
        "fallback.to.latest",
        True,
        checks.flag,
        "Read a message that names no schema version, or one that the registry does not know, by the topic's latest "
        "schema. With false it is an error.",
    ),
    Option(
        "value.type",
        None,
        checks.a_class,
        "Return objects of this class: a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a "
        "`pulsar.schema.Record`. Its schema is the reader's, unless the deserializer is given another one.",
    ),
    _ALLOW_NULL,
)
