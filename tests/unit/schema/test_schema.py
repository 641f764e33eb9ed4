"""Parsing schemas: contents, sources, names, equality, strict for users and lenient for the registry."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from schemas import doubling

from streamnative_serdes._schema import (
    MAX_TEXT,
    MISSING,
    Array,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
    comparable,
    parse,
    parse_given,
    resolve,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def f(kind: Any, name: str = "f", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def enum(*symbols: Any, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


# --- contents ---------------------------------------------------------------------------------------------------------


def test_all_attributes_of_a_schema_are_parsed() -> None:
    schema = record(
        f("int", "a", default=5, aliases=["old"], order="descending", doc="a doc", custom=[1]),
        f({"type": "array", "items": enum("A", "B", default="B", aliases=["x.Old", "Older"])}, "b"),
        f({"type": "map", "values": {"type": "fixed", "name": "F", "size": 2, "aliases": ["G"]}}, "c"),
        f(["null", "ns.R"], "d", default=None),
        namespace="ns",
        aliases=["Before", "other.Before"],
    )
    root = parse(schema).root

    assert isinstance(root, Record)
    assert (root.name, root.aliases) == ("ns.R", ("ns.Before", "other.Before"))
    a, b, c, d = root.fields
    assert (a.name, a.default, a.aliases, a.order, a.props) == ("a", 5, ("old",), "descending", {"custom": [1]})
    assert isinstance(a.type, Primitive)
    assert isinstance(b.type, Array)
    assert isinstance(b.type.items, Enum)
    assert (b.type.items.name, b.type.items.default, b.type.items.aliases) == ("ns.E", "B", ("x.Old", "ns.Older"))
    assert b.default is MISSING
    assert isinstance(c.type, Map)
    assert isinstance(c.type.values, Fixed)
    assert (c.type.values.name, c.type.values.size, c.type.values.aliases) == ("ns.F", 2, ("ns.G",))
    assert isinstance(d.type, Union)
    assert d.type.branches[1] is root  # a recursive reference is the record itself
    assert d.default is None
    assert sorted(parse(schema).names) == ["ns.E", "ns.F", "ns.R"]


@pytest.mark.parametrize("name", ["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
def test_each_notation_of_a_primitive_type_is_parsed(name: str) -> None:
    for source in (name, f'"{name}"', {"type": name}, json.dumps({"type": name})):
        root = parse(source).root
        assert isinstance(root, Primitive)
        assert root.kind == name


@pytest.mark.parametrize("inner", [{"type": "int"}, ["null", "int"]], ids=["object", "list"])
@pytest.mark.parametrize(
    ("around", "path"),
    [
        (lambda kind: kind, None),
        (lambda kind: record(f(kind)), "f"),
        (lambda kind: record(f({"type": "array", "items": kind})), "f[]"),
        (lambda kind: record(f(["null", {"type": "map", "values": kind}])), "f{}"),
    ],
    ids=["root", "field", "items", "values"],
)
def test_a_type_in_an_object_that_is_an_object_or_a_list_is_refused_with_its_path(
    around: Callable[[Any], Any], path: str | None, inner: Any
) -> None:
    """As by Java's Avro, and so by the broker: tests/property/codec/test_codec_against_java.py."""
    assert parse(around(inner))
    for strict in (True, False):
        with pytest.raises(SchemaError, match=r'expected "type" to name a type, got .*int') as caught:
            parse(around({"type": inner}), strict=strict)
        assert (caught.value.path or None) == path
        assert caught.value.hint == "write the inner type without the object around it"


