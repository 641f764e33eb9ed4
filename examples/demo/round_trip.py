"""Round trip: writes all flights to a topic with Spark, reads them back, and verifies that every row came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark import SparkContext
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from streamnative_serdes import header
from streamnative_serdes._kafka import client
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.serializer import KafkaAvroSerializer
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.session import spark_errors

from .flights import FLIGHT_SCHEMA, count_missing, read_flights, with_epoch
from .progress import Progress, watched
from .tasks import DigestTask, ReadTask, Tally, TallyParam, WriteTask

PATIENCE = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the rows are written to.

    Args:
        kafka: configuration of the Kafka clients, with ``bootstrap.servers``.
        registry: configuration of the SerDes, with ``schema.registry.url``.
        topic: the topic. Existing messages in it are ignored.
        partitions: number of partitions if the topic has to be created.
    """

    kafka: Mapping[str, Any]
    registry: Mapping[str, Any]
    topic: str = "flights"
    partitions: int = 16


@dataclass(frozen=True, slots=True)
class Stage:
    """One Spark job: what its tasks did, its duration in seconds, and what the duration covers."""

    tally: Tally
    seconds: float
    covers: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of the round trip."""

    topic: str
    partitions: int
    schema_version: int
    missing: Mapping[str, int]  # NA in the source, by column
    source: Stage
    written: Stage
    read: Stage
    driver_calls: int  # to the registry; the tallies count those of the tasks

    @property
    def equal(self) -> bool:
        """Whether every row came back: three row counts and two checksums are equal."""
        source, read = self.source.tally, self.read.tally
        return source.rows == self.written.tally.rows == read.rows and source.digest == read.digest

    @property
    def registry_calls(self) -> int:
        """Calls to the registry, by driver and tasks."""
        return self.driver_calls + self.task_calls

    @property
    def task_calls(self) -> int:
        """Calls to the registry, by the tasks alone."""
        return self.written.tally.registry_calls + self.read.tally.registry_calls


class RoundTrip:
    """The job: write every flight to the topic, read the topic back, compare.

    Args:
        spark: the session to run on.
        csv: the flights, as :func:`~.flights.unzip_flights` leaves them.
        to: where to write them.
        progress: displays the progress.
    """

    def __init__(self, spark: SparkSession, csv: Path, to: Destination, progress: Progress) -> None:
        self.spark, self._csv, self.to, self._progress = spark, csv, to, progress
        self.flights = read_flights(spark, csv)
        self.admin = Brokers({"isolation.level": "read_committed", **to.kafka}, Topics((to.topic,)))
        self._serializer = KafkaAvroSerializer(to.registry, FLIGHT_SCHEMA)
        self._deserializer = KafkaAvroDeserializer(to.registry)

    def run(self) -> Result:
        """Run all steps.

        Raises:
            SerdesError: the registry refuses a request, or cannot be reached.
            KafkaException: the broker refuses a request, or cannot be reached.
            SparkError: a task failed; the message says why.
            TimeoutError: the broker does not answer.
            ValueError: the nulls in the CSV are not those marked NA, or a row does not fit the schema.
        """
        before = self._serializer.registry_calls()
        with closing(self.admin), spark_errors():
            partitions = self._partitions() or self._create_topic()
            rows, missing = count_missing(self.spark, self._csv)
            source = self.checksum(rows)
            version = self.bind()
            starts = self.ends(partitions)
            written = self.write(starts, rows)
            read = self.read(starts)
        # The count is per process, so it includes the deserializer's calls.
        calls = self._serializer.registry_calls() - before
        return Result(self.to.topic, partitions, version, missing, source, written, read, calls)

    def ends(self, partitions: int) -> list[int]:
        """The end offset of each partition."""
        found = self.admin.latest([(self.to.topic, number) for number in range(partitions)])
        return [found[self.to.topic, number] for number in range(partitions)]

    def _partitions(self) -> int:
        return self.admin.existing().get(self.to.topic, 0)

    def _create_topic(self) -> int:
        """Create the topic, and wait until it is visible. Returns its number of partitions."""
        topic = self.to.topic
        admin = client(AdminClient, dict(self.to.kafka), topic)
        admin.create_topics([NewTopic(topic, self.to.partitions)])[topic].result(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := self._partitions():
                return found
            time.sleep(0.1)
        raise TimeoutError(f"topic {topic} was created, but is not visible after {PATIENCE:.0f} s")

    def checksum(self, rows: int) -> Stage:
        """Count the source rows and add up their digests, in a separate pass."""
        total = self.accumulator()
        with self.watched("checksum", rows, lambda: total.value.rows):
            return _timed(total, lambda: with_epoch(self.flights).foreachPartition(DigestTask(total)))

    def bind(self) -> int:
        """Serialize and deserialize one row, so that both SerDes know the schema before they are sent to the tasks.

        Returns:
            the schema's version.
        """
        topic = self.to.topic
        data = self._serializer.serialize(topic, self.flights.head())
        self._deserializer.deserialize(topic, data)
        assert data is not None  # only None serializes to None
        version = header.read(data)
        assert version is not None
        return version

    def write(self, starts: Sequence[int], rows: int) -> Stage:
        """Serialize and produce every row; ``starts`` are the partitions' end offsets before."""
        total = self.accumulator()
        task = WriteTask(self.to.kafka, self.to.topic, len(starts), self._serializer, total)
        with self.watched("writing", rows, lambda: sum(self.ends(len(starts))) - sum(starts)):
            return _timed(total, lambda: self.flights.foreachPartition(task), "from the CSV to the last flush")

    def read(self, starts: Sequence[int]) -> Stage:
        """Consume and deserialize all messages from the ``starts`` offsets on, one task per partition."""
        ends = self.ends(len(starts))
        ranges = [Range(self.to.topic, n, *offsets) for n, offsets in enumerate(zip(starts, ends, strict=True))]
        total = self.accumulator()
        task = ReadTask({"group.id": "streamnative-serdes", **self.to.kafka}, self._deserializer, total)
        job = self._context.parallelize(ranges, len(ranges))
        with self.watched("reading", sum(ends) - sum(starts), lambda: total.value.rows):
            return _timed(total, lambda: job.foreachPartition(task), "from the first fetch to the last checksum")

    @property
    def _context(self) -> SparkContext:
        return self.spark.sparkContext

    def accumulator(self) -> Accumulator[Tally]:
        return self._context.accumulator(Tally(), TallyParam())

    def watched(self, name: str, total: int, measure: Callable[[], int]) -> AbstractContextManager[None]:
        return watched(self._progress, name, total, measure)


def _timed(total: Accumulator[Tally], job: Callable[[], object], covers: str = "") -> Stage:
    start = time.perf_counter()
    job()
    seconds = time.perf_counter() - start
    return Stage(total.value, seconds, covers)
