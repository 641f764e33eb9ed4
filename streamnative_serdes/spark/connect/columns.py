"""Connect's values as Arrow columns, value by value: for payloads that payloads.py, which is faster, does not read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from streamnative_serdes._paths import entry
from streamnative_serdes.connect import Date, Decimal, Schema, Struct, Time, Timestamp, Type
from streamnative_serdes.connect.logical import logical_of, rescaled
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.spark.types.arrow import arrow_type

from .types import to_spark_type

Convert = Callable[[Any], Any]
_MICROS: Final = 2**63 // 1000  # milliseconds that 64 bits of microseconds can hold
_TIMESTAMP: Final = pa.timestamp("us", "UTC")


def column_type(schema: Schema) -> pa.DataType:
    """The Arrow type in which Spark takes values of ``schema``. Raises SchemaError as ``to_spark_type``."""
    return arrow_type(to_spark_type(schema))


def column_of(schema: Schema, values: list[Any]) -> pa.Array:
    """A column from values that :func:`converter` returned."""
    return pa.array(values, column_type(schema))


def converter(schema: Schema, *, fill: bool = False) -> Convert:
    """A function from a value, or None, to a value for pyarrow's columns; it raises DecodeError, with the path.

    Args:
        schema: of the values.
        fill: whether fields that are not set become their defaults.
    """
    convert = _converter(schema, fill)
    return lambda value: None if value is None else convert(value)


def _converter(schema: Schema, fill: bool) -> Convert:
    match schema.type:
        case Type.STRUCT:
            return _struct(schema, fill)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return _array(converter(schema.value_schema, fill=fill))
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            return _map(converter(schema.key_schema, fill=fill), converter(schema.value_schema, fill=fill))
        case Type.BYTES if logical_of(schema) is None:
            return bytes
        case Type.STRING:
            return _text
    return _logical(schema)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DecodeError(f"expected text that UTF-8 can hold, got {value!r:.80}") from None
    return value


def _logical(schema: Schema) -> Convert:
    logical = logical_of(schema)
    if logical in (Date, Time):
        return lambda value: logical.from_logical(schema, value)
    if logical is Timestamp:
        return _micros
    if logical is Decimal:
        digits = column_type(schema).precision
        scale = Decimal.scale(schema)
        return lambda value: _bounded(value, scale, digits)
    return float if schema.type in (Type.FLOAT32, Type.FLOAT64) else _same


def _same(value: Any) -> Any:
    return value


def _micros(value: Any) -> int:
    millis = Timestamp.from_logical(Timestamp.schema(), value)
    if not -_MICROS <= millis < _MICROS:
        raise DecodeError(f"expected a timestamp that 64 bits of microseconds can hold, got {millis} milliseconds")
    return millis * 1000


def _bounded(value: Any, scale: int, digits: int) -> Any:
    if abs(rescaled(max(scale, 0), value)) >= 10**digits:
        raise DecodeError(f"expected a decimal of at most {digits} digits, got {value!s:.80}")
    return value


def _struct(schema: Schema, fill: bool) -> Convert:
    fields = [(field.name, converter(field.schema, fill=fill)) for field in schema.fields or ()]
    get: Callable[[Struct, str], Any] = Struct.__getitem__ if fill else dict.get

    def convert(value: Struct) -> dict[str, Any]:
        name = ""
        found = {}
        try:
            for name, one in fields:
                found[name] = one(get(value, name))
        except DecodeError as error:
            error.inside(name)
            raise
        return found

    return convert


def _array(item: Convert) -> Convert:
    def convert(value: list[Any]) -> list[Any]:
        found: list[Any] = []
        try:
            for each in value:
                found.append(item(each))  # noqa: PERF401 - its length is the place of an error
        except DecodeError as error:
            error.inside(f"[{len(found)}]")
            raise
        return found

    return convert


def _map(key: Convert, item: Convert) -> Convert:
    def convert(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
        found = []
        name = None
        try:
            for name, each in value.items():
                found.append((key(name), item(each)))
        except DecodeError as error:
            error.inside(entry(name))
            raise
        return found

    return convert
