"""The words of Connect's Avro conventions: properties, parameters and names, as in Confluent's AvroData.

Source: ``io.confluent.connect.avro.AvroData`` and ``io.confluent.connect.schema`` (Confluent's schema-registry).
"""

from __future__ import annotations

import re
from string import digits
from typing import Final
from urllib.parse import quote_plus

from streamnative_serdes.connect.logical import Enum
from streamnative_serdes.connect.schema import Schema, Type
from streamnative_serdes.errors import SchemaError

from .options import AvroOptions

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
FULL_DEFAULT_NAME: Final = f"{NAMESPACE}.{DEFAULT_NAME}"
MAP_ENTRY: Final = "MapEntry"
KEY, VALUE = "key", "value"

# Properties of Avro types
NAME_PROP: Final = "connect.name"
DOC_PROP: Final = "connect.doc"
VERSION_PROP: Final = "connect.version"
DEFAULT_PROP: Final = "connect.default"
PARAMETERS_PROP: Final = "connect.parameters"
TYPE_PROP: Final = "connect.type"
INTERNAL_TYPE_PROP: Final = "connect.internal.type"
AVRO_PROPS: Final = "avro"  # properties and parameters that begin so are each other

# Parameters of Connect schemas
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"  # the default came from an Avro field, not from connect.default
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
ONLY_RECORD_DOC: Final = "connect.record.doc"  # these two with discard.type.doc.default
ONLY_ENUM_DOC: Final = "connect.enum.doc"
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
DEFAULT_PRECISION: Final = 64

UNION: Final = f"{NAMESPACE}.Union"
ANY_UNION: Final = "org.apache.kafka.connect.data.Union"  # these with generalized.sum.type.support
ANY_UNION_NAME: Final = "connect_union_"
ANY_UNION_FIELD: Final = "connect_union_field_"

_OTHERS = re.compile(r"[^A-Za-z0-9_]")


def scrubbed(name: str, options: AvroOptions) -> str:
    """A field's name or a part of a full name; with ``scrub.invalid.names``, changed to a name that Avro allows."""
    if not options.scrub_invalid_names or not name:
        return name
    encoded = quote_plus(name, safe="*", errors="replace").replace("~", "%7E")  # as Java's URLEncoder
    return ("x" if encoded[0] in digits else "") + _OTHERS.sub("_", encoded)


def split_name(full: str, options: AvroOptions) -> tuple[str, str]:
    """The namespace (empty if missing) and the last part of a name."""
    namespace, _, last = full.rpartition(".")
    parts = (scrubbed(part, options) for part in namespace.split("."))
    return ".".join(parts), scrubbed(last, options)


def enum_parameter(options: AvroOptions) -> str:
    return Enum.LOGICAL_NAME if options.generalized_sum_type_support else Enum.AVRO_NAME


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for an Avro union, each field for a branch."""
    return schema.type is Type.STRUCT and (schema.name == UNION or ANY_UNION in (schema.parameters or {}))


def enum_name(schema: Schema, options: AvroOptions) -> str | None:
    """The name of the Avro enum for a text schema; None if the schema is written as a string."""
    if schema.type is not Type.STRING or not (options.generalized_sum_type_support or options.enhanced_schema_support):
        return None
    return (schema.parameters or {}).get(enum_parameter(options))


def fixed_size(schema: Schema) -> int | None:
    """The size of the Avro fixed for a schema of bytes; None if the schema is written as bytes.

    Raises:
        SchemaError: the parameter is not a size.
    """
    text = (schema.parameters or {}).get(FIXED_SIZE)
    if schema.type is not Type.BYTES or schema.name is None or text is None:
        return None
    if not text.isdecimal() or len(text) > 10:
        raise SchemaError(f"expected a size in bytes as the parameter {FIXED_SIZE}, got {text!r:.80}")
    return int(text)


def is_avro_map(schema: Schema, options: AvroOptions) -> bool:
    """Whether a map is written as an Avro map, whose keys are text; other maps are arrays of entries."""
    key = schema.keys
    return key.type is Type.STRING and (not key.optional or options.allow_optional_map_keys)


def branch_field(index: int, kind: str, full: str | None, options: AvroOptions) -> str:
    """The name of the field for a branch of a union, by its index, type, and full name if it has one."""
    if options.generalized_sum_type_support:
        return f"{ANY_UNION_FIELD}{index}"
    if full is None:
        return kind
    return full if options.enhanced_schema_support else split_name(full, options)[1]
