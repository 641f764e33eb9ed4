"""The codec for every logical type: exact bytes, round trip, base types, time zones, strictness."""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import pickle
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from program import printed
from rows import Row
from schemas import record
from wire import sized, varint

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError

UTC = dt.UTC


def on(base: str, logical: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": logical, **more}


def fixed(size: int, logical: str, **more: Any) -> dict[str, Any]:
    return on("fixed", logical, name="F", size=size, **more)


DATE = on("int", "date")
TIME_MS, TIME_US = on("int", "time-millis"), on("long", "time-micros")
TS_MS, TS_US, TS_NS = (on("long", f"timestamp-{unit}") for unit in ("millis", "micros", "nanos"))
LOCAL_MS, LOCAL_US, LOCAL_NS = (on("long", f"local-timestamp-{unit}") for unit in ("millis", "micros", "nanos"))
UUID_TEXT, UUID_FIXED = on("string", "uuid"), fixed(16, "uuid")
DURATION = fixed(12, "duration")
BIG = on("bytes", "big-decimal")
ID = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")


def decimal(precision: int, scale: int = 0) -> dict[str, Any]:
    return on("bytes", "decimal", precision=precision, scale=scale)


def fixed_decimal(size: int, precision: int, scale: int = 0) -> dict[str, Any]:
    return fixed(size, "decimal", precision=precision, scale=scale)


FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
FIRST_US = (FIRST - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
LAST_US = (LAST - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)

SAMPLES: list[tuple[Any, Any, bytes]] = [
    (DATE, dt.date(1970, 1, 1), b"\x00"),
    (DATE, dt.date(1969, 12, 31), b"\x01"),
    (DATE, dt.date(2000, 2, 29), varint(11_016)),
    (DATE, dt.date(1900, 3, 1), varint(-25_508)),
    (DATE, dt.date.min, varint(-719_162)),
    (DATE, dt.date.max, varint(2_932_896)),
    (TIME_MS, dt.time(0), b"\x00"),
    (TIME_MS, dt.time(23, 59, 59, 999_000), varint(86_399_999)),
    (TIME_US, dt.time(0, 0, 0, 1), b"\x02"),
    (TIME_US, dt.time(23, 59, 59, 999_999), varint(86_399_999_999)),
    (TS_MS, dt.datetime(1970, 1, 1, tzinfo=UTC), b"\x00"),
    (TS_MS, dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), b"\x01"),
    (TS_MS, dt.datetime(2013, 1, 1, 5, tzinfo=UTC), varint(1_357_016_400_000)),
    (TS_US, dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC), b"\x02"),
    (TS_US, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), b"\x01"),
    (TS_US, FIRST.replace(tzinfo=UTC), varint(FIRST_US)),
    (TS_US, LAST.replace(tzinfo=UTC), varint(LAST_US)),
    (TS_NS, 1_357_016_400_000_000_001, varint(1_357_016_400_000_000_001)),
    (TS_NS, -(2**63), varint(-(2**63))),
    (LOCAL_MS, dt.datetime(2000, 2, 29, 12), varint(951_825_600_000)),
    (LOCAL_US, dt.datetime(1970, 1, 1, 0, 0, 0, 1), b"\x02"),
    (LOCAL_US, FIRST, varint(FIRST_US)),
    (LOCAL_US, LAST, varint(LAST_US)),
    (LOCAL_NS, 2**63 - 1, varint(2**63 - 1)),
    (UUID_TEXT, ID, sized(b"f81d4fae-7dec-11d0-a765-00a0c91e6bf6")),
    (UUID_TEXT, uuid.UUID(int=0), sized(b"00000000-0000-0000-0000-000000000000")),
    (UUID_FIXED, ID, ID.bytes),
    (UUID_FIXED, uuid.UUID(int=2**128 - 1), b"\xff" * 16),
    (DURATION, Duration(1, 2, 3), b"\1\0\0\0\2\0\0\0\3\0\0\0"),
    (DURATION, Duration(2**32 - 1, 0, 2**31), b"\xff\xff\xff\xff\0\0\0\0\0\0\0\x80"),
    (decimal(4, 2), Decimal("0.00"), sized(b"\x00")),
    (decimal(4, 2), Decimal("1.27"), sized(b"\x7f")),
    (decimal(4, 2), Decimal("1.28"), sized(b"\x00\x80")),
    (decimal(4, 2), Decimal("-1.28"), sized(b"\x80")),
    (decimal(4, 2), Decimal("-1.29"), sized(b"\xff\x7f")),
    (decimal(4, 2), Decimal("99.99"), sized(b"\x27\x0f")),
    (decimal(18), Decimal(10**18 - 1), sized((10**18 - 1).to_bytes(8, "big"))),
    (decimal(19), Decimal(2**63 - 1), sized(b"\x7f" + b"\xff" * 7)),
    (decimal(19), Decimal(-(2**63)), sized(b"\x80" + b"\x00" * 7)),
    (decimal(19), Decimal(2**63), sized(b"\x00\x80" + b"\x00" * 7)),
    (decimal(38, 38), Decimal("0." + "9" * 38), sized((10**38 - 1).to_bytes(16, "big"))),
    (decimal(4300, 4300), Decimal("1E-4300"), sized(b"\x01")),
    (decimal(4300), Decimal(10**4300 - 1), sized((10**4300 - 1).to_bytes(1786, "big"))),
    (fixed_decimal(1, 2, 1), Decimal("-9.9"), b"\x9d"),
    (fixed_decimal(3, 4, 2), Decimal("99.99"), b"\x00\x27\x0f"),
    (fixed_decimal(12, 20), Decimal(-1), b"\xff" * 12),
    (fixed_decimal(12, 20), Decimal(10**20 - 1), (10**20 - 1).to_bytes(12, "big")),
    (BIG, Decimal("0"), sized(sized(b"\x00") + b"\x00")),
    (BIG, Decimal("1.28"), sized(sized(b"\x00\x80") + b"\x04")),
    (BIG, Decimal("-1.28"), sized(sized(b"\x80") + b"\x04")),
    (BIG, Decimal(10**4300 - 1), sized(sized((10**4300 - 1).to_bytes(1786, "big")) + b"\x00")),
    (BIG, Decimal("1E+3"), sized(sized(b"\x01") + b"\x05")),
    (BIG, Decimal("1E+2147483648"), sized(sized(b"\x01") + varint(-(2**31)))),
    (BIG, Decimal("-1E+2147483647"), sized(sized(b"\xff") + varint(-(2**31) + 1))),
    (BIG, Decimal("1E-2147483647"), sized(sized(b"\x01") + varint(2**31 - 1))),
    (BIG, Decimal("0E-2147483647"), sized(sized(b"\x00") + varint(2**31 - 1))),
    (
        BIG,
        Decimal("123456789012345678901234567890.5"),
        sized(sized((1234567890123456789012345678905).to_bytes(13, "big")) + b"\x02"),
    ),
]


