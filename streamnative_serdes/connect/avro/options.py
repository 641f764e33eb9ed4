"""The options of AvroConverter beside those of its serializer and deserializer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from streamnative_serdes._config import Option, checks
from streamnative_serdes._config.option import checked

AVRO_DATA_OPTIONS: Final = (
    Option(
        "enhanced.avro.schema.support",
        False,
        checks.flag,
        "Write text with the parameters of an Avro enum as that enum, instead of a string, and call the fields of a "
        "struct that stands for a union by the full names of their types.",
    ),
    Option(
        "connect.meta.data",
        True,
        checks.flag,
        "Write what Avro has no place for (name, version, doc, default, parameters) into properties `connect.*` of the "
        "Avro schema, and read it back.",
    ),
    Option(
        "scrub.invalid.names",
        False,
        checks.flag,
        "Replace characters that Avro does not allow in names: `a-b` becomes `a_b`, and `1a` becomes `x1a`, in each "
        "part of a full name, as in Confluent's converter of today. With false, such a name is an error; a namespace "
        "may have them (Pulsar 4.0 takes it, and 4.2 does not).",
    ),
    Option(
        "generalized.sum.type.support",
        False,
        checks.flag,
        "Read enums and unions with the parameters that other converters of Confluent use too: "
        "`org.apache.kafka.connect.data.Enum` and `.Union`.",
    ),
    Option(
        "allow.optional.map.keys",
        False,
        checks.flag,
        "Write a map with optional text as keys as an Avro map. Then a null key is an error.",
    ),
    Option(
        "discard.type.doc.default",
        False,
        checks.flag,
        "Keep only the doc and the default of Avro fields, not those of types.",
    ),
    Option(
        "ignore.default.for.nullables",
        False,
        checks.flag,
        "Write null for an optional field that is not set, even if it has a default.",
    ),
    Option(
        "schemas.cache.config",
        1000,
        checks.count,
        "Maximum number of translated schemas to keep, in each direction.",
    ),
)


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """Checked options; see docs/connect-avro.md."""

    enhanced_schema_support: bool = False
    meta_data: bool = True
    scrub_invalid_names: bool = False
    generalized_sum_type_support: bool = False
    allow_optional_map_keys: bool = False
    discard_type_doc_default: bool = False
    ignore_default_for_nullables: bool = False
    cache_size: int = 1000

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """The options in ``config``; other options are ignored. Raises ConfigError if a value is invalid."""
        return cls(*(checked(option, config.get(option.key)) for option in AVRO_DATA_OPTIONS))
