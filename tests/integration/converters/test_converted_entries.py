"""Entries that the converters have made are stored by a real Pulsar and read by its Java and Python clients.

The part "Interaction" of SNIP 42: a framed Kafka message becomes a Pulsar message with a schema version, and a Pulsar
message with one becomes a framed Kafka record.
"""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.serialization import MessageField, SerializationContext
from java_pulsar import JavaPulsar
from kop_entries import EntryProducer
from pulsar_topic import PulsarTopic
from schemas import record
from servers import Kafka, Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes.converters import (
    AdminEntryReader,
    EntryReader,
    KafkaEntryReader,
    KafkaToPulsarConverter,
    PulsarToKafkaConverter,
    framed,
)

import kafka_batches as kb  # isort: skip

pytestmark = pytest.mark.usefixtures("nothing_is_known")

TEXT = ["null", "string"]
USER = record("User", ("age", "int"), ("name", TEXT, None))
WITH_EMAIL = record("UserWithEmail", ("age", "int"), ("email", TEXT, None), ("name", TEXT, None))
ADA, BOB, EVE = {"age": 36, "name": "Ada"}, {"age": 7, "email": "b@c", "name": "Bob"}, {"age": 1, "name": None}


def test_framed_kafka_messages_are_read_by_pulsars_java_client(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    name, conf = pulsar_topic.name, pulsar_topic.conf
    ada, eve = (KafkaAvroSerializer(conf, USER).serialize(name, user) for user in (ADA, EVE))
    bob = KafkaAvroSerializer(conf, WITH_EMAIL).serialize(name, BOB)
    batch = kb.batch(kb.Rec(ada, b"\x00\xff"), kb.Rec(bob), kb.Rec(eve, b"k"))
    with EntryProducer(pulsar, name) as producer:
        for entry in KafkaToPulsarConverter().entries(kb.entry(batch, records=3)):
            producer.send(entry)
    pojo = java_client.consume(name, "User", 3)
    assert [(seen.version, seen.value) for seen in pojo] == [
        (0, ADA), (1, {"age": 7, "name": "Bob"}), (0, EVE),
    ]  # fmt: skip
    automatic = java_client.consume(name, "AUTO_CONSUME", 3)
    assert [(seen.type, seen.version, seen.value) for seen in automatic] == [
        ("AVRO", 0, ADA), ("AVRO", 1, BOB), ("AVRO", 0, EVE),
    ]  # fmt: skip
    assert [seen.key for seen in automatic] == [b"\x00\xff", None, b"k"]
    assert [message.version for message in pulsar_topic.raw()] == [0, 1, 0]


def test_a_converted_marker_is_skipped_by_pulsars_clients(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    convert = KafkaToPulsarConverter().convert
    record = kb.entry(kb.batch(kb.Rec(b"one"), producer_id=1, transactional=True), records=1)
    marker = kb.entry(kb.marker(1, commits=True), records=1)
    with EntryProducer(pulsar, pulsar_topic.name) as producer:
        for entry in (record, marker, record):
            producer.send(bytes(convert(memoryview(entry))))
    assert [seen.data for seen in java_client.consume(pulsar_topic.name, "BYTES", 2)] == [b"one", b"one"]
    assert [message.data for message in pulsar_topic.raw()] == [b"one", b"one"]


def test_pulsar_messages_with_a_version_are_read_by_our_deserializer_from_a_real_kafka(
    pulsar: Pulsar, pulsar_topic: PulsarTopic, java_client: JavaPulsar, kafka: Kafka
) -> None:
    """Pulsar's Java client, a broker, the admin API, the converter, a Kafka broker, and our deserializer."""
    name = pulsar_topic.name
    java_client.produce(name, "User", ADA, EVE)
    java_client.produce(name, "UserWithEmail", BOB)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    with AdminEntryReader({"schema.registry.url": pulsar.url}) as admin:
        for entry in admin.entries(name):
            (batch,) = KafkaEntryReader(schema_header=False).batches(
                PulsarToKafkaConverter().convert(memoryview(entry.data))
            )
            (message,) = EntryReader().entry(entry.data)
            assert batch.value == framed(message)
            producer.produce(name, batch.value, batch.key, timestamp=batch.timestamp)
    assert producer.flush(30) == 0
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    with closing(consumer), closing(KafkaAvroDeserializer(pulsar_topic.conf)) as deserializer:
        consumer.assign([TopicPartition(name, 0, 0)])
        received = consumer.consume(3, 30)
        context = SerializationContext(name, MessageField.VALUE)
        assert [deserializer(message.value(), context) for message in received] == [ADA, EVE, BOB]
        assert [header.read(message.value() or b"") for message in received] == [0, 0, 1]
        assert deserializer.stats()["headerless"] == 0
