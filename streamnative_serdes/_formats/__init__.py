"""The payload formats of Pulsar's schema types, without registry and framing: bytes to values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._schema import Limits, parse
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

from .format import AvroFormat, Format, PrimitiveFormat
from .json_format import JsonFormat, json_format
from .primitives import CHARSET, NUMBERS, TEXTS, number_format, text_format
from .protobuf_native import ProtobufNativeFormat, protobuf_native_format
from .protobuf_text import protobuf_native_text
from .times import TIMES, time_format

PRIMITIVES: Final = (*NUMBERS, *TEXTS, *TIMES)  # the types without a schema text
EXTERNAL: Final = "EXTERNAL"  # Pulsar 4.1 and later (PIP-420): Pulsar's registry has only the type
OUTSIDE: Final = (
    "its schemas are in a registry outside of Pulsar (PIP-420), and nothing names that of the message: framings=snip42,"
    "confluent-header,headerless and confluent.schema.registry.url read messages with an id in the header "
    "__value_schema_id, where streamnative_serdes.converters puts the ids of entries (docs/schema-types.md)"
)
# Type -> what a user can do about it.
_REFUSED: Final[Mapping[str, str]] = {
    "PROTOBUF": "the registry has only an Avro schema of such messages, not their descriptor: write the topic with "
    "PROTOBUF_NATIVE, or read its values as bytes with the class that protoc made",
    EXTERNAL: OUTSIDE,
    "KEY_VALUE": "it has two schemas, one for each half",
}


def format_of(info: SchemaInfo, limits: Limits, options: CodecArguments) -> Format:
    """The format of a schema of any type but KEY_VALUE.

    Args:
        info: the registry's entry, of which type, text and properties count.
        limits: how large the schema may be.
        options: the options of a codec; primitives use `confluent_leniency` only, PROTOBUF_NATIVE none.

    Raises:
        SchemaError: the schema is invalid or too large, or no format for its type exists.
        ConfigError: a library that the type needs is not installed.
    """
    if info.type in PRIMITIVES:
        return primitive_format(info.type, info.properties, options)
    if info.type == "AVRO":
        return AvroFormat(parse(info.text, strict=False, limits=limits), **options)
    if info.type == "JSON":
        return json_format(info.text, info.properties, limits, options)
    if info.type == "PROTOBUF_NATIVE":
        return protobuf_native_format(info.text, limits)
    hint = _REFUSED.get(info.type, "this version knows no such type: read the topic's values as bytes")
    raise SchemaError(f"messages of schema type {info.type:.40} cannot be read or written", hint=hint)


def primitive_format(kind: str, properties: Mapping[str, str], options: CodecArguments) -> Format:
    """The format of one of ``PRIMITIVES``. Raises SchemaError: the charset of a STRING schema is not supported."""
    if kind in NUMBERS:
        return number_format(kind, options)
    return time_format(kind, options) if kind in TIMES else text_format(kind, properties, options)
