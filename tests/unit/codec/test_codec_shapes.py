"""Shapes: records become objects of classes and enums become members, in both directions."""

from __future__ import annotations

import dataclasses
import enum
import gc
import pickle
import sys
from collections import namedtuple
from typing import Any, NamedTuple

import pytest

from streamnative_serdes._schema import EnumShape, RecordShape
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError

POINT = {
    "type": "record",
    "name": "geo.Point",
    "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"], "default": None}],
}
WIDER = {
    **POINT,
    "fields": [*POINT["fields"], {"name": "tags", "type": {"type": "array", "items": "int"}, "default": [7]}],
}


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any = 1
    why: Any = None


@dataclasses.dataclass(frozen=True)
class Plain:
    x: Any = 1
    why: Any = None


class Tuple(NamedTuple):
    why: Any
    x: Any


class Called:
    def __init__(self, x: Any, why: Any) -> None:
        if x == 13:
            raise LookupError("no thirteen")
        self.x, self.why = x, why

    def __eq__(self, other: object) -> bool:
        return type(other) is Called and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


CLASSES: list[tuple[type, Any]] = [(Slotted, "slots"), (Plain, "dict"), (Tuple, "tuple"), (Called, "call")]
every_class = pytest.mark.parametrize(("cls", "build"), CLASSES)


def shape(cls: type, build: Any, **more: Any) -> dict[str, RecordShape]:
    return {"geo.Point": RecordShape(cls, {"x": "x", "y": "why", **more}, build, {})}


def point(cls: type, **values: Any) -> Any:
    return cls(**values)


@every_class
def test_a_record_is_written_from_and_read_as_an_object_of_its_class(cls: type, build: Any) -> None:
    codec = Codec(POINT, shapes=shape(cls, build))
    written = codec.encode(point(cls, x=3, why="far"))
    assert written == Codec(POINT).encode({"x": 3, "y": "far"})
    assert codec.decode(written) == point(cls, x=3, why="far")
    assert type(codec.decode(written)) is cls


@every_class
def test_dicts_are_still_accepted(cls: type, build: Any) -> None:
    assert Codec(POINT, shapes=shape(cls, build)).encode({"x": 3}) == Codec(POINT).encode({"x": 3})


@every_class
def test_errors_name_the_field_of_the_schema(cls: type, build: Any) -> None:
    codec = Codec(POINT, shapes=shape(cls, build))
    with pytest.raises(EncodeError, match="expected string, got int 4") as error:
        codec.encode(point(cls, x=3, why=4))
    assert error.value.path == "y"
    with pytest.raises(DecodeError) as refused:
        codec.decode(b"\x06\x02\x08ab")
    assert refused.value.path == "y"


@every_class
def test_objects_work_inside_maps_arrays_and_unions(cls: type, build: Any) -> None:
    nested = {
        "type": "map",
        "values": {"type": "array", "items": ["null", "string", POINT]},
    }
    codec = Codec(nested, shapes=shape(cls, build))
    data = {"a": [None, point(cls, x=1, why=None), "b", point(cls, x=2, why="c")]}
    assert codec.decode(codec.encode(data)) == data


