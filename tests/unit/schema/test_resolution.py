"""Reading data with another schema than it was written with (Avro specification 1.12, "Schema Resolution")."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from schemas import array, fixed, mapping, record

from streamnative_serdes._schema import parse, resolution
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import DecodeError, SchemaError

Json = Any
NO = object()  # no default


def enum(name: str, symbols: str, **more: Any) -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def logical(base: Json, name: str, **more: Any) -> Json:
    return {**(base if isinstance(base, dict) else {"type": base}), "logicalType": name, **more}


def read(writer: Json, reader: Json, datum: Any, **options: Any) -> Any:
    return Codec(writer, reader, **options).decode(Codec(writer).encode(datum))


MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
LOCAL_MILLIS, NANOS = logical("long", "local-timestamp-millis"), logical("long", "timestamp-nanos")
MOMENT = dt.datetime(2024, 2, 29, 1, 2, 3, 4000, dt.UTC)
A1 = record("A", ("x", "int"))

# name -> (writer's schema, reader's schema, value written, value read)
PAIRS: dict[str, tuple[Json, Json, Any, Any]] = {
    # promotions
    "int as long": ("int", "long", -7, -7),
    "int as float": ("int", "float", 16_777_217, 16_777_216.0),
    "int as double": ("int", "double", 16_777_217, 16_777_217.0),
    "long as float": ("long", "float", 2**63 - 1, 9.223372036854776e18),
    "long as double": ("long", "double", 2**53 + 1, 9_007_199_254_740_992.0),
    "float as double": ("float", "double", 1.5, 1.5),
    "string as bytes": ("string", "bytes", "é", b"\xc3\xa9"),
    "bytes as string": ("bytes", "string", b"\xc3\xa9", "é"),
    "promotion in an array": (array("int"), array("double"), [1, 2], [1.0, 2.0]),
    "promotion in a map": (mapping("int"), mapping("long"), {"a": 1}, {"a": 1}),
    # records
    "fields in another order": (
        record("R", ("a", "int"), ("b", "string")), record("R", ("b", "string"), ("a", "int")),
        {"a": 1, "b": "x"}, {"b": "x", "a": 1},
    ),
    "fields dropped at the start, in the middle and at the end": (
        record("R", ("a", array("string")), ("b", "int"), ("c", mapping("long")), ("d", "int"), ("e", ["null", "R"])),
        record("R", ("b", "int"), ("d", "long")),
        {"a": ["x", "y"], "b": 1, "c": {"k": 5}, "d": 2, "e": None}, {"b": 1, "d": 2},
    ),
    "a field added": (A1, record("A", ("x", "int"), ("y", "string", "new")), {"x": 1}, {"x": 1, "y": "new"}),
    "all fields added": (record("A"), record("A", ("y", "int", 3)), {}, {"y": 3}),
    "all fields dropped": (A1, record("A"), {"x": 1}, {}),
    "a field by alias": (
        record("A", ("old", "int")), record("A", {"name": "new", "type": "int", "aliases": ["older", "old"]}),
        {"old": 5}, {"new": 5},
    ),
    "a record by alias, whose fields have aliases": (
        record("n.Old", ("x", "int")),
        record("n.New", {"name": "y", "type": "int", "aliases": ["x"]}, aliases=["Old"]),
        {"x": 1}, {"y": 1},
    ),
    "a field renamed, and another field with its old name": (
        record("A", ("x", "int")), record("A", ("x", "int", 0), {"name": "y", "type": "int", "aliases": ["x"]}),
        {"x": 1}, {"x": 0, "y": 1},
    ),
    "a namespace changed": (record("old.R", ("x", "int")), record("new.R", ("x", "int")), {"x": 1}, {"x": 1}),
    "a nested record changed": (
        record("R", ("n", A1), ("z", "int")),
        record("R", ("n", record("A", ("q", "int", 9), ("x", "double"))), ("z", "int")),
        {"n": {"x": 1}, "z": 2}, {"n": {"q": 9, "x": 1.0}, "z": 2},
    ),
    "a list, recursively": (
        record("L", ("v", "int"), ("next", ["null", "L"])),
        record("L", ("next", ["null", "L"]), ("v", "long"), ("w", "int", 1)),
        {"v": 1, "next": {"v": 2, "next": None}}, {"next": {"next": None, "v": 2, "w": 1}, "v": 1, "w": 1},
    ),
    "one record at two places": (
        record("R", ("a", A1), ("b", "A")), record("R", ("b", record("A", ("x", "long"))), ("a", "A")),
        {"a": {"x": 1}, "b": {"x": 2}}, {"b": {"x": 2}, "a": {"x": 1}},
    ),
    # enums and fixed
    "an enum with symbols in another order": (enum("E", "ABC"), enum("E", "CBA"), "A", "A"),
    "an enum that lost a symbol, with a default": (enum("E", "ABC"), enum("E", "BC", default="C"), "A", "C"),
    "an enum of another namespace": (enum("n.E", "AB"), enum("m.E", "AB"), "B", "B"),
    "an enum by alias": (enum("n.E", "AB"), enum("m.F", "AB", aliases=["n.E"]), "B", "B"),
    "a fixed of another namespace": (fixed("n.F", 2), fixed("m.F", 2), b"ab", b"ab"),
    "an enum by its second alias": (enum("n.E", "AB"), enum("m.F", "AB", aliases=["n.D", "n.E"]), "B", "B"),
    "a fixed by alias": (fixed("F", 2), fixed("G", 2, aliases=["F"]), b"ab", b"ab"),
    "a fixed by its second alias": (fixed("F", 2), fixed("G", 2, aliases=["E", "F"]), b"ab", b"ab"),
    # unions
    "into a union": ("int", ["null", "string", "int"], 5, 5),
    "into a union by promotion": ("int", ["null", "string", "double"], 5, 5.0),
    "out of a union": (["null", "int"], "int", 5, 5),
    "out of a union by promotion": (["null", "int", "string"], "bytes", "a", b"a"),
    "a union in another order": (["null", "int", "string"], ["string", "null", "int"], "a", "a"),
    "a nullable type with null last": (["null", "int"], ["int", "null"], None, None),
    "a union widened": (["null", "int"], ["null", "string", "long"], 3, 3),
    "a union narrowed": (["null", "int", "string"], ["null", "string"], "x", "x"),
    "the record of the same name": (
        A1, [record("B", ("x", "int")), record("n.A", ("x", "int"), ("z", "int", 2)), record("C", ("x", "int"))],
        {"x": 1}, {"x": 1, "z": 2},
    ),
    "a field that became nullable": (A1, record("A", ("x", ["null", "int"], None)), {"x": 1}, {"x": 1}),
    # logical types
    "millis as micros": (MILLIS, MICROS, MOMENT, MOMENT),
    "micros as millis": (MICROS, MILLIS, MOMENT + dt.timedelta(microseconds=7), MOMENT),
    "millis as nanos": (MILLIS, NANOS, MOMENT, 1_709_168_523_004_000_000),
    "nanos as micros": (NANOS, MICROS, -1, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)),
    "a timestamp as a local timestamp": (MICROS, LOCAL_MILLIS, MOMENT, MOMENT.replace(tzinfo=None)),
    "a timestamp as a number": (MILLIS, "long", MOMENT, 1_709_168_523_004),
    "a number as a timestamp": ("int", MILLIS, 1000, dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
    "a number as a date": ("int", logical("int", "date"), 1, dt.date(1970, 1, 2)),
    "a date as a double": (logical("int", "date"), "double", dt.date(1970, 1, 2), 1.0),
    "time-millis as time-micros": (
        logical("int", "time-millis"), logical("long", "time-micros"), dt.time(1, 2, 3, 4000), dt.time(1, 2, 3, 4000),
    ),
    "a decimal of more digits": (
        logical("bytes", "decimal", precision=4, scale=2), logical("bytes", "decimal", precision=9, scale=2),
        Decimal("12.34"), Decimal("12.34"),
    ),
    "a decimal of fewer digits": (
        logical("bytes", "decimal", precision=9, scale=2), logical("bytes", "decimal", precision=4, scale=2),
        Decimal("1234567.89"), Decimal("1234567.89"),
    ),
    "a decimal as bytes": (logical("bytes", "decimal", precision=4, scale=2), "bytes", Decimal("1.00"), b"\x64"),
    "a uuid as text": (logical("string", "uuid"), "string", UUID(int=1), str(UUID(int=1))),
    "text as a uuid": ("string", logical("string", "uuid"), str(UUID(int=1)), UUID(int=1)),
    "a fixed as a duration": (
        fixed("D", 12), logical(fixed("D", 12), "duration"), b"\1\0\0\0\2\0\0\0\3\0\0\0", Duration(1, 2, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_data_is_read_with_the_readers_schema(name: str) -> None:
    writer, reader, written, expected = PAIRS[name]
    codec = Codec(writer, reader)
    data = codec.encode(written)  # with the writer's schema

    got = codec.decode(data)

    assert got == expected
    assert repr(got) == repr(expected)  # distinguishes 1 from 1.0, and shows the order of the fields
    assert codec.skip(data) == len(data)
    assert pickle.loads(pickle.dumps(codec)).decode(data) == expected
    with pytest.raises(DecodeError):
        codec.decode(data + b"\0")


# name -> (reader's type, default in JSON, value filled in)
DEFAULTS: dict[str, tuple[Json, Json, Any]] = {
    "null": ("null", None, None),
    "boolean": ("boolean", True, True),
    "int": ("int", -1, -1),
    "long": ("long", 2**62, 2**62),
    "float": ("float", 1, 1.0),
    "double": ("double", 0.1, 0.1),
    "infinity": ("float", "-Infinity", float("-inf")),
    "string": ("string", "é", "é"),
    "bytes": ("bytes", "\u00ff\u0000a", b"\xff\x00a"),
    "fixed": (fixed("F", 2), "\u00ff\u0001", b"\xff\x01"),
    "enum": (enum("E", "AB"), "B", "B"),
    "array": (array("int"), [1, 2], [1, 2]),
    "array of nothing": (array("int"), [], []),
    "map": (mapping(array("long")), {"a": [1], "b": []}, {"a": [1], "b": []}),
    "nullable": (["null", "int"], None, None),
    "union of another branch": (["null", "int", "string"], "x", "x"),
    "union with a record": ([record("I", ("p", "int", 4)), "null"], {}, {"p": 4}),
    "record": (record("I", ("p", "int"), ("q", "string", "deep"), ("r", array("int"), [7])), {"p": 1},
               {"p": 1, "q": "deep", "r": [7]}),
    "date": (logical("int", "date"), 1, dt.date(1970, 1, 2)),
    "timestamp": (MILLIS, 1000, dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
    "decimal": (logical("bytes", "decimal", precision=4, scale=2), "\u0004\u00d2", Decimal("12.34")),
    "uuid": (logical("string", "uuid"), str(UUID(int=5)), UUID(int=5)),
    "uuid in a fixed": (logical(fixed("F", 16), "uuid"), "\0" * 15 + "\u0005", UUID(int=5)),
    "duration": (logical(fixed("D", 12), "duration"), "\1\0\0\0\2\0\0\0\3\0\0\0", Duration(1, 2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_each_record_gets_its_own_copy_of_the_readers_default(name: str) -> None:
    kind, default, expected = DEFAULTS[name]
    codec = Codec(A1, record("A", ("x", "int"), ("d", kind, default)))
    data = codec.encode({"x": 1})

    first, second = codec.decode(data), codec.decode(data)

    assert first == second == {"x": 1, "d": expected}
    assert repr(first["d"]) == repr(expected)
    for value in inner(first["d"]):
        value.clear()  # must not affect other copies
    assert second == codec.decode(data) == {"x": 1, "d": expected}


def inner(value: Any) -> list[Any]:
    """Return the lists and dicts in ``value``, the innermost first."""
    if not isinstance(value, list | dict):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [found for part in parts for found in inner(part)] + [value]


@pytest.mark.parametrize(
    ("writer", "reader", "written", "java", "spec"),
    [
        ("int", ["double", "int"], 3, 3, 3.0),
        ("long", ["float", "long"], 2**53 + 1, 2**53 + 1, float(2**53)),
        ("string", ["bytes", "string"], "a", "a", b"a"),
        (["null", "int"], ["null", "double", "int"], 3, 3, 3.0),
        (A1, record("B", ("x", "int")), {"x": 1}, {"x": 1}, SchemaError),
        (A1, ["null", record("B", ("x", "int"))], {"x": 1}, {"x": 1}, SchemaError),
        (
            A1,
            [record("n.A", ("x", "int"), ("y", "int", 7)), record("A", ("x", "int"))],
            {"x": 1},
            {"x": 1},
            {"x": 1, "y": 7},
        ),
        (enum("n.E", "A"), ["null", enum("m.E", "A")], "A", SchemaError, "A"),
        (
            logical("bytes", "decimal", precision=4, scale=2),
            logical("bytes", "decimal", precision=9, scale=2),
            Decimal("1.00"),
            Decimal("1.00"),
            SchemaError,
        ),
    ],
    ids=repr,
)
def test_java_and_spec_rules_differ_as_documented(
    writer: Json, reader: Json, written: Any, java: Any, spec: Any
) -> None:
    for rules, expected in (("java", java), ("spec", spec)):
        if expected is SchemaError:
            with pytest.raises(SchemaError, match="cannot be read as the reader's"):
                Codec(writer, reader, schema_resolution=rules)  # type: ignore[arg-type]
        else:
            got = read(writer, reader, written, schema_resolution=rules)
            assert (got, type(got)) == (expected, type(expected))


D42, D93 = logical("bytes", "decimal", precision=4, scale=2), logical("bytes", "decimal", precision=9, scale=3)

# name -> (writer's schema, reader's schema, path, text of the error)
IMPOSSIBLE: dict[str, tuple[Json, Json, str, str]] = {
    "other types": ("int", "string", "", "the writer's int cannot be read as the reader's string"),
    "narrower": ("long", "int", "", "the writer's long cannot be read as the reader's int"),
    "no branch": ("string", ["null", "int"], "", "writer's string cannot be read as the reader's union of null, int"),
    "no branch of any": (["null", "string"], "int", "", "the writer's null cannot be read as the reader's int"),
    "a field of a nested record": (
        record("R", ("a", record("S", ("b", "string")))), record("R", ("a", record("S", ("b", "int")))), "a.b",
        "the writer's string cannot be read as the reader's int",
    ),
    "a field without default": (A1, record("A", ("x", "int"), ("y", "int")), "", "the writer has no field 'y'"),
    "a nullable field without default": (A1, record("A", ("y", ["null", "int"])), "", "the writer has no field 'y'"),
    "another size": (fixed("F", 2), fixed("F", 3), "", "F of 2 bytes cannot be read as the reader's fixed F of 3"),
    "another fixed": (fixed("F", 2), fixed("G", 2), "", "F of 2 bytes cannot be read as the reader's fixed G of 2"),
    "another enum": (enum("E", "A"), enum("F", "A"), "", "enum E cannot be read as the reader's enum F"),
    "another scale": (D42, D93, "", r"bytes decimal\(4, 2\) cannot be read as the reader's bytes decimal\(9, 3\)"),
    "another scale in a fixed": (
        logical(fixed("F", 4), "decimal", precision=4, scale=2),
        logical(fixed("F", 4), "decimal", precision=4, scale=0), "",
        r"of 4 bytes decimal\(4, 2\) cannot be read as the reader's fixed F of 4 bytes decimal\(4, 0\)",
    ),
    "a big-decimal, which has no fixed scale": (D42, logical("bytes", "big-decimal"), "", "reader's bytes big-decimal"),
    "two fields with the same name by aliases": (
        record("A", ("x", "int"), ("y", "int")), record("A", {"name": "y", "type": "int", "aliases": ["x"]}), "",
        "Duplicate field y in record A",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
@pytest.mark.parametrize("rules", ["java", "spec"])
def test_schemas_that_can_never_be_resolved_are_an_error_when_the_codec_is_created(name: str, rules: Any) -> None:
    writer, reader, path, text = IMPOSSIBLE[name]

    with pytest.raises(SchemaError, match=text) as caught:
        Codec(writer, reader, schema_resolution=rules)
    assert (caught.value.path or "") == path


def test_a_bad_default_that_each_record_needs_is_an_error_when_the_codec_is_created() -> None:
    reader = parse(record("A", ("x", "int"), ("y", "int", "bad")), strict=False)

    with pytest.raises(SchemaError, match="no field 'y', and the reader's default is bad: 'bad' is not of type int"):
        Codec(A1, reader)
    assert Codec(record("A", ("x", "int"), ("y", "int")), reader).decode(b"\2\4") == {"x": 1, "y": 2}


# name -> (writer's schema, reader's schema, good datum, its value when read, bad datum, path and text of the error)
NO_STRING = "the writer's string cannot be read"
SOMETIMES: dict[str, tuple[Json, Json, Any, Any, Any, str, str]] = {
    "an empty array": (array("string"), array("int"), [], [], ["a"], "[0]", NO_STRING),
    "an empty map": (mapping("string"), mapping("int"), {}, {}, {"k": "a"}, '["k"]', NO_STRING),
    "a branch": (["null", "int"], "int", 1, 1, None, "", "the writer's null cannot be read as the reader's int"),
    "another branch": (["null", "int"], ["null", "string"], None, None, 1, "", "writer's int cannot be read as"),
    "a symbol": (enum("E", "AB"), enum("E", "B"), "B", "B", "A", "", "the reader's enum E has no symbol 'A'"),
    "a record inside a union": (
        record("L", ("n", ["null", "L", "int"])), record("L", ("n", ["null", "L", "string"])), {"n": {"n": None}},
        {"n": {"n": None}}, {"n": {"n": 5}}, "n.n", "the writer's int cannot be read",
    ),
    "text": ("bytes", "string", b"a", "a", b"\xff", "", "expected text in UTF-8"),
    "a timestamp out of range": (NANOS, NANOS | {"logicalType": "timestamp-micros"}, 0,
                              dt.datetime(1970, 1, 1, tzinfo=dt.UTC), None, "", ""),
    "nanoseconds of a far year": (MICROS, NANOS, dt.datetime(1970, 1, 1, tzinfo=dt.UTC), 0,
                                  dt.datetime(9999, 1, 1, tzinfo=dt.UTC), "", "too large for the reader's unit"),
}  # fmt: skip


@pytest.mark.parametrize("name", SOMETIMES)
def test_a_mismatch_that_depends_on_the_data_is_an_error_only_for_such_data(name: str) -> None:
    writer, reader, good, expected, bad, path, text = SOMETIMES[name]
    codec = Codec(writer, reader)

    assert codec.decode(codec.encode(good)) == expected
    if text:
        with pytest.raises(DecodeError, match=text) as caught:
            codec.decode(codec.encode(bad))
        assert (caught.value.path or "") == path
        assert caught.value.offset is not None


def test_record_names_are_returned_for_records_in_the_readers_unions() -> None:
    reader = record("R", ("a", ["null", record("B", ("x", "int"))]), ("b", "B"), ("c", ["B", "int"], {"x": 3}))
    codec = Codec(record("R", ("a", A1), ("b", ["null", "A"])), reader, return_record_name=True)

    got = codec.decode(codec.encode({"a": {"x": 1}, "b": {"x": 2}}))

    assert got == {"a": ("B", {"x": 1}), "b": {"x": 2}, "c": ("B", {"x": 3})}


def test_without_logical_types_raw_values_are_resolved() -> None:
    assert read(MILLIS, MICROS, 5, avro_logical_types=False) == 5
    assert read(D42, D93, Decimal("1.00"), avro_logical_types=False) == b"\x64"
    added = record("A", ("x", "int"), ("at", MILLIS, 7))
    assert read(A1, added, {"x": 1}, avro_logical_types=False) == {"x": 1, "at": 7}


def test_two_records_with_the_same_name_by_an_alias_are_read_separately() -> None:
    writer = record("R", ("a", record("A", ("x", "int"))), ("b", record("B", ("y", "string"))))
    new = record("B", ("x", "int", 0), ("y", "string", ""), aliases=["A"])

    got = read(writer, record("R", ("a", new), ("b", "B")), {"a": {"x": 1}, "b": {"y": "s"}})

    assert got == {"a": {"x": 1, "y": ""}, "b": {"x": 0, "y": "s"}}


def test_values_filled_in_from_defaults_count_as_items() -> None:
    reader = array(record("A", ("x", "int"), ("d", array("int"), [1, 2, 3])))
    codec = Codec(array(A1), reader, max_items=60)
    data = codec.encode([{"x": 1}] * 10)

    assert len(codec.decode(data)) == 10  # 10 items with 4 values each
    with pytest.raises(DecodeError, match=r"too many items \(hint: the option max.items"):
        codec.decode(codec.encode([{"x": 1}] * 13))


def test_values_filled_into_records_without_bytes_count_as_items() -> None:
    reader = array(record("E", ("d", array("int"), [0] * 1000)))
    codec = Codec(array(record("E")), reader)

    with pytest.raises(DecodeError, match="too many items"):
        codec.decode(b"\x80\x80\x40" + b"\0")


def test_a_resolving_codec_can_be_copied_and_pickled() -> None:
    codec = Codec(A1, record("A", ("x", "long"), ("y", "int", 2)), max_depth=3)

    for other in (copy.copy(codec), copy.deepcopy(codec), pickle.loads(pickle.dumps(codec))):
        assert other.decode(b"\2") == {"x": 1, "y": 2}
        assert other.reader_schema.text == codec.reader_schema.text


def test_schemas_that_differ_only_in_documentation_are_accepted() -> None:
    assert Codec(A1, {**A1, "doc": "The same."}).decode(b"\2") == {"x": 1}


def test_resolving_unions_of_many_records_stops_at_a_limit() -> None:
    def union(prefix: str, count: int) -> Json:
        return [record(f"{prefix}{i}", *((f"f{i}_{k}", "int") for k in range(3))) for i in range(count)]

    with pytest.raises(SchemaError, match="more than 200000 steps"):
        Codec(array(union("W", 900)), array(["null", *union("R", 900)]))


def test_schemas_too_deep_to_resolve_are_an_error() -> None:
    def chain(name: str, leaf: str) -> Json:
        links = [record(f"R{k}", ("f", f"R{k - 1}" if k else leaf)) for k in range(1500)]
        return record("Top", (name, ["null", *links], None), ("last", "R1499"))

    assert Codec(chain("links", "int"), chain("links", "long"))  # each link is resolved after the one below it
    with pytest.raises(SchemaError, match="nested too deeply to be resolved"):
        Codec(chain("links", "int"), chain("others", "long"))


@pytest.mark.parametrize("rules", ["java", "spec"])
def test_the_steps_to_resolve_large_schemas_grow_linearly(rules: Any) -> None:
    def big(leaf: str) -> Json:
        inner = record("Big", *((f"x{i}", "int") for i in range(600)))
        return record("Root", ("big", inner), *((f"f{i}", ["null", "Big"]) for i in range(600)), ("leaf", leaf))

    def wide(size: int) -> Json:
        return record("Root", ("u", ["null", *(fixed(f"F{i}", size) for i in range(3000))]))

    assert Codec(big("int"), big("long"), schema_resolution=rules)
    assert Codec(wide(1), wide(2), schema_resolution="java").decode(b"\0") == {"u": None}


def test_nested_unions_are_resolved_in_one_pass_by_spec_rules() -> None:
    writer: Json = "int"
    reader: Json = "long"
    for _ in range(30):
        writer, reader = array(writer), array(["null", reader])

    assert Codec(writer, reader, schema_resolution="spec").decode(b"\0") == []


def test_the_minimum_size_of_a_resolved_record_is_checked_before_memory_is_allocated() -> None:
    fields = [(f"x{i}", "int") for i in range(100)]
    writer = record("L", ("n", ["null", "L"]), *fields)
    codec = Codec(writer, record("L", ("n", ["null", "L"]), *fields, ("y", "int", 1)))

    with pytest.raises(DecodeError, match="expected at least 101 bytes for record L, got 50"):
        codec.decode(b"\2" * 50)


def test_long_text_in_a_default_counts_as_several_items() -> None:
    codec = Codec(array(record("E")), array(record("E", ("d", array("string"), ["x" * 1_000_000]))))

    with pytest.raises(DecodeError, match="too many items"):
        codec.decode(b"\xd0\x0f" + b"\0")  # 1,000 records without bytes, a gigabyte of text


@pytest.mark.parametrize(("most", "fits"), [(3, True), (2, False)])
def test_the_limit_on_steps_of_a_resolution_is_exact(monkeypatch: pytest.MonkeyPatch, most: int, fits: bool) -> None:
    monkeypatch.setattr(resolution, "MAX_STEPS", most)

    if fits:
        assert Codec(array("int"), array("long")).decode(b"\2\2\0") == [1]
    else:
        with pytest.raises(SchemaError, match="more than 2 steps to resolve"):
            Codec(array("int"), array("long"))
