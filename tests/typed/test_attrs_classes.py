"""Classes of attrs as schemas, and objects of them."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import attrs
import pytest
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._schema import RecordShape, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, SchemaError
from streamnative_serdes.models import AvroField, schema_of, shapes_to_read
from streamnative_serdes.testing import LocalRegistry

TOPIC = "attrs"


@attrs.define
class Inner:
    x: int
    tags: list[str] = attrs.Factory(list)


@attrs.frozen
class Outer:
    inner: Inner
    renamed: Annotated[int, AvroField(name="Renamed")] = 7
    maybe: Optional[Inner] = None
    _hidden: int = 0


@attrs.define(slots=False)
class InDict:
    x: int


@attrs.define
class Converts:
    x: int = attrs.field(converter=int)
    items: tuple[int, ...] = attrs.field(converter=tuple, default=())


@attrs.define
class Validates:
    x: int = attrs.field(validator=attrs.validators.gt(0))


@attrs.define
class Post:
    x: int

    def __attrs_post_init__(self) -> None:
        self.x += 1


@attrs.define
class Own:
    x: int

    def __init__(self, x: int) -> None:
        self.__attrs_init__(x)


@attrs.define
class Depends:
    x: int
    twice: int = attrs.Factory(lambda self: 2 * self.x, takes_self=True)


@attrs.frozen(cache_hash=True)
class Cached:
    x: int


@attrs.define
class Private:
    _x: int = attrs.field(converter=int)


@attrs.define(auto_exc=True)
class Fault(Exception):
    x: int


@pytest.mark.parametrize(
    ("cls", "build"),
    [
        (Inner, "slots"), (Outer, "slots"), (InDict, "dict"), (Converts, "call"), (Validates, "call"), (Post, "call"),
        (Own, "call"), (Depends, "call"), (Cached, "call"), (Private, "call"), (Fault, "call"),
    ],
)  # fmt: skip
def test_only_a_constructor_without_effects_is_skipped(cls: type, build: str) -> None:
    shape = shapes_to_read(cls, parse(schema_of(cls, allow_null=True)))[cls.__name__]
    assert isinstance(shape, RecordShape)
    assert shape.build == build


def test_each_field_has_its_type_and_its_default() -> None:
    assert schema_of(Outer, allow_null=False)["fields"] == [
        {"name": "inner", "type": record("Inner", ("x", "long"), ("tags", {"type": "array", "items": "string"}, []))},
        {"name": "Renamed", "type": "long", "default": 7},
        {"name": "maybe", "type": ["null", "Inner"], "default": None},
        {"name": "_hidden", "type": "long", "default": 0},
    ]


def test_a_default_that_depends_on_the_object_is_left_to_the_constructor() -> None:
    assert "default" not in schema_of(Depends, allow_null=False)["fields"][1]
    schema = parse(record("Depends", ("x", "long")))
    assert Codec(schema, shapes=shapes_to_read(Depends, schema)).decode(b"\x06") == Depends(3, 6)


@pytest.mark.parametrize(
    "value",
    [Outer(Inner(1, ["a"]), 2, Inner(3), 4), InDict(1), Converts(1, (1, 2)), Validates(1), Cached(1), Private(1)],
)
@pytest.mark.parametrize("allow_null", [True, False])
def test_objects_are_read_back_equal(registry: LocalRegistry, value: Any, allow_null: bool) -> None:
    conf = {"schema.registry.url": registry.url, "allow.null": allow_null}
    written = KafkaAvroSerializer(conf).serialize(TOPIC, value)
    assert KafkaAvroDeserializer({**conf, "value.type": type(value)}).deserialize(TOPIC, written) == value


def test_the_constructor_is_called_when_objects_are_read(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    written = KafkaAvroSerializer(conf, Post).serialize(TOPIC, {"x": 1})
    assert KafkaAvroDeserializer({**conf, "value.type": Post}).deserialize(TOPIC, written) == Post(1)

    low = KafkaAvroSerializer(conf, Validates).serialize("low", {"x": -1})
    with pytest.raises(DecodeError, match="must be > 0"):
        KafkaAvroDeserializer({**conf, "value.type": Validates}).deserialize("low", low)


def test_an_attribute_without_a_type_is_refused() -> None:
    untyped = attrs.make_class("Untyped", ["x"])
    with pytest.raises(SchemaError, match="the attribute has no type") as caught:
        schema_of(untyped, allow_null=True)
    assert caught.value.path == "Untyped.x"
