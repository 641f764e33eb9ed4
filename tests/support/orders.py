"""Orders as rows or messages of several versions, and how to write them to a topic and read them back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer
from waiting import HANG_SECONDS

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range, ranges_of
from streamnative_serdes.spark.datasource.reading.task import Patience, read_range

TOPIC = "flights"  # of the fixture's broker
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
ROWS = [(number, ("OPEN", "PAID")[number % 2], None if number % 3 else f"n{number}") for number in range(1000)]
COLUMNS = "id bigint, state string, note string"


def ranges_now(kafka: dict[str, Any], topic: str = TOPIC) -> list[Range]:
    """All there is of a topic, a range for each partition that is not empty."""
    brokers = Brokers({"isolation.level": "read_committed", **kafka}, Topics((topic,)))
    places = brokers.places()
    return ranges_of(brokers.earliest(places), brokers.latest(places))


def messages_of(kafka: dict[str, Any], topic: str = TOPIC) -> list[Any]:
    """All messages of a topic, in the order of partitions and offsets."""
    client = {"group.id": "tests", **kafka}
    spans = ranges_now(client, topic)
    return [message for span in spans for chunk in read_range(client, span, Patience()) for message in chunk]


def read(conf: dict[str, str], messages: Iterable[Any], topic: str = TOPIC) -> list[Any]:
    deserializer = KafkaAvroDeserializer(conf)
    return [deserializer.deserialize(topic, message.value()) for message in messages]


def in_order(records: Iterable[Any]) -> list[Any]:
    return sorted((tuple(record.values()) for record in records), key=lambda record: record[0])


VERSIONS = 8


def schema_of(version: int) -> dict[str, Any]:
    """The schema of an order with ``version`` optional fields."""
    more = [{"name": f"more{n}", "type": ["null", "long"], "default": None} for n in range(version)]
    return {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *more]}


def order(number: int) -> dict[str, Any]:
    """A record of version ``number % VERSIONS`` whose fields contain the number."""
    return {"id": number} | {f"more{n}": number for n in range(number % VERSIONS)}


def latest(number: int) -> dict[str, Any]:
    """The same, as the last version."""
    return dict.fromkeys((f"more{n}" for n in range(VERSIONS - 1)), None) | order(number)


def produce(kafka: dict[str, Any], conf: dict[str, str], topic: str, numbers: range, partitions: int) -> None:
    """Write these orders; each partition has all versions."""
    serializers = [KafkaAvroSerializer(conf, schema_of(version)) for version in range(VERSIONS)]
    producer = Producer({**kafka, "enable.idempotence": True, "linger.ms": 50})
    for number in numbers:
        value = serializers[number % VERSIONS].serialize(topic, order(number))
        producer.produce(topic, value, partition=number // VERSIONS % partitions)
    assert producer.flush(3 * HANG_SECONDS) == 0  # Kafka may be starting
