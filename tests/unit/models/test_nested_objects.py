"""Objects of classes inside dicts, lists and objects of others: no shape was made for them; written by field name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import attrs
import pydantic
import pytest
from pulsar.schema import Integer, Record, String
from schemas import array, mapping, record

from streamnative_serdes import (
    Codec,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValueSchema,
    TypedSchema,
)
from streamnative_serdes.models import AvroField
from streamnative_serdes.testing import LocalRegistry

Name = Annotated[str, AvroField(name="fullName", aliases=("called",))]


@dataclass
class Plain:
    full_name: Name
    age: int = 3


@dataclass(slots=True)
class Slots:
    full_name: Name
    age: int = 3


class Tuple(NamedTuple):
    full_name: Name
    age: int = 3


@attrs.define
class Attrs:
    full_name: Name
    age: int = 3


class Pydantic(pydantic.BaseModel):
    full_name: Name
    age: int = 3


class OfPulsar(Record):  # type: ignore[misc] - pulsar has no types
    fullName = String()
    age = Integer(default=3)


MAKERS: dict[str, Callable[[], Any]] = {
    "dataclass": lambda: Plain("Ada"),
    "slots": lambda: Slots("Ada"),
    "named tuple": lambda: Tuple("Ada"),
    "attrs": lambda: Attrs("Ada"),
    "pydantic": lambda: Pydantic(full_name="Ada"),
    "pulsar's Record": lambda: OfPulsar(fullName="Ada"),
}
each_class = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)

# Nullable, so that a value that is not found is written as null.
USER = record("User", ("age", ["null", "long"], None), ("fullName", ["null", "string"], None))
ADA = {"age": 3, "fullName": "Ada"}
OTHER = record("Other", ("id", ["null", "long"], None))


def there_and_back(schema: Any, datum: Any, **options: Any) -> Any:
    codec = Codec(schema, **options)
    return codec.decode(codec.encode(datum))


@each_class
def test_objects_in_containers_are_written_by_field_name(make: Callable[[], Any]) -> None:
    assert there_and_back(array(USER), [make(), ADA, make()]) == [ADA] * 3
    assert there_and_back(mapping(USER), {"a": make()}) == {"a": ADA}
    assert there_and_back(record("Box", ("user", USER)), {"user": make()}) == {"user": ADA}


@each_class
def test_objects_choose_the_branch_that_has_their_fields(make: Callable[[], Any]) -> None:
    for branches in (["null", USER], ["null", OTHER, USER], [USER, OTHER], [mapping("long"), USER]):
        assert there_and_back(array(branches), [make()]) == [ADA]


@pytest.mark.parametrize("make", [make for name, make in MAKERS.items() if "Record" not in name])
def test_a_field_is_found_by_an_alias_of_the_attribute(make: Callable[[], Any]) -> None:
    assert there_and_back(array(record("User", ("called", "string"))), [make()]) == [{"called": "Ada"}]


@each_class
def test_attributes_without_a_field_are_refused_if_the_options_say_so(make: Callable[[], Any]) -> None:
    users = array(record("User", ("fullName", "string")))
    assert there_and_back(users, [make()]) == [{"fullName": "Ada"}]
    with pytest.raises(EncodeError, match=r"has no field .?age"):
        Codec(users, validate_strict=True).encode([make()])


@each_class
def test_objects_in_objects_of_another_class_are_written_by_field_name(make: Callable[[], Any]) -> None:
    @dataclass
    class Box:
        user: Any
        users: list[Any] = field(default_factory=list)

    schema = record("Box", ("user", USER), ("users", array("User")))
    box = Box(make(), [make()])
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        data = KafkaAvroSerializer(conf, schema).serialize("boxes", box)
        assert KafkaAvroDeserializer(conf).deserialize("boxes", data) == {"user": ADA, "users": [ADA]}
        of_json = KafkaPulsarSerializer(conf, TypedSchema("JSON", schema)).serialize("boxes of JSON", box)
    assert of_json is not None
    assert of_json.count(b'{"age":3,"fullName":"Ada"}') == 2


@pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])
@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@each_class
def test_halves_of_pairs_are_written_by_field_name(make: Callable[[], Any], kind: str, encoding: Any) -> None:
    half = TypedSchema(kind, USER)
    with LocalRegistry() as registry:
        conf = {"schema.registry.url": registry.url}
        serializer = KafkaAvroSerializer(conf, KeyValueSchema(half, half, encoding))
        reader = KafkaAvroDeserializer(conf)
        if encoding == "INLINE":
            read = reader.deserialize("pairs", serializer.serialize("pairs", (make(), make())))
            assert read == (ADA, ADA)
        else:
            keys = KafkaAvroSerializer(conf, KeyValueSchema(half, half, encoding), is_key=True)
            value = serializer.serialize("pairs", make())
            assert reader.deserialize("pairs", value) == ADA
            key = keys.serialize("pairs", make())
            assert KafkaAvroDeserializer(conf, is_key=True).deserialize("pairs", key) == ADA


@pytest.mark.parametrize("cls", [Plain, Slots])
def test_an_attribute_that_is_not_set_is_an_error(cls: type) -> None:
    user = cls("Ada")
    del user.full_name
    with pytest.raises(EncodeError, match=r"field \[0\]: reading the value raised AttributeError: .*full_name"):
        Codec(array(USER)).encode([user])


def test_a_class_whose_hints_cannot_be_resolved_is_written_by_its_attributes() -> None:
    @dataclass
    class Unresolved:
        fullName: Missing  # type: ignore[name-defined] # noqa: F821
        age: int = 3

    assert there_and_back(array(USER), [Unresolved("Ada")]) == [ADA]


@attrs.define
class Table(Mapping[str, Any]):
    held: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.held[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)


@attrs.define
class Items(Sequence[Any]):
    held: list[Any]

    def __getitem__(self, at: Any) -> Any:
        return self.held[at]

    def __len__(self) -> int:
        return len(self.held)


@attrs.define
class Metres:
    held: float

    def __float__(self) -> float:
        return self.held


@pytest.mark.parametrize(
    ("schema", "datum", "read"),
    [
        (USER, Table(ADA), ADA),
        (["null", USER, "string"], Table(ADA), ADA),
        (["null", mapping("long"), "string"], Table({"a": 1}), {"a": 1}),
        (["null", array("long"), "string"], Items([1, 2]), [1, 2]),
        (["null", "double", "string"], Metres(1.5), 1.5),
    ],
)
def test_what_a_class_is_takes_precedence_over_its_attributes(schema: Any, datum: Any, read: Any) -> None:
    assert there_and_back(schema, datum) == read


@dataclass
class WithProperty:
    full_name: Name
    years: ClassVar[int] = 5

    @property
    def age(self) -> int:
        return 3


def test_properties_of_a_dataclass_are_written_to_the_fields_with_their_names() -> None:
    schema = record("R", *((field["name"], field["type"], None) for field in USER["fields"]), ("years", "int"))
    assert there_and_back(array(schema), [WithProperty("Ada")]) == [{**ADA, "years": 5}]