def ident(sample: object) -> str:
    if isinstance(sample, dict):
        return str(sample["logicalType"])
    return type(sample).__name__ if isinstance(sample, int | bytes) else str(sample)[:30]


@pytest.mark.parametrize(("schema", "datum", "data"), SAMPLES, ids=ident)
def test_each_logical_type_is_encoded_to_exactly_the_specified_bytes(schema: Any, datum: Any, data: bytes) -> None:
    codec = Codec(schema)

    assert codec.encode(datum) == data
    back = codec.decode(data)
    assert (repr(back), type(back)) == (repr(datum), type(datum))
    assert codec.skip(data + b"!") == len(data)
    for end in range(0, len(data), max(len(data) // 20, 1)):
        with pytest.raises(DecodeError):
            codec.decode(data[:end])


@pytest.mark.parametrize(("schema", "datum", "data"), SAMPLES, ids=ident)
def test_logical_types_work_inside_unions_and_containers(schema: Any, datum: Any, data: bytes) -> None:
    codec = Codec({"type": "map", "values": ["null", "boolean", {"type": "array", "items": ["null", schema]}]})

    assert codec.decode(codec.encode({"k": [None, datum]})) == {"k": [None, datum]}


class Stamp(dt.datetime):
    pass


EAST, ODD = dt.timezone(dt.timedelta(hours=5, minutes=30)), dt.timezone(dt.timedelta(hours=-4, microseconds=-1))


@pytest.mark.parametrize(
    ("schema", "datum", "back"),
    [
        (DATE, 11_016, dt.date(2000, 2, 29)),
        (TIME_MS, 1, dt.time(0, 0, 0, 1000)),
        (TIME_MS, dt.time(0, 0, 0, 1999), dt.time(0, 0, 0, 1000)),  # microseconds are truncated to milliseconds
        (TIME_US, 86_399_999_999, dt.time(23, 59, 59, 999_999)),
        (TS_MS, 1_357_016_400_000, dt.datetime(2013, 1, 1, 5, tzinfo=UTC)),
        (
            TS_MS,
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC),
        ),
        (TS_US, dt.datetime(2013, 1, 1, 10, 30, tzinfo=EAST), dt.datetime(2013, 1, 1, 5, tzinfo=UTC)),
        (TS_US, dt.datetime(2013, 1, 1, 1, tzinfo=ODD), dt.datetime(2013, 1, 1, 5, 0, 0, 1, UTC)),
        (TS_US, Stamp(2013, 1, 1, 10, 30, tzinfo=EAST), dt.datetime(2013, 1, 1, 5, tzinfo=UTC)),
        (TS_US, dt.datetime(9999, 12, 31, 23, tzinfo=EAST), dt.datetime(9999, 12, 31, 17, 30, tzinfo=UTC)),
        (TS_NS, dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC), 1000),
        (LOCAL_NS, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1000),
        (LOCAL_MS, Stamp(2000, 1, 1), dt.datetime(2000, 1, 1)),
        (UUID_TEXT, str(ID), ID),
        (UUID_TEXT, f"{{{ID}}}".upper(), ID),
        (UUID_FIXED, ID.bytes, ID),
        (UUID_FIXED, str(ID), ID),
        (DURATION, (1, 2, 3), Duration(1, 2, 3)),
        (DURATION, [1, 2, 3], Duration(1, 2, 3)),
        (decimal(4, 2), 5, Decimal("5.00")),
        (decimal(4, 2), Decimal("5"), Decimal("5.00")),
        (decimal(4, 2), Decimal("1E+1"), Decimal("10.00")),
        (decimal(4, 2), Decimal("1.2300000"), Decimal("1.23")),
        (decimal(4, 2), Decimal("-0"), Decimal("0.00")),
        (decimal(38, 10), Decimal("0E-50"), Decimal("0E-10")),
        (fixed_decimal(9, 18), -7, Decimal(-7)),
        (BIG, 10**30, Decimal(10**30)),
    ],
    ids=ident,
)
def test_other_representations_of_a_value_are_accepted(schema: Any, datum: Any, back: Any) -> None:
    result = Codec(schema).decode(Codec(schema).encode(datum))

    assert repr(result) == repr(back)


