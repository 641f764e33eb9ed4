"""Reading a topic in part or whole: windows of offsets, spread over each partition; all partitions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from streamnative_serdes._kafka import BrokerRefusedError, ClientErrors, Range, RangeReader, bounds_of, client
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.topics import CONSUMER, READ_SECONDS

Progress: TypeAlias = Callable[[int, int], None]  # takes how many offsets are done, and how many there are

MOST_WINDOWS: Final = 10  # per partition
_BATCH: Final = 500  # messages
# A client that waits at the end of a partition moves to another place only after that wait.
_CONF: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 16_384, "fetch.wait.max.ms": 50}


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
        self.bounds: dict[int, Range] = {}  # of each partition, known after the first message

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
        reader = RangeReader(consumer, errors, self._topic, READ_SECONDS, stable=True)
        reader.start({partition: windows(*bounds, self._count) for partition, bounds in self.bounds.items()})
        total = reader.to_go()
        while reader.left:
            yield from reader.take(_BATCH)
            self._progress(total - reader.to_go(), total)

    def _refused(self, error: KafkaException) -> BrokerRefusedError:
        fault: KafkaError = error.args[0]
        hints = {"TOPIC_AUTHORIZATION_FAILED": "the user needs the right READ on the topic"}
        return BrokerRefusedError(
            f"cannot read topic {self._topic}: {fault.str()} ({fault.name()})",
            topic=self._topic,
            hint=hints.get(fault.name()),
        )
