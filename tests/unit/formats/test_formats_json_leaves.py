"""JSON topics: numbers, text, bytes and symbols, in Jackson's notation and in that of others."""

from __future__ import annotations

import math
from typing import Any

import pytest
from json_formats import nullable, of, read, record, shown

from streamnative_serdes._formats.jackson.notation import double_text, float_text, quoted, to_float
from streamnative_serdes.connect import FLOAT32, INT64, JsonConverter, SchemaProjector
from streamnative_serdes.errors import DecodeError, EncodeError

# --- what errors say --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type",
    [
        "null", "boolean", "int", "long", "string", "bytes", {"type": "fixed", "name": "F", "size": 2},
        {"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "array", "items": "int"},
        {"type": "map", "values": "int"}, {"type": "record", "name": "P", "fields": []}, ["boolean", "string"],
        {"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"},
        {"type": "long", "logicalType": "local-timestamp-micros"}, {"type": "string", "logicalType": "uuid"},
    ],
)  # fmt: skip
def test_a_number_that_does_not_fit_is_shown_as_in_the_message(type: Any) -> None:
    with pytest.raises(DecodeError, match=r"(?m)got the number 1\.50$"):
        read(type, "1.50")
    with pytest.raises(DecodeError, match=r"(?m)got the number 0\.1{58}\.\.\.$"):
        read(type, "0." + "1" * 100)


def test_a_number_that_is_too_large_is_shown_as_in_the_message() -> None:
    for type in ("double", "float"):
        with pytest.raises(DecodeError, match=r"(?m)got the number 1e400$"):
            read(type, "1e400")
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
    with pytest.raises(DecodeError, match=r"(?m)got the number 1e9999$"):
        read(decimal, "1e9999")


@pytest.mark.parametrize("exponent", ["9" * 18, "9" * 19, "9" * 400, "-" + "9" * 19])
def test_an_exponent_that_no_decimal_can_have_is_out_of_range(exponent: str) -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
    with pytest.raises(DecodeError, match=r"at most 4300 digits.*got the number 1e-?999"):
        read(decimal, f"1e{exponent}")
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    if not exponent.startswith("-"):
        with pytest.raises(DecodeError, match="timestamp-micros is out of range: 1e999"):
            read(moment, f"1e{exponent}")


# --- leaves -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("boolean", "true", True), ("int", "-2147483648", -(2**31)), ("int", "2147483647", 2**31 - 1),
        ("long", "-9223372036854775808", -(2**63)), ("long", "9223372036854775807", 2**63 - 1), ("double", "1.5", 1.5),
        ("double", "0.0", 0.0), ("double", "-0.0", -0.0), ("double", "4.9E-324", 5e-324),
        ("float", "0.1", to_float(0.1)),
        ("float", "3.4028235E38", to_float(3.4028235e38)), ("double", '"Infinity"', math.inf),
        ("double", '"-Infinity"', -math.inf), ("string", '"a\\"\\\\\\n"', 'a"\\\n'), ("string", '""', ""),
        ("string", '"\\uD83D\\uDE00"', "\U0001f600"), ("bytes", '"AAH/"', b"\0\1\xff"), ("bytes", '""', b""),
        ({"type": "fixed", "name": "F", "size": 2}, '"AAE="', b"\0\1"),
        ({"type": "fixed", "name": "F", "size": 0}, '""', b""),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, '"B"', "B"),
        ({"type": "string", "java-class": "java.math.BigDecimal"}, "1.50", "1.50"),
        ({"type": "string", "java-class": "java.math.BigDecimal"}, "1E+10", "1E+10"),
        ({"type": "string", "java-class": "java.math.BigInteger"}, "-12345678901234567890", "-12345678901234567890"),
        ({"type": "int", "java-class": "java.lang.Character"}, '"x"', 120),
        ({"type": "int", "java-class": "java.lang.Short"}, "5", 5),
        ({"type": "array", "items": "int"}, "[]", []), ({"type": "map", "values": "int"}, "{}", {}),
    ],
)  # fmt: skip
def test_a_value_is_read_and_written_in_jacksons_notation(type: Any, text: str, value: Any) -> None:
    got = read(type, text)
    assert got == value
    assert got.__class__ is value.__class__
    assert shown(type, value) == text
    assert read(nullable(type), text) == value
    assert shown(nullable(type), value) == text


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("double", "5", 5.0), ("double", "1e3", 1000.0), ("double", "9007199254740993", 9007199254740992.0),
        ("float", "5", 5.0), ("double", "NaN", math.nan), ("double", "-Infinity", -math.inf),
        ("float", '"NaN"', math.nan),
        ("double", "1e-999", 0.0), ("string", '"\\ud83d"', "\ud83d"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "1", 1),
        ({"type": "int", "java-class": "java.lang.Character"}, "120", 120),
        ({"type": "string", "java-class": "java.math.BigDecimal"}, '"1.50"', "1.50"),
    ],
)  # fmt: skip
def test_forms_of_other_writers_are_read_too(type: Any, text: str, value: Any) -> None:
    got = read(type, text)
    assert got == value or (math.isnan(got) and math.isnan(value))
    assert got.__class__ is value.__class__


