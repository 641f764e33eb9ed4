"""A thousand orders as rows, and how to read them back from a topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes.spark import OffsetRange
from streamnative_serdes.spark.topic import TopicAdmin, read_range

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


def messages_of(kafka: dict[str, str], topic: str = TOPIC) -> list[Any]:
    admin = TopicAdmin(kafka, topic)
    try:
        ends = admin.ends(admin.partitions())
    finally:
        admin.close()
    ranges = [OffsetRange(partition, 0, end) for partition, end in enumerate(ends)]
    return [message for each in ranges for chunk in read_range(kafka, topic, each) for message in chunk]


def read(conf: dict[str, str], messages: Iterable[Any], topic: str = TOPIC) -> list[Any]:
    deserializer = KafkaAvroDeserializer(conf)
    return [deserializer.deserialize(topic, message.value()) for message in messages]


def in_order(records: Iterable[Any]) -> list[Any]:
    return sorted((tuple(record.values()) for record in records), key=lambda record: record[0])
