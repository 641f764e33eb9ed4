"""Classes as schemas: each Python type's Avro type, with and without allow_null, and what has none."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from dataclasses import dataclass, field
from typing import Any, Generic, Optional, TypeVar, Union

import pytest

from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.models import is_model, schema_of

T = TypeVar("T")


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Text(str, enum.Enum):
    LOW = "low"


class Number(enum.IntEnum):
    ONE = 1


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


def test_each_type_without_allow_null() -> None:
    fields = [{"name": name, "type": kind} for name, kind in TYPES]
    fields[15] = {"name": "maybe", "type": ["null", "long"], "default": None}

    assert schema_of(Everything, allow_null=False) == {"type": "record", "name": "Everything", "fields": fields}


def test_each_type_with_allow_null_at_every_level() -> None:
    fields = [
        {"name": name, "type": ["null", NULLABLE_INNER if name == "inner" else kind], "default": None}
        for name, kind in TYPES
    ]

    assert schema_of(Everything, allow_null=True) == {"type": "record", "name": "Everything", "fields": fields}


@pytest.mark.parametrize("allow_null", [True, False])
def test_an_instance_survives_its_own_schema(allow_null: bool) -> None:
    codec = Codec(schema_of(Everything, allow_null=allow_null))
    expected = dataclasses.asdict(GOOD) | {"colour": "GREEN", "same": "RED"}

    assert codec.decode(codec.encode(GOOD)) == expected


@pytest.mark.parametrize("allow_null", [True, False])
def test_a_class_that_holds_itself(allow_null: bool) -> None:
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
        (Text, {"type": "enum", "name": "Text", "symbols": ["LOW"]}),
        (Number, {"type": "enum", "name": "Number", "symbols": ["ONE"]}),
    ],
)
def test_other_spellings_of_a_type(hint: Any, kind: Any) -> None:
    assert schema_of(one(hint), allow_null=False)["fields"][0]["type"] == kind


@pytest.mark.parametrize("member", [Colour.RED, Text.LOW, Number.ONE])
def test_every_kind_of_enum_encodes_by_its_names(member: enum.Enum) -> None:
    cls = one(type(member))
    codec = Codec(schema_of(cls, allow_null=False))

    assert codec.decode(codec.encode(cls(member))) == {"f": member.name}


@pytest.mark.parametrize(
    "hint",
    [
        object, Any, list, dict, list[object], dict[int, str], dict[str, object], set[int], tuple[int, str], int | str,
        int | str | None, Generic, T, complex, datetime.timedelta, type(None), list[int, str],
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("allow_null", [True, False])
def test_a_type_without_an_avro_type_is_an_error_that_names_its_field(hint: Any, allow_null: bool) -> None:
    with pytest.raises(SchemaError, match="no Avro type is known") as caught:
        schema_of(one(hint), allow_null=allow_null)
    assert caught.value.path == "One.f"


def test_the_path_leads_into_nested_classes() -> None:
    outer = dataclasses.make_dataclass("Outer", [("rows", list[one(object)])])  # type: ignore[misc]

    with pytest.raises(SchemaError) as caught:
        schema_of(outer, allow_null=False)
    assert caught.value.path == "Outer.rows.f"


def test_two_classes_of_one_name_are_refused() -> None:
    other = dataclasses.make_dataclass("Inner", [("y", str)])
    both = dataclasses.make_dataclass("Both", [("a", Inner), ("b", other)])

    with pytest.raises(SchemaError, match="two classes are named Inner") as caught:
        schema_of(both, allow_null=False)
    assert caught.value.path == "Both.b"


def test_a_type_that_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(SchemaError, match="the types of One cannot be resolved"):
        schema_of(one("Nowhere"), allow_null=False)


@pytest.mark.parametrize("cls", [int, dict, Colour, "Inner", GOOD, None])
def test_what_is_no_dataclass_is_no_model(cls: Any) -> None:
    assert not is_model(cls)
    with pytest.raises(SchemaError, match="expected a dataclass"):
        schema_of(cls, allow_null=True)
