"""Reading a topic in part or whole: windows of offsets, spread over each partition; all partitions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from confluent_kafka import Message

from streamnative_serdes._kafka import Range, TopicConsumer, kafka_errors, refused

Progress: TypeAlias = Callable[[int, int], None]  # takes how many offsets are done, and how many there are

MOST_WINDOWS: Final = 10  # per partition
_BATCH: Final = 500  # messages
_MEMORY: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 16_384}  # messages fetched ahead


def windows(low: int, high: int, count: int | None) -> list[Range]:
    """Ranges of at most ``count`` offsets: at the beginning, at the end, and evenly spaced between; None for all."""
    total = high - low
    if total <= 0 or count == 0:
        return []
    if count is None or total <= count:
        return [(low, high)]
    number = min(MOST_WINDOWS, count)
    size, rest = divmod(count, number)
    found, start = [], low
    for index in range(number):
        gaps = (total - count) * index // max(number - 1, 1)  # offsets that are left out before this window
        end = start + size + (index < rest)
        found.append((start + gaps, end + gaps))
        start = end
    return found


class Sample:
    """Messages of a topic that are committed; iterate over it once.

    Args:
        kafka: options of the Kafka client.
        topic: the topic.
        partitions: the number of partitions.
        count: messages per partition; None for all messages at present. Fewer are read if offsets have no message, as
            after compaction.
        progress: is called after each batch.

    Raises:
        BrokerUnavailableError: no broker answers.
        BrokerRefusedError: the broker refuses, or has deleted messages before they were read.
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        topic: str,
        partitions: int,
        count: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._topic, self._partitions, self._count = topic, partitions, count
        self._progress = progress or (lambda _done, _total: None)
        self._kafka = kafka
        self.bounds: dict[int, Range] = {}  # of each partition, known after the first message

    def __iter__(self) -> Iterator[Message]:
        doing = partial(refused, f"read topic {self._topic}", "READ on the topic", self._topic)
        with kafka_errors(doing), TopicConsumer(self._kafka, self._topic, options=_MEMORY) as consumer:
            self.bounds = consumer.bounds(range(self._partitions))
            yield from self._read(consumer)

    def _read(self, consumer: TopicConsumer) -> Iterator[Message]:
        reader = consumer.reader(
            {partition: windows(*bounds, self._count) for partition, bounds in self.bounds.items()}
        )
        total = reader.to_go()
        while reader.left:
            yield from reader.take(_BATCH)
            self._progress(total - reader.to_go(), total)
