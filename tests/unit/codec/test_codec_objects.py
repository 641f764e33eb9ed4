"""Objects that the codec writes as records, and objects whose code runs during encoding."""

from __future__ import annotations

import collections
import types
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from rows import Row
from schemas import array, enum, mapping, record

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

SUIT = enum("Suit", "SPADES", "HEARTS", "CLUBS")
INTS, MAP = array("int"), mapping("int")


class Pair(NamedTuple):
    a: int
    b: Any


class Swapped(NamedTuple):
    b: Any
    a: int


@dataclass
class Plain:
    a: int
    b: Any


@dataclass(slots=True)
class Slotted:
    b: Any
    a: int


@dataclass(frozen=True)
class Frozen:
    a: int
    b: Any


@dataclass
class Child(Plain):
    c: int = 5


@dataclass
class Asked:
    """A dataclass with a field that is read through a property of another name."""

    a: int
    hidden: Any = field(repr=False)

    def __init__(self, b: Any, a: int) -> None:
        self.a, self.hidden = a, b

    @property
    def b(self) -> Any:
        return self.hidden


class Readable(collections.abc.Mapping[str, Any]):
    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def extra(b: Any, a: int) -> dict[str, Any]:
    return {"b": b, "extra": 5, "a": a}


NESTED = record("R", ("a", "int"), ("b", ["null", "R", "string"]))
MAKERS: list[Any] = [dict, Pair, Swapped, Plain, Slotted, Frozen, Child, Asked, Readable, Row, extra]
MAKERS += [collections.OrderedDict, collections.UserDict]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("inner", MAKERS, ids=lambda make: make.__name__)
def test_any_object_with_the_fields_is_written_as_a_record(make: Any, inner: Any) -> None:
    datum = make(b=inner(b="x", a=2), a=1)

    assert Codec(NESTED).decode(Codec(NESTED).encode(datum)) == {"a": 1, "b": {"a": 2, "b": "x"}}


def test_a_pyspark_row_is_written_as_a_record_by_its_names() -> None:
    sql = pytest.importorskip("pyspark.sql")
    schema = record("R", ("a", "int"), ("b", array(record("S", ("c", "int")))))
    datum = sql.Row(b=[sql.Row(c=1), sql.Row(c=2)], a=5)

    for options in ({}, {"validate_strict": True}):
        assert Codec(schema, **options).encode(datum) == Codec(schema).encode({"a": 5, "b": [{"c": 1}, {"c": 2}]})
    with pytest.raises(EncodeError, match="a plain tuple has no field names"):
        Codec(schema).encode(sql.Row(5, []))  # a row without names


def test_a_column_of_a_row_that_differs_only_in_case_is_an_error() -> None:
    schema = {**record("R", ("a", "int"), ("b", ["null", "R"])), "name": "R"}
    schema["fields"] = [{**field, "default": None if field["name"] == "b" else 0} for field in schema["fields"]]
    codec = Codec(schema, unmatched_columns="ignore")
    assert codec.decode(codec.encode(Row(more=1, a=2))) == {"a": 2, "b": None}
    assert codec.decode(codec.encode(Row(B=1, b=Row(a=2, A=3)))) == {"a": 0, "b": {"a": 2, "b": None}}
    with pytest.raises(
        EncodeError, match=r"record R has a field a, but the row has a column 'A' .hint: rename the column"
    ):
        codec.encode(Row(A=1, b=None))
    with pytest.raises(EncodeError, match="field b: record R has a field b, but the row has a column 'B'"):
        codec.encode(Row(a=1, b=Row(a=1, B=None)))
    with pytest.raises(EncodeError, match="record R has no field for any of the row's columns 'x', 'y'"):
        codec.encode(Row(x=1, y=2))
    assert codec.decode(codec.encode(Row())) == {"a": 0, "b": None}
    assert codec.decode(codec.encode({"A": 1})) == {"a": 0, "b": None}  # extra keys of dicts are ignored


@dataclass
class Failing:
    a: int

    @property
    def b(self) -> Any:
        raise AttributeError("broken")


@dataclass
class Unset:
    a: int
    b: Any = field(init=False)


