"""JSON topics: dates, times, decimals and UUIDs; classes of Java's own; the schemas of Kafka Connect."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest
from json_formats import OF_JAVA, nullable, of, on, read, record, shown

from streamnative_serdes.codec import Duration
from streamnative_serdes.errors import DecodeError, EncodeError

UTC = dt.UTC
# --- logical types ----------------------------------------------------------------------------------------------------

MS, US, NS = (on("long", f"timestamp-{unit}") for unit in ("millis", "micros", "nanos"))
LOCAL_MS, LOCAL_US, LOCAL_NS = (on("long", f"local-timestamp-{unit}") for unit in ("millis", "micros", "nanos"))
TIME_MS, TIME_US, DATE = on("int", "time-millis"), on("long", "time-micros"), on("int", "date")
DECIMAL = on("bytes", "decimal", precision=10, scale=2)
UUID_TEXT, UUID_FIXED = on("string", "uuid"), on("fixed", "uuid", name="F", size=16)
ID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (MS, "0.0", dt.datetime(1970, 1, 1, tzinfo=UTC)), (US, "1E-6", None),
        (US, "0.000001000", dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (US, "1357016400.123456000", dt.datetime(2013, 1, 1, 5, 0, 0, 123_456, UTC)),
        (MS, "1357016400.000000000", dt.datetime(2013, 1, 1, 5, tzinfo=UTC)),
        (NS, "1357016400.123456789", 1_357_016_400_123_456_789),
        (NS, "1E-9", 1), (NS, "9.99E-7", 999), (NS, "0.000001000", 1000),
        (US, "-1.999999000", dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        (NS, "-1.999999999", -1), (NS, "-1.000000000", -1_000_000_000), (NS, "-2.500000000", -1_500_000_000),
        (MS, "-62135596800.000000000", dt.datetime(1, 1, 1, tzinfo=UTC)),
        (LOCAL_MS, "[2013,1,1,5,0]", dt.datetime(2013, 1, 1, 5)),
        (LOCAL_MS, "[2013,1,1,5,0,7]", dt.datetime(2013, 1, 1, 5, 0, 7)),
        (LOCAL_US, "[2013,1,1,5,0,0,1000]", dt.datetime(2013, 1, 1, 5, 0, 0, 1)),
        (LOCAL_US, "[1,1,1,0,0]", dt.datetime(1, 1, 1)), (LOCAL_US, "[9999,12,31,23,59,59,999999000]", dt.datetime.max),
        (LOCAL_NS, "[1970,1,1,0,0,0,1]", 1), (LOCAL_NS, "[1969,12,31,23,59,59,999999999]", -1),
        (DATE, "[2013,1,1]", dt.date(2013, 1, 1)),
        (DATE, "[1,1,1]", dt.date.min), (DATE, "[9999,12,31]", dt.date.max), (TIME_MS, "[0,0]", dt.time(0)),
        (TIME_MS, "[12,30,15]", dt.time(12, 30, 15)),
        (TIME_MS, "[0,0,0,1000000]", dt.time(0, 0, 0, 1000)), (TIME_US, "[23,59,59,999999000]", dt.time.max),
        (DECIMAL, "1.50", Decimal("1.50")),
        (DECIMAL, "-0.01", Decimal("-0.01")), (DECIMAL, "0.00", Decimal("0.00")),
        (DECIMAL, "99999999.99", Decimal("99999999.99")),
        (on("fixed", "decimal", name="F", size=8, precision=10, scale=9), "1E-9", Decimal("1E-9")),
        (on("bytes", "big-decimal"), "1.500", Decimal("1.500")), (on("bytes", "big-decimal"), "1E+10", None),
        (UUID_TEXT, f'"{ID}"', uuid.UUID(ID)), (UUID_FIXED, f'"{ID}"', uuid.UUID(ID)),
        (on("fixed", "duration", name="F", size=12), '"AQAAAAIAAAADAAAA"', Duration(1, 2, 3)),
    ],
)  # fmt: skip
def test_a_logical_type_is_read_and_written_as_jackson_writes_javas_class(type: Any, text: str, value: Any) -> None:
    got = read(type, text)
    if value is None:
        return  # another notation of a value below
    assert got == value
    assert got.__class__ is value.__class__
    assert str(got) == str(value)
    assert shown(type, value) == text


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (MS, "1357016400123", dt.datetime(2013, 1, 1, 5, 0, 0, 123_000, UTC)),
        (US, "-1", dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        (NS, "5", 5), (MS, '"2013-01-01T05:00:00Z"', dt.datetime(2013, 1, 1, 5, tzinfo=UTC)),
        (MS, '"2013-01-01T05:00:00.1234567+05:30"', dt.datetime(2012, 12, 31, 23, 30, 0, 123_456, UTC)),
        (US, "1E-6", dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (MS, "1.5", dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)), (NS, "-0.5", -500_000_000), (NS, "1E-10", 0),
        (NS, "1E-999999999", 0),
        (NS, "0e99", 0), (MS, "1.3570164E9", dt.datetime(2013, 1, 1, 5, tzinfo=UTC)),
        (NS, '"2013-01-01T05:00:00.123456789Z"', 1_357_016_400_123_456_789),
        (NS, '"2013-01-01T05:00:00,1234567+05:30"', 1_356_996_600_123_456_700),
        (NS, '"2013-01-01T05:00:00.1234567891Z"', 1_357_016_400_123_456_789),
        (NS, '"2013-01-01T05:00:00.12Z"', 1_357_016_400_120_000_000),
        (NS, '"1969-12-31T23:59:59.999999999Z"', -1), (NS, '"1970-01-01T00:00:00.000000001+00:00"', 1),
        (LOCAL_NS, '"1969-12-31T23:59:59.999999001"', -999),
        (LOCAL_NS, '"2013-01-01T05:00"', 1_357_016_400_000_000_000),
        (US, '"1969-12-31T23:59:59.999999999Z"', dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        (LOCAL_MS, "1357016400123", dt.datetime(2013, 1, 1, 5, 0, 0, 123_000)),
        (LOCAL_MS, '"2013-01-01T05:00"', dt.datetime(2013, 1, 1, 5)),
        (LOCAL_MS, "[2013,1,1,5,0,0,999999999]", dt.datetime(2013, 1, 1, 5, 0, 0, 999_999)),
        (DATE, "15706", dt.date(2013, 1, 1)), (DATE, "-1", dt.date(1969, 12, 31)),
        (DATE, '"2013-01-01"', dt.date(2013, 1, 1)),
        (TIME_MS, "45000000", dt.time(12, 30)), (TIME_US, '"12:30:15.5"', dt.time(12, 30, 15, 500_000)),
        (TIME_MS, "[1,2,3,999999999]", dt.time(1, 2, 3, 999_999)),
        (DECIMAL, "5", Decimal(5)), (DECIMAL, '"1.50"', Decimal("1.50")), (DECIMAL, "1.555", Decimal("1.555")),
        (DECIMAL, "1E3", Decimal("1E+3")),
        (on("bytes", "big-decimal"), "1E+10", Decimal("1E+10")),
        (UUID_FIXED, '"AAAAAAAAAAAAAAAAAAAAAQ=="', uuid.UUID(int=1)),
    ],
)  # fmt: skip
def test_a_logical_type_is_read_in_the_forms_of_other_writers(type: Any, text: str, value: Any) -> None:
    got = read(type, text)
    assert got == value
    assert got.__class__ is value.__class__


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (MS, '"2013-01-01T05:00:00"'), (MS, '"yesterday"'), (MS, "[2013,1,1,5,0]"), (MS, "true"),
        (MS, "253402300800000"), (MS, "-62135596800001"),
        (MS, "1E21"), (MS, "1E999999999"), (MS, "-1E999999999"), (US, "9" * 4_300), (US, f"-{'9' * 4_299}"),
        (MS, "1" * 3_000 + ".5"),
        (LOCAL_MS, "[2013,1,1,5]"), (LOCAL_MS, "[2013,1,1,5,0,0,0,0]"), (LOCAL_MS, "[2013,13,1,5,0]"),
        (LOCAL_MS, "[0,1,1,0,0]"),
        (LOCAL_MS, "[10000,1,1,0,0]"), (LOCAL_MS, "[2013,1,1,24,0]"), (LOCAL_MS, "[2013,1,1,5,60]"),
        (LOCAL_MS, "[2013,1,1,5,0,60]"),
        (LOCAL_MS, "[2013,1,1,5,0,0,1000000000]"), (LOCAL_MS, "[2013,1,1,5,0,0,-1]"),
        (LOCAL_MS, "[2013,1,1,5,0,0,0.5]"), (LOCAL_MS, "[2013,1,1,5,true]"),
        (LOCAL_MS, '"2013-01-01T05:00Z"'), (LOCAL_MS, "1.5"), (LOCAL_MS, f"[{'9' * 4_000},1,1,0,0]"),
        (DATE, "[2013,2,29]"), (DATE, "[2013,1]"),
        (DATE, "2932897"), (DATE, "-719163"), (DATE, '"2013-02-29"'), (DATE, "1.5"), (DATE, "9" * 4_300),
        (TIME_MS, "[24,0]"), (TIME_MS, "[0]"), (TIME_MS, "86400000"),
        (TIME_MS, "-1"), (TIME_MS, '"25:00"'), (TIME_MS, '"05:00Z"'), (TIME_MS, "[0,0,0,1000000000]"),
        (DECIMAL, '"abc"'), (DECIMAL, "true"), (DECIMAL, '"NaN"'),
        (DECIMAL, "1E4300"), (DECIMAL, "1E-4300"), (DECIMAL, "1E999999999"), (DECIMAL, f'"{"1" * 4_301}"'),
        (DECIMAL, "[]"), (UUID_TEXT, '"f81d4fae"'),
        (UUID_TEXT, "5"), (UUID_FIXED, '"AAAA"'), (UUID_FIXED, '"f81d4fae-7dec"'),
        (on("fixed", "duration", name="F", size=12), '"AAAA"'),
    ],
)  # fmt: skip
def test_a_logical_type_of_another_form_is_a_short_error_that_names_the_field(type: Any, text: str) -> None:
    with pytest.raises(DecodeError, match=r"^field x: ") as caught:
        read(type, text)
    assert len(str(caught.value)) < 400


def test_without_logical_types_the_values_are_those_of_avros_base_types() -> None:
    for type, text, raw in (
        (MS, "1357016400.123456789", 1_357_016_400_123), (MS, "5", 5), (US, "-1.999999999", -1),
        (DATE, "[1970,1,2]", 1), (TIME_MS, "[0,0,1]", 1000),
        (LOCAL_US, "[1970,1,1,0,0,0,1000]", 1), (DECIMAL, "1.50", b"\0\x96"), (UUID_TEXT, f'"{ID}"', ID),
        (UUID_FIXED, f'"{ID}"', uuid.UUID(ID).bytes),
        (on("fixed", "decimal", name="F", size=2, precision=4, scale=2), "1.50", b"\0\x96"),
        (on("fixed", "duration", name="F", size=12), f'"{"A" * 16}"', bytes(12)),
    ):  # fmt: skip
        got = read(type, text, avro_logical_types=False)
        assert (got, got.__class__) == (raw, raw.__class__)
        assert read(type, shown(type, raw, avro_logical_types=False), avro_logical_types=False) == raw
    with pytest.raises(DecodeError, match=r"^field x: "):
        read(DECIMAL, "1.555", avro_logical_types=False)


MOST = (10**4_300 - 1).to_bytes(1_786)  # a decimal of as many digits as there may be


def test_without_logical_types_values_that_jacksons_form_cannot_hold_are_not_written() -> None:
    for type, raw in (
        (TIME_MS, -1), (TIME_MS, 86_400_000), (TIME_US, 86_400_000_000), (DATE, 2_932_897),
        (LOCAL_MS, 253_402_300_800_000), (DECIMAL, MOST + b"\0"), (DECIMAL, (10**4_300).to_bytes(1_786)),
        (on("bytes", "big-decimal"), b"x"),
    ):  # fmt: skip
        with pytest.raises(EncodeError, match=r"^field x: "):
            shown(type, raw, avro_logical_types=False)
    assert read(TIME_MS, "-1", avro_logical_types=False) == -1
    for type, raw, text in (
        (DECIMAL, b"", "0.00"), (DECIMAL, MOST, f"{'9' * 4_298}.99"), (UUID_TEXT, "any", '"any"'),
        (MS, -1, "-1.999000000"),
    ):  # fmt: skip
        written = shown(type, raw, avro_logical_types=False)
        assert written == text
    assert read(UUID_TEXT, '"any"', avro_logical_types=False) == "any"


def test_values_of_logical_types_are_checked_when_written() -> None:
    for type, value in ((MS, dt.datetime(2013, 1, 1)), (LOCAL_MS, dt.datetime(2013, 1, 1, tzinfo=UTC)),
    (DATE, dt.datetime(2013, 1, 1)),
                        (DECIMAL, Decimal("1.555")), (DECIMAL, 1.5), (UUID_TEXT, "x"),
                        (TIME_MS, dt.time(1, tzinfo=UTC))):  # fmt: skip
        with pytest.raises(EncodeError, match=r"^field x: "):
            shown(type, value)


def test_a_field_of_javas_primitive_long_is_written_as_ticks_whatever_it_means() -> None:
    moment, day = dt.datetime(2013, 1, 1, 5, tzinfo=UTC), dt.date(2013, 1, 1)
    assert shown(MS, moment, OF_JAVA) == "1357016400000"
    assert shown(DATE, day, OF_JAVA) == "15706"
    # Only a field can be of a primitive type: these are an Instant and a list of it.
    assert shown(nullable(MS), moment, OF_JAVA) == "1357016400.000000000"
    assert shown({"type": "array", "items": MS}, [moment], OF_JAVA) == "[1357016400.000000000]"
    # Where null is not allowed anyway, and in schemas that are not Java's, nothing tells of a primitive.
    assert shown(MS, moment, {"__alwaysAllowNull": "false"}) == "1357016400.000000000"
    assert shown(MS, moment) == "1357016400.000000000"
    assert shown("long", 5, OF_JAVA) == "5"


# --- classes of Java's own, and Kafka Connect's schemas ---------------------------------------------------------------


def of_java(name: str) -> dict[str, Any]:
    space, _, last = name.rpartition(".")
    return {"type": "record", "name": last, "namespace": space, "fields": []}


@pytest.mark.parametrize("name", ["java.util.Date", "java.sql.Timestamp"])
def test_a_date_of_java_is_a_moment_in_milliseconds(name: str) -> None:
    moment = dt.datetime(2013, 1, 1, 5, 0, 0, 123_000, UTC)
    type = nullable(of_java(name))
    assert read(type, "1357016400123") == moment
    assert shown(type, moment) == "1357016400123"
    assert read(type, "1357016400123", avro_logical_types=False) == 1_357_016_400_123
    assert shown({"type": "array", "items": type}, [moment, None, moment]) == "[1357016400123,null,1357016400123]"
    with pytest.raises(EncodeError, match=r"^field x: "):
        shown(type, {})
    with pytest.raises(DecodeError, match="outside of the years"):
        read(type, "253402300800000")


def test_a_date_of_java_may_come_twice_and_in_a_recursive_record() -> None:
    again = record(("at", nullable("java.util.Date")), ("next", nullable("R")), ("first", nullable("java.util.Date")))
    again["fields"][0]["type"] = nullable(of_java("java.util.Date"))
    format = of(again)
    moment = dt.datetime(1970, 1, 1, tzinfo=UTC)
    value = {"at": moment, "next": {"at": None, "next": None, "first": moment}, "first": moment}
    assert format.encode(value) == b'{"at":0,"next":{"first":0},"first":0}'
    assert format.decode(format.encode(value)) == value


def test_an_object_of_another_class_of_java_is_plain_json_and_is_not_written() -> None:
    for text, value in (("1.5", 1.5), ('"x"', "x"), ("[1,2.5]", [1, 2.5]), ('{"a":1.5}', {"a": 1.5}), ("true", True)):
        assert read(nullable(of_java("java.time.Duration")), text) == value
    with pytest.raises(EncodeError, match=r"^field x: .*java.time.Duration"):
        shown(nullable(of_java("java.time.Duration")), {})


def test_a_map_whose_keys_are_no_text_is_an_object() -> None:
    pair = {"type": "record", "name": "PairIntegerString", "namespace": "org.apache.avro.reflect",
            "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": nullable("string")}]}  # fmt: skip
    type = {"type": "array", "items": pair, "java-class": "java.util.Map"}
    value = [{"key": 1, "value": "one"}, {"key": -2, "value": None}]
    assert read(type, '{"1":"one","-2":null}') == value
    assert shown(type, value) == '{"1":"one","-2":null}'
    assert shown(type, []) == "{}"
    assert read(type, '[{"key":1,"value":"one"}]') == value[:1]  # as Avro has it
    for text, place in (('{"x":"one"}', r'x\["x"\]'), ('{"1.5":"one"}', r'x\["1.5"\]'), ('{"1":5}', r'x\["1"\]')):
        with pytest.raises(DecodeError, match=f"^field {place}: "):
            read(type, text)
    by_enum = {
        **pair,
        "fields": [{"name": "key", "type": {"type": "enum", "name": "E", "symbols": ["A"]}}, pair["fields"][1]],
    }
    type = {**type, "items": by_enum}
    assert shown(type, [{"key": "A", "value": "a"}]) == '{"A":"a"}'
    assert read(type, '{"A":"a"}') == [{"key": "A", "value": "a"}]


def test_the_json_of_kafka_connect_and_debezium_is_read_and_written() -> None:
    def connect(name: str, type: Any) -> dict[str, Any]:
        return {**type, "connect.version": 1, "connect.name": f"org.apache.kafka.connect.data.{name}"}

    amount = connect("Decimal", on("bytes", "decimal", precision=64, scale=2))
    for type, text, value in (
        (amount, '"AJY="', Decimal("1.50")),
        (connect("Timestamp", MS), "1357016400123", dt.datetime(2013, 1, 1, 5, 0, 0, 123_000, UTC)),
        (connect("Date", DATE), "15706", dt.date(2013, 1, 1)), (connect("Time", TIME_MS), "45000000", dt.time(12, 30)),
    ):  # fmt: skip
        assert read(nullable(type), text) == value
        assert shown(nullable(type), value) == text
    assert str(read(amount, '"AJY="')) == "1.50"
    assert read(amount, "1.5") == Decimal("1.5")  # with decimal.format=NUMERIC
    assert read(amount, '""') == 0
    for text in ('"A"', f'"{"A" * 2388}"'):
        with pytest.raises(DecodeError, match=r"^field x: "):
            read(amount, text)
