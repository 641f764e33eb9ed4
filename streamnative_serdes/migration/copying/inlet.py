"""The inlet of a copy: committed messages of the source, in chunks, from a given offset of each partition on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message

from streamnative_serdes._kafka import Range, RangeReader, TopicConsumer
from streamnative_serdes.errors import SerdesError

CHUNK: Final = 2_000  # messages
_LOOK_SECONDS: Final = 30.0
_PATIENCE: Final = 60.0  # seconds without any progress before the end
MEMORY: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 65_536}  # messages fetched ahead


class Inlet:
    """Consumes the source up to an end that is fixed at the start, or without end.

    Args:
        kafka: options of the Kafka client of the source's side.
        topic: the source.

    Raises:
        ConfigError: the client refuses its options.
        SerdesError: the topic does not exist.
        BrokerUnavailableError: no broker answers.
        KafkaException: the broker refuses.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._consumer = TopicConsumer(kafka, topic, _PATIENCE, options=MEMORY)
        self.next: dict[int, int] = {}  # offsets to go on with
        self._looked = time.monotonic()
        try:
            self.bounds: Mapping[int, Range] = self._consumer.bounds()
            if not self.bounds:
                raise SerdesError(f"there is no topic {topic}", topic=topic)
            self.cluster = self._consumer.cluster()
        except BaseException:
            self.close()
            raise

    def start(self, places: Mapping[int, int]) -> None:
        """Begin with these offsets; other partitions begin with their first offset.

        Raises:
            SerdesError: messages from there on have been deleted.
        """
        self.next = self.beginnings(places)
        ranges = {number: [(place, self.bounds[number][1])] for number, place in self.next.items()}
        self._reader: RangeReader = self._consumer.reader(ranges, beyond=True)

    def beginnings(self, places: Mapping[int, int]) -> dict[int, int]:
        """The offset to begin with in each partition: from ``places``, or the first offset. Raises as :meth:`start`."""
        found = {}
        for partition, (low, high) in self.bounds.items():
            place = places.get(partition, low)
            if not low <= place <= high:
                raise SerdesError(
                    f"partition {partition} has offsets {low} to {high}, and copying has to go on at {place}",
                    topic=self._topic,
                    hint="messages were deleted before they were copied: raise retention.ms, and copy to a new target",
                )
            found[partition] = place
        return found

    @property
    def at_end(self) -> bool:
        """Whether all messages up to the end at the start have been read."""
        return not self._reader.left

    def chunk(self) -> list[Message]:
        """The next messages, if any come within 0.2 s. Call :meth:`passed` when they have been copied.

        Raises:
            BrokerUnavailableError: messages are left, but no message has come for a minute.
            OffsetsGoneError: messages were deleted before they were read.
            KafkaException: the broker refuses.
        """
        return self._reader.take(CHUNK)

    def passed(self, ends: Mapping[int, int], *, whole: bool = True) -> None:
        """Note that each partition was read up to this offset (exclusive); ``whole`` if all of the chunk was copied."""
        for partition, end in ends.items():
            self._pass(partition, end)
        for partition, end in self._reader.places.items() if whole else ():  # over markers and aborted messages
            self._pass(partition, end)

    def _pass(self, partition: int, end: int) -> None:
        self.next[partition] = max(self.next[partition], end)

    def lag(self) -> int:
        """The number of offsets left up to the present end, which is known from the last fetches."""
        ends = 0
        for partition, place in self.next.items():
            ends += max(0, max(self._consumer.fetched_end(partition), self.bounds[partition][1]) - place)
        return ends

    def require_same_partitions(self) -> None:
        """Check every 30 seconds that the source has the same partitions as at the start.

        Raises:
            SerdesError: the source has other partitions now.
            KafkaException: the source does not exist any more, or the broker refuses.
            BrokerUnavailableError: no broker answers.
        """
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        found = self._consumer.partitions()
        if not found:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if list(found) != sorted(self.bounds):
            raise SerdesError(
                f"the source had {len(self.bounds)} partitions and has {len(found)} now",
                topic=self._topic,
                hint="give the target as many, then run this again",
            )

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
