"""Matching classes with schemas: the class of each record, how its objects are built, and what does not match."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Optional, Union

import pytest
from schemas import record

from streamnative_serdes._schema import EnumShape, RecordShape, Shape, parse
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.models import AvroClass, AvroField, AvroType, schema_of, shapes_to_read, shapes_to_write


@dataclass
class Plain:
    x: int
    y: str = "y"


@dataclass(slots=True)
class Slots:
    x: int
    y: str = "y"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    x: int
    y: str = "y"


@dataclass(frozen=True)
class FrozenPlain:
    x: int
    y: str = "y"


class Tuple(NamedTuple):
    x: int
    y: str = "y"


@dataclass
class Inherits(Plain):
    z: int = 0
    constant: ClassVar[int] = 1


@dataclass
class After:
    x: int
    y: str = "y"

    def __post_init__(self) -> None:
        self.y = self.y.upper()


@dataclass
class Own:
    x: int
    y: str

    def __init__(self, x: int, y: str = "y") -> None:
        self.x, self.y = x, y


@dataclass
class New:
    x: int
    y: str = "y"

    def __new__(cls, *_: Any, **__: Any) -> New:
        return super().__new__(cls)


@dataclass
class Checks:
    x: int
    y: str = "y"

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)


@dataclass
class Property:
    x: int
    y: str = "y"


Property.y = property(lambda self: "y", lambda self, value: None)  # type: ignore[assignment]


class SubTuple(Tuple):
    def __new__(cls, x: int, y: str = "y") -> SubTuple:
        return super().__new__(cls, x, y)


@dataclass
class Mixed(Slots):  # x and y in slots, z in a dict
    z: int = 0


def shape_of(cls: type, schema: Any = None) -> RecordShape:
    parsed = parse(schema_of(cls, allow_null=True) if schema is None else schema)
    found = shapes_to_read(cls, parsed)[getattr(parsed.root, "name", "")]
    assert isinstance(found, RecordShape)
    return found


@pytest.mark.parametrize(
    ("cls", "build"),
    [
        (Plain, "dict"),
        (Slots, "slots"),
        (Frozen, "slots"),
        (FrozenPlain, "dict"),
        (Inherits, "dict"),
        (dataclasses.make_dataclass("Made", [("x", int)], slots=True), "slots"),
        (Tuple, "tuple"),
        (After, "call"),
        (Own, "call"),
        (New, "call"),
        (Checks, "call"),
        (Property, "call"),
        (SubTuple, "call"),
        (Mixed, "call"),
    ],
)
def test_only_a_constructor_without_effects_is_skipped(cls: type, build: str) -> None:
    shape = shape_of(cls)
    assert (shape.cls, shape.build) == (cls, build)
    assert {*shape.attributes.values()} == {
        *(getattr(cls, "_fields", None) or [one.name for one in dataclasses.fields(cls)])
    }


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    ROT = 1  # noqa: PIE796 - another name for RED


@dataclass
class Leaf:
    colour: Colour


@dataclass
class Tree:
    __avro__ = AvroClass(namespace="org.example")
    leaves: list[Leaf]
    by_name: dict[str, Optional[Leaf]]
    either: Union[Leaf, Plain, None]
    trees: list[Tree]
    named: Annotated[int, AvroField(name="number")] = 0


@pytest.mark.parametrize("allow_null", [True, False])
def test_every_record_and_enum_of_the_schema_has_its_class(allow_null: bool) -> None:
    shapes = shapes_to_read(Tree, parse(schema_of(Tree, allow_null=allow_null)))

    assert {name: shape.cls for name, shape in shapes.items()} == {
        "org.example.Tree": Tree,
        "org.example.Leaf": Leaf,
        "org.example.Plain": Plain,
        "org.example.Colour": Colour,
    }
    tree, colour = shapes["org.example.Tree"], shapes["org.example.Colour"]
    assert isinstance(tree, RecordShape)
    assert tree.attributes["number"] == "named"
    assert isinstance(colour, EnumShape)
    assert colour.members == {"RED": Colour.RED, "GREEN": Colour.GREEN}


NOTHING = object()


def test_attributes_that_the_schema_lacks_get_a_fresh_default_for_each_object() -> None:
    @dataclass
    class Wide:
        x: int
        items: list[int] = field(default_factory=list)
        label: str = "none"
        nothing: Any = NOTHING

    shape = shape_of(Wide, record("Wide", ("x", "long")))
    assert shape.attributes == {"x": "x"}
    assert {name: make() for name, make in shape.defaults.items()} == {
        "items": [],
        "label": "none",
        "nothing": NOTHING,
    }
    assert shape.defaults["items"]() is not shape.defaults["items"]()


def test_defaults_are_left_to_a_constructor_that_is_called() -> None:
    assert shape_of(After, record("After", ("x", "long"))).defaults == {}


def test_records_of_other_names_and_aliases_of_fields_are_matched() -> None:
    @dataclass
    class User:
        name: Annotated[str, AvroField(aliases=("login",))]
        home: Plain

    schema = record("Benutzer", ("login", "string"), ("home", record("Heim", ("x", ["null", "int"]))))
    shapes = shapes_to_read(User, parse(schema))
    assert {name: shape.cls for name, shape in shapes.items()} == {"Benutzer": User, "Heim": Plain}
    user = shapes["Benutzer"]
    assert isinstance(user, RecordShape)
    assert user.attributes == {"login": "name", "home": "home"}


def matched(cls: type, *names: str, reading: bool = True) -> dict[str, str]:
    schema = parse(record(cls.__name__, *((name, "string") for name in names)))
    shape = (shapes_to_read if reading else shapes_to_write)(cls, schema)[cls.__name__]
    assert isinstance(shape, RecordShape)
    return dict(shape.attributes)


@dataclass
class Login:
    name: Annotated[str, AvroField(aliases=("login", "nick"))] = ""
    login: str = ""


@pytest.mark.parametrize("reading", [True, False])
def test_an_alias_is_used_only_if_no_attribute_has_the_name_of_the_field(reading: bool) -> None:
    assert matched(Login, "name", "login", reading=reading) == {"name": "name", "login": "login"}
    assert matched(Login, "login", "name", reading=reading) == {"name": "name", "login": "login"}
    assert matched(Login, "login", reading=reading) == {"login": "login"}
    assert matched(Login, "login", "nick", reading=reading) == {"login": "login", "nick": "name"}


@dataclass
class Crossed:
    """Each attribute's Avro name is the alias and the Python name of the other attribute."""

    a: Annotated[str, AvroField(name="b", aliases=("a",))] = ""
    b: Annotated[str, AvroField(name="a", aliases=("b",))] = ""


