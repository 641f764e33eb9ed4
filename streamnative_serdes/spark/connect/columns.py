"""Connect's values as Arrow columns: value by value, and payloads of one schema at once, by pyarrow's JSON reader.

Payloads that pyarrow's reader does not read exactly as the JsonConverter are left to the converter, message by message:
``read_payloads`` then raises :class:`NotReadError`, and no other error. These are maps, which pyarrow's reader does not
have; payloads with fields that the schema lacks; and all invalid payloads, for which the converter has better errors.

Each payload becomes a line, so that no payload can end another::

    {"p":  payload  }
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from streamnative_serdes.connect import Date, Decimal, Enum, Schema, Struct, Time, Timestamp, Type
from streamnative_serdes.connect.containers import listed, paired
from streamnative_serdes.connect.json_values import Form
from streamnative_serdes.connect.logical import logical_of, rescaled
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.spark.types.arrow import arrow_type

from .types import LEAVES, to_spark_type

Convert = Callable[[Any], Any]
_MICROS: Final = 2**63 // 1000  # milliseconds that 64 bits of microseconds can hold


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
            return listed(converter(schema.values, fill=fill))
        case Type.MAP:
            return paired(converter(schema.keys, fill=fill), converter(schema.values, fill=fill))
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
            raise error.inside(name) from None
        return found

    return convert


MOST_BYTES: Final = 1 << 30  # of payloads that are read at once
_DAY_MILLIS: Final = 86_400_000
_RAW: Final = {kind: arrow_type(spark) for kind, spark in LEAVES.items()} | {Type.BYTES: pa.string()}  # base64


class NotReadError(Exception):
    """pyarrow's reader does not read these payloads; the converter may."""


def can_read(schema: Schema) -> bool:
    """Whether the schema has no map."""
    return all(each.type is not Type.MAP for each in _with_inner(schema))


def _with_inner(schema: Schema) -> Iterator[Schema]:
    """The schema and all that are nested in it."""
    yield schema
    for field in schema.fields or ():
        yield from _with_inner(field.schema)
    if schema.value_schema is not None:
        yield from _with_inner(schema.values)


def read_payloads(schema: Schema, payloads: pa.Array, form: Form) -> pa.Array:
    """Columns of payloads, without nulls: an array of :func:`column_type`.

    Raises:
        NotReadError: the payloads have to be read one by one.
    """
    try:
        lines = _lines(payloads)
        try:
            found = _parsed(lines, _raw_type(schema, pa.string()), len(payloads))
        except pa.ArrowInvalid:
            if all(logical_of(each) is not Decimal for each in _with_inner(schema)):
                raise
            # Decimals may be numbers. As pyarrow takes a text for a decimal too, which would be base64, first make sure
            # that all of them are numbers.
            _parsed(lines, _raw_type(schema, pa.float64()), len(payloads))
            found = _parsed(lines, _raw_type(schema, None), len(payloads))
        return _column(schema, found, None, form)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, binascii.Error, OverflowError, ValueError) as error:
        raise NotReadError(str(error)) from None


def _lines(payloads: pa.Array) -> pa.Buffer:
    payloads.cast(pa.string())  # refuses what is not UTF-8
    lines = pc.binary_join_element_wise(b'{"p":', payloads, b"}\n", b"")
    return lines.buffers()[2]


def _parsed(lines: pa.Buffer, kind: pa.DataType, count: int) -> pa.Array:
    table = pyarrow.json.read_json(
        pa.BufferReader(lines),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=lines.size + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema([("p", kind)]), unexpected_field_behavior="error"
        ),
    )
    if table.num_rows != count or table.column(0).num_chunks != 1:
        raise NotReadError("a payload that is not one value")
    return table.column(0).chunk(0)


def _raw_type(schema: Schema, decimals: pa.DataType | None) -> pa.DataType:
    """The type to read first; ``decimals`` stands for decimals, None for their own type."""
    if schema.type is Type.STRUCT:
        return pa.struct([pa.field(each.name, _raw_type(each.schema, decimals)) for each in schema.fields or ()])
    if schema.type is Type.ARRAY:
        return pa.list_(_raw_type(schema.values, decimals))
    if logical_of(schema) is Decimal:
        return column_type(schema) if decimals is None else decimals
    return _RAW[schema.type]


