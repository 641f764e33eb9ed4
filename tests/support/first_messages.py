"""Messages to topics of an embedded broker, and the first ones of a topic."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from streamnative_serdes.testing import MockBroker


def first_messages(broker: MockBroker, topic: str, count: int) -> list[Message]:
    """Return the first ``count`` messages of partition 0, or fewer after a minute."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "test", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return consumer.consume(count, timeout=60)
    finally:
        consumer.close()


def send(broker: MockBroker, topic: str, *values: bytes | None, partition: int = 0, **more: Any) -> None:
    """Produce messages with these values, and wait until they are there."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)
    assert producer.flush(60) == 0
