"""Encoding unions: the branch that a plain value is written to, and the error if none accepts it."""

from __future__ import annotations

import collections
import datetime as dt
import enum as py_enum
import types
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from child import run_limited
from rows import Row
from schemas import array, enum, fixed, logical, mapping, record
from unions import (
    CAT,
    DATE,
    DOG,
    INTS,
    LAPSE,
    LARGE,
    ONE,
    PRICE,
    STAMP,
    STRING_MAP,
    STRINGS,
    SUIT,
    UUID_FIXED,
    UUID_TEXT,
    Suit,
    Text,
    branch_of,
    ident,
)

from streamnative_serdes.codec import Codec, Duration
from streamnative_serdes.errors import EncodeError


class Colour(py_enum.Enum):
    SPADES = 1
    RED = "red"


class Words(py_enum.StrEnum):
    TEXT = "text"


class Swapped(py_enum.StrEnum):
    SPADES = "HEARTS"


class Level(py_enum.IntEnum):
    SPADES = 7
    LOW = 5


class Number(int):
    pass


PING = record("Ping", ("id", "string"))
ORDER = record("Order", ("id", "string"), ("total", "double"), ("lines", array("string"), []))
OFFER = record("Offer", ("id", "string"), ("total", "string"))


# --- by type, range, size, symbols ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "datum", "branch"),
    [
        # Numbers: the exact type, as in Java; fastavro chooses the first type that can hold the value.
        (["double", "int"], 3, 1),
        (["double", "long"], 3, 1),
        (["double", "string"], 3, 0),
        (["float", "double"], 0.1, 1),  # a double holds it without loss
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
        # A bool is not a number.
        (["long", "boolean"], True, 1),
        (["boolean", "long"], 1, 1),
        (["int", "boolean", "double"], False, 1),
        # Text
        (["string", "bytes"], b"a", 1),
        (["bytes", "string"], "a", 1),
        ([SUIT, "string"], "CLUBS", 0),
        (["string", SUIT], "CLUBS", 1),  # text that equals a symbol is written as the symbol
        (["string", SUIT], Text("CLUBS"), 1),
        ([SUIT, "string"], "other", 1),
        ([SUIT, enum("Pet", "CAT"), "string"], "CAT", 1),
        ([UUID_TEXT, SUIT], "CLUBS", 1),
        ([SUIT, UUID_TEXT], str(ONE), 1),
        (["string", UUID_FIXED], ONE, 1),
        (["string", UUID_FIXED], str(ONE), 0),
        (["int", UUID_FIXED, "long"], str(ONE), 1),
        # Members of Python enums: by name, by value; else by their base type
        (["string", SUIT], Colour.SPADES, 1),
        (["string", SUIT], Suit.HEARTS, 1),
        (["string", SUIT], Suit.OTHER, 1),
        (["string", SUIT], Words.TEXT, 0),
        (["int", SUIT], Level.SPADES, 1),
        (["int", SUIT], Level.LOW, 0),
        ([enum("Colour", "SPADES"), enum("Suit", "HEARTS", "SPADES", "CLUBS")], Suit.OTHER, 1),
        ([enum("First", "HEARTS"), enum("Suit", "HEARTS")], Suit.HEARTS, 1),  # by the name of its class
        ([enum("Suit", "HEARTS"), enum("First", "HEARTS")], Suit.HEARTS, 0),
        # Bytes: the first branch; a fixed only if the size matches
        ([fixed("F", 2), "bytes"], b"ab", 0),
        ([fixed("F", 2), "bytes"], b"abc", 1),
        ([fixed("F", 2), fixed("G", 3)], bytearray(b"abc"), 1),
        ([fixed("F", 2), fixed("G", 3), "string"], memoryview(b"abc"), 1),
        (["bytes", fixed("F", 2)], b"ab", 0),
        (["bytes", UUID_FIXED], bytes(16), 0),
        ([UUID_FIXED, "bytes"], bytes(15), 1),
        # Decimals: the first branch that can hold the number
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
        ([record("A", ("x", "int"), ("y", "int", 0)), record("B", ("x", "int"))], {"x": 1}, 1),  # no field is missing
        ([record("A", ("x", "int")), record("B", ("x", "int"), ("y", "int", 0))], {"x": 1, "y": 2}, 1),
        ([record("A", ("x", ["null", "A"])), record("B", ("x", ["null", "A", "string"]))], {"x": "a"}, 1),
        ([record("A", ("x", SUIT)), record("B", ("x", "int"))], {"x": Level.SPADES}, 0),
        (
            [record("A", ("x", array("int"))), record("B", ("x", array("string")))],
            {"x": ["a"]},
            1,
        ),  # found by trying the branches
        # A record that has all keys, before those that would leave one out: names come before types
        ([PING, ORDER], {"id": "1"}, 0),  # both have all keys, and only one of them has all required fields
        ([ORDER, PING], {"id": "1", "note": "x"}, 1),  # neither has
        ([PING, ORDER, OFFER], {"id": "1", "total": "9.50"}, 2),  # two have, and the types decide
        ([PING, ORDER, OFFER], {"id": "1", "total": 9.5}, 1),
        ([PING, STRING_MAP, ORDER], {"id": "1", "total": "9.50"}, 1),  # a map has all keys, too
        ([PING, STRING_MAP, ORDER], {"id": "1", "total": 9.5}, 2),
    ],
    ids=ident,
)
def test_a_value_is_written_to_the_branch_that_fits_best(schema: Any, datum: Any, branch: int) -> None:
    assert branch_of(schema, datum) == branch
    assert Codec(record("R", ("f", schema))).encode({"f": datum}) == Codec(schema).encode(datum)