@pytest.mark.parametrize(
    ("schema", "data", "value"),
    [
        (UUID_TEXT, sized(ID.hex.encode()), ID),
        (UUID_TEXT, sized(str(ID).upper().encode()), ID),
        (decimal(4, 2), sized(b"\x00\x00\x00\x01"), Decimal("0.01")),
        (decimal(4, 2), sized(b"\xff" * 5000), Decimal("-0.01")),
        (decimal(19), sized(b"\x00" * 5000), Decimal(0)),
        (BIG, sized(sized(b"\x00\x00\x01") + b"\x04"), Decimal("0.01")),
    ],
    ids=ident,
)
def test_encodings_that_other_writers_may_produce_are_read(schema: Any, data: bytes, value: Any) -> None:
    assert repr(Codec(schema).decode(data)) == repr(value)


@pytest.mark.parametrize(("schema", "tick"), [(TS_MS, 1_000), (TS_US, 1)])
def test_the_limits_of_a_datetime_with_a_time_zone_are_those_in_utc(schema: Any, tick: int) -> None:
    codec = Codec(schema)
    west, east = dt.timezone(dt.timedelta(hours=-1)), dt.timezone(dt.timedelta(hours=1))
    last = dt.datetime(9999, 12, 31, 22, 59, 59, 1_000_000 - tick, west)
    first = dt.datetime(1, 1, 1, 1, tzinfo=east)
    assert codec.decode(codec.encode(last)) == LAST.replace(microsecond=1_000_000 - tick, tzinfo=UTC)
    assert codec.decode(codec.encode(first)) == FIRST.replace(tzinfo=UTC)
    for beyond in (
        dt.datetime(9999, 12, 31, 23, tzinfo=west),
        LAST.replace(tzinfo=west),
        dt.datetime(1, 1, 1, 0, 59, 59, 999_999, east),
        FIRST.replace(tzinfo=east),
    ):
        with pytest.raises(EncodeError, match="is outside of the years 1 to 9999 in UTC"):
            codec.encode(beyond)
    for zone, moment in ((east, LAST), (west, FIRST)):  # with the opposite offset, both fit
        codec.decode(codec.encode(moment.replace(tzinfo=zone)))


@pytest.mark.parametrize("size", [*range(1, 20), 100, 1_785])
def test_a_decimal_on_fixed_has_at_most_as_many_digits_as_fit(size: int) -> None:
    """Avro 1.12, "Decimal": on fixed of n bytes, at most floor(log10(2**(8n - 1) - 1)) digits."""
    digits = len(str(2 ** (8 * size - 1) - 1)) - 1
    codec = Codec(fixed_decimal(size, digits))
    for number in (10**digits - 1, 1 - 10**digits):
        data = number.to_bytes(size, "big", signed=True)
        assert codec.encode(Decimal(number)) == data
        assert codec.decode(data) == number
    with pytest.raises(SchemaError, match=f"precision {digits + 1} does not fit {size} bytes"):
        Codec(fixed_decimal(size, digits + 1))
    lenient = Codec(
        parse(fixed_decimal(size, digits + 1), strict=False)
    )  # a schema from the registry: read as its base type
    assert lenient.decode(b"\x7f" * size) == b"\x7f" * size


