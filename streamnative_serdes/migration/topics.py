"""Topics as Kafka clients see them: their partitions and offsets, and their committed messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from streamnative_serdes._kafka import ASSIGNED, ClientErrors, RangeReader, bounds_of, client, partitions_of, within

READ_SECONDS: Final = 30.0  # without any progress before the end of a topic is reached
CONSUMER: Final[Mapping[str, Any]] = {**ASSIGNED, "isolation.level": "read_committed", "fetch.wait.max.ms": 100}
_CREATION_SECONDS: Final = 30.0


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
        within(admin.create_topics([new], operation_timeout=_CREATION_SECONDS)[name], _CREATION_SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        if len(bounds(kafka, name)) < partitions:
            more = admin.create_partitions([NewPartitions(name, partitions)], operation_timeout=_CREATION_SECONDS)
            within(more[name], _CREATION_SECONDS)


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
    reader = RangeReader(consumer, errors, topic, READ_SECONDS, stable=True)
    reader.start(
        {partition: [(max(place, bounds[partition][0]), bounds[partition][1])] for partition, place in starts.items()}
    )
    yield from reader.messages(500)


def has_messages(kafka: Mapping[str, Any], topic: str) -> bool:
    """Whether a topic has any committed message. Raises as :func:`committed_messages` does."""
    return next(committed_messages(kafka, topic), None) is not None


def bounds(kafka: Mapping[str, Any], topic: str) -> dict[int, tuple[int, int]]:
    """:func:`bounds_of` all partitions; none if there is no such topic."""
    errors = ClientErrors(kafka, topic)
    consumer: Consumer = client(Consumer, {"group.id": "streamnative-serdes", **kafka, **CONSUMER}, topic, errors)
    try:
        partitions = partitions_of(consumer, errors, topic)
        return {partition: bounds_of(consumer, errors, topic, partition) for partition in partitions}
    finally:
        consumer.close()
