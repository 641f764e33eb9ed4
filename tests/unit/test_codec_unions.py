"""Unions on write: which branch a value goes to, how a caller names one, and what is said when none fits."""

from __future__ import annotations

import collections
import datetime as dt
import enum as py_enum
import types
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from child import run_limited
from schemas import array, enum, fixed, logical, mapping, record

from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import EncodeError
from streamnative_serdes.schema import parse

SUIT = enum("Suit", "SPADES", "HEARTS", "CLUBS")
CAT = record("Cat", ("name", "string"), ("lives", "int"))
DOG = record("Dog", ("name", "string"), ("breed", "string"))
STRINGS, INTS, STRING_MAP = array("string"), array("int"), mapping("string")
DATE, STAMP = logical("int", "date"), logical("long", "timestamp-micros")
UUID_TEXT, UUID_FIXED = logical("string", "uuid"), fixed("U", 16, logicalType="uuid")
PRICE = logical("bytes", "decimal", precision=5, scale=2)
LARGE = fixed("Large", 16, logicalType="decimal", precision=30, scale=4)
LAPSE = fixed("Lapse", 12, logicalType="duration")
ONE = UUID(int=1)


def ident(sample: object) -> str:
    return str(sample)[:40] if isinstance(sample, str | int | float) else ""


def branch_of(schema: Any, datum: Any) -> int:
    """The branch that the datum of a union went to, in bytes that can be read."""
    data = Codec(schema).encode(datum)
    Codec(schema).decode(data)
    return data[0] // 2


class Colour(py_enum.Enum):
    SPADES = 1
    RED = "red"


class Suit(py_enum.StrEnum):
    HEARTS = "hearts"
    OTHER = "CLUBS"
    TEXT = "text"


class Words(py_enum.StrEnum):
    TEXT = "text"


class Swapped(py_enum.StrEnum):
    SPADES = "HEARTS"


class Level(py_enum.IntEnum):
    SPADES = 7
    LOW = 5


class Text(str):
    __slots__ = ()


class Number(int):
    pass


