"""The first messages of a topic of an embedded broker."""

from __future__ import annotations

from confluent_kafka import Consumer, Message, TopicPartition

from streamnative_serdes.testing import MockBroker


def first_messages(broker: MockBroker, topic: str, count: int) -> list[Message]:
    """Return the first ``count`` messages of partition 0, or fewer after a minute."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "test", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return consumer.consume(count, timeout=60)
    finally:
        consumer.close()
