"""A Kafka topic as a stream of Spark, without a jar: Spark's checkpoint keeps the offsets, tasks consume the ranges.

The messages come as they are; ``decode_df`` makes columns of them. Kafka's own offsets are neither read nor committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from streamnative_serdes.errors import ConfigError

from .topic import OffsetOutOfRangeError, OffsetRange, Offsets, TopicAdmin, check_count, cut, record_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # before PySpark 4.2
        SupportsTriggerAvailableNow = object

HAS_LIMITS: Final = hasattr(DataSourceStreamReader, "getDefaultReadLimit")

# The columns of Spark's own Kafka source, with the headers that it has on request.
KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp_ltz, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def open_stream(
    spark: SparkSession, kafka: Mapping[str, Any], topic: str, starts: Offsets, most: int | None = None
) -> DataFrame:
    """See :meth:`KafkaAvroSource.stream`."""
    if most is not None:
        _check_limit(most, topic)
    origin = Origin(dict(kafka), topic, starts, most)

    class Topic(DataSource):
        """By value: options would show what signs in to Kafka in plans and logs."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return KAFKA_COLUMNS

        def streamReader(self, schema: Any) -> StreamReader:  # noqa: ARG002, N802 (Spark's name)
            return StreamReader(origin)

    name = f"streamnative-{uuid4().hex}"
    spark.dataSource.register(Topic)
    return spark.readStream.format(name).load()


def _check_limit(most: Any, topic: str) -> None:
    if not HAS_LIMITS:
        raise ConfigError("max_offsets_per_trigger takes PySpark 4.2", topic=topic)
    check_count("max_offsets_per_trigger", most, topic)


@dataclass(frozen=True, slots=True)
class Origin:
    """What is read, and where a query that has no checkpoint yet begins."""

    kafka: Mapping[str, Any] = field(repr=False)  # may sign in
    topic: str
    starts: Offsets
    most: int | None = None  # offsets in a batch


class Range(InputPartition):
    """One task's share of a batch."""

    def __init__(self, range_: OffsetRange) -> None:
        self.value = range_


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are {partition: offset of the next message}, with text for keys as JSON has it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._last: dict[str, int] | None = None  # with Trigger.AvailableNow: where the query ends

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return {str(each.partition): each.start for each in self._ranges()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        return ReadAllAvailable() if self._origin.most is None else ReadMaxRows(self._origin.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        self._last = self._ends()

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 (Spark's name)
        # Both come from PySpark 4.2 on. The limit is none for a trigger that takes all at once.
        ends = self._last or self._ends()
        if start is None:
            return ends
        begins, most = self._begins(start, ends), getattr(limit, "max_rows", None)
        return ends if most is None else _up_to(most, begins, ends)

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return self._ends()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Range]:
        ranges = [OffsetRange(int(number), begin, end[number]) for number, begin in self._begins(start, end).items()]
        return [Range(each) for each in ranges if each.start < each.end]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        if partition.value is not None:  # Spark calls for a batch of no partitions too
            yield from record_batches(self._origin.kafka, self._origin.topic, partition.value)

    def _begins(self, start: Mapping[str, int], ends: Mapping[str, int]) -> dict[str, int]:
        """Partitions that the topic got since ``start`` are read from their beginning.

        Raises:
            OffsetOutOfRangeError: ``start`` is not before ``ends``.
        """
        begins = dict(start)
        if not ends.keys() <= start.keys():
            first = {str(each.partition): each.start for each in self._ranges("earliest")}
            begins |= {number: first.get(number, 0) for number in ends.keys() - start.keys()}
        for number, begin in begins.items():
            if begin > ends.get(number, -1):
                found = f"it ends at {ends[number]}" if number in ends else "it is gone"
                raise OffsetOutOfRangeError.of(self._origin.topic, int(number), begin, found)
        return begins

    def _ends(self) -> dict[str, int]:
        return {str(each.partition): each.end for each in self._ranges("earliest")}

    def _ranges(self, starts: Offsets | None = None) -> list[OffsetRange]:
        with closing(TopicAdmin(self._origin.kafka, self._origin.topic)) as admin:
            return cut(admin, self._origin.topic, starts or self._origin.starts, "latest", empty=True)


def _up_to(most: int, begins: Mapping[str, int], ends: Mapping[str, int]) -> dict[str, int]:
    """Offsets ``most`` offsets behind ``begins``, from each partition in proportion to what it has left."""
    left = {number: end - begins[number] for number, end in ends.items()}
    total = sum(left.values())
    if total <= most:
        return dict(ends)
    # One at least where there is any, or a small partition would wait for the large ones.
    return {number: begins[number] + min(max(most * rest // total, 1), rest) for number, rest in left.items()}