def test_the_name_of_an_enum_member_takes_precedence_over_its_value() -> None:
    assert Codec(SUIT).encode(Swapped.SPADES) == b"\x00"
    assert Codec(["null", SUIT]).encode(Swapped.SPADES) == b"\x02\x00"


@pytest.mark.parametrize(
    ("schema", "datum", "expected"),
    [
        (
            ["int", "long"],
            2**63,
            "no branch of the union of int, long accepts int 9223372036854775808: int: int out of",
        ),
        (["int", "boolean"], 1.0, "expected union of int, boolean, got float 1.0"),
        (["string", "int", "long"], True, "expected union of string, int, long, got bool True"),
        (["int", "long"], True, "expected union of int, long, got bool True"),
        ([PRICE, LARGE], Decimal("1.00001"), "accepts Decimal 1.00001: decimal: decimal(5, 2) cannot hold 1.00001"),
        ([SUIT, enum("Pet", "CAT")], "DOG", "no branch of the union of enum Suit, enum Pet accepts str 'DOG'"),
        ([SUIT, "int"], "DOG", "'DOG' is not a symbol of enum Suit"),
        (["string", SUIT], Colour.RED, "expected union of string, enum Suit, got Colour"),
        (["string", SUIT], Suit.TEXT, "'Suit.TEXT' is not a symbol of enum Suit"),  # its class has the name of the enum
        (
            [CAT, DOG],
            {"name": 5, "breed": "b"},
            "field name: expected string, got int 5",
        ),  # only one record has these fields
        (
            [CAT, DOG, "int"],
            {"name": "a"},
            "no branch of the union of record Cat, record Dog, int accepts dict: record Cat (field lives)",
        ),
        ([CAT, DOG], object(), "got object (hint: pass to_dict to turn objects into mappings)"),
        (["null", "int", "string"], {1}, "expected union of null, int, string, got set"),
    ],
    ids=ident,
)
def test_the_error_for_a_value_that_no_branch_accepts_says_why(schema: Any, datum: Any, expected: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(schema).encode(datum)

    assert expected in str(caught.value)


@dataclass
class Bought:
    id: str
    total: Any


class Sold(NamedTuple):
    id: str
    total: Any


WRONG = {"id": "1", "total": "9.50"}


@pytest.mark.parametrize(
    "datum",
    [WRONG, {**WRONG, "lines": ["a"]}, collections.OrderedDict(WRONG), collections.UserDict(WRONG),
     types.MappingProxyType(WRONG), Bought("1", "9.50"), Sold("1", "9.50"), Row(**WRONG)],
    ids=lambda datum: type(datum).__name__,
)  # fmt: skip
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("others", [[], ["null", "int"], [record("Pong", ("id", "string"), ("at", "int", 0))]])
def test_a_wrong_type_is_the_error_of_the_only_record_with_all_keys(
    datum: Any, strict: bool, others: list[Any]
) -> None:
    for union in ([PING, ORDER, *others], [*others, ORDER, PING]):
        with pytest.raises(EncodeError, match=r"expected double, got str '9.50'") as caught:
            Codec(record("R", ("f", union)), validate_strict_allow_default=strict).encode({"f": datum})
        assert caught.value.path == "f.total"


@pytest.mark.parametrize(
    ("union", "datum", "path"),
    [
        ([PING, ORDER], {"total": 9.5}, "f.id"),  # a required field that is missing is an error, too
        ([PING, ORDER], {"id": "1", "lines": ["a"]}, "f.total"),
        ([PING, array(ORDER)], [WRONG], "f[0].total"),
        ([record("A", ("x", "int"), ("y", "int", 0)), record("B", ("x", "string"))], {"x": "a", "y": 1}, "f.x"),
        ([PING, STRING_MAP, ORDER], {"id": "1", "total": "9.50", "lines": ["a"]}, 'f["lines"]'),
        ([PING, ORDER, record("More", ("id", "int"), ("total", "int"), ("lines", "int"))], {**WRONG, "lines": 1}, "f"),
    ],
    ids=ident,
)  # fmt: skip
def test_no_record_takes_a_value_that_another_has_all_keys_of(union: Any, datum: Any, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        Codec(record("R", ("f", union))).encode({"f": datum})
    assert caught.value.path == path


# --- bounds -----------------------------------------------------------------------------------------------------------

RING = record("Ring", ("next", ["null", "Ring", record("Twin", ("next", ["null", "Ring", "Twin"]), ("y", "int", 0))]))


@dataclass
class Link:
    next: Any


class Chain(NamedTuple):
    next: Any


def endless(kind: str) -> Any:
    """Return a datum that contains itself."""
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
def test_a_datum_that_contains_itself_is_an_error(kind: str, schema: Any) -> None:
    if kind == "tuple" and schema is not RING:
        schema = record("Twin", ("next", ["null", "Twin"]))
    if kind == "mapping":  # UserDict copies its argument
        datum: Any = collections.UserDict()
        datum["next"] = datum
    else:
        datum = endless(kind)

    for levels in (256, 1000):
        with pytest.raises(EncodeError, match=f"nested deeper than {levels} levels .hint: does it contain itself"):
            Codec(schema, max_depth=levels).encode(datum)


def test_lists_and_maps_that_contain_themselves_are_errors() -> None:
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
from rows import Row
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

Named = namedtuple("Named", "n")
MAKERS = [lambda d: {"n": d}, lambda d: ("B", {"n": d}), lambda d: {"-type": "B", "n": d}, Plain, Asked, Named,
          lambda d: Row(n=d), lambda d: UserDict(n=d)]

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


def test_encoding_gives_up_after_too_many_failed_branches_of_nested_unions() -> None:
    datum: Any = {"next": "bad"}
    for _ in range(200):
        datum = {"next": datum}

    with pytest.raises(EncodeError, match="no branch of the union"):
        Codec(RING).encode(datum)
