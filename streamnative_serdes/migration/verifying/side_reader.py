"""The committed messages of one side, one partition after the other, from one offset to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from confluent_kafka import Message

from streamnative_serdes._kafka import OffsetsGoneError, Range, TopicConsumer
from streamnative_serdes.errors import SerdesError

_CHUNK: Final = 2_000  # messages
_PATIENCE: Final = 60.0  # seconds without any progress before the end
_MEMORY: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 32_768}  # messages fetched ahead


class MissingTopicError(SerdesError):
    """The broker does not have a topic, or does not show it to this user."""


class DeletedMessagesError(SerdesError):
    """The broker deleted messages while they were to be read.

    Args:
        partition: the number of the partition.
        wanted: the offset that was to be read.
    """

    def __init__(self, topic: str, partition: int, wanted: int) -> None:
        super().__init__(
            f"partition {partition}: the broker has deleted offset {wanted} before it was read",
            topic=topic,
            hint="its retention is shorter than reading takes: raise retention.ms and retention.bytes, then run again",
        )
        self.partition, self.wanted = partition, wanted


class SideReader:
    """Consumes one topic; use it as a context manager.

    Args:
        kafka: options of the Kafka client.
        topic: the topic.

    ``bounds`` are the first offset of each partition and the offset behind its last committed message, as of now. Later
    messages are not read.

    Raises:
        ConfigError: the client refuses its options.
        MissingTopicError: the topic does not exist.
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._consumer = TopicConsumer(kafka, topic, _PATIENCE, options=_MEMORY)
        self.bounds: dict[int, Range] = {}
        try:
            self.look()
        except BaseException:
            self._consumer.close()
            raise

    def look(self) -> None:
        """Set ``bounds``, or update them. Raises as the class does."""
        self.bounds = self._consumer.bounds()
        if not self.bounds:
            hint = "check the name; if the topic is there, ask for the right to describe and to read it"
            raise MissingTopicError(f"the broker does not have topic {self._topic}", topic=self._topic, hint=hint)
        self.cluster = self._consumer.cluster()

    def __enter__(self) -> SideReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def messages(self, partition: int, place: int, end: int | None = None, *, chunk: int = _CHUNK) -> Iterator[Message]:
        """Yield the messages of a partition; only one such iteration at a time is possible.

        Args:
            partition: the number of the partition.
            place: the offset to begin with.
            end: the offset to end before; by default, the offset behind the last message.
            chunk: how many messages to ask the client for; fewer come sooner.

        Raises:
            DeletedMessagesError: the broker deletes messages while they are read.
            OffsetsGoneError: the topic was recreated meanwhile.
            BrokerUnavailableError: no message has come for a minute.
            KafkaException: the broker refuses.
        """
        end = min(self.bounds[partition][1], self.bounds[partition][1] if end is None else end)
        if place >= end:
            return
        try:
            yield from self._consumer.messages({partition: [(place, end)]}, chunk)
        except OffsetsGoneError as error:
            if error.place >= error.bounds[0]:  # such as in a topic that was recreated meanwhile
                raise
            raise DeletedMessagesError(self._topic, partition, error.place) from error
