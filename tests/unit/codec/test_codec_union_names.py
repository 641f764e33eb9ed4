"""Encoding unions: the caller names the branch by a tuple, a "-type" hint, or the name of a class."""

from __future__ import annotations

import collections
import datetime as dt
import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from rows import Row
from schemas import array, enum, fixed, mapping, record
from unions import (
    CAT,
    DOG,
    INTS,
    LAPSE,
    STAMP,
    STRING_MAP,
    STRINGS,
    SUIT,
    Suit,
    Text,
    branch_of,
    ident,
)

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import EncodeError

# --- (name, value) ----------------------------------------------------------------------------------------------------

WIDE = [
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    STRINGS,
    STRING_MAP,
    SUIT,
    fixed("F", 2),
]
NAMESPACED = [record("a.b.Cat", ("x", "int")), record("c.Dog", ("x", "int")), record("d.Dog", ("x", "int"))]


@pytest.mark.parametrize(
    ("name", "value", "branch"),
    [
        ("null", None, 0),
        ("boolean", True, 1),
        ("int", 5, 2),
        ("long", 5, 3),
        ("float", 0.5, 4),
        ("double", 0.5, 5),
        ("bytes", b"ab", 6),
        ("string", "CLUBS", 7),
        ("array", ["a"], 8),
        ("array", ("string", "a"), 8),  # only the outer tuple names a branch: the value is an array
        ("map", {"a": "b"}, 9),
        ("Suit", "CLUBS", 10),
        ("Suit", Suit.OTHER, 10),
        ("F", b"ab", 11),
        (Text("long"), 5, 3),
    ],
)
def test_a_tuple_of_name_and_value_selects_the_branch(name: str, value: Any, branch: int) -> None:
    inner = Codec(WIDE[branch]).encode(value)

    assert Codec(WIDE).encode((name, value)) == bytes([branch * 2]) + inner
    assert Codec(record("R", ("f", WIDE))).encode({"f": (name, value)}) == bytes([branch * 2]) + inner
    assert Codec(array(WIDE)).encode([(name, value)]) == b"\x02" + bytes([branch * 2]) + inner + b"\x00"


@pytest.mark.parametrize("nulls", [0, 1])
@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ("long", "long", 5),
        (STAMP, "long", dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (CAT, "Cat", {"name": "a", "lives": 9}),
        (NAMESPACED[0], "a.b.Cat", {"x": 1}),
        (NAMESPACED[0], "Cat", {"x": 1}),
        (STRINGS, "array", ["a", "b"]),
        (SUIT, "Suit", "CLUBS"),
    ],
    ids=ident,
)
def test_a_tuple_of_name_and_value_selects_the_branch_of_an_optional_type(
    nulls: int, schema: Any, name: str, value: Any
) -> None:
    union = [schema, "null"] if nulls else ["null", schema]
    codec = Codec(union)

    assert codec.encode((name, value)) == codec.encode(value) == bytes([2 - nulls * 2]) + Codec(schema).encode(value)
    assert codec.encode(("null", None)) == codec.encode(None) == bytes([nulls * 2])


@pytest.mark.parametrize(
    ("name", "branch"), [("a.b.Cat", 0), ("Cat", 0), ("c.Dog", 1), ("d.Dog", 2), ("Dog", None), ("b.Cat", None)]
)
def test_a_name_without_its_namespace_is_accepted_if_it_is_unique(name: str, branch: int | None) -> None:
    if branch is not None:
        assert branch_of(NAMESPACED, (name, {"x": 1})) == branch
        assert branch_of(NAMESPACED, {"-type": name, "x": 1}) == branch
        return
    for datum in ((name, {"x": 1}), {"-type": name, "x": 1}):
        with pytest.raises(EncodeError, match=f"the union has no branch named '{name}'.*a.b.Cat, c.Dog, d.Dog"):
            Codec(NAMESPACED).encode(datum)


def test_a_full_name_takes_precedence_over_a_name_without_namespace() -> None:
    schema = [record("a.Dog", ("x", "int")), record("Dog", ("x", "int"))]

    assert branch_of(schema, ("Dog", {"x": 1})) == 1
    assert branch_of(schema, ("a.Dog", {"x": 1})) == 0


@pytest.mark.parametrize(
    ("schema", "datum", "back"),
    [
        (["null", STRINGS], ("a", "b"), ["a", "b"]),
        (["null", STRINGS], ("array", "b", "c"), ["array", "b", "c"]),
        (["null", STRINGS], (), []),
        (["null", STRINGS, "int"], ("a", "b"), ["a", "b"]),
        (["null", INTS, "int"], (5, 6), [5, 6]),
        (["null", array(["null", STRINGS])], (None, ("a", "b")), [None, ["a", "b"]]),
        (STRINGS, ("array", "b"), ["array", "b"]),  # not a union
        (["null", LAPSE], (1, 2, 3), Duration(1, 2, 3)),
    ],
)
def test_a_tuple_that_names_no_branch_is_written_as_an_array(schema: Any, datum: Any, back: Any) -> None:
    assert Codec(schema).decode(Codec(schema).encode(datum)) == back


