"""Pydantic models: those without code of their own are created without validation where types prove the values."""

from __future__ import annotations

import datetime
import enum
import json
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, computed_field, field_validator
from pydantic import model_validator as model_check

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._schema import parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.models import DecimalMeta, Int32, schema_of
from streamnative_serdes.models.matching import shapes_to_read, shapes_to_write

NOW = datetime.datetime(2026, 11, 26, 12, 30, 1, 5, tzinfo=datetime.UTC)


class Colour(enum.Enum):
    RED = "RED"
    BLUE = "BLUE"


class Inner(BaseModel):
    number: int
    text: str | None


class Order(BaseModel):
    id: int
    name: str
    ratio: float
    flag: bool
    raw: bytes
    at: datetime.datetime
    day: datetime.date
    time: datetime.time
    key: uuid.UUID
    amount: Annotated[Decimal, DecimalMeta(8, 2)] | None
    colour: Colour
    tags: dict[str, int]
    items: list[Inner]
    inner: Inner | None
    either: int | str
    anything: Annotated[int, "a note"] = 3


def order(**changes: Any) -> Order:
    values: dict[str, Any] = dict.fromkeys(Order.model_fields)
    values |= {"id": 1, "name": "n", "ratio": 0.5, "flag": True, "raw": b"\0", "at": NOW, "day": NOW.date()}
    values |= {"time": datetime.time(1, 2, 3, 4), "key": uuid.UUID(int=7), "amount": Decimal("1.25")}
    values |= {"tags": {"a": 1}, "items": [Inner(number=1, text=None), Inner(number=2, text="t")]}
    values |= {"inner": Inner(number=3, text="x"), "either": "e", "anything": 4, "colour": Colour.BLUE}
    return Order(**(values | changes))


def of(cls: type, *fields: tuple[str, Any]) -> str:
    named = [{"name": name, "type": kind} for name, kind in fields]
    return json.dumps({"type": "record", "name": cls.__name__, "fields": named})


def builds(cls: type, schema: Any = None, **options: bool) -> dict[str, str]:
    shapes = shapes_to_read(cls, parse(schema or schema_of(cls, allow_null=True)), **options)
    return {name.split(".")[-1]: shape.build for name, shape in shapes.items() if hasattr(shape, "build")}


def there_and_back(value: Any, *, allow_null: bool = True, validate: bool = False) -> Any:
    schema = parse(schema_of(type(value), allow_null=allow_null))
    data = Codec(schema, shapes=shapes_to_write(type(value), schema)).encode(value)
    return Codec(schema, shapes=shapes_to_read(type(value), schema, validate=validate)).decode(data)


# Models without code of their own


@pytest.mark.parametrize("allow_null", [True, False])
def test_a_model_is_the_same_whether_it_is_validated_or_not(allow_null: bool) -> None:
    class Wide(BaseModel):
        zebra: int
        id: int
        inner: Inner
        at: datetime.datetime
        both: list[dict[str, Inner | None]]

    assert builds(Wide) == {"Wide": "model", "Inner": "model"}
    value = Wide(
        zebra=1, id=2, inner=Inner(number=1, text=None), at=NOW, both=[{"a": None, "b": Inner(number=4, text="")}]
    )
    for validate in (False, True):
        found = there_and_back(value, allow_null=allow_null, validate=validate)
        assert (found, repr(found), found.model_dump_json()) == (value, repr(value), value.model_dump_json())
        assert list(vars(found)) == list(vars(value))
        assert found.model_fields_set == {"zebra", "id", "inner", "at", "both"}
        assert (found.model_extra, found.__pydantic_private__) == (None, None)
        assert found.model_copy(update={"id": 3}).id == 3
        assert type(found.inner) is Inner


def test_each_type_is_read_as_validation_would_return_it() -> None:
    assert builds(Order) == {"Order": "model", "Inner": "model"}
    for value in (order(), order(inner=None, either=5, amount=None), order(colour=Colour.RED, items=[], tags={})):
        found, validated = there_and_back(value), there_and_back(value, validate=True)
        assert found == validated == value
        for name, one in vars(validated).items():
            assert type(getattr(found, name)) is type(one), name