# --- by type, range, size, symbols ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "datum", "branch"),
    [
        # Numbers: the exact type, as Java; fastavro takes the first that can hold the value.
        (["double", "int"], 3, 1),
        (["double", "long"], 3, 1),
        (["double", "string"], 3, 0),
        (["float", "double"], 0.1, 1),  # a double loses nothing
        (["float", "double"], 3, 1),
        (["float", "double"], 2**53, 1),
        (["float", "long"], 2**24, 1),
        (["float", "int"], 2**40, 0),  # exact, and too large for an int
        (["int", "double"], 2**53, 1),
        (["float", "string"], 0.1, 0),
        (["int", "long"], 2**31 - 1, 0),
        (["int", "long"], 2**31, 1),
        (["long", "int"], -(2**31), 1),
        (["long", "int"], -(2**31) - 1, 0),
        (["int", "long"], Number(5), 0),
        (["int", "long"], Number(2**40), 1),
        (["int", "long"], Level.LOW, 0),
        # A bool is no number.
        (["long", "boolean"], True, 1),
        (["boolean", "long"], 1, 1),
        (["int", "boolean", "double"], False, 1),
        # Text
        (["string", "bytes"], b"a", 1),
        (["bytes", "string"], "a", 1),
        ([SUIT, "string"], "CLUBS", 0),
        (["string", SUIT], "CLUBS", 1),  # a symbol is hardly one by accident
        (["string", SUIT], Text("CLUBS"), 1),
        ([SUIT, "string"], "other", 1),
        ([SUIT, enum("Pet", "CAT"), "string"], "CAT", 1),
        ([UUID_TEXT, SUIT], "CLUBS", 1),
        ([SUIT, UUID_TEXT], str(ONE), 1),
        (["string", UUID_FIXED], ONE, 1),
        (["string", UUID_FIXED], str(ONE), 0),
        (["int", UUID_FIXED, "long"], str(ONE), 1),
        # Members of enumerations: by name, by value; else as what they are
        (["string", SUIT], Colour.SPADES, 1),
        (["string", SUIT], Suit.HEARTS, 1),
        (["string", SUIT], Suit.OTHER, 1),
        (["string", SUIT], Words.TEXT, 0),
        (["int", SUIT], Level.SPADES, 1),
        (["int", SUIT], Level.LOW, 0),
        ([enum("Colour", "SPADES"), enum("Suit", "HEARTS", "SPADES", "CLUBS")], Suit.OTHER, 1),
        ([enum("First", "HEARTS"), enum("Suit", "HEARTS")], Suit.HEARTS, 1),  # by the name of its class
        ([enum("Suit", "HEARTS"), enum("First", "HEARTS")], Suit.HEARTS, 0),
        # Bytes: the first, a fixed if the size is its own
        ([fixed("F", 2), "bytes"], b"ab", 0),
        ([fixed("F", 2), "bytes"], b"abc", 1),
        ([fixed("F", 2), fixed("G", 3)], bytearray(b"abc"), 1),
        ([fixed("F", 2), fixed("G", 3), "string"], memoryview(b"abc"), 1),
        (["bytes", fixed("F", 2)], b"ab", 0),
        (["bytes", UUID_FIXED], bytes(16), 0),
        ([UUID_FIXED, "bytes"], bytes(15), 1),
        # Decimals: the first that holds the number
        ([PRICE, LARGE], Decimal("1.50"), 0),
        ([LARGE, PRICE], Decimal("1.50"), 0),
        ([PRICE, LARGE], Decimal("1.5001"), 1),
        ([PRICE, LARGE], Decimal("12345678901234567890.5"), 1),
        ([PRICE, "long"], 5, 1),
        ([PRICE, "string"], 5, 0),
        # Dates and times
        ([DATE, STAMP], dt.date(2020, 1, 1), 0),
        ([DATE, STAMP], dt.datetime(2020, 1, 1, tzinfo=dt.UTC), 1),
        ([STAMP, DATE], dt.date(2020, 1, 1), 1),
        ([STAMP, "int"], 2**40, 0),
        ([STAMP, "int"], 5, 1),
        ([logical("int", "time-millis"), "string"], dt.time(1), 0),
        # Containers
        ([INTS, LAPSE], Duration(1, 2, 3), 1),
        ([INTS, LAPSE], [1, 2, 3], 0),
        ([STRINGS, LAPSE], [1, 2, 3], 1),
        (["null", INTS, "long"], (1, 2), 1),
        (["null", INTS, "long"], range(3), 1),
        (["null", INTS, "long"], collections.deque([1]), 1),
        (["null", mapping("int"), "long"], types.MappingProxyType({"a": 1}), 1),
        (["null", mapping("int"), "long"], collections.OrderedDict(a=1), 1),
        # Records by their fields
        ([CAT, DOG], {"name": "a", "lives": 9}, 0),
        ([CAT, DOG], {"name": "a", "breed": "b"}, 1),
        ([CAT, DOG], collections.OrderedDict(name="a", breed="b"), 1),
        ([CAT, DOG], types.MappingProxyType({"name": "a", "breed": "b"}), 1),
        ([CAT, DOG], {"name": "a", "breed": "b", "lives": "no int"}, 1),
        ([STRING_MAP, DOG], {"name": "a", "breed": "b"}, 1),
        ([STRING_MAP, DOG], {"name": "a"}, 0),
        ([STRING_MAP, DOG], {"name": "a", "breed": "b", "more": "c"}, 0),
        ([record("A", ("x", "int"), ("y", "int", 0)), record("B", ("x", "int"))], {"x": 1}, 1),  # nothing is missing
        ([record("A", ("x", "int")), record("B", ("x", "int"), ("y", "int", 0))], {"x": 1, "y": 2}, 1),
        ([record("A", ("x", "int"), ("y", "int", 0)), record("B", ("x", "string"))], {"x": "a", "y": 1}, 1),
        ([record("A", ("x", ["null", "A"])), record("B", ("x", ["null", "A", "string"]))], {"x": "a"}, 1),
        ([record("A", ("x", SUIT)), record("B", ("x", "int"))], {"x": Level.SPADES}, 0),
        ([record("A", ("x", array("int"))), record("B", ("x", array("string")))], {"x": ["a"]}, 1),  # by trying
    ],
    ids=ident,
)
def test_a_union_takes_the_branch_that_fits_best(schema: Any, datum: Any, branch: int) -> None:
    assert branch_of(schema, datum) == branch
    assert Codec(record("R", ("f", schema))).encode({"f": datum}) == Codec(schema).encode(datum)


