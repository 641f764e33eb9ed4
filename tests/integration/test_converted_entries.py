"""Entries that the converters have made are stored by a real Pulsar and read by its Java and Python clients.

The part "Interaction" of SNIP 42: a framed Kafka message becomes a Pulsar message with a schema version, and a Pulsar
message with one becomes a framed Kafka record.
"""

from __future__ import annotations

import pytest
from java_pulsar import JavaPulsar
from kop_entries import EntryProducer, pulsar_entry
from pulsar_topic import PulsarTopic
from schemas import record
from servers import Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.converters import KafkaEntryReader, KafkaToPulsarConverter, PulsarToKafkaConverter

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


def test_a_pulsar_message_with_a_version_is_read_by_our_deserializer(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    java_client.produce(pulsar_topic.name, "User", ADA)
    java_client.produce(pulsar_topic.name, "UserWithEmail", BOB)
    deserializer = KafkaAvroDeserializer(pulsar_topic.conf)
    for message, user in zip(pulsar_topic.raw(), (ADA, BOB), strict=True):
        entry = pulsar_entry(message.data, message.version.to_bytes(8))
        batch = bytes(PulsarToKafkaConverter().convert(memoryview(entry)))
        (kafka,) = KafkaEntryReader(schema_header=False).batches(batch)
        assert kafka.value is not None
        assert deserializer.deserialize(pulsar_topic.name, kafka.value) == user
    assert deserializer.stats()["headerless"] == 0