# As Java's Float.parseFloat and BigDecimal.floatValue give them. Half of them are another if rounded to a double first.
ROUNDED_ONCE = [
    ("1.0000001788139343", 1.0000001192092896), ("1.00000017881393433", 1.000000238418579),
    ("1.00000017881393432617187500", 1.000000238418579), ("-1.0000001788139343", -1.0000001192092896),
    ("1.0000000596046447753906250001", 1.0000001192092896), ("1.000000059604644775390625", 1.0),
    ("16777217.0000001", 16777218.0), ("16777219", 16777220.0), ("9007199791611905", 9007200328482816.0),
    ("7.006492321624085e-46", 0.0), ("7.006492321624086e-46", 1.401298464324817e-45), ("1e-99999999999999999999", 0.0),
    ("3.4028235677973365e38", 3.4028234663852886e38), ("3.402823567797336616375e38", 3.4028234663852886e38),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), ROUNDED_ONCE)
def test_a_float_is_rounded_once_from_its_text(text: str, value: float) -> None:
    converter = JsonConverter({"schema.content": '{"type":"float"}'})

    assert read("float", text) == value
    assert converter.to_connect_data("t", text.encode()).value == value
    if text.isdecimal():
        assert SchemaProjector.project(INT64, int(text), FLOAT32) == value


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("boolean", "1", "boolean"), ("boolean", '"true"', "boolean"), ("int", "2147483648", "int out of range"),
        ("int", "-2147483649", "int out of range"), ("int", "1.0", "int"), ("int", "1e3", "int"),
        ("int", "true", "int"),
        ("int", '"1"', "int"), ("long", "9223372036854775808", "long out of range"),
        ("long", "-9223372036854775809", "long out"),
        ("long", "[1]", "long"), ("double", "true", "double"), ("double", '"1.5"', "double"),
        ("double", '"nan"', "double"),
        ("double", "1e999", "a float can hold"), ("double", "-1e999", "a float can hold"),
        ("float", "1e39", "32-bit float"), ("float", "3.40282356779733661637539395458142568448e38", "32-bit float"),
        ("float", "1" * 400, "a float can hold"), ("string", "1", "string"), ("string", "true", "string"),
        ("string", "1.5", "string"),
        ("string", "{}", "string"), ("bytes", '"AAH"', "base64"), ("bytes", '"AA H/"', "base64"),
        ("bytes", '"plain text"', "base64"),
        ("bytes", '"\u00fc"', "base64"), ("bytes", "[0,1]", "base64"),
        ({"type": "fixed", "name": "F", "size": 2}, '"AAEC"', "2 bytes"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, '"B"', "symbol of enum E"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "true", "symbol of enum E"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "[]", "symbol of enum E"),
        ({"type": "array", "items": "int"}, "{}", "array"), ({"type": "map", "values": "int"}, "[]", "map"),
        (record(name="I"), "[]", "an object for record I"), (record(name="I"), "1", "an object for record I"),
        ("null", "1", "null"),
        ({"type": "int", "java-class": "java.lang.Character"}, '"xy"', "int"),
        ({"type": "string", "java-class": "java.math.BigDecimal"}, "true", "string"),
    ],
)  # fmt: skip
def test_a_value_of_another_form_is_an_error_that_names_the_field(type: Any, text: str, expected: str) -> None:
    for kind in (type, nullable(type)) if type != "null" else (type,):
        with pytest.raises(DecodeError, match=rf"^field x: .*{expected}"):
            read(kind, text)
    with pytest.raises(DecodeError, match=rf"^field x\[1\]: .*{expected}"):
        read({"type": "array", "items": type}, f"[null,{text}]")
    with pytest.raises(DecodeError, match=rf'^field x\["k"\]: .*{expected}'):
        read({"type": "map", "values": type}, f'{{"k":{text}}}')