def test_a_member_is_its_name_before_its_value() -> None:
    assert Codec(SUIT).encode(Swapped.SPADES) == b"\x00"
    assert Codec(["null", SUIT]).encode(Swapped.SPADES) == b"\x02\x00"


@pytest.mark.parametrize(
    ("schema", "datum", "expected"),
    [
        (["int", "long"], 2**63, "no branch of the union of int, long takes int 9223372036854775808: int: int out of"),
        (["int", "boolean"], 1.0, "expected union of int, boolean, got float 1.0"),
        (["string", "int", "long"], True, "expected union of string, int, long, got bool True"),
        (["int", "long"], True, "expected union of int, long, got bool True"),
        ([PRICE, LARGE], Decimal("1.00001"), "takes Decimal 1.00001: decimal: decimal(5, 2) cannot hold 1.00001"),
        ([SUIT, enum("Pet", "CAT")], "DOG", "no branch of the union of enum Suit, enum Pet takes str 'DOG'"),
        ([SUIT, "int"], "DOG", "'DOG' is no symbol of enum Suit"),
        (["string", SUIT], Colour.RED, "expected union of string, enum Suit, got Colour"),
        (["string", SUIT], Suit.TEXT, "'Suit.TEXT' is no symbol of enum Suit"),  # by its class it is meant to be one
        (
            [CAT, DOG],
            {"name": 5, "breed": "b"},
            "field name: expected string, got int 5",
        ),  # by names only one can be it
        (
            [CAT, DOG, "int"],
            {"name": "a"},
            "no branch of the union of record Cat, record Dog, int takes dict: record Cat (field lives)",
        ),
        ([CAT, DOG], object(), "got object (hint: give to_dict to turn objects into mappings)"),
        (["null", "int", "string"], {1}, "expected union of null, int, string, got set"),
    ],
    ids=ident,
)
def test_what_no_branch_takes_is_an_error_that_says_why(schema: Any, datum: Any, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(schema).encode(datum)

    assert expected in str(caught.value)


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
        ("array", ("string", "a"), 8),  # named once: the value is an array
        ("map", {"a": "b"}, 9),
        ("Suit", "CLUBS", 10),
        ("Suit", Suit.OTHER, 10),
        ("F", b"ab", 11),
        (Text("long"), 5, 3),
    ],
)
def test_a_tuple_names_the_branch(name: str, value: Any, branch: int) -> None:
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
def test_a_tuple_names_the_branch_of_an_optional_type_too(nulls: int, schema: Any, name: str, value: Any) -> None:
    union = [schema, "null"] if nulls else ["null", schema]
    codec = Codec(union)

    assert codec.encode((name, value)) == codec.encode(value) == bytes([2 - nulls * 2]) + Codec(schema).encode(value)
    assert codec.encode(("null", None)) == codec.encode(None) == bytes([nulls * 2])


@pytest.mark.parametrize(
    ("name", "branch"), [("a.b.Cat", 0), ("Cat", 0), ("c.Dog", 1), ("d.Dog", 2), ("Dog", None), ("b.Cat", None)]
)
def test_a_name_without_namespace_will_do_where_it_is_the_only_one(name: str, branch: int | None) -> None:
    if branch is not None:
        assert branch_of(NAMESPACED, (name, {"x": 1})) == branch
        assert branch_of(NAMESPACED, {"-type": name, "x": 1}) == branch
        return
    for datum in ((name, {"x": 1}), {"-type": name, "x": 1}):
        with pytest.raises(EncodeError, match=f"'{name}' names no branch of the union.*a.b.Cat, c.Dog, d.Dog"):
            Codec(NAMESPACED).encode(datum)


