"""Connect's values as Spark's Python values, and back: a Struct is a Row, a Time is an int of milliseconds.

Spark's datetimes have no time zone in Python, and are local time there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from pyspark.sql import Row

from streamnative_serdes._paths import entry
from streamnative_serdes.connect import Date, Decimal, Schema, Struct, Time, Timestamp, Type
from streamnative_serdes.connect.logical import decimal_of, logical_of, rescaled, to_bytes
from streamnative_serdes.errors import EncodeError

_Inner = Callable[[Schema, Any], Any]


def to_row(schema: Schema, value: Any) -> Any:
    """A value of ``schema`` for ``createDataFrame`` with the type of ``to_spark_type``; defaults are filled in.

    Raises:
        EncodeError: a time is outside of the years 1 to 9999, which Python's types have; ``path`` names the field.
    """
    if value is None:
        value = schema.default
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        fields = schema.fields or ()
        values = [_within(to_row, field.name, field.schema, dict.get(value, field.name)) for field in fields]
        return Row(*[field.name for field in fields])(*values)
    if schema.type in (Type.ARRAY, Type.MAP):
        return _each(to_row, schema, value)
    logical = logical_of(schema)
    if logical in (Date, Timestamp) and type(value) is int:
        raise EncodeError(f"expected a {schema.name} in the years 1 to 9999, got {value}")
    if logical is Timestamp:
        return value.astimezone().replace(tzinfo=None)
    if logical is Time:
        return Time.from_logical(schema, value)
    return bytearray(value) if schema.type is Type.BYTES and logical is None else value


def from_row(schema: Schema, value: Any) -> Any:
    """The value of ``schema`` for a value from Spark, such as a Row of ``collect()``.

    Raises:
        EncodeError: the value does not fit the schema; ``path`` names the field.
    """
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return _struct(schema, value)
    if schema.type in (Type.ARRAY, Type.MAP):
        return _each(from_row, schema, value)
    logical = logical_of(schema)
    if logical is Timestamp and isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC)
    if logical is Time and type(value) is int:
        return Time.to_logical(schema, value)
    if logical is Decimal:
        scale = Decimal.scale(schema)
        return decimal_of(scale, to_bytes(rescaled(scale, value)))
    return bytes(value) if isinstance(value, bytearray) else value


def _struct(schema: Schema, row: Any) -> Struct:
    if not isinstance(row, Row):
        raise EncodeError(f"expected a Row, got {type(row).__name__}")
    found = Struct(schema)
    for name, _, kind in schema.fields or ():
        if name not in row.__fields__:
            raise EncodeError(f"the row has no column {name!r:.80}", path=name)
        found.put(name, _within(from_row, name, kind, row[name]))
    return found


def _each(inner: _Inner, schema: Schema, value: Any) -> Any:
    if schema.type is Type.ARRAY:
        return [_within(inner, f"[{at}]", schema.values, each) for at, each in enumerate(value)]
    pairs = [(entry(key), key, each) for key, each in value.items()]
    return {
        _hashable(_within(inner, path, schema.keys, key)): _within(inner, path, schema.values, each)
        for path, key, each in pairs
    }


def _hashable(key: Any) -> Any:
    return bytes(key) if isinstance(key, bytearray) else key


def _within(inner: _Inner, path: str, schema: Schema, value: Any) -> Any:
    try:
        return inner(schema, value)
    except EncodeError as error:
        raise error.inside(path) from None
