"""JSON topics: untagged values of unions are read as the branch whose form they have, and written untagged."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from json_formats import nullable, of, on, read, record, shown

from streamnative_serdes.errors import DecodeError, EncodeError

ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
MS = on("long", "timestamp-millis")
DECIMAL = on("bytes", "decimal", precision=10, scale=2)
CAT = record(("purr", nullable("string")), name="Cat")
DOG = record(("bark", nullable("string")), name="Dog")


@pytest.mark.parametrize(
    ("branches", "text", "value"),
    [
        (["string", "long"], "5", 5), (["string", "long"], '"5"', "5"), (["long", "boolean"], "true", True),
        (["int", "long"], "2147483648", 2**31), (["long", "int"], "1", 1),
        (["int", "double"], "2147483648", 2147483648.0),
        (["long", "double"], "1.0", 1.0), (["double", "long"], "1", 1), (["float", "double"], "0.1", 0.1),
        (["string", "double"], '"NaN"', "NaN"), (["bytes", "double"], '"-Infinity"', float("-inf")),
        (["bytes", on("string", "uuid")], '""', b""),
        (["bytes", on("int", "date")], '""', b""), (["bytes", on("int", "date")], '"1970-01-02"', dt.date(1970, 1, 2)),
        (["string", ENUM], '"A"', "A"), (["string", ENUM], '"C"', "C"), (["bytes", "string"], '"AAAA"', "AAAA"),
        (["bytes", ENUM], '"AAAA"', b"\0\0\0"),
        (["bytes", {"type": "fixed", "name": "F", "size": 3}], '"AAAA"', b"\0\0\0"),
        ([{"type": "fixed", "name": "F", "size": 2}, "bytes"], '"AAAA"', b"\0\0\0"),
        ([{"type": "array", "items": "int"}, {"type": "map", "values": "int"}], "[1]", [1]),
        ([{"type": "array", "items": "int"}, {"type": "map", "values": "int"}], '{"a":1}', {"a": 1}),
        ([{"type": "array", "items": "int"}, on("int", "date")], "[1970,1,2]", [1970, 1, 2]),
        ([{"type": "array", "items": "bytes"}, on("int", "date")], "[1970,1,2]", dt.date(1970, 1, 2)),
        ([{"type": "array", "items": nullable("bytes")}, on("int", "date")], '[null,""]', [None, b""]),
        ([{"type": "array", "items": ["int", "string"]}, {"type": "map", "values": CAT}], '["x",1]', ["x", 1]),
        (["string", on("int", "date")], "[1970,1,2]", dt.date(1970, 1, 2)),
        (["string", on("int", "date")], "1", dt.date(1970, 1, 2)),
        (["string", MS], "0.0", dt.datetime(1970, 1, 1, tzinfo=dt.UTC)), (["string", DECIMAL], "1.50", Decimal("1.50")),
        (["double", DECIMAL], "1.50", 1.5), (["string", MS], '"1970-01-01T00:00:00Z"', "1970-01-01T00:00:00Z"),
        ([{"type": "string", "java-class": "java.math.BigDecimal"}, "boolean"], "1.50", "1.50"),
        ([{"type": "int", "java-class": "java.lang.Character"}, "boolean"], '"x"', 120),
    ],
)  # fmt: skip
def test_the_branch_is_told_by_the_form_of_the_value(branches: list[Any], text: str, value: Any) -> None:
    for union in (branches, ["null", *branches], [*branches, "null"], branches[::-1]):
        got = read(union, text)
        assert (got, got.__class__) == (value, value.__class__)
    assert read(["null", *branches], "null") is None


@pytest.mark.parametrize(
    ("branches", "text", "value"),
    [
        ([CAT, DOG], '{"bark":"woof"}', {"bark": "woof"}), ([CAT, DOG], '{"purr":"prr"}', {"purr": "prr"}),
        ([record(("a", "int"), name="A"), record(*((name, "int") for name in "abcd"), name="B")], '{"a":1,"b":2}',
         {"a": 1, "b": 2, "c": None, "d": None}),
        ([record(*((name, "int") for name in "abc"), name="B"), record(("a", "int"), name="A")], '{"a":1,"x":2}',
         {"a": 1, "x": 2}),
        ([CAT, DOG], "{}", {"purr": None}), ([DOG, CAT], "{}", {"bark": None}),
        ([CAT, DOG], '{"purr":null}', {"purr": None}), ([CAT, DOG], '{"bark":"woof","x":1}', {"bark": "woof", "x": 1}),
        ([record(("v", "int"), name="A"), record(("v", "string"), name="B")], '{"v":"x"}', {"v": "x"}),
        ([record(("v", "string"), name="A"), record(("v", "int"), name="B")], '{"v":1}', {"v": 1}),
        ([record(("a", "int"), name="A"), record(("a", "int"),
        ("b", "int"), name="B")], '{"a":1,"b":2}', {"a": 1, "b": 2}),
        ([record(("a", "int"), ("b", "int"), name="B"), record(("a", "int"), name="A")], '{"a":1}', {"a": 1}),
        # A record that knows all keys, before those that do not
        ([record(("id", "string"), name="Ping"), record(("id", "string"), ("total", "string"), name="Order")],
         '{"id":"1","total":"9.50"}', {"id": "1", "total": "9.50"}),
        ([record(("a", "string"), name="A"), record(("a", "int"), ("b", "int"), name="B"),
          {"type": "map", "values": "int"}], '{"a":1,"b":2}', {"a": 1, "b": 2}),
        ([record(("a", "string"), name="A"), record(("a", "boolean"), ("b", "int"), name="B"),
          {"type": "map", "values": "string"}], '{"a":"x","b":"2"}', {"a": "x", "b": "2"}),
        ([CAT, {"type": "map", "values": "int"}], '{"a":1,"b":2}', {"a": 1, "b": 2}),
        ([CAT, {"type": "map", "values": "string"}], '{"purr":"prr"}', {"purr": "prr"}),
        ([CAT, {"type": "map", "values": "int"}], '{"purr":1,"x":2,"y":3}', {"purr": 1, "x": 2, "y": 3}),
    ],
)  # fmt: skip
def test_of_records_the_one_that_fits_best_counts(branches: list[Any], text: str, value: Any) -> None:
    assert read(["null", *branches], text) == value


def test_a_map_with_other_keys_than_text_may_be_a_branch() -> None:
    pair = record(("key", "int"), ("value", "string"), name="PairIntegerString")
    pairs = {"type": "array", "items": pair, "java-class": "java.util.Map"}
    for text in ('{"1":"one"}', '[{"key":1,"value":"one"}]'):
        assert read(["string", pairs], text) == [{"key": 1, "value": "one"}]
    assert read(["string", pairs], '"a"') == "a"


def test_with_the_names_of_records_the_branch_shows_and_can_be_written_again() -> None:
    for union in ([CAT, DOG], ["null", CAT, DOG]):
        format = of(record(("x", union)), return_record_name=True)
        value = format.decode(b'{"x":{"bark":"woof"}}')
        assert value == {"x": ("Dog", {"bark": "woof"})}
        assert format.encode(value) == b'{"x":{"bark":"woof"}}'
    assert of(record(("x", nullable(CAT))), return_record_name=True).decode(b'{"x":{}}') == {
        "x": ("Cat", {"purr": None})
    }


@pytest.mark.parametrize(
    ("branches", "text"),
    [(["string", "long"], "1.5"), (["string", "long"], "true"), (["int", ENUM], "2147483648"), (["int", ENUM], '"C"'),
     (["int", "bytes"], '"no base64"'), ([CAT, DOG], "5"), ([CAT, "int"], "[]"), (["boolean", "bytes"], "{}")],
)  # fmt: skip
def test_a_value_of_no_branch_is_an_error_that_names_field_and_branches(branches: list[Any], text: str) -> None:
    with pytest.raises(DecodeError, match=r"^field x: expected one of \w+, \w+, got "):
        read(["null", *branches], text)


@pytest.mark.parametrize("others", [[], [{"type": "map", "values": "boolean"}]])
def test_a_wrong_form_is_the_error_of_the_only_record_that_knows_all_keys(others: list[Any]) -> None:
    ping, order = record(("id", "string"), name="Ping"), record(("id", "string"), ("total", "boolean"), name="Order")
    for union in ([ping, order, *others], [*others, order, ping]):
        with pytest.raises(DecodeError, match=r"^field x.total: expected boolean, got str '9.50'"):
            read(union, '{"id":"1","total":"9.50"}')


def test_an_error_inside_the_chosen_branch_is_its_error() -> None:
    inner = record(("v", {"type": "array", "items": "int"}), name="A")
    with pytest.raises(DecodeError, match=r"^field x.v\[1\]: expected int, got str 'y'"):
        read([inner, CAT, "null"], '{"v":[1,"y"]}')


@pytest.mark.parametrize(
    ("branches", "value", "text"),
    [
        (["null", "string", "long"], "5", '"5"'), (["null", "string", "long"], 5, "5"),
        (["null", "string", "long"], None, "null"),
        (["int", "double"], 1.0, "1.0"), (["double", "int"], 1, "1"), (["float", "string"], 0.10000000149011612, "0.1"),
        (["string", "bytes"], b"\0", '"AA=="'), (["string", ENUM], "A", '"A"'),
        ([CAT, DOG, "null"], {"bark": "w"}, '{"bark":"w"}'),
        ([CAT, DOG], ("Dog", {}), "{}"), (["string", MS], dt.datetime(1970, 1, 1, tzinfo=dt.UTC), "0.0"),
        ([{"type": "array", "items": "int"}, {"type": "map", "values": "int"}], {"a": 1}, '{"a":1}'),
    ],
)  # fmt: skip
def test_values_are_written_untagged(branches: list[Any], value: Any, text: str) -> None:
    if value is None:
        assert of({"type": "array", "items": branches}).encode([None]) == b"[null]"
    else:
        assert shown(branches, value) == text


def test_a_value_of_no_branch_is_not_written() -> None:
    with pytest.raises(EncodeError, match=r"^field x: "):
        shown(["null", "string", "long"], 1.5)


def test_a_union_of_nothing_has_no_values() -> None:
    for union in (["null"], []):
        format = of(record(("x", union)))
        assert format.decode(b"{}") == {"x": None}
        with pytest.raises(DecodeError, match=r"^field x: expected"):
            format.decode(b'{"x":1}')
