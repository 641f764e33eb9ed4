"""A stand-in for confluent-kafka's consumer of topic ``t``: a log of each partition, and what it does not tell."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, TopicPartition
from consumed import Message

END = KafkaError(KafkaError._PARTITION_EOF)
RESET = KafkaError(KafkaError._AUTO_OFFSET_RESET)


def at(partition: int, offset: int, error: KafkaError | None = None) -> Message:
    """A message, or what a consumer reports instead."""
    return Message(partition=partition, offset=offset, error=error)


@dataclass
class ScriptedConsumer:
    """Serves messages as librdkafka does."""

    # by partition, its first offset, its next one, and the offsets in between that are messages; the others are markers
    # or messages of aborted transactions
    logs: Mapping[int, tuple[int, int, Iterable[int]]]
    ends: bool = False  # whether it reports the ends of partitions, as with Kafka and not with KoP
    coming: deque[Message] = field(default_factory=deque)  # reports that come before anything else
    seeks: list[tuple[int, int]] = field(default_factory=list)
    paused: set[int] = field(default_factory=set)
    _next: dict[int, int] = field(default_factory=dict)
    _passed: dict[int, int] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)

    def unassign(self) -> None:
        self._next, self._passed = {}, {}

    def assign(self, places: Iterable[TopicPartition]) -> None:
        """Unlike unassigning, this leaves the positions as they are: so does librdkafka 2.16."""
        self._next = {place.partition: place.offset for place in places}
        self._ended, self.paused = set(), set()

    def pause(self, places: Iterable[TopicPartition]) -> None:
        self.paused |= {place.partition for place in places}

    def seek(self, place: TopicPartition) -> None:
        self.seeks.append((place.partition, place.offset))
        self._next[place.partition] = place.offset
        self._passed.pop(place.partition, None)
        self._ended.discard(place.partition)

    def position(self, places: Iterable[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition("t", place.partition, self._passed.get(place.partition, -1001)) for place in places]

    def get_watermark_offsets(self, place: TopicPartition, **_: Any) -> tuple[int, int]:
        return self.logs[place.partition][:2]

    def poll(self, _seconds: float) -> None:
        return None

    def consume(self, most: int, _seconds: float) -> list[Message]:
        found: list[Message] = []
        while self.coming and len(found) < most:
            found.append(self.coming.popleft())
        for partition in self._next.keys() - self.paused:
            found += self._of(partition, most - len(found))
        return found

    def _of(self, partition: int, most: int) -> Iterable[Message]:
        low, high, messages = self.logs[partition]
        place = self._next[partition]
        if not low <= place <= high:
            if partition not in self._ended and most:
                self._ended.add(partition)
                yield at(partition, place, RESET)
            return
        for offset in [offset for offset in messages if offset >= place][:most]:
            self._next[partition] = self._passed[partition] = offset + 1
            most -= 1
            yield at(partition, offset)
        if most:  # what comes last may be no message
            if self._next[partition] < high or place < high:
                self._next[partition] = self._passed[partition] = high
            if self.ends and partition not in self._ended:
                self._ended.add(partition)
                yield at(partition, high, END)