def test_seven_digits_do_not_fit_three_bytes() -> None:
    with pytest.raises(SchemaError, match="precision 7 does not fit 3 bytes"):
        Codec(fixed_decimal(3, 7))
    assert Codec(fixed_decimal(3, 6)).encode(Decimal(999_999)) == b"\x0f\x42\x3f"


def test_dates_over_the_whole_calendar_are_read_back_equal() -> None:
    codec, day = Codec(DATE), dt.date.min
    while True:
        assert codec.decode(codec.encode(day)) == day
        if dt.date.max - day < dt.timedelta(days=29):
            break
        day += dt.timedelta(days=29)
    for year in (1, 4, 100, 400, 1600, 1900, 1969, 1970, 2000, 2024, 9999):
        for month, number in ((1, 1), (2, 28), (3, 1), (12, 31)):
            day = dt.date(year, month, number)
            assert codec.encode(day) == varint(day.toordinal() - 719_163)


@pytest.mark.parametrize(
    ("schema", "datum", "back"),
    [
        (on("string", "date"), "x", "x"),
        (on("int", "timestamp-millis"), 5, 5),
        (on("bytes", "decimal"), b"x", b"x"),
        (on("bytes", "decimal", precision=2, scale=3), b"x", b"x"),
        (on("bytes", "decimal", precision=0), b"x", b"x"),
        (on("bytes", "decimal", precision=5, scale=-1), b"x", b"x"),
        (on("bytes", "decimal", precision="5"), b"x", b"x"),
        (fixed(1, "decimal", precision=3), b"x", b"x"),
        (fixed(15, "uuid"), b"x" * 15, b"x" * 15),
        (fixed(11, "duration"), b"x" * 11, b"x" * 11),
        (on("int", "unheard-of"), 5, 5),
        (on("int", "date") | {"logicalType": 7}, 5, 5),
    ],
    ids=str,
)
def test_a_bad_logical_type_from_the_registry_is_read_as_its_base_type(schema: Any, datum: Any, back: Any) -> None:
    codec = Codec(parse(schema, strict=False))

    assert codec.decode(codec.encode(datum)) == back


# --- refused values ---------------------------------------------------------------------------------------------------

