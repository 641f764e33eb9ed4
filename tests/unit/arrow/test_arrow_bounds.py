"""Columns at the limits of types: the largest floats, block counts and decimals."""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from child import run_limited

pa = pytest.importorskip("pyarrow")

from streamnative_serdes.arrow import ColumnCodec  # noqa: E402 - requires pyarrow
from streamnative_serdes.codec import Codec  # noqa: E402
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError  # noqa: E402

INFINITY = math.inf
LARGEST = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]  # finite float
HALFWAY = LARGEST + 2.0**103  # between LARGEST and the next power: rounds up


def column(values: list[Any], kind: Any = None) -> Any:
    return pa.record_batch([pa.array(values, kind)], ["value"])


# --- floats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("schema", ["float", "double", ["null", "float"], ["float", "double"]], ids=str)
def test_infinities_and_nan_are_written_and_read_unchanged(schema: Any, kind: Any) -> None:
    values = [INFINITY, -INFINITY, math.nan, -0.0, LARGEST, -LARGEST]
    codec = ColumnCodec(schema)

    data = codec.encode(column(values, kind))
    wide = {"double"} <= set([schema] if isinstance(schema, str) else schema)
    assert [bytes(one)[-8 if wide else -4 :] for one in data.to_pylist()] == [
        struct.pack("<d" if wide else "<f", value) for value in values
    ]
    read = codec.decode(data).column(0).to_pylist()
    assert [repr(value) for value in read] == [repr(value) for value in values]
    assert [repr(Codec(schema).decode(one)) for one in data.to_pylist()] == [repr(value) for value in values]


@pytest.mark.parametrize("value", [HALFWAY, -HALFWAY, 1e39, -1e39, 1.7976931348623157e308])
def test_a_number_beyond_the_largest_float_is_an_error_and_does_not_become_infinite(value: float) -> None:
    for schema in ("float", ["null", "float"]):
        with pytest.raises(EncodeError, match=r"^row 1: float out of range: .* does not fit 32 bits") as caught:
            ColumnCodec(schema).encode(column([INFINITY, value]))
        assert repr(value) in str(caught.value)
    assert ColumnCodec("double").encode(column([value])).to_pylist() == [struct.pack("<d", value)]


def test_the_largest_number_that_rounds_to_a_finite_float_is_written() -> None:
    below = math.nextafter(HALFWAY, 0)
    assert ColumnCodec("float").encode(column([below, -below])).to_pylist() == [
        struct.pack("<f", LARGEST),
        struct.pack("<f", -LARGEST),
    ]


def test_integers_that_a_float_cannot_hold_exactly_are_errors() -> None:
    assert ColumnCodec("float").encode(column([2**24, -(2**24)])).to_pylist() == [
        struct.pack("<f", 2.0**24),
        struct.pack("<f", -(2.0**24)),
    ]
    for beyond in (2**24 + 1, -(2**24) - 1, 2**63 - 1):
        with pytest.raises(EncodeError, match="a float cannot hold an integer of the column without loss"):
            ColumnCodec("float").encode(column([beyond]))


# --- blocks -----------------------------------------------------------------------------------------------------------

LEAST = b"\xff" * 9 + b"\x01"  # -2**63 as the count of a block, which the size of the block follows
BLOCKS = {
    "array": {"type": "array", "items": "int"},
    "array of nulls": {"type": "array", "items": "null"},
    "map": {"type": "map", "values": "int"},
    "map of nulls": {"type": "map", "values": "null"},
}


@pytest.mark.parametrize("schema", BLOCKS.values(), ids=BLOCKS)
def test_a_block_count_of_minus_2_to_the_63_is_an_error(schema: Any) -> None:
    """A negative count is negated; for this one, the result would not fit and would stay negative."""
    told = run_limited(f"""
        import json
        import pyarrow as pa
        from streamnative_serdes.arrow import ColumnCodec

        fields = [{{"name": "x", "type": {schema!r}}}, {{"name": "y", "type": "int"}}]
        record, brief = ({{"type": "record", "name": "R", "fields": part}} for part in (fields, fields[1:]))
        for reader in (None, brief):                # decoded, and skipped
            for size in (b"\\0", b"\\2", b"\\1"):    # bytes of the block: 0, 1, -1
                bad = {LEAST!r} + size + b"\\0\\2"
                batch = ColumnCodec(record, reader).decode(pa.array([b"\\0\\2", bad, b"\\0\\2"]), error_column="why")
                rows = outcome(Codec(record).decode, bad)
                print(json.dumps([batch.column("y").to_pylist(), batch.column("why").to_pylist(), rows]))
    """)
    lines = [json.loads(line) for line in told.splitlines()]
    assert len(lines) == 6
    for numbers, why, (kind, said) in lines:
        assert numbers == [1, None, 1]
        assert why == [None, said, None]
        assert kind == "DecodeError"
        assert said.startswith("field x, byte 11: expected a block of at most the ")


def test_a_block_count_of_minus_2_to_the_63_plus_1_is_an_error() -> None:
    for schema in BLOCKS.values():
        bad = b"\xfd" + LEAST[1:] + b"\0\0"
        with pytest.raises(DecodeError, match=r"9223372036854775807|too many zero-byte values") as rows:
            Codec(schema).decode(bad)
        with pytest.raises(DecodeError) as columns:
            ColumnCodec(schema).decode(pa.array([bad]))
        assert str(columns.value) == f"row 0, {rows.value}"


# --- decimals ---------------------------------------------------------------------------------------------------------


def decimal_on(size: int, precision: int) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size, "logicalType": "decimal", "precision": precision, "scale": 0}


@pytest.mark.parametrize(("size", "precision"), [(1, 2), (2, 4), (3, 6), (4, 9), (8, 18), (9, 21), (12, 28)])
def test_a_decimal_cannot_have_more_digits_than_its_fixed_holds(size: int, precision: int) -> None:
    """Otherwise 9,999,999 in three bytes would be read as -6,777,217."""
    most = Decimal(10**precision - 1)
    codec = ColumnCodec(decimal_on(size, precision))
    batch = column([most, -most], pa.decimal128(38, 0))
    assert codec.decode(codec.encode(batch)).column(0).to_pylist() == [most, -most]
    with pytest.raises(EncodeError, match="it has too many digits"):
        codec.encode(column([most + 1], pa.decimal128(38, 0)))

    one_more = {"type": "record", "name": "R", "fields": [{"name": "x", "type": decimal_on(size, precision + 1)}]}
    with pytest.raises((EncodeError, SchemaError)):
        ColumnCodec(one_more).encode(pa.record_batch([pa.array([most], pa.decimal128(38, 0))], ["x"]))
