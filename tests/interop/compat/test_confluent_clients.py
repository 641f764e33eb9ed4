"""confluent-kafka's producer and consumer with our SerDes, on the mock broker."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.error import ValueDeserializationError, ValueSerializationError
from confluent_kafka.serialization import StringDeserializer, StringSerializer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry, MockBroker

USER: dict[str, Any] = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": "int"},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
    ],
}
USERS = [{"name": f"user {i}", "age": i, "tags": {"a": ["b"] * (i % 3)}} for i in range(100)]
PATIENCE = 30.0  # seconds until a client that does not respond fails the test


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker({"users": 1}) as broker:
        yield broker


@pytest.fixture
def producer(registry: LocalRegistry, broker: MockBroker) -> Iterator[SerializingProducer]:
    producer = SerializingProducer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.serializer": StringSerializer("utf_8"),
            "value.serializer": KafkaAvroSerializer({"schema.registry.url": registry.url}, USER),
        }
    )
    yield producer
    producer.flush(PATIENCE)


@pytest.fixture
def consumer(registry: LocalRegistry, broker: MockBroker) -> Iterator[DeserializingConsumer]:
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": str(uuid.uuid4()),
            "auto.offset.reset": "earliest",
            "key.deserializer": StringDeserializer("utf_8"),
            "value.deserializer": KafkaAvroDeserializer({"schema.registry.url": registry.url}),
        }
    )
    consumer.subscribe(["users"])
    yield consumer
    consumer.close()


def test_a_hundred_objects_and_a_tombstone_are_read_back_equal(
    registry: LocalRegistry, producer: SerializingProducer, consumer: DeserializingConsumer
) -> None:
    for user in USERS:
        producer.produce("users", key=user["name"], value=user)
    producer.produce("users", key="gone", value=None)
    assert producer.flush(PATIENCE) == 0
    received = [consumer.poll(PATIENCE) for _ in range(len(USERS) + 1)]
    assert [(m.key(), m.value()) for m in received] == [*((u["name"], u) for u in USERS), ("gone", None)]
    assert registry.calls == {"POST schema": 1, "GET version": 1}


def test_a_wrong_object_is_an_error_of_the_client_that_names_the_field(producer: SerializingProducer) -> None:
    with pytest.raises(ValueSerializationError) as caught:
        producer.produce("users", key="k", value={**USERS[0], "tags": {"a": ["b", 5]}})
    assert "topic users" in str(caught.value)
    assert 'field tags["a"][1]: expected string, got int 5' in str(caught.value)


def test_an_undecodable_message_is_an_error_of_the_client_with_its_bytes(
    registry: LocalRegistry, broker: MockBroker, producer: SerializingProducer, consumer: DeserializingConsumer
) -> None:
    producer.produce("users", key="good", value=USERS[0])
    raw = SerializingProducer({"bootstrap.servers": broker.bootstrap_servers})
    assert producer.flush(PATIENCE) == 0
    raw.produce("users", key=b"bad", value=b"\x03\x04" + bytes(8) + b"\xff")
    assert raw.flush(PATIENCE) == 0
    assert consumer.poll(PATIENCE).value() == USERS[0]
    with pytest.raises(ValueDeserializationError, match="schema version 0, field name, byte 10") as caught:
        consumer.poll(PATIENCE)
    assert caught.value.kafka_message.value() == b"\x03\x04" + bytes(8) + b"\xff"
