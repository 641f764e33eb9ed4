"""The formats of primitive types: exact bytes, what is accepted and what is refused, at each bound."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest

from streamnative_serdes._config import CodecArguments
from streamnative_serdes._formats import PRIMITIVES, Format, primitive_format
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError

UTC = dt.UTC
SECOND = 1_000_000_000
DAY = 86_400 * SECOND
INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))


def of(kind: str, charset: str | None = None, **options: Any) -> Format:
    arguments: CodecArguments = {**options}  # type: ignore[typeddict-item]
    return primitive_format(kind, {"__charset": charset} if charset else {}, arguments)


def at(*fields: int) -> dt.datetime:
    return dt.datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


INTEGERS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
SIZES = {
    "BOOLEAN": 1, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "DATE": 8, "TIME": 8,
    "TIMESTAMP": 8, "INSTANT": 12, "LOCAL_DATE": 8, "LOCAL_TIME": 8, "LOCAL_DATE_TIME": 16,
}  # fmt: skip


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_a_format_names_its_type_and_has_no_native_schema(kind: str) -> None:
    assert (of(kind).type, of(kind).native) == (kind, None)


@pytest.mark.parametrize("kind", SIZES)
def test_each_other_size_is_an_error_that_names_type_sizes_and_byte(kind: str) -> None:
    for size in {0, 1, SIZES[kind] - 1, SIZES[kind] + 1, SIZES[kind] * 2, 1000} - {SIZES[kind]}:
        with pytest.raises(DecodeError, match=f"(?m)expected {SIZES[kind]} bytes for {kind}, got {size}$") as caught:
            of(kind).decode(bytes(size))
        assert caught.value.offset == min(size, SIZES[kind])


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_are_big_endian_and_have_their_range(kind: str) -> None:
    format, bits = of(kind), INTEGERS[kind]
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    for number in (low, -1, 0, 1, high):
        assert format.encode(number) == number.to_bytes(bits // 8, signed=True)
        assert format.decode(format.encode(number)) == number
    for number in (low - 1, high + 1, 2**64):
        with pytest.raises(EncodeError, match="out of range"):
            format.encode(number)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("wrong", [True, False, 1.0, "1", None, b"\1"])
def test_only_ints_are_written_as_integers(kind: str, wrong: object) -> None:
    with pytest.raises(EncodeError, match=f"expected (int|long), got {type(wrong).__name__}"):
        of(kind).encode(wrong)


def test_each_byte_but_zero_is_true_as_in_java() -> None:
    assert [of("BOOLEAN").decode(bytes([byte])) for byte in (0, 1, 2, 255)] == [False, True, True, True]
    assert (of("BOOLEAN").encode(True), of("BOOLEAN").encode(False)) == (b"\1", b"\0")
    for wrong in (1, 0, None, "true"):
        with pytest.raises(EncodeError, match="expected boolean"):
            of("BOOLEAN").encode(wrong)


def test_floats_take_ints_that_lose_nothing_and_refuse_the_rest() -> None:
    assert of("FLOAT").encode(1) == bytes.fromhex("3f800000")
    assert of("DOUBLE").encode(1.5) == bytes.fromhex("3ff8000000000000")
    for kind, wrong in (("FLOAT", 1e39), ("FLOAT", 2**24 + 1), ("DOUBLE", 2**53 + 1), ("DOUBLE", True), ("FLOAT", "1")):
        with pytest.raises(EncodeError):
            of(kind).encode(wrong)


def test_nan_and_infinities_pass_and_a_nan_of_64_bits_is_javas() -> None:
    for kind in ("FLOAT", "DOUBLE"):
        assert math.isnan(of(kind).decode(of(kind).encode(math.nan)))
        for value in (math.inf, -math.inf, -0.0):
            assert math.copysign(1, of(kind).decode(of(kind).encode(value))) == math.copysign(1, value)
    odd = of("DOUBLE").decode(bytes.fromhex("fff8000000000001"))
    assert of("DOUBLE").encode(odd) == bytes.fromhex("7ff8000000000000")


def test_confluents_leniency_holds_for_primitives_too() -> None:
    assert of("INT32", confluent_leniency=True).encode(True) == b"\0\0\0\1"
    naive = dt.datetime(2013, 1, 1, 5)
    local = of("DATE").encode(naive.astimezone())
    assert of("DATE", confluent_leniency=True).encode(naive) == local
    assert of("INSTANT", confluent_leniency=True).encode(naive) == of("INSTANT").encode(naive.astimezone())


# --- STRING, BYTES, NONE ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["BYTES", "NONE"])
def test_bytes_are_the_bytes(kind: str) -> None:
    for given in (b"", b"\0\xff", bytearray(b"ab"), memoryview(b"ab")):
        written = of(kind).encode(given)
        assert type(written) is bytes
        assert written == given
        assert of(kind).decode(written) == given
    for wrong in ("text", 1, None, [1]):
        with pytest.raises(EncodeError, match="expected bytes"):
            of(kind).encode(wrong)


@pytest.mark.parametrize(
    ("charset", "text", "data"),
    [
        (None, "a\u00fc\u4e2d\U0001f600", "61c3bce4b8adf09f9880"),
        ("UTF-8", "a\u00fc", "61c3bc"),
        ("utf-8", "a\u00fc", "61c3bc"),
        ("UTF-16", "a\U0001f600", "feff0061d83dde00"),
        ("UTF-16", "", ""),
        ("UTF-16BE", "a", "0061"),
        ("UTF-16LE", "a", "6100"),
        ("US-ASCII", "a", "61"),
        ("ISO-8859-1", "\u00ff", "ff"),
    ],
)
def test_text_is_in_the_charset_of_the_schema(charset: str | None, text: str, data: str) -> None:
    assert of("STRING", charset).encode(text).hex() == data
    assert of("STRING", charset).decode(bytes.fromhex(data)) == text


def test_the_byte_order_mark_of_utf_16_decides_and_none_means_big_endian() -> None:
    decode = of("STRING", "UTF-16").decode
    assert [decode(bytes.fromhex(data)) for data in ("feff0061", "fffe6100", "0061", "feff", "")] == [
        "a",
        "a",
        "a",
        "",
        "",
    ]
    with pytest.raises(DecodeError) as caught:
        decode(bytes.fromhex("feff0061d83d"))
    assert caught.value.offset == 4
    with pytest.raises(DecodeError) as caught:
        decode(bytes.fromhex("0061d83d"))
    assert caught.value.offset == 2


@pytest.mark.parametrize(
    ("charset", "data", "offset"),
    [
        ("UTF-8", "6162ff", 2),
        ("UTF-8", "c080", 0),
        ("UTF-8", "eda080", 0),
        ("US-ASCII", "6180", 1),
        ("UTF-16BE", "00", 0),
    ],
)
def test_invalid_text_is_an_error_that_names_the_byte(charset: str, data: str, offset: int) -> None:
    with pytest.raises(DecodeError, match=f"expected text in {charset}") as caught:
        of("STRING", charset).decode(bytes.fromhex(data))
    assert caught.value.offset == offset


def test_text_that_the_charset_does_not_have_is_refused() -> None:
    for charset, text in ((None, "\ud83d"), ("US-ASCII", "\u00fc"), ("ISO-8859-1", "\u4e2d"), ("UTF-16", "\ud83d")):
        with pytest.raises(EncodeError, match="expected text"):
            of("STRING", charset).encode(text)
    for wrong in (b"text", 1, None):
        with pytest.raises(EncodeError, match="expected string"):
            of("STRING").encode(wrong)


@pytest.mark.parametrize("charset", ["UTF-7", "zip", "idna", "unicode_escape", "x" * 10_000, "Shift_JIS"])
def test_another_charset_is_an_error_that_names_it_and_a_way_out(charset: str) -> None:
    with pytest.raises(SchemaError, match=r"UTF-8, UTF-16.*BYTES") as caught:
        of("STRING", charset)
    assert charset[:40].upper() in str(caught.value)
    assert len(str(caught.value)) < 400


# --- dates and times --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["DATE", "TIME", "TIMESTAMP"])
def test_milliseconds_are_a_datetime_in_utc(kind: str) -> None:
    format = of(kind)
    for moment, millis in (
        (at(1970, 1, 1), 0),
        (at(1969, 12, 31, 23, 59, 59, 999_000), -1),
        (at(1, 1, 1), -62_135_596_800_000),
        (at(9999, 12, 31, 23, 59, 59, 999_000), 253_402_300_799_999),
    ):
        assert format.decode(millis.to_bytes(8, signed=True)) == moment
        assert format.decode(millis.to_bytes(8, signed=True)).tzinfo is UTC
        assert format.encode(moment) == format.encode(millis) == millis.to_bytes(8, signed=True)
    for millis in (-62_135_596_800_001, 253_402_300_800_000, 2**63 - 1, -(2**63)):
        with pytest.raises(DecodeError, match=f"{kind} is outside of the years 1 to 9999"):
            format.decode(millis.to_bytes(8, signed=True))
        with pytest.raises(EncodeError, match=f"{kind} out of range"):
            format.encode(millis)


@pytest.mark.parametrize("kind", ["DATE", "TIME", "TIMESTAMP"])
def test_microseconds_are_rounded_down_and_zones_are_converted(kind: str) -> None:
    format = of(kind)
    assert format.encode(at(1970, 1, 1, 0, 0, 0, 1_999)) == (1).to_bytes(8)
    assert format.encode(at(1969, 12, 31, 23, 59, 59, 999_999)) == (-1).to_bytes(8, signed=True)
    assert format.encode(dt.datetime(1970, 1, 1, 5, 30, tzinfo=INDIA)) == bytes(8)
    with pytest.raises(EncodeError, match="expected a datetime with a time zone"):
        format.encode(dt.datetime(1970, 1, 1))
    for wrong in (True, 1.0, "1970-01-01", None, dt.date(1970, 1, 1)):
        with pytest.raises(EncodeError, match=f"expected a datetime for {kind}, got {type(wrong).__name__}"):
            format.encode(wrong)


@pytest.mark.parametrize("kind", ["DATE", "TIME", "TIMESTAMP"])
def test_a_moment_that_could_not_be_read_is_not_written(kind: str) -> None:
    west, east = (dt.timezone(dt.timedelta(hours=hours)) for hours in (-1, 1))
    for moment in (dt.datetime(1, 1, 1, 0, 59, tzinfo=east), dt.datetime(9999, 12, 31, 23, tzinfo=west)):
        with pytest.raises(EncodeError, match=f"{kind} out of range: expected -62135596800000 to 253402300799999, got"):
            of(kind).encode(moment)


@pytest.mark.parametrize("kind", ["DATE", "TIME", "TIMESTAMP", "INSTANT"])
def test_local_time_that_utc_cannot_hold_is_an_error(kind: str) -> None:
    with pytest.raises(EncodeError, match=f"expected a datetime of the years 1 to 9999 in UTC for {kind}, got"):
        of(kind, confluent_leniency=True).encode(dt.datetime.min)


def test_time_takes_a_time_of_day_as_of_1970_but_date_and_timestamp_do_not() -> None:
    assert of("TIME").encode(dt.time(12, 30, 0, 5_000)) == (45_000_005).to_bytes(8)
    assert of("TIME").decode(of("TIME").encode(dt.time(12, 30))) == at(1970, 1, 1, 12, 30)
    for kind in ("DATE", "TIMESTAMP"):
        with pytest.raises(EncodeError, match="expected a datetime"):
            of(kind).encode(dt.time(12, 30))
    with pytest.raises(EncodeError, match="without a time zone"):
        of("TIME").encode(dt.time(12, 30, tzinfo=UTC))


FIRST_INSTANT = -31_557_014_167_219_200
LAST_INSTANT = 31_556_889_864_403_199


def test_an_instant_is_nanoseconds_as_far_as_javas_reach() -> None:
    format = of("INSTANT")
    for nanos in (0, 1, -1, 1_357_016_400_123_456_789, FIRST_INSTANT * SECOND, (LAST_INSTANT + 1) * SECOND - 1):
        seconds, rest = divmod(nanos, SECOND)
        assert format.encode(nanos) == seconds.to_bytes(8, signed=True) + rest.to_bytes(4)
        assert format.decode(format.encode(nanos)) == nanos
    for nanos in (FIRST_INSTANT * SECOND - 1, (LAST_INSTANT + 1) * SECOND):
        with pytest.raises(EncodeError, match="INSTANT out of range"):
            format.encode(nanos)
    for seconds in (FIRST_INSTANT - 1, LAST_INSTANT + 1, 2**63 - 1, -(2**63)):
        with pytest.raises(DecodeError, match=r"what java.time.Instant can hold"):
            format.decode(seconds.to_bytes(8, signed=True) + bytes(4))
    assert format.encode(at(1970, 1, 1, 0, 0, 0, 1)) == bytes(8) + (1000).to_bytes(4)
    with pytest.raises(EncodeError, match="with a time zone"):
        format.encode(dt.datetime(1970, 1, 1))


def test_an_instant_with_nanoseconds_beyond_its_second_is_read_as_java_reads_it() -> None:
    decode = of("INSTANT").decode
    assert decode(bytes(8) + (2**31 - 1).to_bytes(4)) == 2**31 - 1
    assert decode(bytes(8) + (-1).to_bytes(4, signed=True)) == -1
    with pytest.raises(DecodeError):
        decode(LAST_INSTANT.to_bytes(8, signed=True) + SECOND.to_bytes(4))


def test_a_local_date_is_a_date() -> None:
    format = of("LOCAL_DATE")
    for date, days in ((dt.date.min, -719_162), (dt.date(1970, 1, 1), 0), (dt.date.max, 2_932_896)):
        assert format.encode(date) == format.encode(days) == days.to_bytes(8, signed=True)
        assert format.decode(days.to_bytes(8, signed=True)) == date
    for days in (-719_163, 2_932_897, 2**63 - 1):
        with pytest.raises(DecodeError, match="LOCAL_DATE is outside of the years 1 to 9999"):
            format.decode(days.to_bytes(8, signed=True))
        with pytest.raises(EncodeError, match="LOCAL_DATE out of range"):
            format.encode(days)
    for wrong in (at(1970, 1, 1), dt.datetime(1970, 1, 1), "1970-01-01", True, None):
        with pytest.raises(EncodeError, match="expected a date for LOCAL_DATE"):
            format.encode(wrong)


def test_a_local_time_is_nanoseconds_of_the_day() -> None:
    format = of("LOCAL_TIME")
    for nanos in (0, 1, DAY - 1):
        assert format.encode(nanos) == nanos.to_bytes(8)
        assert format.decode(nanos.to_bytes(8)) == nanos
    assert format.encode(dt.time(0, 0, 1, 1)) == (SECOND + 1000).to_bytes(8)
    for nanos in (-1, DAY, 2**63 - 1):
        with pytest.raises(DecodeError, match="LOCAL_TIME is not a time of day"):
            format.decode(nanos.to_bytes(8, signed=True))
        with pytest.raises(EncodeError, match="LOCAL_TIME out of range"):
            format.encode(nanos)
    for wrong in (dt.time(1, tzinfo=UTC), at(1970, 1, 1), 1.5, True, None):
        with pytest.raises(EncodeError):
            format.encode(wrong)


FIRST_DAY, LAST_DAY = -365_243_219_162, 365_241_780_471


def test_a_local_date_time_is_nanoseconds_since_1970_of_no_zone() -> None:
    format = of("LOCAL_DATE_TIME")
    for day, nanos in ((0, 0), (-1, DAY - 1), (FIRST_DAY, 0), (LAST_DAY, DAY - 1)):
        data = day.to_bytes(8, signed=True) + nanos.to_bytes(8)
        assert format.encode(day * DAY + nanos) == data
        assert format.decode(data) == day * DAY + nanos
    assert format.encode(dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)) == (-1).to_bytes(8, signed=True) + (
        DAY - 1000
    ).to_bytes(8)
    for nanos in (FIRST_DAY * DAY - 1, (LAST_DAY + 1) * DAY):
        with pytest.raises(EncodeError, match="LOCAL_DATE_TIME out of range"):
            format.encode(nanos)
    with pytest.raises(EncodeError, match="without a time zone"):
        format.encode(at(1970, 1, 1))


@pytest.mark.parametrize(
    ("day", "nanos", "offset"), [(0, DAY, 8), (0, -1, 8), (FIRST_DAY - 1, 0, 0), (LAST_DAY + 1, 0, 0)]
)
def test_a_local_date_time_beyond_javas_reach_names_the_half(day: int, nanos: int, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        of("LOCAL_DATE_TIME").decode(day.to_bytes(8, signed=True) + nanos.to_bytes(8, signed=True))
    assert caught.value.offset == offset


TIMES = ("DATE", "TIME", "TIMESTAMP", "INSTANT", "LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME")
A_DAY, OCLOCK, NO_ZONE = dt.date(2020, 1, 2), dt.time(1), dt.datetime(2020, 1, 2)
# Of each type: values of Python's other types, and the hint about the type that they are for.
OF_ANOTHER_TYPE = [
    *((kind, A_DAY, "LOCAL_DATE is the type of dates") for kind in TIMES if kind != "LOCAL_DATE"),
    *((kind, OCLOCK, "LOCAL_TIME is the type of times of day") for kind in TIMES if kind not in ("TIME", "LOCAL_TIME")),
    *(
        (kind, NO_ZONE, "LOCAL_DATE_TIME is the type of datetimes without a time zone")
        for kind in ("DATE", "TIME", "TIMESTAMP", "INSTANT")
    ),
    ("LOCAL_DATE", NO_ZONE, "pass value.date() for the date of a datetime"),
    ("LOCAL_TIME", NO_ZONE, "pass value.time() for the time of day of a datetime"),
    (
        "LOCAL_DATE_TIME",
        NO_ZONE.replace(tzinfo=dt.UTC),
        "TIMESTAMP and INSTANT are types of datetimes with a time zone",
    ),
    ("TIME", OCLOCK.replace(tzinfo=dt.UTC), "value.replace(tzinfo=None)"),
    ("LOCAL_TIME", OCLOCK.replace(tzinfo=dt.UTC), "value.replace(tzinfo=None)"),
]


@pytest.mark.parametrize(("kind", "value", "hint"), OF_ANOTHER_TYPE)
def test_a_date_or_time_of_another_type_is_an_error_that_names_the_right_type(kind: str, value: Any, hint: str) -> None:
    with pytest.raises(EncodeError, match=f"expected .* for {kind}, got {type(value).__name__} ") as caught:
        of(kind).encode(value)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("kind", TIMES)
def test_a_value_that_is_neither_date_nor_time_has_no_hint_about_types(kind: str) -> None:
    for wrong in ("2020-01-01", 1.5, True, dt.timedelta(1)):
        with pytest.raises(EncodeError, match=f"for {kind}, got {type(wrong).__name__}") as caught:
            of(kind).encode(wrong)
        assert caught.value.hint is None


def test_moments_of_pandas_keep_their_nanoseconds_and_nat_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    moment = pandas.Timestamp("2013-01-01T05:00:00.123456789Z")
    assert of("INSTANT").decode(of("INSTANT").encode(moment)) == 1_357_016_400_123_456_789
    for kind in ("DATE", "TIME", "TIMESTAMP"):
        with pytest.raises(EncodeError, match=f"{kind} cannot hold the nanoseconds of 1357016400123456789 ns"):
            of(kind).encode(moment)
        truncated = of(kind, truncate_times=True).encode(moment)
        assert truncated == of(kind).encode(moment.floor("us")) == (1_357_016_400_123).to_bytes(8)
    local = moment.tz_localize(None)
    assert of("LOCAL_DATE_TIME").decode(of("LOCAL_DATE_TIME").encode(local)) == 1_357_016_400_123_456_789
    for kind in ("DATE", "INSTANT", "LOCAL_DATE_TIME"):
        with pytest.raises(EncodeError, match="a missing value is None, where the field may be null"):
            of(kind).encode(pandas.NaT)


def test_an_error_never_calls_the_repr_of_a_users_class() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("called")

    for kind in PRIMITIVES:
        with pytest.raises(EncodeError, match="Odd"):
            of(kind).encode(Odd())