REFUSED: list[tuple[Any, Any, str]] = [
    (DATE, dt.datetime(2020, 1, 1), "expected date, got datetime"),
    (DATE, "2020-01-01", "expected date, got str '2020-01-01'"),
    (DATE, 2_932_897, "date 2932897 is outside of the years 1 to 9999"),
    (DATE, True, "expected date, got bool True"),
    (DATE, 1.0, "expected date, got float 1.0"),
    (TIME_MS, dt.time(1, tzinfo=UTC), "expected a time without a time zone for time-millis"),
    (TIME_MS, 86_400_000, "time-millis 86400000 is not a time of day"),
    (TIME_US, -1, "time-micros -1 is not a time of day"),
    (TIME_US, dt.timedelta(1), "expected a time for time-micros, got timedelta"),
    (TS_MS, dt.datetime(2020, 1, 1), "expected a datetime with a time zone for timestamp-millis"),
    (TS_US, dt.datetime(2020, 1, 1), "expected a datetime with a time zone for timestamp-micros"),
    (TS_NS, dt.datetime(2020, 1, 1), "expected a datetime with a time zone for timestamp-nanos"),
    (TS_MS, dt.date(2020, 1, 1), "expected a datetime for timestamp-millis, got date"),
    (TS_MS, 1.5, "expected a datetime for timestamp-millis, got float 1.5"),
    (TS_MS, True, "got bool True"),
    (TS_MS, (LAST_US // 1000) + 1, "is outside of the years 1 to 9999"),
    (TS_US, LAST_US + 1, "is outside of the years 1 to 9999"),
    (TS_US, FIRST_US - 1, "is outside of the years 1 to 9999"),
    (TS_US, 2**63, "timestamp-micros out of range"),
    (TS_US, dt.datetime(1, 1, 1, tzinfo=EAST), "is outside of the years 1 to 9999 in UTC"),
    (TS_US, dt.datetime(9999, 12, 31, 23, 59, tzinfo=ODD), "is outside of the years 1 to 9999 in UTC"),
    (TS_NS, 2**63, "timestamp-nanos out of range"),
    (TS_NS, dt.datetime(2300, 1, 1, tzinfo=UTC), "does not fit in 64 bits of nanoseconds"),
    (LOCAL_NS, dt.datetime(1600, 1, 1), "does not fit in 64 bits of nanoseconds"),
    (
        LOCAL_MS,
        dt.datetime(2020, 1, 1, tzinfo=UTC),
        "expected a datetime without a time zone for local-timestamp-millis",
    ),
    (UUID_TEXT, "nothing", "expected uuid, got 'nothing', which is not a valid UUID"),
    (UUID_TEXT, b"0" * 16, "expected uuid, got bytes"),
    (UUID_FIXED, b"0" * 15, "which is not a valid UUID"),
    (UUID_FIXED, 5, "expected uuid, got int 5"),
    (DURATION, (1, 2), "expected duration, got tuple"),
    (DURATION, (0, 0, -1), "duration: expected counts from 0 to 4294967295, got -1"),
    (DURATION, (2**32, 0, 0), "duration: expected counts from 0 to 4294967295, got 4294967296"),
    (DURATION, (1.0, 0, 0), "expected duration, got float 1.0"),
    (decimal(4, 2), Decimal("1.234"), "it has more than 2 decimal places"),
    (decimal(4, 2), Decimal("100"), "it has more than 4 digits"),
    (decimal(4, 2), 100, "it has more than 4 digits"),
    (decimal(4, 2), Decimal("NaN"), "cannot hold NaN"),
    (decimal(4, 2), Decimal("sNaN"), "cannot hold sNaN"),
    (decimal(4, 2), Decimal("-Infinity"), "cannot hold -Infinity"),
    (decimal(4, 2), 1.5, "expected a Decimal for decimal(4, 2), got float 1.5"),
    (decimal(4, 2), "1.5", "expected a Decimal for decimal(4, 2), got str '1.5'"),
    (decimal(4, 2), True, "expected a Decimal for decimal(4, 2), got bool True"),
    (decimal(4, 2), Decimal("1E+999999999"), "it has more than 4 digits"),
    (decimal(4, 2), Decimal("1E-999999999"), "it has more than 2 decimal places"),
    (decimal(4, 2), 10**10_000, "cannot hold a number of more than 256 bits"),
    (fixed_decimal(2, 4), Decimal(10_000), "it has more than 4 digits"),
    (BIG, Decimal("NaN"), "cannot hold NaN"),
    (BIG, Decimal("1E+2147483649"), "big-decimal cannot hold an exponent of 2147483649"),
    (BIG, Decimal("1E-2147483648"), "big-decimal cannot hold an exponent of -2147483648"),
    (BIG, Decimal("0E+2147483649"), "big-decimal cannot hold an exponent of 2147483649"),
    (BIG, 1.5, "expected a Decimal for big-decimal, got float 1.5"),
]


@pytest.mark.parametrize(("schema", "datum", "text"), REFUSED, ids=ident)
def test_values_that_could_not_be_read_back_are_refused(schema: Any, datum: Any, text: str) -> None:
    for written in (schema, ["null", schema]):
        with pytest.raises(EncodeError) as caught:
            Codec(written).encode(datum)
        assert text in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "data", "text"),
    [
        (DATE, varint(2_932_897), "date 2932897 is outside of the years 1 to 9999"),
        (DATE, varint(-719_163), "date -719163 is outside"),
        (DATE, varint(2**31), "integer of at most 32 bits"),
        (TIME_MS, varint(-1), "time-millis -1 is not a time of day"),
        (TIME_US, varint(86_400_000_000), "is not a time of day"),
        (TS_MS, varint(2**63 - 1), "is outside of the years 1 to 9999"),
        (TS_US, varint(-(2**63)), "is outside of the years 1 to 9999"),
        (TS_US, varint(LAST_US + 1), "is outside of the years 1 to 9999"),
        (LOCAL_MS, varint(-(2**63)), "is outside of the years 1 to 9999"),
        (UUID_TEXT, sized(b"nothing"), "expected uuid, got 'nothing', which is not a valid UUID"),
        (UUID_TEXT, sized(b"z" * 36), "which is not a valid UUID"),
        (UUID_TEXT, sized(b"\xff" * 36), "expected text in UTF-8"),
        (decimal(4, 2), b"\x00", "expected a decimal, got no bytes"),
        (decimal(20), sized(b"\x7f" * 100_000), "expected a decimal of at most 4300 digits"),
        (decimal(20), sized((10**4300).to_bytes(1786, "big")), "expected a decimal of at most 4300 digits"),
        (BIG, b"\x00", "the message ends in the middle of a number"),
        (BIG, sized(b"\x00\x00"), "expected a big-decimal of 1 to 1786 bytes, got 0"),
        (BIG, sized(sized(b"\x01" * 1787) + b"\x00"), "expected a big-decimal of 1 to 1786 bytes, got 1787"),
        (BIG, sized(sized(b"\x7f" * 1786) + b"\x00"), "4300 digits"),
        (BIG, sized(sized(b"\x01") + b"\x00\x00"), "expected the end of the big-decimal, got 1 more bytes"),
        (BIG, sized(b"\x04\x01"), "expected a length from 0 to 1, the number of remaining bytes, got 2"),
        (BIG, sized(sized(b"\x01") + varint(2**31)), "integer of at most 32 bits"),
        (BIG, sized(sized(b"\x01") + varint(-(2**31) - 1)), "integer of at most 32 bits"),
    ],
    ids=ident,
)
def test_bytes_that_represent_no_value_are_refused(schema: Any, data: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Codec(schema).decode(data)
    assert text in str(caught.value)


BEYOND = [10**4, -(10**4), 2**31, -(10**9), 2**63, -(2**63) - 1, 10**38, -(10**100), 10**4300 - 1, 1 - 10**4300]


@pytest.mark.parametrize("unscaled", BEYOND, ids=lambda number: f"{len(str(number))} digits")
def test_a_decimal_beyond_the_precision_of_its_schema_is_read(unscaled: int) -> None:
    """As by Java: not every producer checks what it writes."""
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    data = unscaled.to_bytes(size, "big", signed=True)
    expected = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -2))

    for schema, message in ((decimal(4, 2), sized(data)), (fixed_decimal(size, 4, 2), data)):
        found = Codec(schema).decode(message)
        assert (found, found.as_tuple()) == (expected, expected.as_tuple())
        assert Codec(schema, schema).decode(message) == Codec(["null", schema]).decode(b"\x02" + message) == expected
        with pytest.raises(EncodeError, match=r"decimal\(4, 2\) cannot hold .*: it has more than 4 digits"):
            Codec(schema).encode(found)


