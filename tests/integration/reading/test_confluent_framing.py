"""Confluent's and our SerDes on topics of a real Kafka: each names what it cannot read, and ours can read both."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer, TopicPartition
from confluent_kafka.error import ValueDeserializationError
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import fixed, record
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, compat
from streamnative_serdes.compat.avro import AvroDeserializer as CompatDeserializer
from streamnative_serdes.errors import DecodeError, SchemaNotFoundError

PATIENCE = 30.0  # seconds until a client that does not respond fails the test
SCHEMA = record("User", ("name", "string"))
ADA = {"name": "Ada"}


@pytest.fixture
def confluent(confluent_registry: ConfluentRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": confluent_registry.url}) as client:
        yield client


class Topic:
    """A Kafka topic, created by the first message."""

    def __init__(self, kafka: Kafka) -> None:
        self.name = f"confluent-{uuid.uuid4()}"
        self._kafka: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 2}

    def send(self, serializer: Callable[..., bytes | None], value: Any) -> None:
        producer = SerializingProducer({**self._kafka, "value.serializer": serializer})
        producer.produce(self.name, value=value)
        assert producer.flush(PATIENCE) == 0

    def read(self, deserializer: Callable[..., Any]) -> Any:
        """Return the value of the first message."""
        consumer = DeserializingConsumer({**self._kafka, "group.id": "g", "value.deserializer": deserializer})
        consumer.assign([TopicPartition(self.name, 0, 0)])
        try:
            message = consumer.poll(PATIENCE)
            assert message is not None
            return message.value()
        finally:
            consumer.close()


@pytest.fixture
def topic(kafka: Kafka) -> Topic:
    return Topic(kafka)


def test_messages_of_confluents_serializer_are_an_error_that_names_their_framing(
    topic: Topic, pulsar: Pulsar, confluent: SchemaRegistryClient
) -> None:
    topic.send(AvroSerializer(confluent, json.dumps(SCHEMA)), ADA)
    conf = {"schema.registry.url": pulsar.url}
    KafkaAvroSerializer(conf, SCHEMA).serialize(topic.name, ADA)  # Pulsar has the topic's schema too
    with pytest.raises(ValueDeserializationError, match=r"Confluent's serializer \(0x00, schema id \d+\)") as caught:
        topic.read(KafkaAvroDeserializer(conf))
    assert type(caught.value.exception) is DecodeError
    assert caught.value.exception.topic == topic.name
    assert topic.read(AvroDeserializer(confluent)) == ADA


def test_a_topic_that_is_not_migrated_is_named_so_and_read_by_what_the_hint_says(
    topic: Topic, pulsar: Pulsar, confluent: SchemaRegistryClient, confluent_registry: ConfluentRegistry
) -> None:
    """Swapped imports: Pulsar knows neither the topic nor its schema."""
    topic.send(AvroSerializer(confluent, json.dumps(SCHEMA)), ADA)
    client = compat.SchemaRegistryClient({"url": pulsar.url})
    with pytest.raises(ValueDeserializationError, match=r"Confluent's serializer \(0x00, schema id \d+\)") as caught:
        topic.read(CompatDeserializer(client))
    assert type(caught.value.exception) is SchemaNotFoundError
    second = {"confluent.schema.registry.url": confluent_registry.url}
    assert topic.read(CompatDeserializer(client, conf=second)) == ADA
    for framings in ("snip42,confluent,headerless", "snip42,headerless,confluent"):
        conf = {"schema.registry.url": pulsar.url, **second, "framings": framings}
        assert topic.read(KafkaAvroDeserializer(conf)) == ADA


@pytest.mark.promise("first-byte")
def test_our_messages_are_an_error_to_confluents_deserializer(
    topic: Topic, pulsar: Pulsar, confluent: SchemaRegistryClient
) -> None:
    conf = {"schema.registry.url": pulsar.url}
    topic.send(KafkaAvroSerializer(conf, SCHEMA), ADA)
    with pytest.raises(ValueDeserializationError, match=r"[Ii]nvalid magic byte"):
        topic.read(AvroDeserializer(confluent))
    assert topic.read(KafkaAvroDeserializer(conf)) == ADA


def test_bare_avro_that_begins_with_a_null_makes_confluents_deserializer_ask_for_a_schema_id(
    confluent: SchemaRegistryClient,
) -> None:
    bare = b"\x00\x02\x06Ada"  # null, branch 1, three characters
    with pytest.raises(SchemaRegistryError) as caught:
        AvroDeserializer(confluent)(bare, SerializationContext("any", MessageField.VALUE))
    assert (caught.value.http_status_code, caught.value.error_code) == (404, 40403)


def test_confluent_framing_is_not_detected_if_the_latest_schema_decodes_all_bytes(
    topic: Topic, pulsar: Pulsar, confluent: SchemaRegistryClient
) -> None:
    topic.send(AvroSerializer(confluent, json.dumps(SCHEMA)), ADA)
    conf = {"schema.registry.url": pulsar.url}
    unlucky = record("R", ("zero", ["null", "string"], None), ("id", fixed("Id", 4)), ("name", "string"))
    KafkaAvroSerializer(conf, unlucky).serialize(topic.name, {"id": bytes(4), "name": ""})
    read = topic.read(KafkaAvroDeserializer(conf))
    assert (read["zero"], read["name"]) == (None, "Ada")
    assert int.from_bytes(read["id"], "big") > 0


def test_a_deserializer_with_both_registries_reads_both_framings(
    kafka: Kafka, topic: Topic, pulsar: Pulsar, confluent: SchemaRegistryClient, confluent_registry: ConfluentRegistry
) -> None:
    conf = {"schema.registry.url": pulsar.url}
    both = {
        **conf,
        "confluent.schema.registry.url": confluent_registry.url,
        "framings": "snip42,confluent,headerless",
    }
    other = Topic(kafka)
    topic.send(AvroSerializer(confluent, json.dumps(SCHEMA)), ADA)
    other.send(KafkaAvroSerializer(conf, SCHEMA), ADA)
    assert topic.read(KafkaAvroDeserializer(both)) == ADA
    assert other.read(KafkaAvroDeserializer(both)) == ADA


def test_confluents_deserializer_reads_what_ours_writes_in_its_framing(
    topic: Topic, pulsar: Pulsar, confluent: SchemaRegistryClient, confluent_registry: ConfluentRegistry
) -> None:
    conf = {
        "schema.registry.url": pulsar.url,
        "confluent.schema.registry.url": confluent_registry.url,
        "framing": "confluent",
    }
    topic.send(KafkaAvroSerializer(conf, SCHEMA), ADA)
    assert topic.read(AvroDeserializer(confluent)) == ADA
