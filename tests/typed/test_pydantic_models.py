"""pydantic models as schemas, and objects of them."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from typing import Annotated, Any, Optional, Union

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._schema import RecordShape, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, SchemaError
from streamnative_serdes.models import AvroClass, AvroField, Int32, is_model, schema_of, shapes_to_read
from streamnative_serdes.testing import LocalRegistry

TOPIC = "models"


class Colour(enum.Enum):
    RED = "r"


class Inner(BaseModel):
    x: Int32


class Other(BaseModel):
    text: str


class Model(BaseModel):
    __avro__ = AvroClass(namespace="org.example")
    name: str = Field(min_length=1)
    amount: Decimal = Field(max_digits=10, decimal_places=2)
    price: Annotated[Decimal, Field(max_digits=5, decimal_places=1)] | None = None
    total: pydantic.condecimal(max_digits=7, decimal_places=2)  # type: ignore[valid-type]
    at: datetime.datetime
    id: pydantic.UUID4
    positive: pydantic.PositiveInt
    colour: Colour
    inner: Inner
    either: Union[Inner, Other]
    pair: tuple[int, ...] = ()
    table: dict[str, Optional[Inner]] = {}
    below: list[Model] = []
    renamed: Annotated[int, AvroField(name="Renamed")] = 7


def model(**more: Any) -> Model:
    values: dict[str, Any] = {
        "name": "Ada",
        "amount": Decimal("12.50"),
        "total": Decimal("1.00"),
        "at": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        "id": uuid.UUID("00000000-0000-4000-8000-000000000007"),
        "positive": 3,
        "colour": Colour.RED,
        "inner": Inner(x=1),
        "either": Other(text="b"),
        "pair": (1, 2),
        "table": {"a": Inner(x=2), "b": None},
    }
    return Model(**values | more)


def digits(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def test_each_field_has_its_type_and_its_default() -> None:
    inner = record("Inner", ("x", "int"))
    assert schema_of(Model, allow_null=False)["fields"] == [
        {"name": "name", "type": "string"},
        {"name": "amount", "type": digits(10, 2)},
        {"name": "price", "type": ["null", digits(5, 1)], "default": None},
        {"name": "total", "type": digits(7, 2)},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "positive", "type": "long"},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED"]}},
        {"name": "inner", "type": inner},
        {"name": "either", "type": ["Inner", record("Other", ("text", "string"))]},
        {"name": "pair", "type": {"type": "array", "items": "long"}, "default": []},
        {"name": "table", "type": {"type": "map", "values": ["null", "Inner"]}, "default": {}},
        {"name": "below", "type": {"type": "array", "items": "Model"}, "default": []},
        {"name": "Renamed", "type": "long", "default": 7},
    ]


@pytest.mark.parametrize("allow_null", [True, False])
def test_objects_are_read_back_equal(registry: LocalRegistry, allow_null: bool) -> None:
    conf = {"schema.registry.url": registry.url, "allow.null": allow_null}
    whole = model(below=[model(name="Bob")])
    written = KafkaAvroSerializer(conf).serialize(TOPIC, whole)
    assert KafkaAvroDeserializer({**conf, "value.type": Model}).deserialize(TOPIC, written) == whole


def test_values_are_validated_when_they_are_read(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    nameless = KafkaAvroSerializer(conf, Model).serialize(TOPIC, model().model_copy(update={"name": ""}))
    with pytest.raises(DecodeError, match="at least 1 character"):
        KafkaAvroDeserializer({**conf, "value.type": Model}).deserialize(TOPIC, nameless)


def test_a_changed_model_reads_old_messages(registry: LocalRegistry) -> None:
    class Later(BaseModel):
        __avro__ = AvroClass(name="Inner")
        x: int
        label: str = "none"

    conf = {"schema.registry.url": registry.url}
    old = KafkaAvroSerializer(conf).serialize(TOPIC, Inner(x=1))
    assert KafkaAvroDeserializer({**conf, "value.type": Later}).deserialize(TOPIC, old) == Later(x=1)


def test_the_constructor_is_called_with_pydantics_aliases() -> None:
    class Aliased(BaseModel):
        user_name: str = Field(alias="userName")

    class ByName(Aliased):
        model_config = ConfigDict(populate_by_name=True)

    schema = parse(record("User", ("user_name", "string")))
    for cls in (Aliased, ByName):
        codec = Codec(schema, shapes=shapes_to_read(cls, schema))
        found = codec.decode(b"\x06Ada")
        assert isinstance(found, cls)
        assert found.user_name == "Ada"

    class Several(BaseModel):
        name: str = Field(validation_alias=pydantic.AliasChoices("a", "b"))

    with pytest.raises(SchemaError, match="several keywords"):
        shapes_to_read(Several, parse(record("S", ("name", "string"))))


def test_factories_give_defaults_only_if_they_always_return_the_same_value() -> None:
    class Made(BaseModel):
        id: uuid.UUID = Field(default_factory=uuid.uuid4)
        items: list[int] = Field(default_factory=list)
        first: int = 1
        second: int = Field(default_factory=lambda data: data["first"] + 1)

    fields = schema_of(Made, allow_null=False)["fields"]
    assert [field.get("default") for field in fields] == [None, [], 1, None]
    assert ["default" in field for field in fields] == [False, True, True, False]


def test_with_allow_null_fields_of_a_subclass_precede_those_of_its_base_as_in_java() -> None:
    class Derived(Inner):
        b: int
        a: int

    assert [field["name"] for field in schema_of(Derived, allow_null=True)["fields"]] == ["a", "b", "x"]


def test_a_pydantic_dataclass_validates_too() -> None:
    @pydantic.dataclasses.dataclass
    class Checked:
        x: int

    schema = parse(schema_of(Checked, allow_null=True))
    shape = shapes_to_read(Checked, schema)["Checked"]
    assert isinstance(shape, RecordShape)
    assert shape.build == "call"
    assert Codec(schema, shapes={"Checked": shape}).decode(b"\x02\x04") == Checked(2)


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (type("Root", (pydantic.RootModel[int],), {}), "is a RootModel, which is not a record"),
        (pydantic.create_model("M", f=(set[int], ...)), "no Avro type is known"),
        (pydantic.create_model("M", f=(Decimal, ...)), "declare its digits"),
        (pydantic.create_model("M", f=(Any, ...)), "no Avro type is known"),
    ],
)
def test_models_without_a_schema_are_refused(cls: type, said: str) -> None:
    assert is_model(cls)
    with pytest.raises(SchemaError, match=said):
        schema_of(cls, allow_null=True)


def test_a_model_with_undefined_types_is_refused() -> None:
    class Waits(BaseModel):
        later: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(SchemaError, match="the types of Waits cannot be resolved"):
        schema_of(Waits, allow_null=True)


def test_base_model_itself_is_not_a_model() -> None:
    assert not is_model(BaseModel)