@pytest.mark.parametrize(
    ("outer", "inner", "name"),
    [
        ({"name": "a.b.R"}, {"name": "I"}, "a.b.I"),
        ({"name": "R", "namespace": "a"}, {"name": "I"}, "a.I"),
        ({"name": "R", "namespace": "a"}, {"name": "I", "namespace": "b"}, "b.I"),
        ({"name": "R", "namespace": "a"}, {"name": "b.I", "namespace": "c"}, "b.I"),
        ({"name": "R", "namespace": "a"}, {"name": "I", "namespace": ""}, "I"),
        ({"name": "x.R", "namespace": "a"}, {"name": "I"}, "x.I"),
        ({"name": "R"}, {"name": "I"}, "I"),
    ],
)
def test_namespaces_are_inherited_as_specified(outer: dict[str, str], inner: dict[str, str], name: str) -> None:
    schema = {"type": "record", "fields": [f({"type": "fixed", "size": 1, **inner}), f(name, "again")], **outer}

    assert name in parse(schema).names
    assert Codec(schema).encode({"f": b"a", "again": b"b"}) == b"ab"


def test_a_name_without_dots_refers_to_the_enclosing_namespace() -> None:
    schema = record(
        f({"type": "fixed", "name": "top.I", "size": 1}, "a"),
        f({"type": "fixed", "name": "ns.I", "size": 2}, "b"),
        f(record(f("I"), name="ns.Inner"), "c"),
        f("I", "d"),
        name="top.R",
    )
    assert Codec(schema).encode({"a": b"1", "b": b"22", "c": {"f": b"33"}, "d": b"4"}) == b"122334"


# --- sources ----------------------------------------------------------------------------------------------------------


def test_a_schema_may_be_a_dict_list_text_path_or_parsed_schema(tmp_path: Path) -> None:
    schema = record(f("int"), doc="é")
    file = tmp_path / "schema.avsc"
    file.write_text(json.dumps(schema, ensure_ascii=False), encoding="utf-8")
    parsed = parse(schema)

    for source in (schema, json.dumps(schema), json.dumps(schema, indent=4), file, str(file), parsed):
        assert parse(source).same_as(parsed)
    assert parse(parsed) is parsed
    assert isinstance(parse(["null", "int"]).root, Union)


def test_text_of_a_registry_is_never_a_path(tmp_path: Path) -> None:
    file = tmp_path / "schema.avsc"
    file.write_text(json.dumps(record(f("int", default="not a number"))))
    with pytest.raises(SchemaError, match="the schema is not JSON"):
        parse(str(file), strict=False)
    assert parse_given(str(file)).fault is not None  # a user's may be, also that of a schema with a fault


COMMENTED = '/* v1 */ {"type": "enum", // "\n "name": "E", "doc": "http://a/*b*/\\"//", "symbols": [/**/"A" /* " */]}'


def test_comments_in_a_registrys_schema_are_skipped_as_by_java() -> None:
    held = parse(COMMENTED, strict=False)
    assert json.loads(held.text) == {"type": "enum", "name": "E", "doc": 'http://a/*b*/"//', "symbols": ["A"]}
    assert pickle.loads(pickle.dumps(held)).same_as(held)
    fault = parse_given(COMMENTED).fault
    assert fault is not None
    assert fault.hint == "remove the comments: Java skips them, but clients in other languages do not"


@pytest.mark.parametrize("text", [f"{COMMENTED} // c", f"{COMMENTED} /* c */", "/* {}", '/**/"int', '"/*' * 3])
def test_comments_that_java_refuses_are_no_json(text: str) -> None:
    with pytest.raises(SchemaError, match="the schema is not JSON"):
        parse(text, strict=False)


@pytest.mark.parametrize("piece", ["/*", '\\"', '"\\', '"', "//", "*/", '"/*'])
def test_comments_are_found_in_linear_time(piece: str) -> None:
    with pytest.raises(SchemaError):
        parse(piece * (MAX_TEXT // 3), strict=False)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (5, "a schema is a dict, a list, JSON text or the path of an .avsc file, got int"),
        (None, "got NoneType"),
        (b"int", "got bytes"),
        ("", "the schema is not JSON"),
        ("{", "the schema is not JSON"),
        ("nothing", "the schema is not JSON"),
        ('"nothing"', "unknown type 'nothing'"),
        ("5", "expected a type, got 5"),
        (Path("no/such/file.avsc"), "the schema file cannot be read"),
        ({"type": {1, 2}}, "the schema cannot be written as JSON"),
    ],
)
def test_anything_but_a_schema_is_refused(source: Any, text: str) -> None:
    for strict in (True, False):
        with pytest.raises(SchemaError) as caught:
            parse(source, strict=strict)
        assert text in str(caught.value)


