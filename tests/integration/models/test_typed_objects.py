"""Classes with schemas that Pulsar's own clients registered for equivalent classes, on a real Pulsar."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import pytest
from java_program import jdk
from java_pulsar import JavaPulsar
from java_shapes import CLASSES, FOLDER, golden
from java_shapes.java import schemas_of_java
from pulsar.schema import Array, AvroSchema, CustomEnum, Integer, Map, Record, String
from pulsar_topic import PulsarTopic

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.errors import IncompatibleSchemaError

# pulsar-client's AvroSchema logs with a deprecated method.
pytestmark = [
    pytest.mark.usefixtures("nothing_is_known"),
    pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning"),
]


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Address(Record):
    city = String()
    lots = Array(Integer())


class User(Record):
    _avro_namespace = "org.example"
    _sorted_fields = True
    name = String(required=True)
    age = Integer(default=18, required=True, required_default=True)
    colour = CustomEnum(Colour)
    address = Address()
    others = Map(Address())


ADA = User(
    name="Ada",
    age=36,
    colour=Colour.GREEN,
    address=Address(city="London", lots=[1, -2]),
    others={"work": Address(city="Paris", lots=[])},
)


@dataclass
class Person:  # as in JavaClient.java
    name: str
    age: int


def test_a_record_finds_the_schema_that_pulsar_client_has_registered(pulsar_topic: PulsarTopic) -> None:
    pulsar_topic.send(AvroSchema(User), ADA)
    framed = KafkaAvroSerializer(pulsar_topic.conf).serialize(pulsar_topic.name, ADA)
    assert framed is not None
    assert framed[:10] == b"\x03\x04" + bytes(8)
    assert framed[10:] == pulsar_topic.raw()[0].data
    assert len(pulsar_topic.schemas()) == 1


def test_records_are_written_for_and_read_from_pulsars_client(pulsar_topic: PulsarTopic) -> None:
    reader = KafkaAvroDeserializer({**pulsar_topic.conf, "value.type": User})
    pulsar_topic.send(AvroSchema(User), ADA)
    (theirs,) = pulsar_topic.raw()
    assert reader.deserialize(pulsar_topic.name, *theirs) == ADA

    framed = KafkaAvroSerializer(pulsar_topic.conf, User).serialize(pulsar_topic.name, ADA)
    assert framed is not None
    assert reader.deserialize(pulsar_topic.name, framed) == ADA
    pulsar_topic.send_raw(framed[10:])  # in the form of Pulsar's client: the datum without a header
    assert pulsar_topic.read(AvroSchema(User), 2) == [ADA, ADA]
    assert len(pulsar_topic.schemas()) == 1


def test_a_dataclass_finds_the_schema_that_javas_client_has_registered(
    pulsar_topic: PulsarTopic, java_client: JavaPulsar
) -> None:
    java_client.produce(pulsar_topic.name, "Person", {"name": "Ada", "age": 36})
    framed = KafkaAvroSerializer(pulsar_topic.conf).serialize(pulsar_topic.name, Person("Bob", 7))
    assert framed is not None
    assert framed[:10] == b"\x03\x04" + bytes(8)
    reader = KafkaAvroDeserializer({**pulsar_topic.conf, "value.type": Person})
    (theirs,) = pulsar_topic.raw()
    assert reader.deserialize(pulsar_topic.name, *theirs) == Person("Ada", 36)
    assert reader.deserialize(pulsar_topic.name, framed) == Person("Bob", 7)

    pulsar_topic.send_raw(framed[10:])
    _, ours = java_client.consume(pulsar_topic.name, "Person", 2)
    assert ours.value == {"name": "Bob", "age": 7}
    assert len(pulsar_topic.schemas()) == 1


@pytest.mark.parametrize("cls", CLASSES)
def test_pulsar_has_one_version_for_javas_schema_and_for_the_equivalent_class(
    pulsar_topic: PulsarTopic, cls: Any
) -> None:
    assert pulsar_topic.register("AVRO", golden(cls), {"__alwaysAllowNull": "true"}) == 0
    KafkaAvroSerializer(pulsar_topic.conf, cls).warm_up(pulsar_topic.name)
    KafkaAvroSerializer({**pulsar_topic.conf, "auto.register.schemas": False}, cls).warm_up(pulsar_topic.name)
    assert len(pulsar_topic.schemas()) == 1
    with pytest.raises(IncompatibleSchemaError):
        KafkaAvroSerializer({**pulsar_topic.conf, "allow.null": False}, cls).warm_up(pulsar_topic.name)


def test_the_stored_schemas_equal_those_of_java(servers_at_hand: None) -> None:
    if jdk() is None:
        pytest.skip("no JDK; Janino, which is used elsewhere, drops the T of List<T>")
    made = schemas_of_java([cls.__name__ for cls in CLASSES])
    assert made == {file.stem: file.read_text().strip() for file in FOLDER.glob("*.avsc")}
