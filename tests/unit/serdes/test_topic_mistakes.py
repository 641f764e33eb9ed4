"""A topic that is missing or has no valid name: each face raises the typed error of its direction, with a hint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import record

from streamnative_serdes import (
    DecodeError,
    EncodeError,
    KafkaAutoConsumeDeserializer,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    KafkaPulsarSerializer,
    KeyValueSchema,
    SerdesError,
)
from streamnative_serdes.compat import AsyncSchemaRegistryClient, SchemaRegistryClient
from streamnative_serdes.compat.avro import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AvroDeserializer,
    AvroSerializer,
)
from streamnative_serdes.testing import LocalRegistry

USER = record("User", ("name", "string"))
TEXT = json.dumps(USER)
ADA = {"name": "Ada"}
MESSAGE = bytes.fromhex("0304") + bytes(8) + b"\x06Ada"
PAIR = KeyValueSchema("string", "string", "SEPARATED")
MISTAKES = {
    "": "expected a topic name, got ''",
    "a/b": "invalid topic name",
    "non-persistent://public/default/users": "expected a persistent topic: Kafka clients see no others",
}


def in_context(topic: str, field: MessageField = MessageField.VALUE) -> SerializationContext:
    return SerializationContext(topic, field)


# By name: what makes the call, of the options and a topic.
Call = Callable[[dict[str, Any], str], object]
WRITING: dict[str, Call] = {
    "serialize": lambda conf, topic: KafkaAvroSerializer(conf, USER).serialize(topic, ADA),
    "serialize by the topic's schema": lambda conf, topic: KafkaAvroSerializer(conf).serialize(topic, ADA),
    "a serializer's call": lambda conf, topic: KafkaAvroSerializer(conf, USER)(ADA, in_context(topic)),
    "a serializer's call for a key": lambda conf, topic: KafkaAvroSerializer(conf, PAIR)(
        "k", in_context(topic, MessageField.KEY)
    ),
    "serialize a pair's key": lambda conf, topic: KafkaAvroSerializer(conf, PAIR, is_key=True).serialize(topic, "k"),
    "warm_up of a serializer": lambda conf, topic: KafkaAvroSerializer(conf, USER).warm_up(topic),
    "serialize_batch": lambda conf, topic: KafkaAvroSerializer(conf, USER).serialize_batch(topic, [ADA]),
    "KafkaPulsarSerializer": lambda conf, topic: KafkaPulsarSerializer(conf, "INT64").serialize(topic, 1),
    "KafkaPulsarSerializer, bytes": lambda conf, topic: KafkaPulsarSerializer(conf, "BYTES").serialize(topic, b"1"),
    "KafkaPulsarSerializer by the topic's schema": lambda conf, topic: KafkaPulsarSerializer(conf).serialize(topic, 1),
    "warm_up of KafkaPulsarSerializer": lambda conf, topic: KafkaPulsarSerializer(conf, "INT64").warm_up(topic),
    "compat": lambda conf, topic: AvroSerializer(SchemaRegistryClient(url(conf)), TEXT)(ADA, in_context(topic)),
    "compat, asyncio": lambda conf, topic: asyncio.run(write(conf, topic)),
}
READING: dict[str, Call] = {
    "deserialize": lambda conf, topic: KafkaAvroDeserializer(conf).deserialize(topic, MESSAGE),
    "deserialize without a header": lambda conf, topic: KafkaAvroDeserializer(conf).deserialize(topic, b"\x06Ada"),
    "deserialize with a version": lambda conf, topic: KafkaAvroDeserializer(conf).deserialize(topic, b"\x06Ada", 0),
    "a deserializer's call": lambda conf, topic: KafkaAvroDeserializer(conf)(MESSAGE, in_context(topic)),
    "a deserializer's call for a key": lambda conf, topic: KafkaAvroDeserializer(conf)(
        b"k", in_context(topic, MessageField.KEY)
    ),
    "deserialize a pair's key": lambda conf, topic: KafkaAvroDeserializer(conf, is_key=True).deserialize(topic, b"k"),
    "deserialize_many": lambda conf, topic: KafkaAvroDeserializer(conf).deserialize_many(topic, [MESSAGE], "skip"),
    "deserialize_batch": lambda conf, topic: KafkaAvroDeserializer(conf).deserialize_batch(topic, [MESSAGE]),
    "columns": lambda conf, topic: KafkaAvroDeserializer(conf).columns(topic),
    "warm_up of a deserializer": lambda conf, topic: KafkaAvroDeserializer(conf).warm_up(topic),
    "auto consume": lambda conf, topic: KafkaAutoConsumeDeserializer(conf).deserialize(topic, MESSAGE),
    "auto consume, with a version": lambda conf, topic: KafkaAutoConsumeDeserializer(conf).deserialize(topic, b"", 0),
    "auto consume, a call": lambda conf, topic: KafkaAutoConsumeDeserializer(conf)(MESSAGE, in_context(topic)),
    "auto consume, many": lambda conf, topic: KafkaAutoConsumeDeserializer(conf).deserialize_many(topic, [], "skip"),
    "auto consume, a schema": lambda conf, topic: KafkaAutoConsumeDeserializer(conf).schema(topic),
    "auto consume, warm_up": lambda conf, topic: KafkaAutoConsumeDeserializer(conf).warm_up(topic),
    "compat": lambda conf, topic: AvroDeserializer(SchemaRegistryClient(url(conf)), TEXT)(MESSAGE, in_context(topic)),
    "compat, asyncio": lambda conf, topic: asyncio.run(read(conf, topic)),
}


def url(conf: dict[str, Any]) -> dict[str, Any]:
    return {"url": conf["schema.registry.url"]}


async def write(conf: dict[str, Any], topic: str) -> object:
    serializer = await AsyncAvroSerializer(AsyncSchemaRegistryClient(url(conf)), TEXT)
    return await serializer(ADA, in_context(topic))


async def read(conf: dict[str, Any], topic: str) -> object:
    deserializer = await AsyncAvroDeserializer(AsyncSchemaRegistryClient(url(conf)), TEXT)
    return await deserializer(MESSAGE, in_context(topic))


def refusal_of(registry: LocalRegistry, call: Call, topic: str, error: type[SerdesError]) -> str:
    """The hint, after the registry was not asked."""
    with pytest.raises(error, match=MISTAKES[topic]) as caught:
        call({"schema.registry.url": registry.url}, topic)
    assert type(caught.value) is error
    assert registry.calls.total() == 0
    return caught.value.hint or ""


@pytest.mark.parametrize("topic", MISTAKES)
@pytest.mark.parametrize("name", WRITING)
def test_writing_to_a_bad_topic_is_an_encode_error(registry: LocalRegistry, name: str, topic: str) -> None:
    if "batch" in name:
        pytest.importorskip("pyarrow")
    assert "persistent://tenant/namespace/topic" in refusal_of(registry, WRITING[name], topic, EncodeError)


@pytest.mark.parametrize("topic", MISTAKES)
@pytest.mark.parametrize("name", READING)
def test_reading_from_a_bad_topic_is_a_decode_error(registry: LocalRegistry, name: str, topic: str) -> None:
    if "batch" in name or name == "columns":
        pytest.importorskip("pyarrow")
    assert "persistent://tenant/namespace/topic" in refusal_of(registry, READING[name], topic, DecodeError)
