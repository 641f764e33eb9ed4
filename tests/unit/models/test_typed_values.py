"""Writing and reading objects of classes: value.type, classes as schemas, and options that contradict it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import pickle
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, Optional, Union

import pytest
from conf import conf
from schemas import enum as avro_enum
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._call_path import bound_of
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaError
from streamnative_serdes.models import AvroClass, AvroField, DecimalMeta
from streamnative_serdes.testing import LocalRegistry

TOPIC = "objects"


def reader(registry: LocalRegistry, cls: type, schema: Any = None, **more: Any) -> KafkaAvroDeserializer:
    return KafkaAvroDeserializer(conf(registry, **{"value.type": cls}, **more), schema)


class Colour(enum.Enum):
    RED = "r"
    GREEN = "g"


class Point(NamedTuple):
    x: int
    y: float = 0.5


@dataclass(slots=True)
class Cat:
    purr: str


@dataclass(frozen=True)
class Dog:
    __avro__ = AvroClass(name="Hund")
    bark: Annotated[str, AvroField(name="bellen")]


@dataclass(slots=True)
class Everything:
    __avro__ = AvroClass(namespace="org.example")
    flag: bool
    number: int
    text: str
    raw: bytes
    amount: Annotated[Decimal, DecimalMeta(10, 2)]
    at: datetime.datetime
    day: datetime.date
    time: datetime.time
    id: uuid.UUID
    colour: Colour
    point: Point
    pet: Union[Cat, Dog]
    pets: list[Cat | Dog]
    points: dict[str, Point]
    maybe: Optional[Dog] = None
    below: list[Everything] = field(default_factory=list)
    renamed: Annotated[int, AvroField(name="Renamed")] = 7


def everything(*below: Everything) -> Everything:
    return Everything(
        flag=True,
        number=-(2**40),
        text="é",
        raw=b"\x00",
        amount=Decimal("12.50"),
        at=datetime.datetime(2020, 1, 1, 1, 2, 3, 4, tzinfo=datetime.UTC),
        day=datetime.date(2020, 2, 29),
        time=datetime.time(1, 2, 3, 4),
        id=uuid.UUID(int=7),
        colour=Colour.GREEN,
        point=Point(1),
        pet=Dog("wau"),
        pets=[Cat("rr"), Dog("wuff")],
        points={"a": Point(2, 3.0)},
        below=list(below),
    )


@pytest.mark.parametrize("allow_null", [True, False])
@pytest.mark.parametrize("schema", [None, Everything], ids=["object's class", "class as schema"])
def test_objects_are_read_back_equal(registry: LocalRegistry, schema: Any, allow_null: bool) -> None:
    options = {"allow.null": allow_null}
    written = KafkaAvroSerializer(conf(registry, **options), schema).serialize(TOPIC, everything(everything()))

    assert reader(registry, Everything, **options).deserialize(TOPIC, written) == everything(everything())


@pytest.mark.parametrize("read_nulls", [True, False])
@pytest.mark.parametrize("write_nulls", [True, False])
def test_reader_and_writer_may_differ_in_allow_null(
    registry: LocalRegistry, write_nulls: bool, read_nulls: bool
) -> None:
    written = KafkaAvroSerializer(conf(registry, **{"allow.null": write_nulls})).serialize(TOPIC, everything())
    found = reader(registry, Everything, **{"allow.null": read_nulls}).deserialize(TOPIC, written)
    assert found == everything()


def test_without_value_type_messages_are_read_as_dicts(registry: LocalRegistry) -> None:
    written = KafkaAvroSerializer(conf(registry)).serialize(TOPIC, Point(1))
    for schema in (None, Point):
        assert KafkaAvroDeserializer(conf(registry), schema).deserialize(TOPIC, written) == {"x": 1, "y": 0.5}


class Earlier(NamedTuple):
    __avro__ = AvroClass(name="User")
    name: str
    gone: int = 0


@dataclass(slots=True)
class Later:
    __avro__ = AvroClass(name="User")
    full_name: Annotated[str, AvroField(aliases=("name",))]
    age: int = 18
    tags: list[str] = field(default_factory=lambda: ["new"])
    email: str | None = None


@dataclass
class Account:
    __avro__ = AvroClass(name="User")
    name: Annotated[str | None, AvroField(aliases=("login",))] = None
    login: str | None = None


class AccountTuple(NamedTuple):
    __avro__ = AvroClass(name="User")
    name: Annotated[str | None, AvroField(aliases=("login",))] = None
    login: str | None = None


@pytest.mark.parametrize("cls", [Account, AccountTuple])
def test_an_alias_that_equals_the_name_of_another_attribute_is_ignored_when_writing(
    registry: LocalRegistry, cls: Any
) -> None:
    both = record("User", ("name", ["null", "string"], None), ("login", ["null", "string"], None))
    plain = KafkaAvroDeserializer(conf(registry))
    for topic, schema in (("brought", None), ("given", cls), ("by hand", both)):
        message = KafkaAvroSerializer(conf(registry), schema).serialize(topic, cls("Ada", "ada1"))
        assert plain.deserialize(topic, message) == {"name": "Ada", "login": "ada1"}
        if schema is not both:  # here the alias would rename both fields to "name", which Java refuses too
            assert reader(registry, cls).deserialize(topic, message) == cls("Ada", "ada1")
        assert reader(registry, cls, both).deserialize(topic, message) == cls("Ada", "ada1")


def test_a_value_is_written_only_once_and_not_to_its_alias_too(registry: LocalRegistry) -> None:
    @dataclass
    class User:
        name: Annotated[str, AvroField(aliases=("login",))]

    both = record("User", ("name", "string"), ("login", ["null", "string"], None))
    message = KafkaAvroSerializer(conf(registry), both).serialize(TOPIC, User("Ada"))
    assert KafkaAvroDeserializer(conf(registry)).deserialize(TOPIC, message) == {"name": "Ada", "login": None}
    with pytest.raises(SchemaError, match="User has no attribute for the schema's field login"):
        reader(registry, User, both)


@pytest.mark.parametrize("allow_null", [True, False])
def test_a_changed_class_reads_old_messages_with_its_defaults(registry: LocalRegistry, allow_null: bool) -> None:
    options = {"allow.null": allow_null}
    old = KafkaAvroSerializer(conf(registry, **options)).serialize(TOPIC, Earlier("Ada"))
    first, second = (reader(registry, Later, **options).deserialize(TOPIC, old) for _ in range(2))
    assert first == second == Later("Ada", 18, ["new"], None)
    assert first.tags is not second.tags


def test_a_missing_field_without_a_default_is_read_as_none_or_is_an_error(registry: LocalRegistry) -> None:
    @dataclass
    class Strict:
        __avro__ = AvroClass(name="User")
        name: str
        age: int

    old = KafkaAvroSerializer(conf(registry)).serialize(TOPIC, Earlier("Ada"))
    assert reader(registry, Strict).deserialize(TOPIC, old).age is None  # like Java's client with alwaysAllowNull
    with pytest.raises(SchemaError, match="age"):
        reader(registry, Strict, **{"allow.null": False}).deserialize(TOPIC, old)


def test_a_null_for_a_required_attribute_is_an_error_without_allow_null(registry: LocalRegistry) -> None:
    nameless = KafkaAvroSerializer(conf(registry)).serialize(TOPIC, Point(None))  # type: ignore[arg-type]
    assert reader(registry, Point).deserialize(TOPIC, nameless) == (None, 0.5)
    with pytest.raises(DecodeError, match="field x"):
        reader(registry, Point, **{"allow.null": False}).deserialize(TOPIC, nameless)


PARTIAL = record("Wide", ("number", "int"), ("colour", avro_enum("Colour", "GREEN", "RED")))


@dataclass
class Wide:
    colour: Colour
    id: Annotated[int, AvroField(name="number")]
    label: str = "none"


def test_a_given_schema_is_the_readers_schema_and_other_attributes_get_defaults(registry: LocalRegistry) -> None:
    written = KafkaAvroSerializer(conf(registry), PARTIAL).serialize(TOPIC, {"number": 3, "colour": "RED"})
    assert reader(registry, Wide, PARTIAL).deserialize(TOPIC, written) == Wide(Colour.RED, 3, "none")


def test_objects_can_be_written_with_a_given_schema(registry: LocalRegistry) -> None:
    serializer = KafkaAvroSerializer(conf(registry), PARTIAL)
    as_object = serializer.serialize(TOPIC, Wide(Colour.RED, 3))
    assert as_object == serializer.serialize(TOPIC, {"number": 3, "colour": "RED"})
    assert as_object == serializer.serialize(TOPIC, Wide(Colour.RED, 3))
    latest = {"auto.register.schemas": False, "use.latest.version": True}
    assert KafkaAvroSerializer(conf(registry, **latest)).serialize(TOPIC, Wide(Colour.RED, 3)) == as_object


def test_symbols_may_be_the_values_of_enum_members(registry: LocalRegistry) -> None:
    schema = record("Wide", ("number", "int"), ("colour", avro_enum("Colour", "g", "r")))
    written = KafkaAvroSerializer(conf(registry), schema).serialize(TOPIC, Wide(Colour.RED, 3))
    assert written == KafkaAvroSerializer(conf(registry), schema).serialize(TOPIC, {"number": 3, "colour": "r"})
    assert reader(registry, Wide, schema).deserialize(TOPIC, written) == Wide(Colour.RED, 3)


@pytest.mark.parametrize("symbols", [("RED", "r"), ("r", "RED"), ("RED", "ROT"), ("ROT", "RED")])
def test_a_member_that_matches_two_symbols_is_written_by_its_name(
    registry: LocalRegistry, symbols: tuple[str, str]
) -> None:
    red_twice = enum.Enum("Colour", {"RED": "r", "ROT": "r"})
    cls = dataclasses.make_dataclass("Painted", [("colour", red_twice)])
    schema = record("Painted", ("colour", avro_enum("Colour", *symbols)))
    serializer = KafkaAvroSerializer(conf(registry), schema)
    red = serializer.serialize(TOPIC, {"colour": "RED"})
    assert serializer.serialize(TOPIC, cls(red_twice["RED"])) == red
    for symbol in symbols:
        written = serializer.serialize(TOPIC, {"colour": symbol})
        assert reader(registry, cls, schema).deserialize(TOPIC, written) == cls(red_twice["RED"])


@pytest.mark.parametrize("value", [Wide(Colour.RED, 3), Point(1)])
def test_strict_validation_refuses_attributes_without_a_field(registry: LocalRegistry, value: Any) -> None:
    schema = record(type(value).__name__, ("number" if isinstance(value, Wide) else "x", "int"))
    lax, strict = (
        KafkaAvroSerializer(conf(registry, **{"validate.strict": strict}), schema) for strict in (False, True)
    )
    assert lax.serialize(TOPIC, value)
    with pytest.raises(EncodeError, match=r"has no field '(colour|y)'"):
        strict.serialize(TOPIC, value)


def test_the_error_for_a_wrong_value_names_the_field(registry: LocalRegistry) -> None:
    bad = everything()
    bad.renamed = "seven"  # type: ignore[assignment]
    with pytest.raises(EncodeError, match="Renamed"):
        KafkaAvroSerializer(conf(registry)).serialize(TOPIC, bad)


def test_deserialize_many_returns_objects(registry: LocalRegistry) -> None:
    written = KafkaAvroSerializer(conf(registry)).serialize(TOPIC, Point(1))
    found = reader(registry, Point).deserialize_many(TOPIC, [written, None, b"garbage", written], on_error="skip")
    assert [*found] == [Point(1), None, Point(1)]


def test_a_deserializer_with_value_type_can_be_pickled(registry: LocalRegistry) -> None:
    written = KafkaAvroSerializer(conf(registry)).serialize(TOPIC, everything())
    again = pickle.loads(pickle.dumps(reader(registry, Everything)))
    assert again.deserialize(TOPIC, written) == everything()


def test_a_class_is_compiled_once_for_all_topics(registry: LocalRegistry) -> None:
    for schema, topics in ((None, ("a", "b")), (record("Point", ("x", "long")), ("c", "d"))):
        serializer = KafkaAvroSerializer(conf(registry), schema)
        for topic in topics:
            serializer.serialize(topic, Point(1))
        first, second = (bound.codec for bound in bound_of(serializer))
        assert first is second


def test_deserializers_of_one_class_share_the_compiled_codec(registry: LocalRegistry) -> None:
    written = KafkaAvroSerializer(conf(registry)).serialize(TOPIC, Point(1))
    readers = [reader(registry, Point) for _ in range(2)]
    assert [one.deserialize(TOPIC, written) for one in readers] == [Point(1)] * 2
    first, second = (bound_of(one)[0].codec for one in readers)
    assert first is second


def not_called(data: Any, ctx: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize(
    ("options", "schema", "from_dict", "said"),
    [
        ({"value.type": Point}, None, not_called, "cannot use both value.type and from_dict"),
        ({"value.type": Point}, Cat, None, "value.type is Point, but the reader's schema is Cat"),
        ({"value.type": Point, "return.record.name": True}, None, None, "both value.type and return.record.name"),
        ({"value.type": Point, "avro.logical.types": False}, None, None, "requires avro.logical.types"),
        ({"value.type": dict}, None, None, "value.type: expected a class with a schema, got dict"),
        ({"value.type": "Point"}, None, None, "value.type: expected a class, got 'Point'"),
        ({"value.type": Point(1)}, None, None, "value.type: expected a class"),
    ],
)
def test_options_that_contradict_value_type_are_refused_at_once(
    options: dict[str, Any], schema: Any, from_dict: Any, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        KafkaAvroDeserializer({"schema.registry.url": "http://localhost:1", **options}, schema, from_dict)


def test_a_schema_that_does_not_match_the_class_is_refused_at_once() -> None:
    with pytest.raises(SchemaError, match=r"field Point\.x: expected int, but the schema's string is read as str"):
        KafkaAvroDeserializer(
            {"schema.registry.url": "http://localhost:1", "value.type": Point},
            record("Point", ("x", "string"), ("y", "double")),
        )


def namesakes(namespace: str) -> type:
    words = {"__avro__": AvroClass(namespace=namespace)}
    return dataclasses.make_dataclass("Item", [("x", int)], namespace=words)


def test_two_classes_of_the_same_name_are_distinguished_by_namespace(registry: LocalRegistry) -> None:
    one, two = namesakes("one"), namesakes("two")
    both = dataclasses.make_dataclass("Both", [("items", list[Union[one, two]])])
    value = both([two(2), one(1)])
    written = KafkaAvroSerializer(conf(registry), both).serialize(TOPIC, value)

    assert reader(registry, both).deserialize(TOPIC, written) == value
