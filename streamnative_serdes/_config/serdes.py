"""All options of the serializer and the deserializer: their own, and those of registry and codec."""

from __future__ import annotations

from . import checks
from .codec import READ_OPTIONS, WRITE_OPTIONS
from .option import Option
from .registry import REGISTRY_OPTIONS

_ALLOW_NULL = Option(
    "allow.null",
    True,
    checks.flag,
    "With true, a class has the schema that Pulsar's Java client derives with `alwaysAllowNull`: fields sorted by "
    'name, each `["null", T]` with default null. With false, fields keep their order and the defaults of the class, '
    "and are nullable only where the class says so. A schema that you give, and the schema of a "
    "`pulsar.schema.Record`, is never changed.",
)

SERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *WRITE_OPTIONS,
    Option(
        "auto.register.schemas",
        True,
        checks.flag,
        "With false, schemas are only looked up, and a schema that the topic does not have is an error. The permission "
        "to consume is then enough.",
    ),
    Option(
        "use.latest.version",
        False,
        checks.flag,
        "Write with the topic's latest schema instead of the serializer's. Requires `auto.register.schemas=false`.",
    ),
    Option(
        "use.schema.version",
        None,
        checks.version,
        "Write with this version of the topic's schema instead of the serializer's. Requires "
        "`auto.register.schemas=false`.",
    ),
    _ALLOW_NULL,
)

DESERIALIZER_OPTIONS = (
    *REGISTRY_OPTIONS,
    *READ_OPTIONS,
    Option("auto.register.schemas", True, checks.flag, "No effect: a deserializer never registers."),
    Option(
        "use.latest.version",
        False,
        checks.flag,
        "Use the topic's latest schema as the reader's schema. A schema given to the deserializer takes precedence.",
    ),
    Option(
        "fallback.to.latest",
        True,
        checks.flag,
        "Read a message without a schema version, or with one that the registry does not know, by the topic's latest "
        "schema. With false, such a message is an error.",
    ),
    Option(
        "value.type",
        None,
        checks.a_class,
        "Return objects of this class: a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a "
        "`pulsar.schema.Record`. The reader's schema is that of the class, unless the deserializer is given another.",
    ),
    _ALLOW_NULL,
)