def test_a_full_name_goes_before_a_last_name() -> None:
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
        (STRINGS, ("array", "b"), ["array", "b"]),  # no union
        (["null", LAPSE], (1, 2, 3), Duration(1, 2, 3)),
    ],
)
def test_a_tuple_that_names_nothing_is_an_array(schema: Any, datum: Any, back: Any) -> None:
    assert Codec(schema).decode(Codec(schema).encode(datum)) == back


@pytest.mark.parametrize(
    ("schema", "datum", "expected"),
    [
        (
            ["null", "string"],
            ("strin", "a"),
            "'strin' names no branch of the union (hint: its branches are null, string)",
        ),
        (["null", CAT], ("Dog", {}), "'Dog' names no branch of the union (hint: its branches are null, Cat)"),
        (["null", CAT, "int"], ("Dog", {}), "(hint: its branches are null, Cat, int)"),
        (["null", "string", "int"], ("a", "b"), "'a' names no branch"),
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
        (["null", "int"], ("x" * 10_000, 1), "names no branch of the union"),
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
def test_a_type_hint_names_the_record(make: Any, name: str, branch: int, strict: bool) -> None:
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
    with pytest.raises(EncodeError, match=f"names no branch of the union .hint: its branches are {names}.$"):
        Codec(schema).encode(datum)


@pytest.mark.parametrize(
    ("schema", "datum", "data"),
    [
        (["null", TWINS[0]], {"-type": "n.A", "x": 1}, b"\x02\x02"),
        (["null", TWINS[0]], {"x": 1, "-type": "A"}, b"\x02\x02"),
        (["null", TWINS[0], "int"], {"x": 1, "-type": "A"}, b"\x02\x02"),
        (TWINS[0], {"-type": "Other", "x": 1}, b"\x02"),  # nothing to choose: a key like any other
        ([STRING_MAP, TWINS[0]], {"-type": "thing"}, b"\x00\x02\x0a-type\x0athing\x00"),  # the key of a map
    ],
)
def test_a_type_hint_counts_where_a_union_has_to_choose(schema: Any, datum: Any, data: bytes) -> None:
    assert Codec(schema).encode(datum) == data


def test_a_field_that_is_called_like_the_hint_is_a_field() -> None:
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


class Row(tuple[Any, ...]):
    """As pyspark's: all are of one class."""

    __fields__ = ("x",)


NamedB.__name__ = "B"


@pytest.mark.parametrize(
    ("datum", "branch"),
    [(A(5), 0), (B(5), 1), (NamedB(5), 1), (Other(5), 0), (Row([5]), 0)],
    ids=["dataclass", "slots", "named tuple", "another class", "row"],
)
def test_the_name_of_a_class_names_the_record(datum: Any, branch: int) -> None:
    for schema in (TWINS, [*TWINS, mapping("int")], ["null", "string", *TWINS]):
        assert branch_of(schema, datum) == branch + (2 if len(schema) == 4 else 0)


def test_a_class_that_names_a_record_goes_nowhere_else() -> None:
    schema = [record("A", ("x", "string")), record("C", ("x", "int"))]

    with pytest.raises(EncodeError, match=r"^field x: expected string, got int 5$"):
        Codec(schema).encode(A(5))
    assert branch_of(schema, Other(5)) == 1


def test_a_row_of_spark_is_no_record_of_that_name() -> None:
    assert branch_of([record("Row", ("y", "int")), record("A", ("x", "int"))], Row([5])) == 1


def test_objects_go_to_records_and_never_to_maps_or_arrays() -> None:
    for datum in (A(5), NamedB(5), Row([5])):
        assert branch_of([mapping("int"), INTS, TWINS[0]], datum) == 2
        for schema in (mapping("int"), INTS, [mapping("int"), INTS], ["null", INTS], ["null", mapping("int")]):
            with pytest.raises(EncodeError, match="expected"):
                Codec(schema).encode(datum)


@dataclass
class Pet:
    name: str
    lives: int | None = None
    breed: str | None = None
    kind = "pet"  # no field


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
def test_objects_go_to_the_record_of_their_fields(datum: Any, strict: bool, branch: int) -> None:
    assert branch_of([CAT, DOG], datum) == branch
    if strict:
        Codec([CAT, DOG], validate_strict=True).encode(datum)


# --- what return.record.name gives ------------------------------------------------------------------------------------


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
def test_what_is_read_with_record_names_can_be_written_again(schema: Any, data: bytes, datum: Any) -> None:
    codec = Codec(schema, return_record_name=True)

    assert codec.decode(data) == datum
    assert codec.encode(datum) == data


# --- bounds -----------------------------------------------------------------------------------------------------------

RING = record("Ring", ("next", ["null", "Ring", record("Twin", ("next", ["null", "Ring", "Twin"]), ("y", "int", 0))]))


@dataclass
class Link:
    next: Any


class Chain(NamedTuple):
    next: Any


def endless(kind: str) -> Any:
    """A datum in itself."""
    one: Any = {}
    if kind in ("dict", "mapping"):
        one["next"] = collections.UserDict(one) if kind == "mapping" else one
    elif kind == "dataclass":
        one = Link(None)
        one.next = one
    else:
        one["next"] = ("Twin", one) if kind == "tuple" else Chain(one)
    return one


@pytest.mark.parametrize("kind", ["dict", "dataclass", "tuple", "mapping", "named tuple"])
@pytest.mark.parametrize("schema", [RING, record("L", ("next", ["null", "L"]))], ids=["several", "one"])
def test_a_datum_in_itself_is_an_error_at_once(kind: str, schema: Any) -> None:
    if kind == "tuple" and schema is not RING:
        schema = record("Twin", ("next", ["null", "Twin"]))
    if kind == "mapping":  # UserDict copies what it is made of
        datum: Any = collections.UserDict()
        datum["next"] = datum
    else:
        datum = endless(kind)

    for levels in (256, 1000):
        with pytest.raises(EncodeError, match=f"nested deeper than {levels} levels .hint: does it contain itself"):
            Codec(schema, max_depth=levels).encode(datum)


def test_lists_and_maps_in_themselves_are_errors() -> None:
    tree = record("T", ("kids", [array("T"), mapping("T")]))
    kids: list[Any] = []
    kids.append({"kids": kids})
    named: dict[str, Any] = {}
    named["me"] = {"kids": named}

    for datum in ({"kids": kids}, {"kids": named}, {"kids": tuple(kids)}):
        with pytest.raises(EncodeError, match="nested deeper than 256 levels"):
            Codec(tree).encode(datum)


DEEP = """
import threading
from collections import UserDict, namedtuple
from dataclasses import dataclass
from schemas import record

A = record("A", ("n", ["null", "A", record("B", ("n", ["null", "A", "B"]), ("x", "int", 1))]))

@dataclass
class Plain:
    n: object

@dataclass
class Asked:
    m: object
    @property
    def n(self): return self.m

class Row(tuple):
    __fields__ = ["n"]

Named = namedtuple("Named", "n")
MAKERS = [lambda d: {"n": d}, lambda d: ("B", {"n": d}), lambda d: {"-type": "B", "n": d}, Plain, Asked, Named,
          lambda d: Row([d]), lambda d: UserDict(n=d)]

def nested(make, levels):
    datum = None
    for _ in range(levels - 1): datum = make(datum)
    return {"n": datum}

def work(levels):
    codec = Codec(A, max_depth=levels)
    for make in MAKERS:
        print(outcome(codec.encode, nested(make, levels))[0] == "value",
              outcome(codec.encode, nested(make, levels + 1))[0] == "EncodeError")
"""


@pytest.mark.parametrize(("levels", "kilobytes"), [(256, 512), (1000, 8192)])
def test_the_deepest_union_of_objects_fits_the_stack(levels: int, kilobytes: int) -> None:
    done = run_limited(
        DEEP
        + f"""
threading.stack_size({kilobytes} * 1024)
thread = threading.Thread(target=work, args=({levels},))
thread.start()
thread.join()
"""
    )
    assert done.split() == ["True"] * 16


def test_what_fails_in_every_branch_of_nested_unions_is_given_up() -> None:
    datum: Any = {"next": "bad"}
    for _ in range(200):
        datum = {"next": datum}

    with pytest.raises(EncodeError, match="no branch of the union"):
        Codec(RING).encode(datum)
