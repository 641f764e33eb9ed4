"""Streaming source: a Kafka topic as a Spark stream, without a jar.

Spark's checkpoint stores the offsets, and tasks consume offset ranges. Messages are raw; ``decode_df`` decodes them.
Offsets are neither read from Kafka nor committed to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
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

# The columns of Spark's own Kafka source, including its optional headers.
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
        """The reader is captured in a closure: as options, the Kafka credentials would appear in plans and logs."""

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
        raise ConfigError("max_offsets_per_trigger requires PySpark 4.2", topic=topic)
    check_count("max_offsets_per_trigger", most, topic)


@dataclass(frozen=True, slots=True)
class Origin:
    """The topic to read, and where a query without a checkpoint starts."""

    kafka: Mapping[str, Any] = field(repr=False)  # may contain credentials
    topic: str
    starts: Offsets
    most: int | None = None  # offsets per batch


class Range(InputPartition):
    """The offset range of one task in a batch."""

    def __init__(self, range_: OffsetRange) -> None:
        self.value = range_


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark's stream reader. Offsets are {partition: offset of the next message}; keys are str because of JSON."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._last: dict[str, int] | None = None  # end offsets of the query with Trigger.AvailableNow

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return {str(each.partition): each.start for each in self._ranges()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        return ReadAllAvailable() if self._origin.most is None else ReadMaxRows(self._origin.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        self._last = self._ends()

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 (Spark's name)
        # PySpark passes both from 4.2 on. The limit is None for a trigger that processes everything in one batch.
        ends = self._last or self._ends()
        if start is None:
            return ends
        begins, most = self._begins(start, ends), getattr(limit, "max_rows", None)
        return ends if most is None else _up_to(most, begins, ends)

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return self._ends()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Range]:
        # If a query ended in its first batch, its beginning is asked for again, and may have newer partitions.
        known = {number: begin for number, begin in start.items() if number in end}
        self._refuse_missing(start, start.keys() - end.keys())
        ranges = [OffsetRange(int(number), begin, end[number]) for number, begin in self._begins(known, end).items()]
        return [Range(each) for each in ranges if each.start < each.end]

    def _refuse_missing(self, start: Mapping[str, int], unread: Set[str]) -> None:
        """Before PySpark 4.2, nothing else tells that partitions no longer exist."""
        for number in sorted(unread - self._ends().keys() if unread else ()):
            raise OffsetOutOfRangeError.of(
                self._origin.topic, int(number), start[number], "the partition no longer exists"
            )

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        if partition.value is not None:  # Spark also calls this for a batch without partitions
            yield from record_batches(self._origin.kafka, self._origin.topic, partition.value)

    def _begins(self, start: Mapping[str, int], ends: Mapping[str, int]) -> dict[str, int]:
        """Start offsets of a batch; partitions added after ``start`` are read from their beginning.

        Raises:
            OffsetOutOfRangeError: a start offset is past the partition's end.
        """
        begins = dict(start)
        if not ends.keys() <= start.keys():
            first = {str(each.partition): each.start for each in self._ranges("earliest")}
            begins |= {number: first.get(number, 0) for number in ends.keys() - start.keys()}
        for number, begin in begins.items():
            if begin > ends.get(number, -1):
                found = f"the partition ends at {ends[number]}" if number in ends else "the partition no longer exists"
                raise OffsetOutOfRangeError.of(self._origin.topic, int(number), begin, found)
        return begins

    def _ends(self) -> dict[str, int]:
        return {str(each.partition): each.end for each in self._ranges("earliest")}

    def _ranges(self, starts: Offsets | None = None) -> list[OffsetRange]:
        with closing(TopicAdmin(self._origin.kafka, self._origin.topic)) as admin:
            return cut(admin, self._origin.topic, starts or self._origin.starts, "latest", empty=True)


def _up_to(most: int, begins: Mapping[str, int], ends: Mapping[str, int]) -> dict[str, int]:
    """End offsets of a batch of about ``most`` messages after ``begins``, in proportion to each partition's backlog."""
    left = {number: end - begins[number] for number, end in ends.items()}
    total = sum(left.values())
    if total <= most:
        return dict(ends)
    # At least one from each partition with a backlog: otherwise large partitions would starve small ones.
    return {number: begins[number] + min(max(most * rest // total, 1), rest) for number, rest in left.items()}
