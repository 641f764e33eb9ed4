"""Schemas derived from classes: the Avro type of each Python type, allow_null, names, and types without a schema."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import pytest

from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.models import (
    AvroClass,
    AvroField,
    AvroType,
    DecimalMeta,
    Float32,
    Int32,
    TimeMillis,
    is_model,
    schema_of,
)

T = TypeVar("T")


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Text(str, enum.Enum):
    LOW = "low"


class Number(enum.IntEnum):
    ONE = 1


class Flag(enum.Flag):
    ON = 1


@dataclass
class Inner:
    x: int


@dataclass
class Node:
    value: int
    next: Optional[Node] = None
    children: list[Node] = field(default_factory=list)


@dataclass
class Everything:
    flag: bool
    count: int
    ratio: float
    text: str
    raw: bytes
    at: datetime.datetime
    day: datetime.date
    time: datetime.time
    id: uuid.UUID
    items: list[int]
    table: dict[str, float]
    colour: Colour
    inner: Inner
    again: Inner
    same: Colour
    maybe: int | None
    deep: dict[str, list[Inner | None]]


COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "long"}]}
NULLABLE_INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "x", "type": ["null", "long"], "default": None}],
}
TYPES: list[tuple[str, Any]] = [
    ("flag", "boolean"),
    ("count", "long"),
    ("ratio", "double"),
    ("text", "string"),
    ("raw", "bytes"),
    ("at", {"type": "long", "logicalType": "timestamp-micros"}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("time", {"type": "long", "logicalType": "time-micros"}),
    ("id", {"type": "string", "logicalType": "uuid"}),
    ("items", {"type": "array", "items": "long"}),
    ("table", {"type": "map", "values": "double"}),
    ("colour", COLOUR),
    ("inner", INNER),
    ("again", "Inner"),
    ("same", "Colour"),
    ("maybe", "long"),
    ("deep", {"type": "map", "values": {"type": "array", "items": ["null", "Inner"]}}),
]
GOOD = Everything(
    True,
    1,
    0.5,
    "é",
    b"raw",
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    datetime.date(2020, 1, 1),
    datetime.time(1, 2, 3, 4),
    uuid.UUID(int=7),
    [1, 2],
    {"k": 0.5},
    Colour.GREEN,
    Inner(1),
    Inner(2),
    Colour.RED,
    None,
    {"k": [None, Inner(3)]},
)


def test_each_python_type_has_its_avro_type_without_allow_null() -> None:
    fields = [{"name": name, "type": kind} for name, kind in TYPES]
    fields[15] = {"name": "maybe", "type": ["null", "long"], "default": None}

    assert schema_of(Everything, allow_null=False) == {"type": "record", "name": "Everything", "fields": fields}


def test_each_python_type_has_its_nullable_avro_type_with_allow_null() -> None:
    java: dict[str, Any] = {  # types defined at their first use in this order, and with the attributes that Java adds
        "again": NULLABLE_INNER,
        "inner": "Inner",
        "raw": {"type": "bytes", "java-class": "[B"},
        "items": {"type": "array", "items": "long", "java-class": "java.util.List"},
        "deep": {
            "type": "map",
            "values": {"type": "array", "items": ["null", "Inner"], "java-class": "java.util.List"},
        },
    }
    fields = [
        {"name": name, "type": ["null", java.get(name, kind)], "default": None} for name, kind in sorted(TYPES, key=str)
    ]

    assert schema_of(Everything, allow_null=True) == {"type": "record", "name": "Everything", "fields": fields}


@pytest.mark.parametrize("allow_null", [True, False])
def test_an_instance_is_read_back_equal_with_its_own_schema(allow_null: bool) -> None:
    codec = Codec(schema_of(Everything, allow_null=allow_null))
    expected = dataclasses.asdict(GOOD) | {"colour": "GREEN", "same": "RED"}

    assert codec.decode(codec.encode(GOOD)) == expected


@pytest.mark.parametrize("allow_null", [True, False])
def test_a_recursive_class_has_a_recursive_schema(allow_null: bool) -> None:
    codec = Codec(schema_of(Node, allow_null=allow_null))

    back = codec.decode(codec.encode(Node(1, Node(2), [Node(3)])))
    assert back == dataclasses.asdict(Node(1, Node(2), [Node(3)]))


def one(hint: Any) -> type:
    return dataclasses.make_dataclass("One", [("f", hint)])


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (Optional[int], ["null", "long"]),
        (Union[None, str], ["null", "string"]),
        (list[str | None], {"type": "array", "items": ["null", "string"]}),
        (dict[str, dict[str, int]], {"type": "map", "values": {"type": "map", "values": "long"}}),
        (int | str, ["long", "string"]),
        (Union[str, None, Inner], ["null", "string", INNER]),
        (dict[str, int | str | None], {"type": "map", "values": ["null", "long", "string"]}),
        (Sequence[int], {"type": "array", "items": "long"}),
        (tuple[str, ...], {"type": "array", "items": "string"}),
        (Mapping[str, bool], {"type": "map", "values": "boolean"}),
        (Literal["a", "b"], "string"),
        (Literal["a"] | str, "string"),
        (Literal["a", None], ["null", "string"]),
        (NewType("Miles", float), "double"),
        (Final[int], "long"),
        (Final[Annotated[Decimal | None, (10, 2)]], ["null", DECIMAL]),
        (Int32, "int"),
        (list[Float32], {"type": "array", "items": "float"}),
        (TimeMillis | None, ["null", {"type": "int", "logicalType": "time-millis"}]),
        (Annotated[Decimal, DecimalMeta(10, 2)], DECIMAL),
        (Annotated[Decimal, (10, 2)], DECIMAL),
        (Annotated[Decimal | None, DecimalMeta(10, 2)], ["null", DECIMAL]),
        (Annotated[list[int], AvroType({"type": "array", "items": "int"})], {"type": "array", "items": "int"}),
        (Text, {"type": "enum", "name": "Text", "symbols": ["LOW"]}),
        (Number, {"type": "enum", "name": "Number", "symbols": ["ONE"]}),
    ],
)
def test_equivalent_type_hints_have_the_same_avro_type(hint: Any, kind: Any) -> None:
    assert schema_of(one(hint), allow_null=False)["fields"][0]["type"] == kind


@pytest.mark.parametrize("member", [Colour.RED, Text.LOW, Number.ONE])
def test_enums_of_every_kind_are_written_by_member_name(member: enum.Enum) -> None:
    cls = one(type(member))
    codec = Codec(schema_of(cls, allow_null=False))

    assert codec.decode(codec.encode(cls(member))) == {"f": member.name}


@pytest.mark.parametrize(
    "hint",
    [
        object, Any, list, dict, list[object], dict[int, str], dict[str, object], set[int], tuple[int, str], Generic, T,
        complex, datetime.timedelta, list[int, str], Decimal, Annotated[Decimal, (1, 2, 3)], Literal[1], Flag,
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("allow_null", [True, False])
def test_a_type_without_an_avro_type_is_an_error_that_names_its_field(hint: Any, allow_null: bool) -> None:
    with pytest.raises(SchemaError, match="no Avro type is known") as caught:
        schema_of(one(hint), allow_null=allow_null)
    assert caught.value.path == "One.f"


def test_the_path_in_an_error_leads_into_nested_classes() -> None:
    outer = dataclasses.make_dataclass("Outer", [("rows", list[one(object)])])  # type: ignore[misc]

    with pytest.raises(SchemaError) as caught:
        schema_of(outer, allow_null=False)
    assert caught.value.path == "Outer.rows.f"


def test_two_classes_of_the_same_name_are_refused() -> None:
    other = dataclasses.make_dataclass("Inner", [("y", str)])
    both = dataclasses.make_dataclass("Both", [("a", Inner), ("b", other)])

    with pytest.raises(SchemaError, match="two classes are named Inner") as caught:
        schema_of(both, allow_null=False)
    assert caught.value.path == "Both.b"


def test_a_type_that_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(SchemaError, match="the types of One cannot be resolved"):
        schema_of(one("Nowhere"), allow_null=False)


@pytest.mark.parametrize("cls", [int, dict, Colour, "Inner", GOOD, None])
def test_anything_but_a_model_class_is_refused(cls: Any) -> None:
    assert not is_model(cls)
    with pytest.raises(SchemaError, match="expected a dataclass"):
        schema_of(cls, allow_null=True)


def test_the_last_annotation_on_a_type_wins() -> None:
    said = Annotated[Int32, AvroType("long")]
    assert schema_of(one(said), allow_null=False)["fields"][0]["type"] == "long"
    assert schema_of(one(Annotated[said | None, AvroType("string")]), allow_null=False)["fields"][0]["type"] == [
        "null",
        "long",
    ]


@pytest.mark.parametrize(
    "hint", [Annotated[int, AvroField(name="x")] | None, Annotated[int | None, AvroField(name="x")]]
)
def test_an_avro_field_may_be_inside_or_outside_an_optional_hint(hint: Any) -> None:
    assert schema_of(one(hint), allow_null=False)["fields"] == [
        {"name": "x", "type": ["null", "long"], "default": None}
    ]


def test_an_avro_field_on_the_items_of_a_field_is_refused() -> None:
    with pytest.raises(SchemaError, match="AvroField applies to a field") as caught:
        schema_of(one(list[Annotated[int, AvroField(name="x")]]), allow_null=False)
    assert caught.value.path == "One.f"


@pytest.mark.parametrize(
    ("hint", "label"),
    [
        (int | datetime.datetime, "long"), (str | uuid.UUID, "string"), (list[int] | list[str], "array"),
        (bytes | Annotated[Decimal, DecimalMeta(4, 2)], "bytes"), (dict[str, int] | dict[str, str] | None, "map"),
        (list[int | datetime.datetime], "long"), (dict[str, list[str | uuid.UUID]], "string"),
        (Annotated[int, AvroType('{"type": "fixed", "name": "F", "size": 1}')]
         | Annotated[bytes, AvroType('{"type": "fixed", "name": "F", "size": 1}')], "F"),
        (Float32 | float | Int32 | int, None), (Literal["a"] | str | None, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("allow_null", [True, False])
def test_a_union_of_types_with_the_same_avro_type_is_refused_with_its_field(
    hint: Any, label: str | None, allow_null: bool
) -> None:
    if label is None:
        assert parse(schema_of(one(hint), allow_null=allow_null))
        return
    for cls, path in ((one(hint), "One.f"), (dataclasses.make_dataclass("Top", [("inner", one(hint))]), "Top.inner.f")):
        with pytest.raises(SchemaError, match=f"a union may hold {label} only once") as caught:
            schema_of(cls, allow_null=allow_null)
        assert caught.value.path == path


def test_a_generic_class_is_refused_with_a_hint_to_use_a_subclass() -> None:
    with pytest.raises(SchemaError, match=r"no Avro type is known for .*Box.*use a subclass") as caught:
        schema_of(one(Box[int]), allow_null=True)
    assert caught.value.path == "One.f"

    @dataclass
    class IntBox(Box[int]):
        content: int

    assert schema_of(IntBox, allow_null=False)["fields"] == [{"name": "content", "type": "long"}]


def test_a_class_inside_a_function_may_refer_to_itself() -> None:
    @dataclass
    class Chain:
        link: Chain | None = None

    assert schema_of(Chain, allow_null=False)["fields"][0]["type"] == ["null", "Chain"]


@dataclass
class Box(Generic[T]):
    content: T


class Place(NamedTuple):
    x: int
    label: str | None = None
    y: int = 7


def test_a_typed_named_tuple_is_a_record() -> None:
    assert schema_of(Place, allow_null=False) == {
        "type": "record",
        "name": "Place",
        "fields": [
            {"name": "x", "type": "long"},
            {"name": "label", "type": ["null", "string"], "default": None},
            {"name": "y", "type": "long", "default": 7},
        ],
    }


@pytest.mark.parametrize("cls", [NamedTuple("Functional", [("x", int)]), type("Later", (Place,), {})])
def test_typed_named_tuples_are_models_however_they_are_created(cls: type) -> None:
    assert is_model(cls)


def test_an_untyped_named_tuple_is_not_a_model() -> None:
    assert not is_model(collections.namedtuple("Untyped", "x y"))
    assert not is_model(tuple)


# --- names ------------------------------------------------------------------------------------------------------------


class Tone(enum.Enum):
    __avro__ = AvroClass(name="Ton", namespace="music", doc="High or low", aliases=("Pitch",))
    HIGH = 1
    LOW = 2
    DEEP = 2  # noqa: PIE796 - another name for LOW


@dataclass
class Song:
    __avro__ = AvroClass(name="Lied", namespace="org.example")
    title: Annotated[str, AvroField(name="Titel", aliases=("name",), doc="As printed")]
    tone: Tone
    inner: Inner
    other_tone: Tone | None = None


def test_annotations_set_the_names_of_a_class_and_its_fields() -> None:
    schema = schema_of(Song, allow_null=False)

    assert {key: schema[key] for key in ("name", "namespace")} == {"name": "Lied", "namespace": "org.example"}
    assert schema["fields"] == [
        {"name": "Titel", "type": "string", "doc": "As printed", "aliases": ["name"]},
        {
            "name": "tone",
            "type": {
                "type": "enum",
                "name": "Ton",
                "namespace": "music",
                "doc": "High or low",
                "symbols": ["HIGH", "LOW"],
                "aliases": ["Pitch"],
            },
        },
        {"name": "inner", "type": INNER},
        {"name": "other_tone", "type": ["null", "music.Ton"], "default": None},
    ]
    assert [*parse(schema).names] == ["org.example.Lied", "music.Ton", "org.example.Inner"]


def test_a_subclass_has_its_own_name_and_inherits_fields() -> None:
    @dataclass
    class Hymn(Song):
        choir: str = ""
        author: str = ""

    schema = schema_of(Hymn, allow_null=True)
    assert schema["name"] == "Hymn"
    assert [field["name"] for field in schema["fields"]] == ["author", "choir", "inner", "other_tone", "Titel", "tone"]


def test_invalid_annotations_are_refused() -> None:
    wrong = dataclasses.make_dataclass("Wrong", [("x", int)], namespace={"__avro__": {"name": "X"}})
    with pytest.raises(SchemaError, match="__avro__ to be an AvroClass, got"):
        schema_of(wrong, allow_null=True)
    with pytest.raises(SchemaError, match="aliases to be a tuple of names"):
        AvroField(aliases="nick")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="AvroType: expected one type"):
        AvroType(["null", "int"])
    with pytest.raises(SchemaError):
        AvroType("whole")


MD5 = Annotated[bytes, AvroType({"type": "fixed", "name": "MD5", "size": 16})]


def test_a_named_type_of_a_hint_is_defined_only_once() -> None:
    both = dataclasses.make_dataclass("Both", [("a", MD5), ("b", MD5)])
    fields = schema_of(both, allow_null=False)["fields"]
    assert [field["type"] for field in fields] == [{"type": "fixed", "name": "MD5", "size": 16}, "MD5"]

    other = Annotated[bytes, AvroType({"type": "fixed", "name": "MD5", "size": 8})]
    with pytest.raises(SchemaError, match="two types are named MD5"):
        schema_of(dataclasses.make_dataclass("Both", [("a", MD5), ("b", other)]), allow_null=False)


def test_a_type_without_namespace_cannot_be_referred_to_inside_a_namespace() -> None:
    bare = dataclasses.make_dataclass("Bare", [("x", int)], namespace={"__avro__": AvroClass(namespace="")})
    words = {"__avro__": AvroClass(namespace="org.example")}
    once = dataclasses.make_dataclass("Outer", [("a", bare)], namespace=words)
    assert [*parse(schema_of(once, allow_null=True)).names] == ["org.example.Outer", "Bare"]

    twice = dataclasses.make_dataclass("Outer", [("a", bare), ("b", bare)], namespace=words)
    with pytest.raises(SchemaError, match="cannot refer to it") as caught:
        schema_of(twice, allow_null=True)
    assert caught.value.path == "Outer.b"


@pytest.mark.parametrize("allow_null", [True, False])
def test_an_annotation_sets_whether_a_field_is_nullable(allow_null: bool) -> None:
    cls = dataclasses.make_dataclass(
        "One", [("no", Annotated[int, AvroField(nullable=False)]), ("yes", Annotated[int, AvroField(nullable=True)])]
    )
    assert schema_of(cls, allow_null=allow_null)["fields"] == [
        {"name": "no", "type": "long"},
        {"name": "yes", "type": ["null", "long"], "default": None},
    ]
