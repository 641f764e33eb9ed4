"""Partitions: which ones a topic has, and their first and next offsets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamnative_serdes.errors import SerdesError

from .clients import ClientErrors, ask

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_NEW_SECONDS: Final = 30.0  # until a new topic has leaders
_NEW: Final = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART")


def place_of(message: Message) -> tuple[int, int]:
    """Partition and offset of a message that was consumed."""
    place: tuple[Any, Any] = message.partition(), message.offset()  # None is for messages that were not consumed
    return place


def partitions_of(consumer: Consumer, errors: ClientErrors, topic: str) -> Sequence[int]:
    """The numbers of the topic's partitions; none if it does not exist.

    Raises:
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """
    listed = ask(consumer, errors, lambda seconds: consumer.list_topics(topic, timeout=seconds))
    found = listed.topics.get(topic)
    if found is None or (found.error is not None and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART):
        return ()
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


def bounds_of(consumer: Consumer, errors: ClientErrors, topic: str, partition: int) -> tuple[int, int]:
    """The first offset of a partition, and the next one; of a consumer of committed messages, the one after the last.

    Raises:
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """
    where = TopicPartition(topic, partition)
    until = time.monotonic() + _NEW_SECONDS
    while True:
        try:
            found = ask(consumer, errors, lambda seconds: consumer.get_watermark_offsets(where, timeout=seconds))
        except SerdesError:  # is a KafkaException too
            raise
        except KafkaException as error:  # a new topic has no leader for a moment
            if error.args[0].name() not in _NEW or time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return int(found[0]), int(found[1])
