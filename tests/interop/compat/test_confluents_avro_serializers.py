"""What confluent-kafka's own integration tests check of its Avro SerDes in clients, checked of ours.

Confluent's tests are in ``tests/integration/schema_registry/_sync/test_avro_serializers.py`` of
confluentinc/confluent-kafka-python, and need a broker and a registry. Here the broker is librdkafka's mock, and the
registry is at ``mock://``.

============================================  ===========================================================
Confluent's test                              ours
============================================  ===========================================================
test_avro_record_serialization (5 schemas)    test_a_consumer_reads_what_a_producer_wrote_... (5 schemas)
test_delivery_report_serialization (5)        the same
test_avro_record_serialization_custom         test_objects_go_through_to_dict_and_from_dict
test_avro_reference                           test_references_on_both_sides
test_avro_reference_deserializer_none         test_references_of_the_writer_alone
============================================  ===========================================================
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import record_shop
from confluent_kafka import DeserializingConsumer, Message, SerializingProducer, TopicPartition
from confluent_kafka.serialization import MessageField, SerializationContext
from schemas import record

from streamnative_serdes.compat import SchemaRegistryClient
from streamnative_serdes.compat.avro import AvroDeserializer, AvroSerializer
from streamnative_serdes.testing import MockBroker

PATIENCE = 30.0  # seconds until a client that says nothing fails the test

BUYER = record("Buyer", ("name", "string"), ("points", "int"), namespace="shop")
SPARSE = record("Sparse", ("count", ["long", "null"]), ("name", ["string"]), doc="two unions", namespace="shop")

each_schema = pytest.mark.parametrize(
    ("schema", "value", "read"),
    [
        pytest.param(SPARSE, {"name": "Ada"}, {"name": "Ada", "count": None}, id="record"),
        pytest.param({"type": "string"}, "Zoë", "Zoë", id="string"),
        pytest.param({"type": "boolean"}, True, True, id="boolean"),
        pytest.param({"type": "float"}, 1024.1, pytest.approx(1024.1), id="float"),
        pytest.param({"type": "double"}, 68.1, 68.1, id="double"),
    ],
)


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4()}"


@pytest.fixture
def brokers(topic: str) -> Iterator[str]:
    with MockBroker({topic: 1}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def client() -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": "mock://"}) as client:
        yield client


def produce(brokers: str, topic: str, serializer: AvroSerializer, value: Any) -> Message:
    """The message as the delivery report has it."""
    reported: list[Message] = []
    producer = SerializingProducer({"bootstrap.servers": brokers, "value.serializer": serializer})
    producer.produce(topic, value=value, partition=0, on_delivery=lambda error, message: reported.append(message))
    assert producer.flush(PATIENCE) == 0
    (message,) = reported
    return message


def consume(brokers: str, topic: str, deserializer: AvroDeserializer) -> Any:
    """The value of the first message."""
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": brokers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "value.deserializer": deserializer,
        }
    )
    consumer.assign([TopicPartition(topic, 0)])
    message = consumer.poll(PATIENCE)
    consumer.close()
    return message.value()


@each_schema
def test_a_consumer_reads_what_a_producer_wrote_and_so_does_who_has_the_delivery_report(
    client: SchemaRegistryClient, brokers: str, topic: str, schema: Any, value: Any, read: Any
) -> None:
    deserializer = AvroDeserializer(client)
    message = produce(brokers, topic, AvroSerializer(client, json.dumps(schema)), value)
    context = SerializationContext(topic, MessageField.VALUE, message.headers())
    assert deserializer(message.value(), context) == read
    assert consume(brokers, topic, deserializer) == read


def test_objects_go_through_to_dict_and_from_dict(client: SchemaRegistryClient, brokers: str, topic: str) -> None:
    text, buyer = json.dumps(BUYER), record_shop.SALE.buyer
    produce(brokers, topic, AvroSerializer(client, text, lambda one, ctx: vars(one)), buyer)
    deserializer = AvroDeserializer(client, text, lambda read, ctx: record_shop.Buyer(**read))
    assert consume(brokers, topic, deserializer) == buyer


def test_references_on_both_sides(client: SchemaRegistryClient, brokers: str, topic: str) -> None:
    schema = record_shop.registered(client)
    produce(brokers, topic, AvroSerializer(client, schema, record_shop.to_dict), record_shop.SALE)
    deserializer = AvroDeserializer(client, schema, record_shop.from_dict)
    assert consume(brokers, topic, deserializer) == record_shop.SALE


def test_references_of_the_writer_alone(client: SchemaRegistryClient, brokers: str, topic: str) -> None:
    schema = record_shop.registered(client)
    produce(brokers, topic, AvroSerializer(client, schema, record_shop.to_dict), record_shop.SALE)
    deserializer = AvroDeserializer(client, None, record_shop.from_dict)
    assert consume(brokers, topic, deserializer) == record_shop.SALE