def test_the_bytes_of_pulsar_clients_for_python_have_a_hint() -> None:
    with pytest.raises(DecodeError, match="hint: pulsar-client's JsonSchema for Python"):
        read("bytes", '"text!"')


def test_a_number_of_too_many_digits_is_an_error() -> None:
    assert read({"type": "string", "java-class": "java.math.BigInteger"}, "1" * 4_300) == "1" * 4_300
    for number in ("1" * 4_301, "-" + "1" * 4_300, "0." + "1" * 4_299, "1" * 1_000_000):
        with pytest.raises(DecodeError, match="number of at most 4300 characters"):
            read("double", number)


def test_only_the_text_of_a_number_is_written_for_a_big_decimal() -> None:
    for text in ("", "1.", "01", "NaN", "1,5", "0x1", " 1", "1\n", "+1", ".5"):
        with pytest.raises(EncodeError, match=r"^field x: expected the text of a number for java.math.BigDecimal"):
            shown({"type": "string", "java-class": "java.math.BigDecimal"}, text)
    with pytest.raises(EncodeError, match=r"^field x: .*0 to 65535"):
        shown({"type": "int", "java-class": "java.lang.Character"}, 65_536)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.1, "0.1"), (100.0, "100.0"), (0.001, "0.001"),
        (9.99e-4, "9.99E-4"),
        (9999999.0, "9999999.0"), (1e7, "1.0E7"), (12345678.9, "1.23456789E7"), (-1e21, "-1.0E21"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"), (2e-323, "2.0E-323"), (1.7976931348623157e308, "1.7976931348623157E308"), (2e-3, "0.002"),
        (1e23, "1.0E23"), (2.2250738585072014e-308, "2.2250738585072014E-308"), (math.nan, '"NaN"'),
        (123456.0, "123456.0"), (1234567.125, "1234567.125"), (math.inf, '"Infinity"'), (-math.inf, '"-Infinity"'),
    ],
)  # fmt: skip
def test_a_double_is_shown_as_java_shows_it(value: float, text: str) -> None:
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"), (1e-45, "1.4E-45"), (3.4028235e38, "3.4028235E38"), (16777216.0, "1.6777216E7"), (1e10, "1.0E10"),
        (0.001, "0.001"), (1.17549435e-38, "1.1754944E-38"), (33554432.0, "3.3554432E7"), (1.5, "1.5"), (-0.0, "-0.0"),
        (math.nan, '"NaN"'), (123456.79, "123456.79"),
    ],
)  # fmt: skip
def test_a_float_is_shown_with_the_digits_that_only_it_has(value: float, text: str) -> None:
    assert float_text(to_float(value)) == text


def test_text_is_escaped_as_jackson_escapes_it() -> None:
    assert quoted('"\\/\b\t\n\f\r\0\x1f\x7f\u2028\uffff') == '"\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001F\x7f\u2028\uffff"'
    assert quoted("\U0001f600") == '"\\uD83D\\uDE00"'
    assert quoted("") == '""'
    assert of({"type": "map", "values": "int"}).encode({'"\U00010000': 1}) == b'{"\\"\\uD800\\uDC00":1}'
