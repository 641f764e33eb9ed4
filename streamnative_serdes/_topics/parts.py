"""How a schema version of a topic is read into columns and written from them, whatever its type."""

from __future__ import annotations

from typing import Final

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._formats.jackson.inner import inner_schema
from streamnative_serdes._formats.parts import PairParts, Part, Parts
from streamnative_serdes._schema import Limits, Schema, nullable, parse
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.key_value import PRIMITIVE_TYPES

from .known import Compiled, Known

_CHARSET: Final = "__charset"  # property of a STRING schema
_BYTES: Final = ("BYTES", "NONE")
_ONE_BY_ONE: Final = "read the messages one by one, with KafkaAutoConsumeDeserializer"


def parts_of(known: Known, limits: Limits, options: CodecArguments, *, to_write: bool = False) -> Parts:
    """The parts of a schema version. ``to_write``: fields of JSON that have to be there must not be null.

    Raises:
        SchemaError: there are no columns for its type or that of a half, or the schema is not valid.
    """
    if known.halves is None:
        return part_of(known, limits, options, to_write=to_write)
    key, value = (part_of(half, limits, options, to_write=to_write) for half in (known.halves.key, known.halves.value))
    return PairParts(known.halves.encoding, key, value)


def part_of(known: Known, limits: Limits, options: CodecArguments, *, to_write: bool = False) -> Part:
    """The part of a schema that is not of type KEY_VALUE.

    Raises:
        SchemaError: as :func:`parts_of`.
    """
    try:
        return _part_of(known, limits, options, to_write)
    except SchemaError as error:
        raise error.at(topic=known.topic, version=known.version) from None


def _part_of(known: Known, limits: Limits, options: CodecArguments, to_write: bool) -> Part:
    kind, place = known.type, (known.topic, known.version)
    if known.avro is not None:
        return Part(kind, known.schema, None, *place)
    if kind in _BYTES:
        return Part("BYTES", None, None, *place)
    if kind == "STRING" and known.info.properties.get(_CHARSET, "UTF-8").upper() != "UTF-8":
        return Part(kind, parse("string"), known.format(options, limits), *place)
    if kind in PRIMITIVE_TYPES:
        return Part(kind, None, None, *place)
    if kind == "JSON":
        schema = _columns_of_json(known.info.text, limits)
        return Part(kind, schema if to_write else nullable(schema), known.format(options, limits), *place)
    raise SchemaError(f"there are no columns for messages of type {kind}", hint=_ONE_BY_ONE)


def _columns_of_json(text: str, limits: Limits) -> Schema:
    try:
        return inner_schema(Compiled.of(text, limits).schema)
    except SchemaError as error:
        raise SchemaError(
            f"there are no columns for JSON messages whose schema is not a valid Avro schema: {error.message}",
            path=error.path,
            hint=_ONE_BY_ONE,
        ) from None