def test_each_object_has_its_own_set_of_fields() -> None:
    schema = parse(schema_of(Inner, allow_null=True))
    read = Codec(schema, shapes=shapes_to_read(Inner, schema))
    one, other = (read.decode(Codec(schema).encode({"number": 1, "text": "t"})) for _ in range(2))
    one.model_fields_set.discard("text")
    assert other.model_fields_set == {"number", "text"}
    one.text = "changed"
    assert (other.text, one.model_fields_set) == ("t", {"number", "text"})


class Tree(BaseModel):
    value: int
    children: list[Tree]


def test_a_recursive_model_is_not_validated() -> None:
    assert builds(Tree) == {"Tree": "model"}
    tree = Tree(value=1, children=[Tree(value=2, children=[]), Tree(value=3, children=[Tree(value=4, children=[])])])
    assert there_and_back(tree) == tree


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, title="t", extra="forbid")
    id: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2 * self.id

    def method(self) -> int:
        return self.id


def test_settings_that_change_no_value_need_no_validation() -> None:
    assert builds(Frozen) == {"Frozen": "model"}
    found = there_and_back(Frozen(id=4))
    assert (found, hash(found), found.double, found.method()) == (Frozen(id=4), hash(Frozen(id=4)), 8, 4)


# Models that are called


class WithFieldValidator(BaseModel):
    id: int

    @field_validator("id")
    @classmethod
    def _add(cls, value: int) -> int:
        return value + 1


class WithModelValidator(BaseModel):
    id: int

    @model_check(mode="after")
    def _add(self) -> Any:
        self.id += 1
        return self


class WithBefore(BaseModel):
    id: Annotated[int, BeforeValidator(lambda value: value + 1)]


class WithPostInit(BaseModel):
    id: int

    def model_post_init(self, _: Any) -> None:
        self.id += 1


class WithInit(BaseModel):
    id: int

    def __init__(self, **values: Any) -> None:
        super().__init__(**{name: value + 1 for name, value in values.items()})


CHANGED = [WithFieldValidator, WithModelValidator, WithBefore, WithPostInit, WithInit]


@pytest.mark.parametrize("cls", CHANGED, ids=lambda cls: cls.__name__)
def test_a_model_that_runs_code_is_called(cls: Any) -> None:
    assert builds(cls) == {cls.__name__: "call"}
    schema = parse(schema_of(cls, allow_null=True))
    assert Codec(schema, shapes=shapes_to_read(cls, schema)).decode(Codec(schema).encode({"id": 1})).id == 2


class WithNew(BaseModel):
    id: int

    def __new__(cls, **_: Any) -> Any:
        return super().__new__(cls)


class WithPrivate(BaseModel):
    id: int
    _secret: int = PrivateAttr(default=3)


