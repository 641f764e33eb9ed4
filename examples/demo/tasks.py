"""Spark tasks of the demo: serialize rows to a Kafka topic, and deserialize them from it.

Delivery is at least once: a task that Spark retries produces its rows again. Each task flushes its Kafka client, since
Spark kills its workers without giving them a chance to clean up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Final, TypeVar

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import Row

from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.datasource.reading.task import Patience, read_range
from streamnative_serdes.spark.datasource.writing.outbox import outbox

from .flights import decoded_values, row_digest

_CHUNK: Final = 1_000  # rows per time measurement
_DIGESTS: Final = 2**128
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Tally:
    """Totals of the tasks: rows, the sum of their digests modulo 2**128, registry calls, seconds by kind of work."""

    rows: int = 0
    digest: int = 0
    registry_calls: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.rows + other.rows,
            (self.digest + other.digest) % _DIGESTS,
            self.registry_calls + other.registry_calls,
            {
                work: self.seconds.get(work, 0.0) + other.seconds.get(work, 0.0)
                for work in {**self.seconds, **other.seconds}
            },
        )


class TallyParam(AccumulatorParam[Tally]):
    """Makes Spark add up the tallies of all successful tasks."""

    def zero(self, value: Tally) -> Tally:  # noqa: ARG002
        return Tally()

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:  # noqa: N802 (Spark's name)
        return value1 + value2


class Clock:
    """Seconds spent on each kind of work, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, work: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[work] = self.seconds.get(work, 0.0) + time.perf_counter() - start

    @contextmanager
    def after(self, work: str, block: AbstractContextManager[_T]) -> Iterator[_T]:
        """Run ``block`` and measure its exit, such as the flush of the messages sent inside."""
        with ExitStack() as stack:
            yield stack.enter_context(block)
            with self(work):
                stack.close()

    def each(self, work: str, items: Iterator[_T]) -> Iterator[_T]:
        """Yield the same items, and measure the time to get them."""
        while True:
            with self(work):
                item = next(items, None)
            if item is None:
                return
            yield item


@dataclass(frozen=True, slots=True)
class DigestTask:
    """A task that adds up the digests of source rows, whose values are in schema order."""

    total: Accumulator[Tally]

    def __call__(self, rows: Iterable[Row]) -> None:
        digests = [row_digest(list(row)) for row in rows]
        self.total.add(Tally(len(digests), sum(digests) % _DIGESTS))


@dataclass(frozen=True, slots=True)
class WriteTask:
    """A task that serializes rows and produces them to the partitions of a topic in turn."""

    kafka: Mapping[str, Any]
    topic: str
    partitions: int
    serializer: KafkaAvroSerializer
    total: Accumulator[Tally]

    def __call__(self, rows: Iterable[Row]) -> None:
        context, turn = SerializationContext(self.topic, MessageField.VALUE), count(task_number())
        calls, clock, written = self.serializer.registry_calls(), Clock(), 0
        with clock.after("produce", outbox(self.kafka, self.topic)) as out:
            for chunk in clock.each("receive", _chunks(iter(rows))):
                with clock("serialise"):
                    values = [self.serializer(row, context) for row in chunk]
                with clock("produce"):
                    for value in values:
                        out.send(value, partition=next(turn) % self.partitions)
                written += len(values)
        calls = self.serializer.registry_calls() - calls
        self.total.add(Tally(written, registry_calls=calls, seconds=clock.seconds))


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A task that consumes offset ranges of a topic, deserializes every value and adds up the digests."""

    kafka: Mapping[str, Any]
    deserializer: KafkaAvroDeserializer
    total: Accumulator[Tally]

    def __call__(self, spans: Iterable[Range]) -> None:
        for span in spans:
            self._read(span)

    def _read(self, span: Range) -> None:
        context = SerializationContext(span.topic, MessageField.VALUE)
        calls, clock, rows, digest = self.deserializer.registry_calls(), Clock(), 0, 0
        for messages in clock.each("consume", read_range(self.kafka, span, Patience())):
            with clock("deserialise"):
                flights = [self.deserializer(message.value(), context) for message in messages]
            with clock("checksum"):
                digest += sum(row_digest(decoded_values(flight)) for flight in flights)
            rows += len(flights)
        calls = self.deserializer.registry_calls() - calls
        self.total.add(Tally(rows, digest % _DIGESTS, calls, clock.seconds))


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, _CHUNK)):
        yield chunk


def task_number() -> int:
    """The number of the partition that this task processes."""
    task = TaskContext.get()
    return task.partitionId() if task else 0