def test_pandas_timestamps_keep_nanoseconds_or_are_refused_and_so_is_nat() -> None:
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp(1_357_016_400_000_001_999, unit="ns", tz="UTC")

    assert Codec(TS_NS).encode(stamp) == varint(1_357_016_400_000_001_999)
    for schema, zone in ((TS_US, "UTC"), (TS_MS, "Asia/Kolkata"), (LOCAL_US, None), (LOCAL_MS, None)):
        one, micros = stamp.tz_convert(zone), 1_357_016_400_000_001
        truncated = varint(micros if schema in (TS_US, LOCAL_US) else micros // 1000)
        with pytest.raises(EncodeError, match=r"-mi\w+ cannot hold the nanoseconds of .*truncate.times=true drops"):
            Codec(["null", schema]).encode(one)
        assert Codec(schema, truncate_times=True).encode(one) == Codec(schema).encode(one.floor("us")) == truncated
    for schema in (TS_MS, TS_US, TS_NS, LOCAL_MS, LOCAL_NS, DATE):
        with pytest.raises(EncodeError):
            Codec(schema).encode(pandas.NaT)
        with pytest.raises(EncodeError):
            Codec(["null", schema]).encode(pandas.NaT)


# --- naive datetimes --------------------------------------------------------------------------------------------------

LOCAL_TIME = """
import datetime as dt, time
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError
from {rows} import Row
ts = {{"type": "long", "logicalType": "timestamp-micros"}}
inner = {{"type": "record", "name": "I", "fields": [{{"name": "t", "type": ts}}]}}
codec = Codec({{"type": "record", "name": "R", "fields": [{{"name": "a", "type": ts}}, {{"name": "l", "type":
    {{"type": "array", "items": inner}}}}, {{"name": "u", "type": ["null", ts]}}]}})
outside = Codec({{"type": "record", "name": "O", "fields": [{{"name": "row", "type": ["null", inner]}},
    {{"name": "t", "type": ts}}]}})
for naive in (dt.datetime(2013, 1, 1), dt.datetime(2013, 7, 1, 12, 30), dt.datetime(2013, 11, 3, 1, 30),
              dt.datetime(2013, 11, 3, 1, 30, fold=1), dt.datetime(2013, 3, 10, 2, 30), dt.datetime(1950, 1, 1)):
    got = codec.decode(codec.encode(Row(a=naive, l=[Row(t=naive)], u=naive)))
    assert got["a"] == got["l"][0]["t"] == got["u"] == naive.astimezone(dt.timezone.utc), (naive, got)
    got = codec.decode(codec.encode(Row(u=None, l=[{{"t": naive}}], a=naive)))  # a mapping in a Row: local too
    assert got["a"] == got["l"][0]["t"] == naive.astimezone(dt.timezone.utc), (naive, got)
    try:
        print(outside.encode({{"row": Row(t=naive), "t": naive}}))
    except EncodeError as error:
        assert error.path == "t", error
    else:
        raise AssertionError("accepted a naive datetime outside the Row")
print(codec.decode(codec.encode(Row(a=dt.datetime(2013, 7, 1), l=[], u=None)))["a"].isoformat(), time.tzname)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="TZ does not set the time zone of a process on Windows")
@pytest.mark.parametrize("rows", ["rows", "pyspark.sql"])
@pytest.mark.parametrize(
    ("zone", "first_of_july"),
    [
        ("Asia/Kolkata", "2013-06-30T18:30:00+00:00"),
        ("America/New_York", "2013-07-01T04:00:00+00:00"),
        ("UTC", "2013-07-01T00:00:00+00:00"),
    ],
)
def test_naive_datetimes_are_local_time_only_in_a_row(zone: str, first_of_july: str, rows: str) -> None:
    if rows == "pyspark.sql" and (not importlib.util.find_spec("pyspark") or zone == "UTC"):
        pytest.skip("needs pyspark; two zones are enough for the real Row")
    path = os.pathsep.join(path for path in sys.path if path)

    assert printed("-c", LOCAL_TIME.format(rows=rows), TZ=zone, PYTHONPATH=path).startswith(first_of_july)


class Pair(NamedTuple):
    at: dt.datetime
    what: Any


def records_of(name: str, what: str) -> dict[str, Any]:
    """Return a record of an inner record (a timestamp and a value), followed by another timestamp."""
    fields = [{"name": "at", "type": TS_US}, {"name": "what", "type": what}]
    inner = {"type": "record", "name": f"In{name}", "fields": fields}
    return {"type": "record", "name": name, "fields": [{"name": "in", "type": inner}, {"name": "then", "type": TS_US}]}


EITHER = Codec(
    {
        "type": "record",
        "name": "Top",
        "fields": [
            {"name": "of", "type": [records_of("A", "int"), records_of("B", "string")]},
            {"name": "last", "type": TS_US},
        ],
    }
)
NAIVE = dt.datetime(2013, 7, 1, 12, 30)
AWARE = NAIVE.astimezone(dt.UTC)


def test_after_a_row_in_a_failed_branch_naive_datetimes_are_refused_again() -> None:
    """The first branch of the union fails inside the Row."""
    row = Row(at=NAIVE, what="no int")
    assert EITHER.decode(EITHER.encode({"of": {"in": row, "then": AWARE}, "last": AWARE})) == {
        "of": {"in": {"at": AWARE, "what": "no int"}, "then": AWARE},
        "last": AWARE,
    }
    with pytest.raises(EncodeError, match="no branch of the union of record A, record B accepts dict"):
        EITHER.encode({"of": {"in": row, "then": NAIVE}, "last": AWARE})
    with pytest.raises(EncodeError, match=r"field last: .*a datetime with a time zone"):
        EITHER.encode({"of": {"in": row, "then": AWARE}, "last": NAIVE})


def test_after_a_named_tuple_in_a_failed_branch_naive_datetimes_of_the_outer_row_are_local_again() -> None:
    """The first branch of the union fails inside the named tuple, where naive datetimes are refused."""
    pair = Pair(AWARE, "no int")
    row = Row(of={"in": pair, "then": NAIVE}, last=NAIVE)
    assert EITHER.decode(EITHER.encode(row)) == {
        "of": {"in": {"at": AWARE, "what": "no int"}, "then": AWARE},
        "last": AWARE,
    }
    with pytest.raises(EncodeError, match="no branch of the union of record A, record B accepts dict"):
        EITHER.encode(Row(of={"in": Pair(NAIVE, "no int"), "then": NAIVE}, last=NAIVE))


def test_after_an_error_in_a_row_the_next_message_refuses_naive_datetimes() -> None:
    codec = Codec(records_of("A", "int"))
    with pytest.raises(EncodeError, match=r"field in\.what"):
        codec.encode({"in": Row(at=NAIVE, what="no int"), "then": AWARE})
    with pytest.raises(EncodeError, match=r"field then: .*a datetime with a time zone"):
        codec.encode({"in": Row(at=NAIVE, what=1), "then": NAIVE})


def test_a_pyspark_row_is_encoded_by_name_without_as_dict() -> None:
    pyspark_sql = pytest.importorskip("pyspark.sql")
    row = pyspark_sql.Row
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "string"}]}
    fields = [
        {"name": "a", "type": "int"},
        {"name": "i", "type": ["null", inner]},
        {"name": "l", "type": {"type": "array", "items": "I"}},
        {"name": "d", "type": "int", "default": 7},
    ]
    codec = Codec({"type": "record", "name": "R", "fields": fields})
    one = {"x": 1, "y": "é"}

    for datum in (
        row(a=1, i=row(x=1, y="é"), l=[row(y="é", x=1)], d=7),
        row(l=[row(x=1, y="é")], i=row(y="é", x=1), a=1),
        row("i", "l", "a")(row("x", "y")(1, "é"), [one], 1),
    ):
        assert codec.decode(codec.encode(datum)) == {"a": 1, "i": one, "l": [one], "d": 7}


def test_a_decoded_duration_can_be_pickled() -> None:
    codec = Codec({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"})
    duration = codec.decode(codec.encode((1, 2, 3)))
    assert pickle.loads(pickle.dumps(duration)) == duration == Duration(1, 2, 3)


@pytest.mark.parametrize("counts", [[], [1], [1, 2, 3, 4], [7] * 200])
def test_a_duration_whose_iteration_does_not_give_three_counts_is_refused(counts: list[int]) -> None:
    class Lying(list[int]):
        def __len__(self) -> int:
            return 3

        def __iter__(self) -> Iterator[int]:
            return iter(counts)

    with pytest.raises(EncodeError, match="expected duration"):
        Codec({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}).encode(Lying([1, 2, 3]))


def test_int_subclasses_with_overridden_arithmetic_are_written_by_their_value() -> None:
    class Odd(int):
        def __abs__(self) -> int:
            return 99

    codec = Codec({"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2})
    assert codec.decode(codec.encode(Odd(5))) == Decimal("5.00")


@pytest.mark.parametrize("null_first", [True, False])
@pytest.mark.parametrize("value", [Decimal("1.23"), Decimal("-12345678901234.56"), Decimal("0.00"), None])
def test_a_nullable_decimal_is_read_back_equal(value: Decimal | None, null_first: bool) -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}
    fixed = {"type": "fixed", "name": "F", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 2}
    for kind in (decimal, fixed):
        union = ["null", kind] if null_first else [kind, "null"]
        codec = Codec(
            {"type": "record", "name": "R", "fields": [{"name": "a", "type": union}, {"name": "b", "type": "int"}]}
        )
        datum = {"a": value, "b": 7}
        assert codec.decode(codec.encode(datum)) == datum


NANOS_FIRST, NANOS_LAST = dt.datetime(1677, 9, 21, 0, 12, 43, 145225), dt.datetime(2262, 4, 11, 23, 47, 16, 854774)


@pytest.mark.parametrize("zone", [None, UTC])
@pytest.mark.parametrize(
    ("last", "beyond", "micros"),
    [
        (NANOS_FIRST, NANOS_FIRST - dt.timedelta(microseconds=1), -9_223_372_036_854_775),
        (NANOS_LAST, NANOS_LAST + dt.timedelta(microseconds=1), 9_223_372_036_854_774),
    ],
)
def test_nanosecond_timestamps_are_written_up_to_the_last_microsecond_that_fits(
    zone: Any, last: dt.datetime, beyond: dt.datetime, micros: int
) -> None:
    codec = Codec(LOCAL_NS if zone is None else TS_NS)

    assert codec.decode(codec.encode(last.replace(tzinfo=zone))) == micros * 1000
    with pytest.raises(EncodeError, match="does not fit in 64 bits of nanoseconds"):
        codec.encode(beyond.replace(tzinfo=zone))


def test_an_invalid_uuid_as_a_default_is_not_written() -> None:
    """Who reads it would refuse the message; without logical types it is text like any other."""
    schema = record("R", ("id", UUID_TEXT, "x"))
    for kind in (UUID_TEXT, [UUID_TEXT, "bytes"]):
        with pytest.raises(EncodeError, match="field id: the field is missing and its default 'x' does not fit"):
            Codec(record("R", ("id", kind, "x"))).encode({})
    assert Codec(schema, avro_logical_types=False).encode({}) == b"\2x"
    text = str(uuid.UUID(int=5))
    assert Codec(record("R", ("id", UUID_TEXT, text))).decode(b"H" + text.encode()) == {"id": uuid.UUID(int=5)}
    assert Codec(record("R", ("id", UUID_TEXT, text))).encode({}) == b"H" + text.encode()


@pytest.mark.parametrize("base", [{"type": "bytes"}, {"type": "fixed", "name": "F", "size": 2}])
def test_a_default_of_more_digits_than_the_precision_is_not_written(base: dict[str, Any]) -> None:
    """It is read, as in data; without logical types it is bytes like any other."""

    def of(number: int, *, nullable: bool = False) -> Any:
        decimal = {**base, "logicalType": "decimal", "precision": 3, "scale": 1}
        kind = ["null", decimal] if nullable else decimal
        return record("R", ("price", kind, number.to_bytes(2, "big", signed=True).decode("latin-1")))

    for number in (999, -999):
        assert Codec(of(number)).decode(Codec(of(number)).encode({})) == {"price": Decimal(number) / 10}
    for number in (1000, -1000):
        other = of(number)
        other["fields"][0]["type"] = [other["fields"][0]["type"], "string"]  # which takes the default as well
        for schema in (of(number), of(number, nullable=True), other):
            with pytest.raises(EncodeError, match=r"field price: the field is missing and its default .* does not fit"):
                Codec(schema).encode({})
        assert Codec(record("R"), of(number)).decode(b"") == {"price": Decimal(number) / 10}
        plain = Codec(of(number), avro_logical_types=False)
        assert plain.decode(plain.encode({})) == {"price": number.to_bytes(2, "big", signed=True)}
