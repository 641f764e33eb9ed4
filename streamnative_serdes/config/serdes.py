"""Options of the serializer and of the deserializer: those of registry and codec, and their own."""

from __future__ import annotations

from . import checks
from .codec import READ_OPTIONS, WRITE_OPTIONS
from .option import Option
from .registry import REGISTRY_OPTIONS

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
    Option(
        "allow.null",
        True,
        checks.flag,
        'Schemas derived from classes make every field `["null", T]` with default null, as Pulsar\'s '
        "`alwaysAllowNull`. A schema that you give is never rewritten.",
    ),
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
)