class WithExtra(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int


class WithLimit(BaseModel):
    id: int = Field(gt=0)


class WithLength(BaseModel):
    id: list[int] = Field(min_length=1)


class WithPattern(BaseModel):
    id: str = Field(pattern="a+")


class WithStripping(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    id: str


class WithLiteral(BaseModel):
    id: Literal["a", "b"]


class WithTuple(BaseModel):
    id: tuple[int, ...]


class WithAlias(BaseModel):
    id: int = Field(alias="other")


class WithNestedLimit(BaseModel):
    id: list[Annotated[int, Field(lt=5)]]


@pytest.mark.parametrize(
    "cls",
    [
        *(WithNew, WithPrivate, WithExtra, WithLimit, WithLength, WithPattern, WithStripping, WithLiteral, WithTuple),
        *(WithAlias, WithNestedLimit),
    ],
    ids=lambda cls: cls.__name__,
)
def test_a_model_that_may_change_or_refuse_values_is_called(cls: type) -> None:
    assert builds(cls) == {cls.__name__: "call"}


def test_private_attributes_get_their_defaults() -> None:
    assert there_and_back(WithPrivate(id=1))._secret == 3


class Outer(BaseModel):
    checked: WithLimit
    plain: Inner


def test_each_class_decides_for_itself() -> None:
    assert builds(Outer) == {"Outer": "model", "WithLimit": "call", "Inner": "model"}
    assert there_and_back(Outer(checked=WithLimit(id=1), plain=Inner(number=1, text=None))).checked == WithLimit(id=1)


# Values that are not valid although the schema allows them


def test_null_where_the_hint_has_no_none_is_refused_by_the_model() -> None:
    schema = parse(of(Inner, ("number", ["null", "long"]), ("text", ["null", "string"])))
    codec = Codec(schema, shapes=shapes_to_read(Inner, schema))
    assert builds(Inner, schema.text) == {"Inner": "model"}
    plain = Codec(schema)
    assert codec.decode(plain.encode({"number": 1, "text": None})) == Inner(number=1, text=None)
    with pytest.raises(DecodeError, match=r"(?s)Inner rejected the decoded values: ValidationError: .*number"):
        codec.decode(plain.encode({"number": None, "text": None}))
    assert codec.decode(plain.encode({"number": 2, "text": "t"})) == Inner(number=2, text="t")


class Listed(BaseModel):
    ids: list[int]


class Ratio(BaseModel):
    id: float
    small: Annotated[Int32, "note"] = 1


@pytest.mark.parametrize(
    ("cls", "schema", "build"),
    [
        (Listed, of(Listed, ("ids", {"type": "array", "items": "long"})), "model"),
        (Listed, of(Listed, ("ids", {"type": "array", "items": ["null", "long"]})), "call"),
        (Ratio, of(Ratio, ("id", "double"), ("small", "int")), "model"),
        (Ratio, of(Ratio, ("id", "long"), ("small", "int")), "call"),
        (Ratio, of(Ratio, ("id", "double"), ("small", "string")), "call"),
        (Ratio, of(Ratio, ("id", "double")), "call"),
    ],
)
def test_a_schema_of_other_types_or_fields_leaves_it_to_the_model(cls: type, schema: str, build: str) -> None:
    assert builds(cls, schema) == {cls.__name__: build}


def test_an_int_becomes_the_float_that_the_hint_asks_for() -> None:
    schema = parse(of(Ratio, ("id", "long"), ("small", "int")))
    found = Codec(schema, shapes=shapes_to_read(Ratio, schema)).decode(Codec(schema).encode({"id": 3, "small": 1}))
    assert (found.id, type(found.id)) == (3.0, float)


# Writing


def test_a_model_is_written_from_its_attributes_whatever_became_of_them(conf: dict[str, Any]) -> None:
    class Sub(Inner):
        more: int

    schema = parse(schema_of(Inner, allow_null=True))
    codec, plain = Codec(schema, shapes=shapes_to_write(Inner, schema)), Codec(schema)
    value = Inner(number=1, text="t")
    value.__dict__ = {"text": "u", "number": 2}
    assert plain.decode(codec.encode(value)) == {"number": 2, "text": "u"}
    value.__dict__ = {"text": None, "number": 3, "more": 4}
    assert plain.decode(codec.encode(value)) == {"number": 3, "text": None}
    del value.text
    assert plain.decode(codec.encode(value)) == {"number": 3, "text": None}  # the schema's default
    assert plain.decode(codec.encode(Sub(number=9, text="s", more=1))) == {"number": 9, "text": "s"}
    validated = KafkaAvroSerializer(conf, WithFieldValidator)
    read = KafkaAvroDeserializer(conf | {"value.type": WithFieldValidator})
    assert read.deserialize("t", validated.serialize("t", WithFieldValidator(id=1))).id == 3


# The option


def test_value_validate_validates_always(conf: dict[str, Any]) -> None:
    write = KafkaAvroSerializer(conf, order) if False else KafkaAvroSerializer(conf, Inner)
    message = write.serialize("t", Inner(number=1, text="t"))
    for validate in (False, True):
        read = KafkaAvroDeserializer(conf | {"value.type": Inner, "value.validate": validate})
        assert read.deserialize("t", message) == Inner(number=1, text="t")