@pytest.mark.parametrize(
    ("schema", "datum", "expected"),
    [
        (
            ["null", "string"],
            ("strin", "a"),
            "the union has no branch named 'strin' (hint: its branches are null, string)",
        ),
        (["null", CAT], ("Dog", {}), "the union has no branch named 'Dog' (hint: its branches are null, Cat)"),
        (["null", CAT, "int"], ("Dog", {}), "(hint: its branches are null, Cat, int)"),
        (["null", "string", "int"], ("a", "b"), "the union has no branch named 'a'"),
        (["null", "string"], ("null", "a"), "expected null, got str 'a'"),
        (["null", "string"], ("string", None), "expected string, got NoneType None"),
        (["null", "string"], ("string", ("string", "a")), "expected string, got a tuple"),
        (["null", "string", "int"], ("int", "5"), "expected int, got str '5'"),
        (["null", "int", "long"], ("int", 2**31), "int out of range"),
        (["null", STRINGS, "int"], ("array", "b"), "expected array, got str 'b'"),
        (["null", CAT], ("Cat", ("Cat", {})), "a plain tuple has no field names"),
        (["null", "string"], ("a", "b", "c"), "expected string, got a tuple"),
        (["null", "string", "int"], (1, 2), "expected union of null, string, int, got a tuple"),
        (["null", "string", "int"], (["x"], 2), "expected union of null, string, int, got a tuple"),
        (["null", "string", "int"], (), "expected union of null, string, int, got a tuple"),
        ([enum(f"E{i}", "A") for i in range(1000)], ("E", "A"), "E18, E19)"),
        (["null", "int"], ("x" * 10_000, 1), "the union has no branch named"),
    ],
    ids=ident,
)
def test_a_tuple_with_a_wrong_name_or_value_is_an_error(schema: Any, datum: Any, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(record("R", ("f", schema))).encode({"f": datum})

    assert expected.replace("got a tuple", "got tuple") in str(caught.value).replace("got a tuple", "got tuple")
    assert caught.value.path is not None
    assert caught.value.path.startswith("f")
    assert len(str(caught.value)) < 700


# --- {"-type": name, ...} ---------------------------------------------------------------------------------------------

TWINS = [record("n.A", ("x", "int")), record("n.B", ("x", "int"))]


@pytest.mark.parametrize("make", [dict, collections.OrderedDict, collections.UserDict, types.MappingProxyType])
@pytest.mark.parametrize(("name", "branch"), [("n.A", 0), ("A", 0), ("n.B", 1), ("B", 1), (Text("B"), 1)])
@pytest.mark.parametrize("strict", [False, True])
def test_a_type_hint_selects_the_record(make: Any, name: str, branch: int, strict: bool) -> None:
    codec = Codec(TWINS, validate_strict=strict)

    for datum in ({"-type": name, "x": 5}, {"x": 5, "-type": name}):
        assert codec.encode(make(datum)) == bytes([branch * 2, 10])


@pytest.mark.parametrize(
    ("schema", "datum", "names"),
    [
        (TWINS, {"-type": "C", "x": 1}, "n.A, n.B"),
        (TWINS, {"-type": None, "x": 1}, "n.A, n.B"),
        (TWINS, {"-type": ["A"], "x": 1}, "n.A, n.B"),
        (TWINS, collections.UserDict({"-type": "C", "x": 1}), "n.A, n.B"),
        (["null", TWINS[0]], {"-type": "B", "x": 1}, "null, n.A"),
        (["null", TWINS[0]], {"x": 1, "-type": "null"}, "null, n.A"),
        (["null", TWINS[0], "int"], {"-type": "B", "x": 1}, "null, n.A, int"),
        (["null", TWINS[0], "int"], {"-type": "int", "x": 1}, "null, n.A, int"),
        (["null", "int", "string"], collections.UserDict({"-type": "C", "x": 1}), "null, int, string"),
    ],
)
def test_a_type_hint_that_names_no_record_is_an_error(schema: Any, datum: Any, names: str) -> None:
    with pytest.raises(EncodeError, match=f"(?m)the union has no branch named .* .hint: its branches are {names}.$"):
        Codec(schema).encode(datum)


@pytest.mark.parametrize(
    ("schema", "datum", "data"),
    [
        (["null", TWINS[0]], {"-type": "n.A", "x": 1}, b"\x02\x02"),
        (["null", TWINS[0]], {"x": 1, "-type": "A"}, b"\x02\x02"),
        (["null", TWINS[0], "int"], {"x": 1, "-type": "A"}, b"\x02\x02"),
        (TWINS[0], {"-type": "Other", "x": 1}, b"\x02"),  # not a union: an extra key like any other
        ([STRING_MAP, TWINS[0]], {"-type": "thing"}, b"\x00\x02\x0a-type\x0athing\x00"),  # a key of the map
    ],
)
def test_a_type_hint_is_used_only_to_select_a_record_of_a_union(schema: Any, datum: Any, data: bytes) -> None:
    assert Codec(schema).encode(datum) == data


def test_a_field_named_like_the_hint_is_written_as_a_field() -> None:
    schema = parse(record("A", ("-type", "string")), strict=False)
    codec, optional = Codec(schema), Codec(parse(["null", record("A", ("-type", "string"))], strict=False))
    several = Codec(parse(["null", record("A", ("-type", "string")), record("B", ("x", "int"))], strict=False))

    assert codec.encode({"-type": "x"}) == b"\x02x"
    assert optional.encode({"-type": "x", "more": 1}) == b"\x02\x02x"
    assert several.encode({"-type": "x"}) == b"\x02\x02x"
    assert several.encode({"-type": "B", "x": 1}) == b"\x04\x02"


# --- by the name of the class -----------------------------------------------------------------------------------------


@dataclass
class A:
    x: int


@dataclass(slots=True)
class B:
    x: int


@dataclass
class Other:
    x: int


class NamedB(NamedTuple):
    x: Any


NamedB.__name__ = "B"


@pytest.mark.parametrize(
    ("datum", "branch"),
    [(A(5), 0), (B(5), 1), (NamedB(5), 1), (Other(5), 0), (Row(x=5), 0)],
    ids=["dataclass", "slots", "named tuple", "another class", "row"],
)
def test_the_name_of_a_class_selects_the_record(datum: Any, branch: int) -> None:
    for schema in (TWINS, [*TWINS, mapping("int")], ["null", "string", *TWINS]):
        assert branch_of(schema, datum) == branch + (2 if len(schema) == 4 else 0)


def test_an_object_is_written_only_to_the_record_that_its_class_names() -> None:
    schema = [record("A", ("x", "string")), record("C", ("x", "int"))]

    with pytest.raises(EncodeError, match=r"(?m)^field x: expected string, got int 5$"):
        Codec(schema).encode(A(5))
    assert branch_of(schema, Other(5)) == 1


def test_the_class_name_of_a_spark_row_does_not_select_a_record() -> None:
    assert branch_of([record("Row", ("y", "int")), record("A", ("x", "int"))], Row(x=5)) == 1


def test_objects_are_written_as_records_and_never_as_maps_or_arrays() -> None:
    for datum in (A(5), NamedB(5), Row(x=5)):
        assert branch_of([mapping("int"), INTS, TWINS[0]], datum) == 2
        for schema in (mapping("int"), INTS, [mapping("int"), INTS], ["null", INTS], ["null", mapping("int")]):
            with pytest.raises(EncodeError, match="expected"):
                Codec(schema).encode(datum)


@dataclass
class Pet:
    name: str
    lives: int | None = None
    breed: str | None = None
    kind = "pet"  # not a field


@pytest.mark.parametrize(
    ("datum", "strict", "branch"),
    [
        (Pet("a", lives=9), False, 0),
        (Pet("a", breed="b"), False, 1),
        (collections.namedtuple("Pet", "name breed")("a", "b"), False, 1),
        (collections.namedtuple("Pet", "breed name")("b", "a"), True, 1),
        (collections.UserDict(name="a", lives=9), True, 0),
    ],
)
def test_objects_are_written_to_the_record_with_their_fields(datum: Any, strict: bool, branch: int) -> None:
    assert branch_of([CAT, DOG], datum) == branch
    if strict:
        Codec([CAT, DOG], validate_strict=True).encode(datum)


# --- values read with return.record.name ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "data", "datum"),
    [
        (["null", TWINS[0]], b"\x02\x0a", ("n.A", {"x": 5})),
        (["null", TWINS[0]], b"\x00", None),
        (TWINS, b"\x02\x0a", ("n.B", {"x": 5})),
        (array(["null", *TWINS]), b"\x04\x04\x0a\x00\x00", [("n.B", {"x": 5}), None]),
        (record("L", ("next", ["null", "L"])), b"\x02\x00", {"next": ("L", {"next": None})}),
        ([record("S", ("s", [STRINGS, *TWINS]))], b"\x00\x02\x0a", ("S", {"s": ("n.A", {"x": 5})})),
    ],
)
def test_values_read_with_record_names_can_be_written_again(schema: Any, data: bytes, datum: Any) -> None:
    codec = Codec(schema, return_record_name=True)

    assert codec.decode(data) == datum
    assert codec.encode(datum) == data
