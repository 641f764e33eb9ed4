"""JSON topics: the document, its fields, and what is checked when writing."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from json_formats import nullable, of, on, one, read, record, shown

from streamnative_serdes._formats import JsonFormat, format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

# --- the document -----------------------------------------------------------------------------------------------------


def test_the_native_schema_is_the_parsed_json_of_the_text_and_changing_it_changes_nothing() -> None:
    schema = record(("x", "int"))
    format = of(schema)
    assert format.type == "JSON"
    assert format.native == schema
    format.native["fields"].clear()
    assert format.native == schema


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"", 0), (b"{", 1), (b'{"x":1}{', 7), (b'{"x":1} 2', 8), (b'{"x":01}', 6), (b'{"x":"a\nb"}', 7),
        (b"\xff{}", 0),
        (b'{"x":"\xc3"}', 6), (b'{"\xc3\xbc":tru}', 6), (b"\xef\xbb\xbf{", 4), (b"\xef\xbb\xbf\xff", 3),
        (b"\3\4" + bytes(8), 0),
        (b"\xff\xfe{\0}\0", 0),
    ],
)  # fmt: skip
def test_invalid_json_is_an_error_that_names_the_byte(data: bytes, offset: int) -> None:
    with pytest.raises(DecodeError, match="expected JSON") as caught:
        of(record(("x", "int"))).decode(data)
    assert caught.value.offset == offset
    assert caught.value.hint


def test_white_space_and_a_byte_order_mark_are_no_part_of_the_value() -> None:
    assert of(record(("x", "int"))).decode(b'\xef\xbb\xbf \n{ "x" :\t1 }\r\n') == {"x": 1}


@pytest.mark.parametrize("text", ['{"x":1,"x":1}', '{"x":1,"y":{"a":1,"b":2,"a":1}}', '{"a":1,"x":1,"a":2,"x":3}'])
def test_a_key_twice_in_an_object_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(DecodeError, match=r"each key once in an object, got str '(x|a)' twice"):
        of(record(("x", "int"))).decode(text.encode())


def test_a_null_document_gives_none() -> None:
    assert of(record(("x", "int"))).decode(b"null") is None
    assert JsonFormat(None).decode(b"null") is None


def test_a_schema_need_not_be_a_record() -> None:
    assert of("string").decode(b'"a"') == "a"
    assert of("string").encode("a") == b'"a"'
    assert of({"type": "array", "items": "long"}).decode(b"[1,2]") == [1, 2]


@pytest.mark.parametrize("deep", ["[[[1]]]", "[[[]]]", '{"a":[{}]}', "[1,[2,[3]],[],[],[],[]]"])
def test_a_document_nests_as_deep_as_the_limit_and_no_deeper(deep: str) -> None:
    for schema in (None, {"type": "map", "values": "int"}):
        if schema is None:
            format = JsonFormat(None, max_depth=3)
            assert JsonFormat(None, max_depth=3).decode(deep.encode()) == json.loads(deep)
        else:
            format = of(schema, max_depth=3)
        for data in (f"[{deep}]", f'{{"a":{deep}}}', f"[1,[2],{deep}]"):
            for _ in range(2):
                with pytest.raises(DecodeError, match=r"nested deeper than 3 levels .*max\.depth"):
                    format.decode(data.encode())
    assert JsonFormat(None, max_depth=1).decode(b"[" + b"1," * 1000 + b"1]") == [1] * 1001


def test_as_many_fields_are_filled_in_as_the_limit_allows() -> None:
    parts = [(name, nullable("int")) for name in "abc"]
    schema = {"type": "array", "items": record(*parts)}
    none = dict.fromkeys("abc")
    assert of(schema, max_items=6).decode(b"[{},{}]") == [none, none]
    assert of(schema, max_items=6).decode(b'[{},{},{"a":1,"b":2,"c":3}]')[2] == {"a": 1, "b": 2, "c": 3}
    format = of(schema, max_items=5)
    with pytest.raises(DecodeError, match=r"^field \[1\]: the message lacks more fields .*max\.items"):
        format.decode(b"[{},{}]")
    assert format.decode(b"[{}]") == [none]  # each message has the whole limit


def test_values_in_defaults_count_toward_the_limit() -> None:
    default = {"name": "x", "type": {"type": "array", "items": "int"}, "default": [1, 2, 3]}
    # The field itself, the array and its items.
    assert of(record(default), max_items=5).decode(b"{}") == {"x": [1, 2, 3]}
    with pytest.raises(DecodeError, match=r"the message lacks more fields"):
        of(record(default), max_items=4).decode(b"{}")
    assert of(record(default), max_items=0).decode(b'{"x":[1,2,3]}') == {"x": [1, 2, 3]}


# --- null, missing and unknown fields ---------------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["int", nullable("int"), ["int", "null"], {"type": "array", "items": "int"}])
def test_a_null_or_missing_field_gives_none_whatever_its_type(type: Any) -> None:
    assert one(type).decode(b"{}") == {"x": None}
    assert one(type).decode(b'{"x":null}') == {"x": None}


@pytest.mark.parametrize(
    ("type", "default", "value"),
    [
        ("int", 5, 5), ("string", "a", "a"), ("bytes", "\u00ff", b"\xff"),
        ({"type": "array", "items": "int"}, [1], [1]),
        (["int", "null"], 5, None), (nullable("int"), None, None), (on("int", "date"), 1, dt.date(1970, 1, 2)),
        (["string", "int"], "a", "a"), (record(("y", nullable("int")), name="I"), {"y": 5}, {"y": 5}),
    ],
)  # fmt: skip
def test_a_missing_field_has_its_default_unless_it_allows_null(type: Any, default: Any, value: Any) -> None:
    if isinstance(default, dict):
        type["fields"][0]["type"] = "int"
    format = one(type, default=default)
    assert format.decode(b"{}") == {"x": value}
    assert format.decode(b'{"x":null}') == {"x": value}  # Java has no null for such a type
    first, second = format.decode(b"{}")["x"], format.decode(b"{}")["x"]
    assert first is not second or not isinstance(first, list | dict)


def test_a_bad_default_of_the_registry_is_an_error_only_when_it_is_needed() -> None:
    format = one("int", default="x")
    assert format.decode(b'{"x":1}') == {"x": 1}
    for _ in range(2):
        with pytest.raises(DecodeError, match=r"field x: .*default"):
            format.decode(b"{}")
    assert format.decode(b'{"x":1}') == {"x": 1}


def test_a_null_item_gives_none_since_java_writes_it() -> None:
    assert read({"type": "array", "items": "int"}, "[1,null]") == [1, None]
    assert read({"type": "map", "values": "int"}, '{"a":null}') == {"a": None}


def test_unknown_fields_are_kept_after_the_known_ones_as_plain_json() -> None:
    format = of(record(("x", "int"), ("y", nullable("int"))))
    value = format.decode(b'{"new":{"a":[1.5,{"b":null}]},"x":1,"also":1e3}')
    assert value == {"x": 1, "y": None, "new": {"a": [1.5, {"b": None}]}, "also": 1000.0}
    assert list(value) == ["x", "y", "new", "also"]
    assert type(value["new"]["a"][0]) is float
    with pytest.raises(DecodeError, match="a float can hold"):
        format.decode(b'{"x":1,"new":1e999}')


def test_null_fields_are_left_out_in_the_order_of_the_schema() -> None:
    format = of(record(("b", "int"), ("a", nullable("int")), ("n", "null"), ("c", nullable("string"))))
    assert format.encode({"c": "x", "a": None, "b": 1, "n": None}) == b'{"b":1,"c":"x"}'
    assert format.encode({"b": 1, "n": None}) == b'{"b":1}'
    assert of(record(("a", nullable("int")))).encode({}) == b"{}"
    assert of(record()).encode({}) == b"{}"


def test_null_items_are_written_since_nothing_else_would_tell_of_them() -> None:
    assert shown({"type": "array", "items": nullable("int")}, [1, None]) == "[1,null]"
    assert shown({"type": "map", "values": nullable("int")}, {"a": None, "b": 1}) == '{"a":null,"b":1}'
    assert shown({"type": "array", "items": ["null", "int", "string"]}, [None, "a", 1]) == '[null,"a",1]'


def test_writing_checks_against_the_schema_as_for_avro() -> None:
    inner = record(("n", "int"), name="I")
    format = of(record(("a", {"type": "array", "items": inner}), ("m", {"type": "map", "values": "long"})))
    good: dict[str, Any] = {"a": [{"n": 1}], "m": {"k": 1}}
    assert format.encode(good) == b'{"a":[{"n":1}],"m":{"k":1}}'
    for bad, path in (
        ({"a": [{"n": 1}, {"n": "1"}], "m": {}}, r"a\[1\].n"),
        ({"a": [{"n": 2**31}], "m": {}}, r"a\[0\].n"),
        ({"a": [], "m": {"k": True}}, r'm\["k"\]'),
        ({"a": []}, "m"),
    ):
        with pytest.raises(EncodeError, match=f"^field {path}: "):
            format.encode(bad)
    assert format.encode(good) == b'{"a":[{"n":1}],"m":{"k":1}}'


def test_what_is_written_has_no_limits_but_that_of_its_depth() -> None:
    assert len(of({"type": "array", "items": "null"}).encode([None] * (2**20 + 1))) == 5 * (2**20 + 1) + 1
    linked = record(("n", ["null", "R", "int"]))
    value: Any = None
    for _ in range(700):
        value = {"n": value}
    with pytest.raises(EncodeError, match="nested deeper than 256"):
        of(linked).encode(value)
    with pytest.raises(EncodeError, match="nested"):
        of(linked, max_depth=1000).encode(value)


def test_strictness_and_objects_are_those_of_the_avro_codec() -> None:
    @dataclass
    class R:
        x: int

    schema = record(("x", "int"), {"name": "d", "type": "int", "default": 7})
    assert of(schema).encode(R(1)) == of(schema).encode({"x": 1, "unknown": 2}) == b'{"x":1,"d":7}'
    with pytest.raises(EncodeError, match="unknown"):
        of(schema, validate_strict=True).encode({"x": 1, "d": 1, "unknown": 2})
    assert of(schema, confluent_leniency=True).encode({"x": True}) == b'{"x":1,"d":7}'


# --- without a schema, and with one of Jackson's ----------------------------------------------------------------------


def test_without_a_schema_it_is_plain_json_data() -> None:
    format = JsonFormat(None)
    value = {"a": [1, 1.5, None, True, "\U0001f600"], "b": {"c": None}, "d": 10**30}
    text = b'{"a":[1,1.5,null,true,"\\uD83D\\uDE00"],"b":{"c":null},"d":1000000000000000000000000000000}'
    assert format.encode(value) == text
    assert format.decode(text) == value
    assert format.native is None
    assert format.encode((1, 2)) == b"[1,2]"
    assert format.encode({}) == b"{}"
    assert format.encode([]) == b"[]"
    assert format.encode(math.nan) == b'"NaN"'
    assert math.isnan(format.decode(b"NaN"))


def test_other_objects_than_plain_json_data_are_refused_with_their_path() -> None:
    format = JsonFormat(None)
    for value, path in (
        ({"a": [b""]}, r'\["a"\]\[0\]'),
        ({"a": {"b": {1}}}, r'\["a"\]\["b"\]'),
        ([[dt.date.min]], r"\[0\]\[0\]"),
    ):
        with pytest.raises(EncodeError, match=f"^field {path}: expected plain JSON data"):
            format.encode(value)
    with pytest.raises(EncodeError, match="text as key"):
        format.encode({1: 2})
    with pytest.raises(EncodeError, match="at most 4,200 digits"):
        format.encode(1 << 20_000)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(EncodeError, match="nested too deeply"):
        format.encode(endless)


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"object","id":"urn:jsonschema:org:example:User","properties":{"name":{"type":"string"}}}',
        '{"type":"array","items":{"type":"integer"}}',
        '{"type":"any"}',
    ],
)
def test_a_schema_of_jacksons_from_before_pulsar_2_1_gives_no_shape(text: str) -> None:
    format = format_of(SchemaInfo(0, "JSON", text), Limits(), {})
    assert format.decode(b'{"x":1.5}') == {"x": 1.5}
    assert format.encode({"x": None}) == b'{"x":null}'
    assert format.native == json.loads(text)


@pytest.mark.parametrize("text", ["{}", "[", '{"type":"funny"}', '{"type":"record"}', "5", '"x"', "[" * 100_000])
def test_a_text_without_a_schema_is_a_schema_error(text: str) -> None:
    with pytest.raises(SchemaError):
        format_of(SchemaInfo(0, "JSON", text), Limits(), {})


def test_an_empty_text_is_no_schema() -> None:
    assert format_of(SchemaInfo(0, "JSON", " "), Limits(), {}).decode(b"[1.5]") == [1.5]


def test_limits_hold_for_the_schema() -> None:
    schema = json.dumps(record(("x", "int")))
    for limits in (Limits(size=10), Limits(names=0), Limits(depth=0)):
        with pytest.raises(SchemaError):
            format_of(SchemaInfo(0, "JSON", schema), limits, {})
    with pytest.raises(SchemaError):
        format_of(SchemaInfo(0, "JSON", '{"type":"object"}' + " " * 100), Limits(size=50), {})
