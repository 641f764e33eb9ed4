"""Properties of the formats: round trip, agreement with Avro, and any bytes give a value or a DecodeError."""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa
from avro_strategies import EDITS, edited, schema_and_datum, unions
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from streamnative_serdes._formats import PRIMITIVES, Format, JsonFormat, format_of, primitive_format
from streamnative_serdes._formats.jackson.notation import double_text, float_text, to_float
from streamnative_serdes._formats.jackson.numbers import seconds_text, seconds_to_nanos
from streamnative_serdes._formats.jackson.numbers import to_float as to_nearest_float
from streamnative_serdes._formats.json_number import JsonNumber
from streamnative_serdes._schema import Limits
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError
from streamnative_serdes.schema_registry import SchemaInfo

DAY = 86_400_000_000_000
SECOND = 1_000_000_000
MOMENTS = st.datetimes(timezones=st.just(dt.UTC)).map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    **{f"INT{bits}": st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    "FLOAT": st.floats(width=32, allow_nan=False),
    "DOUBLE": st.floats(allow_nan=False),
    "STRING": st.text(st.characters(exclude_categories=["Cs"])),
    "BYTES": st.binary(),
    "NONE": st.binary(),
    "DATE": MOMENTS,
    "TIME": MOMENTS,
    "TIMESTAMP": MOMENTS,
    "INSTANT": st.integers(-31_557_014_167_219_200 * SECOND, 31_556_889_864_403_200 * SECOND - 1),
    "LOCAL_DATE": st.dates(),
    "LOCAL_TIME": st.integers(0, DAY - 1),
    "LOCAL_DATE_TIME": st.integers(-365_243_219_162 * DAY, 365_241_780_472 * DAY - 1),
}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


def json_of(schema: Any, **options: Any) -> JsonFormat:
    made = format_of(SchemaInfo(0, "JSON", json.dumps(schema)), Limits(), {**options})  # type: ignore[typeddict-item]
    assert isinstance(made, JsonFormat)
    return made


def is_value_or_error(format: Format, data: bytes) -> Any:
    """Decode, and encode what was decoded; nothing but errors of the package may be raised."""
    try:
        value = format.decode(data)
    except DecodeError as error:
        assert error.offset is None or 0 <= error.offset <= len(data)
        return None
    with suppress(EncodeError):
        format.encode(value)
    return value


def test_each_primitive_type_has_a_strategy() -> None:
    assert VALUES.keys() == set(PRIMITIVES)


@given(st.data())
@examples(500)
def test_a_value_of_a_primitive_type_is_read_back_equal(draw: st.DataObject) -> None:
    for kind, values in VALUES.items():
        format = primitive_format(kind, {}, {})
        value = draw.draw(values)
        back = format.decode(format.encode(value))
        assert (back, type(back)) == (value, type(value))
        assert format.encode(back) == format.encode(value)


@given(st.binary(max_size=20))
@examples(500)
def test_any_bytes_of_a_primitive_type_are_a_value_that_is_written_equal_or_a_decode_error(data: bytes) -> None:
    for kind in PRIMITIVES:
        format = primitive_format(kind, {}, {})
        value = is_value_or_error(format, data)
        if value is not None and kind != "BOOLEAN" and value == value:
            assert format.decode(format.encode(value)) == value
        if kind in ("INT8", "INT16", "INT32", "INT64", "STRING", "BYTES") and value is not None:
            assert format.encode(value) == data


@given(st.floats())
@examples(1000)
def test_a_double_keeps_its_value_in_javas_notation(value: float) -> None:
    text = double_text(value)
    if math.isfinite(value):
        back = float(text)
        assert (back, math.copysign(1, back)) == (value, math.copysign(1, value))
        assert "." in text
    else:
        assert text in ('"NaN"', '"Infinity"', '"-Infinity"')


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@examples(1000)
def test_a_float_keeps_its_value_in_javas_notation(value: float) -> None:
    assert to_float(float(float_text(value))) == value
    assert len(float_text(value)) <= 16


@st.composite
def near_ties(draw: st.DrawFn) -> tuple[str, float]:
    """The text of a number near the middle of two floats, and the float nearest to it; of two, the even one."""
    low = draw(st.floats(width=32, min_value=0, max_value=2.0**127))
    bits = struct.unpack("<I", struct.pack("<f", low))[0]
    high = struct.unpack("<f", struct.pack("<I", bits + 1))[0]
    middle = (Fraction(low) + Fraction(high)) / 2
    shift = draw(st.sampled_from([0, 1, -1])) * (Fraction(high) - Fraction(low)) / 10 ** draw(st.integers(1, 30))
    number, side = middle + shift, shift or (-1 if bits % 2 == 0 else 1)
    with localcontext(prec=400):
        return str(Decimal(number.numerator) / Decimal(number.denominator)), high if side > 0 else low


@given(near_ties())
@examples(1000)
def test_a_float_of_json_is_the_nearest_one_in_objects_and_columns(sample: tuple[str, float]) -> None:
    text, nearest = sample
    assert to_nearest_float(JsonNumber(text)) == nearest == pa.array([text]).cast(pa.float32())[0].as_py()
    assert to_nearest_float(JsonNumber(f"-{text}")) == -nearest


@given(st.integers(-62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1))
@examples(1000)
def test_a_moment_keeps_its_nanoseconds_in_jacksons_seconds(nanos: int) -> None:
    assert seconds_to_nanos(JsonNumber(seconds_text(nanos)), "x") == nanos


@given(schema_and_datum())
@examples(500)
def test_an_object_reads_the_same_from_json_and_from_avro(sample: tuple[Any, Any]) -> None:
    schema, datum = sample
    format, codec = json_of(schema), Codec(schema)
    data = format.encode(datum)
    back = format.decode(data)
    # JSON does not tell text from bytes and symbols, nor a number from another.
    assume(all(len([branch for branch in union if branch != "null"]) <= 1 for union in unions(schema)))
    assert back == codec.decode(codec.encode(datum))
    assert format.encode(back) == data
    assert json.loads(data) is not ...


@given(schema_and_datum(), EDITS)
@examples(500)
def test_damaged_json_is_a_value_or_an_error(sample: tuple[Any, Any], edits: list[tuple[str, int, int]]) -> None:
    schema, datum = sample
    format = json_of(schema)
    is_value_or_error(format, edited(format.encode(datum), edits))


@given(schema_and_datum(), PLAIN)
@examples(1000)
def test_any_json_by_any_schema_is_a_value_or_an_error(sample: tuple[Any, Any], tree: Any) -> None:
    data = JsonFormat(None).encode(tree)
    for options in ({}, {"avro_logical_types": False, "return_record_name": True, "max_items": 20, "max_depth": 3}):
        is_value_or_error(json_of(sample[0], **options), data)


@given(PLAIN)
@examples(500)
def test_plain_json_data_is_read_back_equal(tree: Any) -> None:
    format = JsonFormat(None)
    data = format.encode(tree)
    assert format.encode(format.decode(data)) == data
    assert json.loads(data) == json.loads(json.dumps(named(tree)))


def named(tree: Any) -> Any:
    """The infinities as text, as Jackson writes them."""
    if isinstance(tree, float) and math.isinf(tree):
        return "Infinity" if tree > 0 else "-Infinity"
    if isinstance(tree, dict):
        return {key: named(item) for key, item in tree.items()}
    return [named(item) for item in tree] if isinstance(tree, list) else tree


@given(st.binary(max_size=60))
@examples(500)
def test_any_bytes_without_a_schema_are_a_value_or_a_decode_error(data: bytes) -> None:
    is_value_or_error(JsonFormat(None), data)
