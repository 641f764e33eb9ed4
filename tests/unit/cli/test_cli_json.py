"""Avro data as JSON of the command line: the form of each type, and what is refused on the way back."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from schemas import array, enum, fixed, logical, mapping, record

from streamnative_serdes._schema import parse
from streamnative_serdes.cli.avro_json import reader_of, writer_of
from streamnative_serdes.cli.message_json import Line, parse_line, read_bytes, show_bytes
from streamnative_serdes.cli.message_values import Decoded
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError


def shown(schema: Any, datum: Any) -> Any:
    """The JSON of data as the codec takes it without logical types."""
    parsed = parse(schema, strict=False)
    return writer_of(parsed, {})(Codec(parsed, avro_logical_types=False).encode(datum))


DECIMAL = logical("bytes", "decimal", precision=6, scale=2)
FORMS: list[tuple[Any, Any, Any]] = [
    ("null", None, None),
    ("boolean", True, True),
    ("long", -(2**63), -(2**63)),
    ("double", 1.5, 1.5),
    ("double", math.inf, "Infinity"),
    ("float", -math.inf, "-Infinity"),
    ("string", "NaN", "NaN"),
    ("bytes", b"\x00a\xff", "\x00a\xff"),
    (fixed("F", 2), b"\x80\x7f", "\x80\x7f"),
    (enum("E", "A", "B"), "B", "B"),
    (array("bytes"), [b"\xff"], ["\xff"]),
    (mapping("bytes"), {"k": b"\xff"}, {"k": "\xff"}),
    (logical("string", "uuid"), "x", "x"),
    (fixed("U", 16, logicalType="uuid"), bytes(16), "00000000-0000-0000-0000-000000000000"),
    (
        fixed("D", 12, logicalType="duration"),
        b"\1\0\0\0\2\0\0\0\3\0\0\0",
        {"months": 1, "days": 2, "millis": 3},
    ),
    (DECIMAL, b"\x04\xe2", "12.50"),
    (DECIMAL, b"\xff", "-0.01"),
    (fixed("M", 4, logicalType="decimal", precision=6, scale=0), b"\0\0\0\x07", "7"),
    (logical("bytes", "big-decimal"), b"\x04\x04\xe2\x04", "12.50"),
    (logical("int", "date"), 0, "1970-01-01"),
    (logical("int", "date"), -719162, "0001-01-01"),
    (logical("int", "date"), -719163, -719163),
    (logical("int", "time-millis"), 45296789, "12:34:56.789"),
    (logical("int", "time-millis"), 86_400_000, 86_400_000),
    (logical("long", "time-micros"), 1, "00:00:00.000001"),
    (logical("long", "timestamp-millis"), -1, "1969-12-31T23:59:59.999Z"),
    (logical("long", "timestamp-millis"), 253402300799999, "9999-12-31T23:59:59.999Z"),
    (logical("long", "timestamp-millis"), 2**63 - 1, 2**63 - 1),
    (logical("long", "timestamp-micros"), 1, "1970-01-01T00:00:00.000001Z"),
    (logical("long", "timestamp-nanos"), 1, "1970-01-01T00:00:00.000000001Z"),
    (logical("long", "local-timestamp-millis"), 1, "1970-01-01T00:00:00.001"),
    (["null", "int"], 5, 5),
    (["null", "int"], None, None),
    (["int"], 5, 5),
    (["null", record("a.R", ("x", "int"))], {"x": 1}, {"x": 1}),
    (["null", "int", "string"], 5, {"int": 5}),
    (["null", "int", "string"], None, None),
    ([record("a.R", ("x", "int")), record("a.S", ("x", "int"))], ("a.S", {"x": 1}), {"a.S": {"x": 1}}),
    (["long", "int"], ("long", 5), {"long": 5}),
    ([array("int"), mapping("int"), "bytes"], {"a": 1}, {"map": {"a": 1}}),
    ([enum("E", "A"), "string"], ("string", "A"), {"string": "A"}),
    (record("a.L", ("next", ["null", "L"])), {"next": {"next": None}}, {"next": {"next": None}}),
]


@pytest.mark.parametrize(("schema", "datum", "form"), FORMS)
def test_a_type_has_its_form_there_and_back(schema: Any, datum: Any, form: Any) -> None:
    assert shown(schema, datum) == form
    parsed = parse(schema)
    codec = Codec(parsed, avro_logical_types=False)
    back = reader_of(parsed.root)(json.loads(json.dumps(form)))
    assert codec.encode(back) == codec.encode(datum)


def test_not_a_number_is_a_word() -> None:
    assert shown("float", math.nan) == "NaN"
    assert math.isnan(reader_of(parse("float").root)("NaN"))


def test_names_of_other_namespaces_and_cycles_do_not_confuse_the_branches() -> None:
    schema = record(
        "com.acme.Node",
        ("left", ["null", "Node", "string"]),
        ("right", ["null", "int", record("other.Node", ("far", ["com.acme.Node", "Node", "null"]))]),
    )
    datum = {
        "left": ("com.acme.Node", {"left": ("string", "x"), "right": None}),
        "right": ("other.Node", {"far": ("other.Node", {"far": None})}),
    }
    assert shown(schema, datum) == {
        "left": {"com.acme.Node": {"left": {"string": "x"}, "right": None}},
        "right": {"other.Node": {"far": {"other.Node": {"far": None}}}},
    }


def test_a_schema_that_only_a_registry_would_have_is_shown_too() -> None:
    lenient = record("R", ("a", "int", "no int"), ("d", logical("bytes", "decimal", precision=1, scale=5)))
    assert shown(lenient, {"a": 1, "d": b"\xff"}) == {"a": 1, "d": "\xff"}


def test_bytes_that_are_not_a_big_decimal_are_an_error() -> None:
    with pytest.raises(DecodeError, match=r"field d: expected a valid big-decimal.*got b'\\x05'"):
        shown(record("R", ("d", logical("bytes", "big-decimal"))), {"d": b"\x05"})


REFUSED: list[tuple[Any, Any, str]] = [
    ("bytes", "€", r"expected text with characters from U\+0000 to U\+00FF, one for each byte, got '€'"),
    (["null", "int", "string"], 5, r'expected \{"int": ...\} or \{"string": ...\}, got 5'),
    (["null", "int", "string"], {"null": None}, "expected "),
    (["null", "int", "string"], {"int": 1, "string": ""}, "expected "),
    (["null", "int", "string"], {"long": 1}, "expected "),
    (DECIMAL, 12.5, 'expected a decimal as text, such as "12.50", got 12.5'),
    (DECIMAL, "12.505", "more than 2 decimal places"),
    (DECIMAL, "123456.00", "more than 6 digits"),
    (DECIMAL, "1e999999999", "more than 6 digits"),
    (logical("int", "date"), "23.11.2026", "expected a date such as 2026-11-23, got '23.11.2026'"),
    (logical("int", "time-millis"), "24:00", "expected a time such as"),
    (logical("int", "time-millis"), "12:00:00.1234", "expected at most 3 digits of a second"),
    (logical("long", "timestamp-millis"), "2026-11-23T12:00:00", "with its zone"),
    (logical("long", "timestamp-millis"), "2026-13-23T12:00:00Z", "with its zone"),
    (logical("long", "local-timestamp-millis"), "2026-11-23T12:00:00Z", "without a zone"),
    (fixed("U", 16, logicalType="uuid"), "x", "expected a UUID as text"),
    (fixed("U", 16, logicalType="uuid"), 5, "expected a UUID as text"),
    (fixed("D", 12, logicalType="duration"), {"months": 1}, "expected a duration such as"),
    (fixed("D", 12, logicalType="duration"), {"months": 1, "days": 2, "millis": 2**32}, "expected a valid duration"),
    (record("R", ("a", "int")), [1], "expected an object for record R"),
    (
        record("R", ("a", array(record("S", ("b", mapping("bytes")))))),
        {"a": [{"b": {"k": "€"}}]},
        r'field a\[0\]\.b\["k"\]: ',
    ),
]


@pytest.mark.parametrize(("schema", "form", "complaint"), REFUSED)
def test_another_form_is_refused_with_its_place(schema: Any, form: Any, complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        reader_of(parse(schema).root)(form)


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("2026-11-23T12:00:00Z", 1795435200000),
        ("2026-11-23 13:00:00.5+01:00", 1795435200500),
        ("2026-11-23T12:00Z", 1795435200000),
    ],
)
def test_times_may_be_written_shorter_and_in_any_zone(text: str, millis: int) -> None:
    assert reader_of(parse(logical("long", "timestamp-millis")).root)(text) == millis


# Lines


@pytest.mark.parametrize("data", [None, b"", b"text \xc3\xa9 \x00", b"\xff", b"\xed\xa0\x80"])
def test_bytes_of_keys_and_headers_come_back(data: bytes | None) -> None:
    assert read_bytes("key", json.loads(json.dumps(show_bytes(data)))) == data


@pytest.mark.parametrize("value", [5, [], {}, {"base64": "?"}, {"base64": 5}, {"base64": "", "x": 1}, "\ud800"])
def test_other_keys_are_refused(value: Any) -> None:
    with pytest.raises(EncodeError, match="key: expected text, null or"):
        read_bytes("key", value)


def test_a_line_of_decode_is_a_line_for_produce() -> None:
    line = {
        "topic": "t",
        "partition": 1,
        "offset": 2,
        "timestamp": "1970-01-01T00:00:00.003Z",
        "key": "k",
        "headers": [["a", "b"], ["a", None], ["c", {"base64": "/w=="}]],
        "framing": "snip42",
        "version": 4,
        "header_version": 5,
        "value": {"x": [1]},
    }
    expected = Line({"x": [1]}, b"k", (("a", b"b"), ("a", None), ("c", b"\xff")), 1, 3)
    assert parse_line(json.dumps(line)) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"value": null}', Line(None)),
        ('{"value": 1, "headers": {"a": "b"}}', Line(1, headers=(("a", b"b"),))),
        ('{"value": 1, "key": null, "headers": null, "partition": null, "timestamp": null}', Line(1)),
        ('{"value": 1, "timestamp": 7}', Line(1, timestamp=7)),
    ],
)
def test_a_line_may_be_short(text: str, line: Line) -> None:
    assert parse_line(text) == line


@pytest.mark.parametrize("halves", [None, "SEPARATED", "INLINE"])
def test_the_other_members_of_decodes_lines_are_ignored(halves: str | None) -> None:
    members = Decoded("confluent", 1, 7, header_version=2, halves=halves, key="k", schema=3)
    place = {"topic": "t", "offset": 1, "line": 2, "partition": 4, "key": "a"}
    tree = {**members.around(place), **members.members()}
    assert {"schema_id", "line", "header_version"} < tree.keys()
    line = parse_line(json.dumps(tree), halves=halves)
    assert (line.value, line.partition) == (7, 4)
    assert line.key == (None if halves == "SEPARATED" else b"a")


@pytest.mark.parametrize("halves", [None, "SEPARATED"])
def test_the_key_beside_an_inline_pair_is_not_lost_in_another_topic(halves: str | None) -> None:
    with pytest.raises(EncodeError, match=r"it has 'message_key' .*only KEY_VALUE topics with the encoding INLINE"):
        parse_line('{"message_key": "a", "key": "b", "value": 1}', halves=halves)


def test_a_line_may_be_a_value_alone() -> None:
    assert parse_line('{"name": "Ada"}', values=True) == Line({"name": "Ada"})


def test_minus_zero_is_a_whole_number() -> None:
    assert parse_line('{"value": 1, "partition": -0}').partition == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a line of JSON"),
        ("{", "not a line of JSON"),
        ("[" * 100_000, "not a line of JSON"),
        (b"\xff", "not a line of JSON"),
        ('{"value": NaN}', 'NaN is not JSON: write "NaN"'),
        ('{"value": {"a": 1, "a": 2}}', "'a' occurs twice in an object"),
        ("5", r'expected \{"value": ...\}, got 5'),
        ('{"name": "Ada"}', "it has 'name'"),
        ('{"key": "k"}', "it has no value"),
        ('{"value": 1, "keys": "k"}', "it has 'keys'"),
        ('{"error": "bad", "raw": {"base64": ""}}', "decode could not read this message: bad"),
        ('{"value": 1, "headers": ["a"]}', "headers: expected"),
        ('{"value": 1, "headers": [["a", 5]]}', "header a: expected"),
        ('{"value": 1, "partition": -0.0}', "partition: expected a whole number from 0"),
        ('{"value": 1, "partition": -1}', "partition: expected a whole number from 0"),
        ('{"value": 1, "partition": true}', "partition: expected a whole number from 0"),
        (f'{{"value": 1, "timestamp": {2**63}}}', "timestamp: expected a whole number from 0 to"),
        (f'{{"value": 1, "partition": {2**31}}}', "partition: expected a whole number from 0 to"),
        ('{"value": 1, "timestamp": "yesterday"}', "timestamp: expected a time such as"),
        ('{"value": 1, "timestamp": 1.5}', "timestamp: expected a whole number"),
    ],
)
def test_another_line_is_refused(text: str | bytes, complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        parse_line(text)
