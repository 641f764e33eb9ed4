"""Each schema type as a key and as a value of KEY_VALUE topics: objects and batches go through all SerDes and back."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

import pytest
from schemas import record

from streamnative_serdes import (
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValue,
    KeyValueSchema,
    SchemaError,
    TypedSchema,
)
from streamnative_serdes.key_value import PRIMITIVE_TYPES
from streamnative_serdes.models import AvroField, schema_of
from streamnative_serdes.testing import LocalRegistry


@dataclass
class User:
    id: int
    name: str | None = None


DAY: Final = record("Day", ("at", {"type": "int", "logicalType": "date"}), ("name", ["null", "string"], None))
NOON: Final = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
HALVES: Final[dict[str, tuple[Any, Any]]] = {
    "AVRO": (DAY, {"at": dt.date(2020, 1, 1), "name": "x"}),
    "AVRO string": ({"type": "string"}, "\u00e9"),
    "AVRO class": (User, User(1, "ada")),
    "JSON": (TypedSchema("JSON", DAY), {"at": dt.date(1969, 1, 1), "name": None}),
    "JSON class": (TypedSchema("JSON", User), User(1)),
    "BOOLEAN": ("BOOLEAN", False),
    "INT8": ("INT8", -1),
    "INT16": ("INT16", -2),
    "INT32": ("INT32", 3),
    "INT64": ("INT64", 2**63 - 1),
    "FLOAT": ("FLOAT", 1.5),
    "DOUBLE": ("DOUBLE", 0.1),
    "STRING": ("STRING", ""),
    "BYTES": ("BYTES", b"\0\xff"),
    "DATE": ("DATE", NOON),
    "TIME": ("TIME", dt.datetime(1970, 1, 1, 1, tzinfo=dt.UTC)),
    "TIMESTAMP": ("TIMESTAMP", NOON),
    "INSTANT": ("INSTANT", 1),
    "LOCAL_DATE": ("LOCAL_DATE", dt.date(1969, 1, 1)),
    "LOCAL_TIME": ("LOCAL_TIME", 5),
    "LOCAL_DATE_TIME": ("LOCAL_DATE_TIME", 0),
    "PROTOBUF_NATIVE": (None, None),
}
OTHER: Final[tuple[Any, Any]] = "INT32", 7


def half(name: str) -> tuple[Any, Any]:
    """A schema, and an object of it."""
    if name != "PROTOBUF_NATIVE":
        return HALVES[name]
    pytest.importorskip("google.protobuf", reason="the extra protobuf is not installed")
    from google.protobuf.timestamp_pb2 import Timestamp

    return TypedSchema("PROTOBUF_NATIVE", Timestamp), Timestamp(seconds=5)


def plain(value: Any) -> Any:
    """As it is read: objects of classes are dicts; messages of protobuf are of a class of their own."""
    if isinstance(value, User):
        return asdict(value)
    return str(value) if hasattr(value, "DESCRIPTOR") else value


def test_each_primitive_type_is_tried() -> None:
    assert set(PRIMITIVE_TYPES) - HALVES.keys() <= {"NONE"}


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])
def test_halves_of_each_type_are_read_as_they_were_written(registry: LocalRegistry, encoding: Any, name: str) -> None:
    tried, inline = half(name), encoding == "INLINE"
    for number, (key, value) in enumerate(((tried, OTHER), (OTHER, tried))):
        pair = KeyValueSchema(key[0], value[0], encoding)
        for framing in ("bare", "value"):
            topic = f"{framing}{number}"
            conf: dict[str, Any] = {"schema.registry.url": registry.url}
            framed = {**conf, "key.value.framing": framing}
            writers = [KafkaPulsarSerializer(framed, pair, is_key=is_key) for is_key in (True, False)]
            pairs = [(key[1], value[1]), (None, value[1]), (key[1], None)]
            written = [
                (None, writers[1].serialize(topic, both)) if inline
                else tuple(map(KafkaPulsarSerializer.serialize, writers, (topic, topic), both))
                for both in pairs
            ]  # fmt: skip
            expected = [(plain(one), plain(other)) for one, other in pairs]
            auto = KafkaAutoConsumeDeserializer(conf)
            for (key_data, data), both in zip(written, expected, strict=True):
                found = auto.deserialize(topic, data, key=key_data)
                if data is not None:
                    assert found is not None
                    assert tuple(map(plain, found.native_object)) == both
            for given in (None, pair):
                keys, values = (KafkaAvroDeserializer(conf, given, is_key=is_key) for is_key in (True, False))
                for (key_data, data), both in zip(written, expected, strict=True):
                    read = values.deserialize(topic, data)
                    found_pair = read if inline else (keys.deserialize(topic, key_data), read)
                    assert tuple(map(plain, found_pair)) == both
            if name != "PROTOBUF_NATIVE":
                for given in (None, pair):
                    batch_equals_rows(topic, conf, framed, given, written, inline)


def batch_equals_rows(topic: str, conf: Any, framed: Any, given: Any, written: list[Any], inline: bool) -> None:
    """The same messages come out of columns that were read from them, as the given schemas if any."""
    pytest.importorskip("pyarrow")
    keys, values = map(list, zip(*written, strict=True))
    more = {} if inline else {"keys": keys}
    batch = KafkaAvroDeserializer(conf, given).deserialize_batch(topic, values, **more)
    messages = KafkaAvroSerializer({**framed, "auto.register.schemas": False}).serialize_batch(topic, batch)
    assert list(itertools.chain(*(column.to_pylist() for column in messages.columns))) == [*keys, *values]


@pytest.mark.parametrize("with_schemas", [True, False])
def test_halves_of_protobuf_have_no_columns(registry: LocalRegistry, with_schemas: bool) -> None:
    pytest.importorskip("pyarrow")
    schema, value = half("PROTOBUF_NATIVE")
    conf, pair = {"schema.registry.url": registry.url}, KeyValueSchema("INT32", schema, "INLINE")
    message = KafkaPulsarSerializer(conf, pair).serialize("topic", (7, value))
    deserializer = KafkaAvroDeserializer(conf, pair if with_schemas else None)
    with pytest.raises(SchemaError, match="there are no columns for messages of type PROTOBUF_NATIVE"):
        deserializer.deserialize_batch("topic", [message])


@dataclass
class Renamed:
    id: Annotated[int, AvroField(name="userId")]


BY_TOPIC: Final = {"auto.register.schemas": "false", "use.latest.version": "true"}
TEXT: Final = schema_of(Renamed, allow_null=True)
JSON: Final = TypedSchema("JSON", TEXT)
RENAMED: Final = {"userId": 7}


@pytest.mark.parametrize("is_key", [True, False])
@pytest.mark.parametrize(
    ("conf", "registered", "given"),
    [
        pytest.param({}, TEXT, TEXT, id="schema"),
        pytest.param({}, JSON, JSON, id="JSON"),
        pytest.param(BY_TOPIC, TEXT, Renamed, id="topic's schema instead of the class's"),
        pytest.param(BY_TOPIC, TEXT, None, id="topic's schema"),
        pytest.param(BY_TOPIC, JSON, None, id="topic's JSON"),
    ],
)
def test_separated_halves_are_written_to_the_fields_that_their_class_names(
    registry: LocalRegistry, conf: dict[str, str], registered: Any, given: Any, is_key: bool
) -> None:
    first = {"schema.registry.url": registry.url}
    pair = KeyValueSchema(registered, registered, "SEPARATED")
    KafkaAvroSerializer(first, pair, is_key=is_key).serialize("topic", RENAMED)
    schema = given and KeyValueSchema(given, given, "SEPARATED")
    serializer = KafkaAvroSerializer({**first, **conf}, schema, is_key=is_key)
    reader = KafkaAvroDeserializer(first, is_key=is_key)
    for obj in (Renamed(7), RENAMED, Renamed(7)):
        assert reader.deserialize("topic", serializer.serialize("topic", obj)) == RENAMED


@pytest.mark.parametrize(
    ("conf", "registered", "given"),
    [
        pytest.param({}, JSON, JSON, id="JSON"),
        pytest.param({}, TypedSchema("JSON", Renamed), TypedSchema("JSON", Renamed), id="JSON of the class"),
        pytest.param(BY_TOPIC, JSON, None, id="topic's JSON"),
        pytest.param(BY_TOPIC, TEXT, Renamed, id="topic's schema instead of the class's"),
    ],
)
def test_inline_halves_are_written_to_the_fields_that_their_class_names(
    registry: LocalRegistry, conf: dict[str, str], registered: Any, given: Any
) -> None:
    first = {"schema.registry.url": registry.url}
    KafkaAvroSerializer(first, KeyValueSchema(registered, registered, "INLINE")).warm_up("topic")
    schema = given and KeyValueSchema(given, given, "INLINE")
    serializer, reader = KafkaAvroSerializer({**first, **conf}, schema), KafkaAvroDeserializer(first)
    for pair in (KeyValue(Renamed(7), RENAMED), (RENAMED, Renamed(7)), KeyValue(Renamed(7), Renamed(7))):
        assert reader.deserialize("topic", serializer.serialize("topic", pair)) == (RENAMED, RENAMED)