def test_a_dict_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema

    with pytest.raises(SchemaError, match="cannot be written as JSON"):
        parse(schema)


# --- errors -----------------------------------------------------------------------------------------------------------

ALWAYS: list[tuple[Any, str, str]] = [
    ({}, "", 'expected "type" to name a type, got None'),
    ({"type": 5}, "", 'expected "type" to name a type, got 5'),
    ({"type": "nope"}, "", "unknown type 'nope'"),
    ({"type": "array"}, "", '"items" is missing'),
    ({"type": "map"}, "", '"values" is missing'),
    ({"type": "array", "items": {"type": "map", "values": "nope"}}, "[]{}", "unknown type 'nope'"),
    ({"type": "record", "name": "R"}, "", '"fields" is missing'),
    ({"type": "record", "name": "R", "fields": {}}, "", 'expected "fields" to be a list, got dict'),
    ({"type": "record", "fields": []}, "", "a record needs a name"),
    ({"type": "record", "name": 5, "fields": []}, "", "a record needs a name"),
    (record(5), "", "expected a field with a name, got 5"),  # type: ignore[arg-type]
    (record({"type": "int"}), "", "expected a field with a name"),
    (record({"name": "f"}), "f", '"type" is missing'),
    (record(f("nope")), "f", "unknown type 'nope'"),
    (record(f("int"), f("long")), "", "has field 'f' twice"),
    (record(f(record(f({"type": "array", "items": "nope"}, "deep"), name="I"))), "f.deep[]", "unknown type 'nope'"),
    (
        record(f("Later"), f({"type": "fixed", "name": "Later", "size": 1}, "g")),
        "f",
        "define a named type before its first use",
    ),
    (["null", "null"], "", "a union may hold null only once"),
    (["int", {"type": "int", "logicalType": "date"}], "", "a union may hold int only once"),
    (["null", ["int"]], "", "a union may not hold a union"),
    ([{"type": "array", "items": "int"}, {"type": "array", "items": "long"}], "", "a union may hold array only once"),
    ({"type": "enum", "name": "E"}, "", '"symbols" is missing'),
    (enum("A", "A"), "", "enum E has a symbol twice"),
    (enum("A", 5), "", "5 is not a valid symbol"),
    ({"type": "fixed", "name": "F"}, "", "fixed F needs a size in bytes, got None"),
    ({"type": "fixed", "name": "F", "size": -1}, "", "got -1"),
    ({"type": "fixed", "name": "F", "size": True}, "", "got True"),
    ({"type": "fixed", "name": "F", "size": "4"}, "", "got '4'"),
    ({"type": "fixed", "name": "F", "size": 2**31}, "", "got 2147483648"),
    ({"type": "fixed", "name": "int", "size": 1}, "", "the name 'int' is defined twice"),
    (record(f(record(name="R"))), "f", "the name 'R' is defined twice"),
]
STRICT: list[tuple[Any, str, str]] = [
    (record(f("R")), "", "record R contains itself"),
    (record(f(record(f(record(f("B"), name="C")), name="B"))), "", "contains itself without a union"),
    ([], "", "a union needs at least one branch"),
    (record(name="1R"), "", "'1R' is not a valid Avro name"),
    (record(name="a.1R"), "", "'a.1R' is not a valid Avro name"),
    (record(name="²"), "", "is not a valid Avro name"),
    (record(f("int", "a-b")), "a-b", "'a-b' is not a valid Avro name"),
    (record(f("int", "a.b")), "a.b", "'a.b' is not a valid Avro name"),
    (enum("A B"), "", "'A B' is not a valid symbol"),
    (enum("A", default="B"), "", "the default 'B' of enum E is not one of its symbols"),
    (record(aliases=5), "", "expected aliases to be a list of names, got 5"),
    (record(f("int", aliases="old")), "f", "expected aliases to be a list of names"),
    (record(f(enum("A", aliases=[5]))), "f", "expected aliases to be a list of names"),
    (record(f("int", default="x")), "f", "bad default: 'x' is not of type int"),
    (record(f("int", default=1.0)), "f", "bad default: 1.0 is not of type int"),
    (record(f("int", default=True)), "f", "bad default: True is not of type int"),
    (record(f("int", default=2**31)), "f", "bad default: 2147483648 is not of type int"),
    (record(f("long", default=None)), "f", "bad default: None is not of type long"),
    (record(f("string", default=None)), "f", "bad default: None is not of type string"),
    (record(f("double", default="1")), "f", "bad default: '1' is not of type double"),
    (record(f("float", default=1e39)), "f", "bad default: 1e+39 is not of type float"),
    (record(f("boolean", default=0)), "f", "bad default: 0 is not of type boolean"),
    (record(f("null", default="null")), "f", "bad default: 'null' is not of type null"),
    (record(f("bytes", default="\u0100")), "f", "is not of type bytes"),
    (record(f({"type": "fixed", "name": "F", "size": 2}, default="a")), "f", "is not 2 code points from 0 to 255"),
    (record(f(enum("A"), default="B")), "f", "'B' is not a symbol of enum E"),
    (record(f(["null", "int"], default="x")), "f", "'x' matches no branch of the union"),
    (record(f({"type": "array", "items": "int"}, default=[1, "x"])), "f", "'x' is not of type int"),
    (record(f({"type": "array", "items": "int"}, default={})), "f", "is not of type array"),
    (record(f({"type": "map", "values": "int"}, default={"k": None})), "f", "None is not of type int"),
    (record(f(record(f("int", "x"), name="I"), default={})), "f", "x: the default has no value for this field"),
    (record(f(record(f("int", "x"), name="I"), default=[])), "f", "is not of type record I"),
    (record(f(record(f("int", "x", default="bad"), name="I"))), "f.x", "'bad' is not of type int"),
    ({"type": "string", "logicalType": "date"}, "", "logical type date: annotates int, not string"),
    ({"type": "int", "logicalType": "uuid"}, "", "logical type uuid: annotates string or fixed, not int"),
    ({"type": "bytes", "logicalType": "decimal"}, "", "needs a precision from 1 to 4300, got None"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4301}, "", "needs a precision from 1 to 4300, got 4301"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "", "needs a scale from 0 to 2, got 3"),
    (
        {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 5},
        "",
        "precision 5 does not fit 2 bytes",
    ),
    ({"type": "fixed", "name": "F", "size": 15, "logicalType": "uuid"}, "", "needs 16 bytes, the fixed has 15"),
    ({"type": "fixed", "name": "F", "size": 16, "logicalType": "duration"}, "", "needs 12 bytes, the fixed has 16"),
]