@pytest.mark.parametrize("datum", [Failing(1), Unset(1)], ids=["a property that fails", "a field that was never set"])
def test_an_attribute_that_raises_is_an_error_and_not_a_missing_field(datum: Any) -> None:
    with pytest.raises(EncodeError, match="reading the value raised AttributeError") as caught:
        Codec(NESTED).encode(datum)
    assert caught.value.path == "b"


class WithToDict:
    def to_dict(self) -> dict[str, Any]:
        return {"a": 1, "b": None}


@pytest.mark.parametrize("datum", [WithToDict(), types.SimpleNamespace(a=1, b=None), object(), Plain, Pair])
@pytest.mark.parametrize(
    "schema", [NESTED, ["null", NESTED], ["null", NESTED, "int"]], ids=["record", "optional", "union"]
)
def test_an_object_that_is_not_a_record_is_refused_with_a_hint(datum: Any, schema: Any) -> None:
    with pytest.raises(EncodeError, match="hint: pass to_dict to turn objects into mappings"):
        Codec(schema).encode(datum)


def test_rows_and_named_tuples_are_refused_as_arrays() -> None:
    for datum in (Pair(1, 2), Row(a=1, b=2)):
        with pytest.raises(EncodeError, match="expected array"):
            Codec(INTS).encode(datum)


# --- user code that changes the data during encoding ------------------------------------------------------------------


class Acting:
    def __init__(self, act: Any) -> None:
        self.act = act

    def __index__(self) -> int:
        self.act()
        return 1


def survives(schema: Any, datum: Any) -> None:
    """Assert that encoding gives bytes that can be read, or an EncodeError."""
    codec = Codec(schema)
    try:
        data = codec.encode(datum)
    except EncodeError:
        return
    codec.decode(data)


@pytest.mark.parametrize("union", [False, True])
@pytest.mark.parametrize(
    "kind", [Plain, Slotted, Asked, Readable, Row, Pair, collections.UserDict, collections.OrderedDict]
)
def test_an_object_that_drops_its_last_reference_during_encoding_does_no_harm(kind: Any, union: bool) -> None:
    outer: list[Any] = []
    outer.append(kind(a=Acting(outer.clear), b=None))
    inner = record("R", ("a", "int"), ("b", ["null", "string"]))

    survives(
        array(["null", inner, record("S", ("a", "int"), ("b", "null"), ("c", "int", 0))] if union else inner), outer
    )
    assert outer == []


def test_a_property_may_drop_the_last_reference_to_its_object() -> None:
    holder: dict[str, Any] = {}

    @dataclass
    class Holding:
        x: int = 1

        @property
        def a(self) -> int:
            holder.clear()
            return 5

        @property
        def b(self) -> str:
            return "x" * 5000

    schema = record("R", ("a", "int"), ("b", "string"))
    holder["f"] = Holding()
    assert Codec(record("O", ("f", schema))).encode(holder) == Codec(schema).encode({"a": 5, "b": "x" * 5000})
    holder["f"] = Holding()
    survives(record("O", ("f", [schema, record("S", ("a", "int"), ("b", "int"))])), holder)


def test_the_names_of_a_row_may_change_during_encoding() -> None:
    datum = Row(a=1, b=None)
    object.__setattr__(datum, "__fields__", names := ["b", "a"])
    made = Row(b=None, a=Acting(names.clear))
    made.__fields__ = names

    assert Codec(record("R", ("a", "int"), ("b", "null"), ("c", "int", 3))).encode(made) == b"\x02\x06"


def test_a_class_whose_attributes_raise_ends_in_a_value_or_an_error() -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            if name in ("__dataclass_fields__", "_fields", "get", "items", "tolist", "keys"):
                raise RuntimeError("no")
            return super().__getattribute__(name)

        def __hash__(cls) -> int:
            raise RuntimeError("no hash")

    class Liar(dict[str, Any], metaclass=Meta):
        pass

    class LiarTuple(tuple[Any, ...], metaclass=Meta):
        pass

    for schema in (NESTED, MAP, INTS, "int", "bytes", "double", SUIT, ["null", "int", NESTED], ["null", NESTED]):
        for datum in (Liar(a=1), LiarTuple([1])):
            survives(schema, datum)