# --- from what the reader returns to the column -----------------------------------------------------------------------


def _column(schema: Schema, raw: pa.Array, there: pa.Array | None, form: Form) -> pa.Array:
    """The column of ``raw``; ``there`` is true where the enclosing struct or array is not null, None for everywhere."""
    made = _made(schema, raw, form)
    missing = pc.is_null(raw) if there is None else pc.and_(pc.is_null(raw), there)
    if raw.null_count and pc.any(missing).as_py():
        return _without_nulls(schema, made, missing, form)
    return made


def _without_nulls(schema: Schema, made: pa.Array, missing: pa.Array, form: Form) -> pa.Array:
    if schema.default is not None and form.replace_null:
        if not schema.type.is_primitive:
            raise NotReadError("a default of many values")
        return pc.if_else(missing, pa.scalar(converter(schema)(schema.default), made.type), made)
    if not schema.optional:
        raise NotReadError("null for a required value")
    return made


def _made(schema: Schema, raw: pa.Array, form: Form) -> pa.Array:
    if schema.type is Type.STRUCT:
        there = raw.is_valid()
        columns = [_column(field.schema, raw.field(field.index), there, form) for field in schema.fields or ()]
        kind = column_type(schema)
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=raw.is_null()) if columns else raw
    if schema.type is Type.ARRAY:
        items = _column(schema.values, raw.values, None, form)
        return pa.ListArray.from_arrays(raw.offsets, items, column_type(schema), mask=raw.is_null())
    return _leaf(schema, raw)


def _leaf(schema: Schema, raw: pa.Array) -> pa.Array:
    logical = logical_of(schema)
    if logical is Date:
        return raw.view(pa.date32())
    if logical is Timestamp:
        return raw.cast(pa.timestamp("ms")).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    if logical is Time and len(raw) and pc.any(pc.or_(pc.less(raw, 0), pc.greater(raw, _DAY_MILLIS))).as_py():
        raise NotReadError("a time outside of the day")
    if logical is Decimal and pa.types.is_string(raw.type):
        return _decimals(schema, raw)
    if logical is Decimal:
        if Decimal.scale(schema) < 0:
            raise NotReadError("a decimal with a negative scale")
        raw.validate(full=True)  # the reader takes an integer of too many digits
        return raw
    if schema.type is Type.BYTES and logical is None:
        return pa.array([None if text is None else _bytes(text) for text in raw.to_pylist()], pa.binary())
    symbols = Enum.symbols(schema) if schema.name != Enum.DEBEZIUM_NAME else None
    if symbols is not None and not pc.all(pc.is_in(raw.drop_null(), pa.array(list(symbols), pa.string()))).as_py():
        raise NotReadError("a symbol that the enum does not have")
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        if pc.any(pc.is_inf(raw)).as_py():
            raise NotReadError("a number that is too large")
        bits = 32 if schema.type is Type.FLOAT32 else 64
        if pc.any(pc.equal(raw.view(f"int{bits}"), -1 << bits - 1)).as_py():
            raise NotReadError("-0 or -0.0, which pyarrow does not tell apart")
    return raw


def _bytes(text: Any) -> bytes:
    return binascii.a2b_base64(text, strict_mode=True)


def _decimals(schema: Schema, raw: pa.Array) -> pa.Array:
    """Decimals from base64 of their unscaled integers, which become the 16 bytes of Arrow's, lowest first."""
    kind = column_type(schema)
    more = 10 ** max(-Decimal.scale(schema), 0)  # Spark has no negative scales
    limit = 10**kind.precision
    parts = []
    for text in raw.to_pylist():
        if text is None:
            parts.append(bytes(16))
            continue
        stored = _bytes(text)
        number = int.from_bytes(stored, "big", signed=True) * more
        if not stored or len(stored) > 16 or not -limit < number < limit:
            raise NotReadError("a decimal of too many digits, or of none")
        parts.append(number.to_bytes(16, "little", signed=True))
    there = pa.array([text is not None for text in raw.to_pylist()]).buffers()[1] if raw.null_count else None
    return pa.Array.from_buffers(kind, len(raw), [there, pa.py_buffer(b"".join(parts))])