def ident(sample: object) -> str:
    return sample[:50].encode("ascii", "backslashreplace").decode() if isinstance(sample, str) else ""


@pytest.mark.parametrize(("schema", "path", "text"), ALWAYS, ids=ident)
@pytest.mark.parametrize("strict", [True, False])
def test_a_schema_without_meaning_is_refused_with_its_path(schema: Any, path: str, text: str, strict: bool) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(schema, strict=strict)
    assert text in str(caught.value)
    assert (caught.value.path or "") == path


@pytest.mark.parametrize(("schema", "path", "text"), STRICT, ids=ident)
def test_schemas_accepted_only_from_a_registry_are_refused_from_users(schema: Any, path: str, text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(schema)
    assert text in str(caught.value)
    assert (caught.value.path or "") == path

    Codec(parse(schema, strict=False))


def test_an_endless_record_can_be_neither_written_nor_read() -> None:
    codec = Codec(parse(record(f("R")), strict=False))
    datum: dict[str, Any] = {}
    datum["f"] = datum

    with pytest.raises(EncodeError, match="nested deeper"):
        codec.encode(datum)
    for read in (codec.decode, codec.skip):
        with pytest.raises(DecodeError, match="nested deeper"):
            read(bytes(1000))


def test_strict_and_lenient_parsing_of_a_valid_schema_agree() -> None:
    schema = record(f(["null", "R"], default=None), f(enum("A", default="A"), "e"), f("bytes", "b", default="\u00ff"))

    assert parse(schema).same_as(parse(schema, strict=False))


# --- equality, as in Pulsar's registry --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (record(f("int"), doc="words"), True),
        (record(f("int", doc="words")), True),
        (record(f("int"), aliases=["Old"]), True),
        (record(f({"type": "int"})), True),
        (record(f("int", order="ascending")), True),
        (record(f("int", order="ignore")), False),
        (record(f("int"), namespace="ns"), False),
        (record(f("int"), name="S"), False),
        (record(f("long")), False),
        (record(f("int", "g")), False),
        (record(f("int", default=0)), False),
        (record(f("int", custom=1)), False),
        (record(f("int"), custom=1), False),
        (record(f({"type": "int", "size": 3, "items": "int"}), symbols=["A"], values="int"), True),
        (record(f({"type": "int", "default": 3})), False),
        (record(f({"type": "int", "logicalType": "date"})), False),
        (record(f("int"), f("int", "g")), False),
    ],
)
def test_two_schemas_are_equal_if_pulsar_treats_them_as_equal(other: Any, same: bool) -> None:
    one = parse(record(f("int")))

    assert one.same_as(parse(other)) is same
    assert (comparable(one.root) == comparable(parse(other).root)) is same


