"""Topics as Kafka clients see them: their partitions and offsets, and their committed messages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from streamnative_serdes._kafka import ClientErrors, ask, client, concerns_the_group, is_end

READ_SECONDS: Final = 30.0  # without any message before the end of a topic is reached
_POLL_SECONDS: Final = 0.2
_NO_LEADER: Final = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART")
# The client requires a group; partitions are assigned by hand, and no offset is committed.
CONSUMER: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # not to skip messages silently
    "fetch.wait.max.ms": 100,
}


def ensure_topic(kafka: Mapping[str, Any], name: str, partitions: int, **settings: str) -> None:
    """Create a topic unless it is there; one with fewer partitions gets more.

    Args:
        kafka: options of the Kafka client.
        name: its name.
        partitions: their number.
        **settings: of the new topic, with underscores for dots.

    Raises:
        KafkaException: the broker refuses.
    """
    admin = client(AdminClient, dict(kafka), name)
    new = NewTopic(name, partitions, config={key.replace("_", "."): text for key, text in settings.items()})
    try:
        admin.create_topics([new], operation_timeout=30.0)[name].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        if len(bounds(kafka, name)) < partitions:
            admin.create_partitions([NewPartitions(name, partitions)], operation_timeout=30.0)[name].result()


def committed_messages(
    kafka: Mapping[str, Any], topic: str, starts: Mapping[int, int] | None = None
) -> Iterator[Message]:
    """Yield the messages of a topic up to its present end, without those of aborted transactions.

    Args:
        kafka: options of the Kafka client.
        topic: the topic; none are yielded if it does not exist.
        starts: offsets to begin with, of the partitions to read; by default all of all.

    Raises:
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """
    errors = ClientErrors(kafka, topic)
    consumer: Consumer = client(Consumer, {"group.id": "streamnative-serdes", **kafka, **CONSUMER}, topic, errors)
    try:
        yield from _until_end(consumer, errors, topic, starts)
    finally:
        consumer.close()


def _until_end(
    consumer: Consumer, errors: ClientErrors, topic: str, starts: Mapping[int, int] | None
) -> Iterator[Message]:
    bounds = {
        partition: bounds_of(consumer, errors, topic, partition) for partition in partitions_of(consumer, errors, topic)
    }
    starts = {partition: low for partition, (low, _) in bounds.items()} if starts is None else starts
    places = {partition: max(start, bounds[partition][0]) for partition, start in starts.items()}
    left = {partition for partition, place in places.items() if place < bounds[partition][1]}
    consumer.assign([TopicPartition(topic, partition, places[partition]) for partition in left])
    heard = time.monotonic()
    while left:
        messages = consumer.consume(500, _POLL_SECONDS)  # takes all of this time, unless there are so many
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > READ_SECONDS:
            raise errors.error(READ_SECONDS)
        for message in (one for one in messages if not concerns_the_group(one)):
            at_end = is_end(message)
            partition, offset = place_of(message)
            if not at_end and offset < bounds[partition][1]:
                yield message
            if offset + (not at_end) >= bounds[partition][1]:
                left.discard(partition)


def has_messages(kafka: Mapping[str, Any], topic: str) -> bool:
    """Whether a topic has any committed message. Raises as :func:`committed_messages` does."""
    return next(committed_messages(kafka, topic), None) is not None


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


def bounds(kafka: Mapping[str, Any], topic: str) -> dict[int, tuple[int, int]]:
    """:func:`bounds_of` all partitions; none if there is no such topic."""
    errors = ClientErrors(kafka, topic)
    consumer: Consumer = client(Consumer, {"group.id": "streamnative-serdes", **kafka, **CONSUMER}, topic, errors)
    try:
        partitions = partitions_of(consumer, errors, topic)
        return {partition: bounds_of(consumer, errors, topic, partition) for partition in partitions}
    finally:
        consumer.close()


def bounds_of(consumer: Consumer, errors: ClientErrors, topic: str, partition: int) -> tuple[int, int]:
    """The first offset of a partition, and the one behind the last that is committed.

    Raises:
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """
    where = TopicPartition(topic, partition)
    until = time.monotonic() + READ_SECONDS
    while True:
        try:
            found = ask(consumer, errors, lambda seconds: consumer.get_watermark_offsets(where, timeout=seconds))
        except KafkaException as error:  # a new topic has no leader for a moment
            if error.args[0].name() not in _NO_LEADER or time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return int(found[0]), int(found[1])