@pytest.mark.parametrize("reading", [True, False])
def test_names_take_precedence_over_aliases_in_any_order(reading: bool) -> None:
    assert matched(Crossed, "a", "b", reading=reading) == {"a": "b", "b": "a"}
    assert matched(Crossed, "a", reading=reading) == {"a": "b"}


def test_an_attribute_matches_only_one_field() -> None:
    @dataclass
    class Renamed:
        name: Annotated[str, AvroField(aliases=("login", "nick"))] = ""

    @dataclass
    class Rivals:
        a: Annotated[str, AvroField(aliases=("old",))] = ""
        b: Annotated[str, AvroField(aliases=("old",))] = ""

    assert matched(Renamed, "nick", "login", reading=False) == {"login": "name"}
    assert matched(Renamed, "login", "name", reading=False) == {"name": "name"}
    assert matched(Rivals, "old", reading=False) == {"old": "b"}  # as in schema resolution
    for names, left in ((("name", "login"), "login"), (("login", "nick"), "nick")):
        with pytest.raises(SchemaError, match=f"Renamed has no attribute for the schema's field {left}"):
            matched(Renamed, *names)


@dataclass
class Loose:
    table: dict[str, int]
    anything: Any
    number: float
    text: Literal["a", "b"] | None


def test_values_that_a_hint_leaves_open_are_read_as_by_the_codec() -> None:
    inner = record("Inner", ("x", "long"))
    schema = record("Loose", ("table", inner), ("anything", ["null", "bytes"]), ("number", "long"), ("text", "string"))
    assert [*shapes_to_read(Loose, parse(schema))] == ["Loose"]


def refusals() -> list[tuple[Any, Any, str, str]]:
    """Return (hint, Avro type, part of the error, path) for each mismatch."""
    symbols = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}
    plain, other = record("Plain", ("x", "long")), record("Other", ("q", "long"))
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    return [
        (int, "string", "expected int, but the schema's string is read as str", "One.f"),
        (str, moment, "is read as datetime", "One.f"),
        (datetime.datetime, "long", "expected datetime, but the schema's long is read as int", "One.f"),
        (int, ["null", "int", "string"], "is read as str", "One.f"),
        (Colour, symbols, "Colour has no member BLUE", "One.f"),
        (int, symbols, "is read as str", "One.f"),
        (int, plain, "expected int, but the schema has record Plain", "One.f"),
        (Plain, other, "Plain has no attribute for the schema's field q", "One.f"),
        (
            Plain,
            record("Plain", ("y", "string")),
            "the attribute has no default, and the schema has no such field",
            "One.f.x",
        ),
        (Union[Plain, Slots], [plain, other], "record Other does not match Plain | Slots", "One.f"),
        (list[Plain], {"type": "array", "items": other}, "no attribute for the schema's field q", "One.f"),
        (list[int], {"type": "map", "values": "int"}, "the schema has a map", "One.f"),
        (dict[str, int], {"type": "array", "items": "int"}, "the schema has an array", "One.f"),
        (tuple[int, ...], {"type": "array", "items": "int"}, "is read as a list", "One.f"),
        (Plain, "string", "is read as str", "One.f"),
    ]