def test_the_repr_of_a_parsed_schema_does_not_double_with_each_record() -> None:
    schema, reader = parse(doubling(14)), parse(json.dumps(doubling(14)).replace('"int"', '"long"'))

    for printed in (schema, schema.root, [schema.names["R1"]], resolve(schema, reader)):
        assert len(repr(printed)) < 10_000
    assert repr(schema.names["R1"]) == "Record(name='R1', fields=['a', 'b'])"


def test_the_canonical_form_contains_only_names_and_types() -> None:
    schema = record(f(["null", "R"], doc="d", default=None), name="ns.R", doc="words", aliases=["Old"])

    assert json.loads(parse(schema).canonical_form()) == {
        "name": "ns.R",
        "type": "record",
        "fields": [{"name": "f", "type": ["null", "ns.R"]}],
    }


@pytest.mark.parametrize(("levels", "fits"), [(99, True), (101, False)])
def test_unions_and_records_of_a_nested_default_count_as_levels(levels: int, fits: bool) -> None:
    value: Any = {"next": None}
    for _ in range(levels):
        value = {"next": value}
    link = {"type": "record", "name": "Link", "fields": [{"name": "next", "type": ["null", "Link"]}]}
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "first", "type": link, "default": value}]}

    if fits:
        assert parse(outer).root.fields[0].default == value
    else:
        with pytest.raises(SchemaError, match="bad default"):
            parse(outer)


@pytest.mark.parametrize(("kind", "bits"), [("int", 32), ("long", 64)])
def test_the_smallest_and_largest_numbers_are_accepted_as_defaults(kind: str, bits: int) -> None:
    for value in (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1):
        assert Codec(record(f(kind, default=value))).encode({})
    for value in (-(2 ** (bits - 1)) - 1, 2 ** (bits - 1)):
        with pytest.raises(SchemaError, match=f"is not of type {kind}"):
            parse(record(f(kind, default=value)))


def test_a_default_that_is_not_a_symbol_is_ignored_in_a_schema_from_the_registry() -> None:
    root = parse(enum("A", "B", default="C"), strict=False).root
    assert isinstance(root, Enum)
    assert root.default is None
    with pytest.raises(DecodeError, match="has no symbol 'D'"):
        Codec(enum("A", "D"), parse(enum("A", "B", default="C"), strict=False)).decode(b"\2")
