"""Interoperability matrix: a topic of a real Pulsar with one message from each writer, read by each reader.

docs/interoperability.md shows the outcome as a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from java_pulsar import JavaPulsar
from pulsar import Client
from pulsar.schema import AvroSchema, BytesSchema
from pulsar_topic import PulsarTopic
from schemas import record
from servers import ConfluentRegistry, Pulsar

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.errors import DecodeError
from streamnative_serdes.integrations.pulsar_client import pulsar_schema

pytestmark = pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")

# The schema that Schema.AVRO derives from class User in JavaClient.java.
USER: Final = record("User", ("age", "int"), ("name", ["null", "string"], None))
ADA: Final = {"age": 36, "name": "Ada"}
BARE: Final = b"\x48\x02\x06Ada"
WRONG: Final = {"age": 0, "name": None}  # the first two bytes of Confluent's framing, read with this schema
GARBAGE: Final = b"garbage"
WRITERS: Final = ("Java", "Python", "ours", "Confluent's", "bare Avro without a schema", "garbage without a schema")


@dataclass
class Crowd:
    """A topic to which each writer has sent one message, in the order of WRITERS."""

    topic: PulsarTopic
    sent: list[bytes]
    confluent: SchemaRegistryClient

    @property
    def context(self) -> SerializationContext:
        return SerializationContext(self.topic.name, MessageField.VALUE)


@pytest.fixture(scope="module")
def crowd(
    pulsar: Pulsar, pulsar_client: Client, java_client: JavaPulsar, confluent_registry: ConfluentRegistry
) -> Iterator[Crowd]:
    topic = PulsarTopic(pulsar, pulsar_client)
    with SchemaRegistryClient({"url": confluent_registry.url}) as confluent:
        crowd = Crowd(topic, [], confluent)
        ours = KafkaAvroSerializer(topic.conf, USER)(ADA, crowd.context)
        confluents = AvroSerializer(confluent, json.dumps(USER))(ADA, crowd.context)
        assert ours == b"\x03\x04" + bytes(8) + BARE
        assert confluents is not None
        assert (confluents[0], confluents[5:]) == (0, BARE)
        java_client.produce(topic.name, "User", ADA)
        topic.send(AvroSchema(None, schema_definition=USER), ADA)
        topic.send_raw(ours, confluents, BARE, GARBAGE)
        assert topic.schemas() == [USER]
        crowd.sent = [BARE, BARE, ours, confluents, BARE, GARBAGE]
        yield crowd


def by_writer(outcomes: list[Any]) -> dict[str, Any]:
    return dict(zip(WRITERS, outcomes, strict=True))


@pytest.mark.promise("shared-topics")
def test_our_deserializer_reads_all_but_confluents_framing_and_garbage(crowd: Crowd) -> None:
    reader, name = KafkaAvroDeserializer(crowd.topic.conf), crowd.topic.name
    *good, confluents, bare, garbage = [message.data for message in crowd.topic.raw()]
    assert [reader.deserialize(name, data) for data in (*good, bare)] == [ADA] * 4
    with pytest.raises(DecodeError, match=rf"topic {name}, .*Confluent's serializer \(0x00, schema id \d+\)"):
        reader.deserialize(name, confluents)
    with pytest.raises(
        DecodeError, match=f"topic {name}, schema version 0, field name, byte 2: expected a union branch index"
    ):
        reader.deserialize(name, garbage)


def test_our_deserializer_accepts_the_version_in_pulsars_metadata(crowd: Crowd) -> None:
    reader, raw = KafkaAvroDeserializer(crowd.topic.conf), crowd.topic.raw()
    assert by_writer([message.version for message in raw]) == by_writer([0, 0, -1, -1, -1, -1])
    good = [message for message, writer in zip(raw, WRITERS, strict=True) if writer not in ("Confluent's", WRITERS[-1])]
    assert [reader.deserialize(crowd.topic.name, *message) for message in good] == [ADA] * 4


def test_pulsar_schema_reads_what_our_deserializer_reads(crowd: Crowd, confluent_registry: ConfluentRegistry) -> None:
    second = {"confluent.schema.registry.url": confluent_registry.url, "framings": "snip42,confluent,headerless"}
    for more, confluents in (({}, DecodeError), (second, ADA)):
        outcomes = crowd.topic.read(pulsar_schema({**crowd.topic.conf, **more}, USER), len(WRITERS))
        read = by_writer([type(outcome) if isinstance(outcome, Exception) else outcome for outcome in outcomes])
        assert read == by_writer([ADA, ADA, ADA, confluents, ADA, DecodeError])


def test_pulsars_python_avro_consumer_reads_only_headerless_avro(crowd: Crowd) -> None:
    read = by_writer(crowd.topic.read(AvroSchema(None, schema_definition=USER), len(WRITERS)))
    errors = {writer: type(outcome) for writer, outcome in read.items() if isinstance(outcome, Exception)}
    assert errors == {"ours": IndexError, "garbage without a schema": IndexError}
    assert {writer: read[writer] for writer in read if writer not in errors} == {
        "Java": ADA,
        "Python": ADA,
        "Confluent's": WRONG,  # and no error
        "bare Avro without a schema": ADA,
    }


def test_pulsars_java_avro_consumer_reads_only_headerless_avro(crowd: Crowd, java_client: JavaPulsar) -> None:
    read = by_writer(java_client.consume(crowd.topic.name, "User", len(WRITERS)))
    for writer in ("ours", "garbage without a schema"):
        assert "SchemaSerializationException: java.lang.ArrayIndexOutOfBoundsException" in read.pop(writer).error
    assert {writer: seen.value for writer, seen in read.items()} == {
        "Java": ADA,
        "Python": ADA,
        "Confluent's": WRONG,  # and no error
        "bare Avro without a schema": ADA,
    }


@pytest.mark.promise("shared-topics")
def test_java_auto_consume_returns_fields_if_there_is_a_version_and_bytes_otherwise(
    crowd: Crowd, java_client: JavaPulsar
) -> None:
    read = by_writer(java_client.consume(crowd.topic.name, "AUTO_CONSUME", len(WRITERS)))
    assert {writer: (seen.type, seen.value) for writer, seen in read.items()} == by_writer(
        [("AVRO", ADA)] * 2 + [("BYTES", data) for data in crowd.sent[2:]]
    )


def test_consumers_of_bytes_get_each_message_as_it_was_sent(crowd: Crowd, java_client: JavaPulsar) -> None:
    assert crowd.topic.read(BytesSchema(), len(WRITERS)) == crowd.sent
    assert [message.data for message in crowd.topic.raw()] == crowd.sent
    read = java_client.consume(crowd.topic.name, "BYTES", len(WRITERS))
    assert [(seen.type, seen.value) for seen in read] == [("BYTES", data) for data in crowd.sent]


def test_confluents_deserializer_reads_only_confluent_framing(crowd: Crowd) -> None:
    read = AvroDeserializer(crowd.confluent)
    for data, writer in zip(crowd.sent, WRITERS, strict=True):
        if writer == "Confluent's":
            assert read(data, crowd.context) == ADA
        else:
            with pytest.raises(SerializationError, match=r"[Ii]nvalid magic byte|length 6 bytes or more"):
                read(data, crowd.context)