@pytest.mark.parametrize(("hint", "kind", "said", "path"), refusals())
def test_a_schema_that_does_not_match_the_class_is_refused(hint: Any, kind: Any, said: str, path: str) -> None:
    one = dataclasses.make_dataclass("One", [("f", hint)])
    schema = parse(record("One", ("f", kind)))
    with pytest.raises(SchemaError) as caught:
        shapes_to_read(one, schema)
    assert said in str(caught.value)
    assert caught.value.path == path
    assert "One" in shapes_to_write(one, schema)  # when writing, the codec checks the values


def test_one_record_cannot_match_two_classes() -> None:
    both = dataclasses.make_dataclass("Both", [("a", Plain), ("b", Slots)])
    schema = record("Both", ("a", record("Plain", ("x", "long"))), ("b", "Plain"))
    with pytest.raises(SchemaError, match="record Plain is already matched to Plain") as caught:
        shapes_to_read(both, parse(schema))
    assert caught.value.path == "Both.b"


def test_one_enum_cannot_match_two_classes() -> None:
    first, second = (enum.Enum(name, ["A", "B"]) for name in ("First", "Second"))
    both = dataclasses.make_dataclass("Both", [("a", first), ("b", second)])
    symbols = {"type": "enum", "name": "First", "symbols": ["A", "B"]}
    with pytest.raises(SchemaError, match="enum First is already matched to First") as caught:
        shapes_to_read(both, parse(record("Both", ("a", symbols), ("b", "First"))))
    assert caught.value.path == "Both.b"


def test_a_schema_that_is_not_a_record_is_refused() -> None:
    with pytest.raises(SchemaError, match="Plain needs a record, but the schema is of type string"):
        shapes_to_read(Plain, parse("string"))


def test_a_hint_with_an_explicit_avro_type_is_not_checked() -> None:
    one = dataclasses.make_dataclass("One", [("f", Annotated[Any, AvroType("string")])])
    assert [*shapes_to_read(one, parse(schema_of(one, allow_null=True)))] == ["One"]


def test_an_attribute_that_the_constructor_does_not_take_is_an_error() -> None:
    @dataclass
    class Computed:
        x: int
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.x

    with pytest.raises(SchemaError, match="has no keyword for this attribute") as caught:
        shape_of(Computed)
    assert caught.value.path == "Computed.twice"


def test_a_constructor_that_requires_other_arguments_is_an_error() -> None:
    @dataclass
    class Scaled:
        x: int
        scale: InitVar[int]

        def __post_init__(self, scale: int) -> None:
            self.x *= scale

    with pytest.raises(SchemaError, match="does not accept the schema's fields: missing a required argument: 'scale'"):
        shape_of(Scaled)


def test_for_writing_only_common_fields_are_matched() -> None:
    shapes: dict[str, Shape] = shapes_to_write(Tree, parse(record("Other", ("number", "string"), ("more", "long"))))
    other = shapes["Other"]
    assert isinstance(other, RecordShape)
    assert other.attributes == {"number": "named"}


def test_for_writing_unresolvable_hints_are_ignored() -> None:
    unknown = dataclasses.make_dataclass("Unknown", [("x", "Nowhere")])
    outer = dataclasses.make_dataclass("Outer", [("plain", Plain), ("unknown", unknown)])
    schema = record("Outer", ("plain", record("Plain", ("x", "long"))), ("unknown", record("U", ("x", "long"))))
    assert [*shapes_to_write(outer, parse(schema))] == ["Outer", "Plain"]
    with pytest.raises(SchemaError, match="the types of Unknown cannot be resolved"):
        shapes_to_read(outer, parse(schema))


def test_for_writing_the_shapes_of_a_schema_are_cached() -> None:
    schema = parse(schema_of(Tree, allow_null=True))
    assert shapes_to_write(Tree, schema) is shapes_to_write(Tree, schema)
    assert shapes_to_write(Tree, parse(schema.text)) is not shapes_to_write(Tree, schema)
