"""Reading a topic in part or whole: windows of offsets, spread over each partition; all partitions at once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from streamnative_serdes._kafka import BrokerRefusedError, ClientErrors, client, concerns_the_group, is_end
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.topics import CONSUMER, READ_SECONDS, bounds_of, place_of

Window: TypeAlias = tuple[int, int]  # the first offset, and the one after the last
Progress: TypeAlias = Callable[[int, int], None]  # takes how many offsets are done, and how many there are

MOST_WINDOWS: Final = 10  # per partition
_BATCH: Final = 500  # messages
_DELETED: Final = "the broker has deleted messages meanwhile: run the command again"
_POLL_SECONDS: Final = 0.2  # so often Ctrl-C is noticed
# A client that waits at the end of a partition moves to another place only after that wait.
_CONF: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 16_384, "fetch.wait.max.ms": 50}


def windows(low: int, high: int, count: int | None) -> list[Window]:
    """Windows of at most ``count`` offsets: at the beginning, at the end, and evenly spaced between; None for all."""
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
        partitions: how many it has.
        count: messages per partition; None for all that are there now. Fewer are read where offsets have no message,
            as after compaction.
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
        self._conf = {"group.id": "streamnative-serdes", **_CONF, **kafka, **CONSUMER}
        self.bounds: dict[int, Window] = {}  # of each partition, known after the first message

    def __iter__(self) -> Iterator[Message]:
        errors = ClientErrors(self._conf, self._topic)
        consumer: Consumer = client(Consumer, self._conf, self._topic, errors)
        try:
            for partition in range(self._partitions):
                self.bounds[partition] = bounds_of(consumer, errors, self._topic, partition)
            yield from self._read(consumer, errors)
        except SerdesError:  # is a KafkaException too
            raise
        except KafkaException as error:
            raise self._refused(error) from error
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, errors: ClientErrors) -> Iterator[Message]:
        wanted = {partition: windows(*bounds, self._count) for partition, bounds in self.bounds.items()}
        left = {partition: deque(parts) for partition, parts in wanted.items() if parts}
        total = sum(stop - start for parts in wanted.values() for start, stop in parts)
        consumer.assign([TopicPartition(self._topic, partition, parts[0][0]) for partition, parts in left.items()])
        heard = time.monotonic()
        while left:
            messages = consumer.consume(_BATCH, _POLL_SECONDS)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > READ_SECONDS:
                raise errors.error(READ_SECONDS)
            yield from self._wanted(consumer, messages, left)
            self._progress(total - sum(stop - start for parts in left.values() for start, stop in parts), total)

    def _wanted(
        self, consumer: Consumer, messages: Sequence[Message], left: dict[int, deque[Window]]
    ) -> Iterator[Message]:
        """Those of a batch that are in the windows; what is done is taken out of ``left``."""
        moved = set()  # partitions that continue elsewhere: what the batch still has of them is not wanted
        for message in messages:
            if concerns_the_group(message):
                continue
            at_end = is_end(message)
            partition, offset = place_of(message)
            if partition in moved or partition not in left:
                continue
            start, stop = left[partition][0]
            if not at_end and start <= offset < stop:
                yield message
            if at_end or offset + 1 >= stop:
                moved.add(partition)
                self._move(consumer, partition, left, at_end)
            else:
                left[partition][0] = (max(start, offset + 1), stop)

    def _move(self, consumer: Consumer, partition: int, left: dict[int, deque[Window]], at_end: bool) -> None:
        """Continue with the partition's next window; the end may come early, at an open transaction."""
        left[partition].popleft()
        if at_end or not left[partition]:
            del left[partition]
            consumer.pause([TopicPartition(self._topic, partition)])
        else:
            consumer.seek(TopicPartition(self._topic, partition, left[partition][0][0]))

    def _refused(self, error: KafkaException) -> BrokerRefusedError:
        fault: KafkaError = error.args[0]
        hints = {"TOPIC_AUTHORIZATION_FAILED": "the user needs the right READ on the topic"}
        hints |= dict.fromkeys(("OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET"), _DELETED)
        return BrokerRefusedError(
            f"cannot read topic {self._topic}: {fault.str()} ({fault.name()})",
            topic=self._topic,
            hint=hints.get(fault.name()),
        )
