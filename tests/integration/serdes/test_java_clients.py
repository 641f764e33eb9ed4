"""Pulsar's Java client and our SerDes on the same topic of a real Pulsar."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from java_pulsar import JavaPulsar
from pulsar.schema import AvroSchema
from pulsar_topic import PulsarTopic
from schemas import record

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.errors import DecodeError

pytestmark = pytest.mark.usefixtures("nothing_is_known")

# Schemas that Schema.AVRO derives from classes of JavaClient.java: references may be null.
TEXT = ["null", "string"]
USER = record("User", ("age", "int"), ("name", TEXT, None))
WITH_EMAIL = record("UserWithEmail", ("age", "int"), ("email", TEXT, None), ("name", TEXT, None))
POINT = record("Point", ("x", "int"), ("y", "int"))
ADA, BOB = {"age": 36, "name": "Ada"}, {"age": 7, "email": "b@c", "name": "Bob"}


@dataclass
class Person:  # as in JavaClient.java
    age: int
    name: str


def test_messages_of_javas_avro_producer_are_read_with_the_latest_schema(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    nameless = {"age": -1, "name": None}
    java_client.produce(pulsar_topic.name, "User", ADA, nameless)
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    assert [reader.deserialize(pulsar_topic.name, message.data) for message in pulsar_topic.raw()] == [ADA, nameless]
    assert reader.stats()["headerless"] == 2
    assert pulsar_topic.schemas() == [USER]


def test_messages_of_several_versions_are_read_with_the_version_that_the_caller_passes(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    java_client.produce(pulsar_topic.name, "User", ADA)
    java_client.produce(pulsar_topic.name, "UserWithEmail", BOB)
    pulsar_topic.send_raw(KafkaAvroSerializer(pulsar_topic.conf, USER).serialize(pulsar_topic.name, ADA))
    raw = pulsar_topic.raw()
    assert [message.version for message in raw] == [0, 1, -1]
    reader = KafkaAvroDeserializer(pulsar_topic.conf)
    assert [reader.deserialize(pulsar_topic.name, *message) for message in raw] == [ADA, BOB, ADA]
    as_first = KafkaAvroDeserializer(pulsar_topic.conf, USER)
    without_email = {"age": 7, "name": "Bob"}
    assert [as_first.deserialize(pulsar_topic.name, *message) for message in raw] == [ADA, without_email, ADA]
    with pytest.raises(DecodeError, match="schema version 1, field name"):  # with the latest, as readers with KoP do
        reader.deserialize(pulsar_topic.name, raw[0].data)


def test_a_message_that_begins_with_a_null_is_not_mistaken_for_confluents(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    somebody = {"age": None, "name": "somebody"}
    java_client.produce(pulsar_topic.name, "Person", somebody)
    (message,) = pulsar_topic.raw()
    assert message.data[:1] == b"\x00"
    assert KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, message.data) == somebody


def test_javas_client_finds_a_schema_that_we_registered(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    same = {**USER, "doc": "Avro does not look at it"}
    framed = KafkaAvroSerializer(pulsar_topic.conf, json.dumps(same, indent=4)).serialize(pulsar_topic.name, ADA)
    assert framed[:10] == b"\x03\x04" + bytes(8)
    java_client.produce(pulsar_topic.name, "User", ADA)
    assert [message.version for message in pulsar_topic.raw()] == [0]
    assert pulsar_topic.schemas() == [same]


def test_we_find_a_schema_that_javas_client_registered(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    java_client.produce(pulsar_topic.name, "User", ADA)
    same = {**USER, "doc": "Avro does not look at it"}
    framed = KafkaAvroSerializer(pulsar_topic.conf, json.dumps(same, indent=4)).serialize(pulsar_topic.name, ADA)
    assert framed[:10] == b"\x03\x04" + bytes(8)
    assert pulsar_topic.schemas() == [USER]


def test_a_dataclass_has_the_schema_of_the_same_class_in_java(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    java_client.produce(pulsar_topic.name, "Person", ADA)
    framed = KafkaAvroSerializer(pulsar_topic.conf, Person).serialize(pulsar_topic.name, Person(36, "Ada"))
    assert framed == b"\x03\x04" + bytes(8) + pulsar_topic.raw()[0].data
    assert len(pulsar_topic.schemas()) == 1


def test_javas_avro_consumer_may_read_our_framed_bytes_as_wrong_data_without_an_error(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    framed = KafkaAvroSerializer(pulsar_topic.conf, POINT).serialize(pulsar_topic.name, {"x": 1, "y": 5})
    pulsar_topic.send_raw(framed)
    (seen,) = java_client.consume(pulsar_topic.name, "Point", 1)
    assert (seen.data, seen.value, seen.error) == (framed, {"x": -2, "y": 2}, "")
    (seen,) = java_client.consume(pulsar_topic.name, "AUTO_CONSUME", 1)
    assert (seen.type, seen.value) == ("BYTES", framed)


def test_pulsars_clients_read_each_others_versions(pulsar_topic: PulsarTopic, java_client: JavaPulsar) -> None:
    java_client.produce(pulsar_topic.name, "User", ADA)
    pulsar_topic.send(AvroSchema(None, schema_definition=WITH_EMAIL), BOB)
    assert [seen.value for seen in java_client.consume(pulsar_topic.name, "AUTO_CONSUME", 2)] == [ADA, BOB]
    seen = java_client.consume(pulsar_topic.name, "UserWithEmail", 2)
    assert [one.value for one in seen] == [{**ADA, "email": None}, BOB]
    assert pulsar_topic.read(AvroSchema(None, schema_definition=WITH_EMAIL), 2) == [{**ADA, "email": None}, BOB]