@every_class
def test_objects_of_a_recursive_record_work_in_a_union(cls: type, build: Any) -> None:
    fields = [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string", "geo.Point"]}]
    codec = Codec({**POINT, "fields": fields}, shapes=shape(cls, build))
    chain = point(cls, x=1, why=point(cls, x=2, why=None))
    assert codec.decode(codec.encode(chain)) == chain


@every_class
def test_each_object_gets_its_own_copy_of_a_readers_default(cls: type, build: Any) -> None:
    wide = dataclasses.make_dataclass("Wide", ["x", "why", "tags"], slots=build == "slots")
    if build == "tuple":
        wide = namedtuple("Wide", ["tags", "x", "why"])  # type: ignore[assignment]
    codec = Codec(POINT, WIDER, shapes=shape(wide, build, tags="tags"))
    first, second = (codec.decode(Codec(POINT).encode({"x": 1, "y": "z"})) for _ in range(2))
    assert (first.x, first.why, first.tags) == (1, "z", [7])
    assert first.tags is not second.tags


@every_class
def test_a_default_of_a_record_is_an_object_of_its_class(cls: type, build: Any) -> None:
    outer = {
        "type": "record",
        "name": "Outer",
        "fields": [{"name": "p", "type": POINT, "default": {"x": 9, "y": None}}],
    }
    codec = Codec({"type": "record", "name": "Outer", "fields": []}, outer, shapes=shape(cls, build))
    first, second = codec.decode(b""), codec.decode(b"")
    assert first == {"p": point(cls, x=9, why=None)}
    assert first["p"] is not second["p"]


@pytest.mark.parametrize(("cls", "build"), CLASSES[:2])
def test_attributes_that_the_schema_lacks_get_the_default_of_the_class(cls: type, build: Any) -> None:
    short = {**POINT, "fields": POINT["fields"][:1]}
    made = RecordShape(cls, {"x": "x"}, build, {"why": list})
    codec = Codec(short, shapes={"geo.Point": made})
    assert codec.decode(b"\x02") == point(cls, x=1, why=[])
    assert codec.decode(b"\x02").why is not codec.decode(b"\x02").why
    with pytest.raises(EncodeError, match="has no field 'why'"):
        Codec(short, shapes={"geo.Point": made}, validate_strict=True).encode(point(cls, x=1))


@every_class
def test_a_field_that_the_class_lacks_is_written_as_its_default_and_reading_it_is_an_error(
    cls: type, build: Any
) -> None:
    named = {"geo.Point": RecordShape(cls, {"x": "x", "y": "why"}, build, {})}
    lacking = {
        "type": "record",
        "name": "geo.Point",
        "fields": [*POINT["fields"], {"name": "z", "type": "int", "default": 5}],
    }
    codec = Codec(lacking, shapes=named)
    written = codec.encode(point(cls, x=1, why=None))
    assert written == Codec(lacking).encode({"x": 1})
    with pytest.raises(DecodeError, match="has no attribute for the field 'z'"):
        codec.decode(written)
    with pytest.raises(SchemaError, match="has no attribute for the field 'z'"):
        Codec(POINT, lacking, shapes=named)


def test_subclasses_are_written_by_their_attributes() -> None:
    class Doubled(Slotted):
        __slots__ = ()

        @property
        def x(self) -> int:  # type: ignore[override]
            return 2

        @x.setter
        def x(self, value: int) -> None: ...

    codec = Codec(POINT, shapes=shape(Slotted, "slots"))
    assert codec.encode(Doubled(x=1)) == Codec(POINT).encode({"x": 2})


@pytest.mark.parametrize(("cls", "build"), CLASSES[:2])
def test_an_attribute_without_a_value_is_an_error_until_it_is_set(cls: type, build: Any) -> None:
    class Open(cls):  # type: ignore[misc,valid-type]  # its instances have a __dict__ that is not frozen
        pass

    value = object.__new__(Open)
    object.__setattr__(value, "x", 1)
    codec = Codec(POINT, shapes=shape(Open, "dict"))
    if build == "dict":
        object.__setattr__(value, "why", None)
    else:
        with pytest.raises(EncodeError, match="reading the value raised AttributeError"):
            codec.encode(value)
        value.why = None
    assert codec.encode(value) == Codec(POINT).encode({"x": 1})


def test_a_slot_without_a_value_is_a_missing_field() -> None:
    value = Slotted(x=1, why=2)
    del value.why
    codec = Codec(POINT, shapes=shape(Slotted, "slots"))
    assert codec.encode(value) == Codec(POINT).encode({"x": 1})
    del value.x
    with pytest.raises(EncodeError, match="missing and has no default"):
        codec.encode(value)


def test_a_named_tuple_of_another_length_is_refused() -> None:
    codec = Codec(POINT, shapes=shape(Tuple, "tuple"))
    with pytest.raises(EncodeError, match="expected a Tuple of 2 items"):
        codec.encode(tuple.__new__(Tuple, (1,)))


def test_an_object_that_only_claims_to_be_a_named_tuple_is_refused() -> None:
    class Posing:
        __slots__ = ()
        __class__ = Tuple  # type: ignore[assignment]  # like an object of unittest.mock with a spec

    with pytest.raises(EncodeError, match="expected a Tuple of 2 items, got Posing"):
        Codec(POINT, shapes=shape(Tuple, "tuple")).encode(Posing())


def test_the_field_names_of_a_class_are_read_only_once() -> None:
    class Shifting(type):
        @property
        def _fields(cls) -> tuple[str, ...]:
            cls.asked = getattr(cls, "asked", 0) + 1
            return ("x", *[f"more{i}" for i in range(1000 * (cls.asked - 1))], "why")

    class Pair(tuple, metaclass=Shifting):
        pass

    items = tuple(Codec(POINT, shapes=shape(Pair, "tuple")).decode(b"\x02\x02\x02a"))
    assert (items[0], items[-1]) == (1, "a")


def test_an_error_of_the_class_is_in_the_text_and_the_cause() -> None:
    codec = Codec({"type": "array", "items": POINT}, shapes=shape(Called, "call"))
    data = Codec({"type": "array", "items": POINT}).encode([{"x": 1}, {"x": 13}])
    with pytest.raises(DecodeError, match="Called rejected the decoded values: LookupError: no thirteen") as error:
        codec.decode(data)
    assert error.value.path == "[1]"
    assert isinstance(error.value.__cause__, LookupError)


def test_a_class_that_decodes_its_own_message_endlessly_is_an_error() -> None:
    class Again:
        def __init__(self, x: int, why: object) -> None:
            codec.decode(data)

    codec = Codec(POINT, shapes=shape(Again, "call"))
    data = codec.encode({"x": 1})
    with pytest.raises(DecodeError, match="DecodeError: byte 2: Again rejected the decoded values"):
        codec.decode(data)
    assert Codec(POINT, shapes=shape(Called, "call")).decode(data) == Called(1, None)


@pytest.mark.parametrize(
    ("cls", "build", "words"),
    [
        (Called, "slots", "Called has no slot 'x'"),
        (Called, "tuple", "Called is not a named tuple"),
        (Tuple, "slots", "Tuple defines its own __new__"),
        (int, "dict", "int defines its own __new__"),
        (Called, "other", "expected a RecordShape for record"),
        (3, "call", "expected a RecordShape for record"),
    ],
)
def test_an_impossible_shape_is_refused_when_the_codec_is_created(cls: Any, build: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Codec(POINT, shapes=shape(cls, build))


# --- enums ------------------------------------------------------------------------------------------------------------

COLOR = {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN", "BLUE"]}


class Color(enum.Enum):
    R = "#f00"
    G = "#0f0"
    B = "#00f"


MEMBERS = {"RED": Color.R, "GREEN": Color.G, "BLUE": Color.B}


def test_a_symbol_is_written_from_and_read_as_a_member() -> None:
    codec = Codec(COLOR, shapes={"Color": EnumShape(Color, MEMBERS)})
    for number, member in enumerate(Color):
        assert codec.encode(member) == bytes([2 * number])
        assert codec.decode(codec.encode(member)) is member
    assert codec.encode("GREEN") == b"\x02"


def test_reading_a_symbol_without_a_member_is_an_error() -> None:
    codec = Codec(COLOR, shapes={"Color": EnumShape(Color, {"RED": Color.R})})
    assert codec.decode(b"\x00") is Color.R
    with pytest.raises(DecodeError, match="has no symbol 'GREEN'"):
        codec.decode(b"\x02")
    with pytest.raises(EncodeError, match=r"Color\.G"):
        codec.encode(Color.G)


def test_the_readers_default_symbol_is_read_as_a_member() -> None:
    reader = {**COLOR, "symbols": ["RED", "GREEN"], "default": "GREEN"}
    codec = Codec(COLOR, reader, shapes={"Color": EnumShape(Color, MEMBERS)})
    assert [codec.decode(bytes([n])) for n in (0, 2, 4)] == [Color.R, Color.G, Color.G]


def test_a_member_is_written_to_the_branch_of_its_enum() -> None:
    class Fruit(enum.Enum):
        APPLE = "RED"

    fruit = {"type": "enum", "name": "Fruit", "symbols": ["RED", "YELLOW"]}
    shapes = {"Color": EnumShape(Color, MEMBERS), "Fruit": EnumShape(Fruit, {"RED": Fruit.APPLE})}
    codec = Codec([COLOR, fruit, "string"], shapes=shapes)
    assert [codec.decode(codec.encode(v)) for v in (Color.R, Fruit.APPLE, "RED")] == [Color.R, Fruit.APPLE, Color.R]


# --- pickles and memory -----------------------------------------------------------------------------------------------


def test_a_codec_with_shapes_can_be_pickled() -> None:
    codec = pickle.loads(pickle.dumps(Codec(POINT, shapes=shape(Slotted, "slots"))))
    assert codec.decode(codec.encode(Slotted(5, "a"))) == Slotted(5, "a")


@every_class
def test_decoded_objects_are_freed(cls: type, build: Any) -> None:
    codec = Codec(POINT, shapes=shape(cls, build))
    data = codec.encode({"x": 70_000, "y": "text that is not interned"})
    codec.decode(data)
    before = sys.getrefcount(cls)
    for _ in range(100):
        codec.decode(data)
        with pytest.raises(DecodeError):
            codec.decode(data[:-1])
    gc.collect()
    assert sys.getrefcount(cls) <= before + 1


def test_decoded_objects_are_tracked_by_the_garbage_collector() -> None:
    node = {
        "type": "record",
        "name": "geo.Point",
        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": {"type": "array", "items": "int"}}],
    }
    for cls, build in CLASSES:
        made = Codec(node, shapes=shape(cls, build)).decode(b"\x02\x00")
        assert gc.is_tracked(made), cls
