"""A Kafka topic as a stream of Spark, without a jar: Spark's checkpoint keeps the offsets, tasks consume the ranges.

The messages come as they are; ``decode_df`` makes columns of them. Kafka's own offsets are neither read nor committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from .topic import Ends, OffsetRange, TopicAdmin, cut, record_batches

if TYPE_CHECKING:
    import pyarrow as pa

# The columns of Spark's own Kafka source, with the headers that it has on request.
KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def open_stream(spark: SparkSession, kafka: Mapping[str, Any], topic: str, starts: Ends) -> DataFrame:
    """See :meth:`KafkaAvroSource.stream`."""
    origin = Origin(dict(kafka), topic, starts)

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


@dataclass(frozen=True, slots=True)
class Origin:
    """What is read, and where a query that has no checkpoint yet begins."""

    kafka: Mapping[str, Any] = field(repr=False)  # may sign in
    topic: str
    starts: Ends


class Range(InputPartition):
    """One task's share of a batch."""

    def __init__(self, range_: OffsetRange) -> None:
        self.value = range_


class StreamReader(DataSourceStreamReader):
    """Offsets are {partition: offset of the next message}, with text for keys as JSON has it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return {str(each.partition): each.start for each in self._ranges()}

    def latestOffset(self, *_: Any) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return {str(each.partition): each.end for each in self._ranges("earliest")}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Range]:
        # A partition that the topic got since then is read from its beginning.
        ranges = [OffsetRange(int(number), start.get(number, 0), to) for number, to in end.items()]
        return [Range(each) for each in ranges if each.start < each.end]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        if partition.value is not None:  # Spark calls for a batch of no partitions too
            yield from record_batches(self._origin.kafka, self._origin.topic, partition.value)

    def _ranges(self, starts: Ends | None = None) -> list[OffsetRange]:
        with closing(TopicAdmin(self._origin.kafka, self._origin.topic)) as admin:
            return cut(admin, self._origin.topic, starts or self._origin.starts, "latest", empty=True)
