"""KafkaAvroSource: reads offset ranges of a Kafka topic in Spark tasks, as objects or as a DataFrame of messages.

The driver chooses the ranges, so a retried task reads the same messages. To read each message once, start each job at
the end offsets of the job before::

    ranges = source.ranges(starts)
    starts |= {each.partition: each.end for each in ranges}  # partitions without new messages have no range
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes._config import refuse_other_tenant
from streamnative_serdes._kafka import require_options
from streamnative_serdes._lifecycle import policy_of
from streamnative_serdes._reading.messages import OnError
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import SerializationContext

from .pythons import warn_of_workers
from .stream import KAFKA_COLUMNS, open_stream
from .topic import OffsetRange, Offsets, TopicAdmin, cut, headers_of, read_range, record_batches
from .workers import Carried

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_SKIPPED: Final = object()


class Received(NamedTuple):
    """A decoded message; ``timestamp`` is in milliseconds since 1970 UTC, or None."""

    value: Any
    key: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    headers: list[tuple[str, bytes | None]]


class KafkaAvroSource:
    """Reads a topic. Create it on the driver: it queries the registry there and ships the result to the workers.

    Args:
        topic: the Kafka topic.
        kafka: the consumer's configuration, with ``bootstrap.servers``. Offsets are never committed.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        schema: the reader's schema, as for KafkaAvroDeserializer.
        from_dict: as for KafkaAvroDeserializer.
        on_error: as for :meth:`KafkaAvroDeserializer.deserialize_many`.

    Raises:
        ConfigError: an invalid option, or a short topic name with a Kafka user whose tenant is not ``pulsar.tenant``.
        SchemaRegistryError: the registry refuses, or cannot be reached.
    """

    _sent: SourceTask | None = None  # set in a worker, where only the task exists

    def __init__(
        self,
        topic: str,
        kafka: Mapping[str, Any],
        conf: Mapping[str, Any],
        schema: object = None,
        *,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        on_error: OnError = "raise",
    ) -> None:
        require_options(kafka, topic)
        if "/" not in topic:  # only a short name depends on the user's tenant
            refuse_other_tenant(kafka, conf)
        self._topic, self._kafka, self._on_error = topic, dict(kafka), on_error
        self._deserializer = KafkaAvroDeserializer(conf, schema, from_dict)
        self._deserializer.warm_up(topic)

    def ranges(
        self, starts: Offsets = "earliest", ends: Offsets = "latest", per_partition: int = 1
    ) -> list[OffsetRange]:
        """The non-empty offset ranges between ``starts`` and ``ends``, as of now.

        Args:
            starts: start offsets by partition; other partitions start at their earliest available offset.
            ends: end offsets (exclusive) by partition; other partitions end at their current end offset.
            per_partition: number of ranges, of about equal length, into which each partition is split.

        Raises:
            ConfigError: the topic or a partition does not exist, an end is past the partition's end, or a number is
                invalid.
            OffsetOutOfRangeError: a start offset is not available in the partition.
            BrokerUnavailableError: no broker answers: after 5 s if none has ever answered and the client reports an
                error for each address, else after 20 s.
            KafkaException: a broker refuses the request.
        """
        with closing(TopicAdmin(self._kafka, self._topic)) as admin:
            return cut(admin, self._topic, starts, ends, per_partition)

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[Received]:
        """The messages of ``ranges``, deserialized: ``sc.parallelize(ranges, len(ranges)).mapPartitions(source.read)``.

        Raises:
            ConfigError: ``reader.schema.policy`` is ``latest.seen``.
            SerdesError: a message cannot be decoded, and ``on_error`` is ``"raise"``.
            OffsetOutOfRangeError: the broker no longer has the first offsets of a range.
            BrokerUnavailableError: no broker answered for a minute.
            KafkaException: the broker reports an error.
            TimeoutError: no messages arrived for a minute.
        """
        return self._task().read(ranges)

    def load(self, spark: SparkSession, ranges: Iterable[OffsetRange]) -> DataFrame:
        """The raw messages of ``ranges``, in the columns of Spark's own Kafka source; ``decode_df`` decodes them."""
        warn_of_workers(spark)
        chosen = tuple(ranges)
        # One task per range: by default, Spark would put so few rows into fewer tasks.
        numbers = spark.range(0, len(chosen), numPartitions=max(len(chosen), 1))
        return numbers.mapInArrow(LoadTask(self._task(), chosen), KAFKA_COLUMNS)

    def stream(
        self, spark: SparkSession, starts: Offsets = "earliest", max_offsets_per_trigger: int | None = None
    ) -> DataFrame:
        """The topic as a stream, in the same columns as :meth:`load`. Spark's checkpoint stores the offsets.

        Partitions added later are read from their earliest available offset. A query fails with OffsetOutOfRangeError
        if the checkpoint is past the topic's end, or if the topic no longer has the next messages: data may have been
        lost. (A topic that was recreated and has grown past the checkpoint cannot be detected.)

        Args:
            spark: the session.
            starts: start offsets of a query without a checkpoint; see :meth:`ranges`.
            max_offsets_per_trigger: maximum number of offsets per batch, shared among the partitions in proportion to
                their backlog, at least one each; requires PySpark 4.2. By default, a batch takes the whole backlog.

        Raises:
            ConfigError: the limit is not an integer from 1 on, or PySpark does not support limits.
        """
        warn_of_workers(spark)
        return open_stream(spark, self._kafka, self._topic, starts, max_offsets_per_trigger)

    def close(self) -> None:
        """Close the driver's idle connections to the registry."""
        self._deserializer.close()

    def _task(self) -> SourceTask:
        return self._sent or SourceTask(self._topic, self._kafka, Carried(self._deserializer), Carried(self._on_error))

    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._task()}


@dataclass(frozen=True, slots=True)
class SourceTask:
    """The task that consumes ranges, which is pickled for the workers."""

    topic: str
    kafka: Mapping[str, Any] = field(repr=False)  # may contain credentials
    deserializer: Carried[KafkaAvroDeserializer]
    on_error: Carried[OnError]

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[Received]:
        """As :meth:`KafkaAvroSource.read`."""
        deserializer, on_error = self.deserializer.get(), self.on_error.get()
        if policy_of(deserializer).seen is not None:
            raise ConfigError(
                "tasks do not know what other tasks have read, so there is no latest.seen",
                topic=self.topic,
                hint="use decode_df, or reader.schema.policy=latest or fixed",
            )
        # A placeholder for skipped messages, so that values and messages stay aligned.
        instead: OnError = (lambda _: _SKIPPED) if on_error == "skip" else on_error
        for each in ranges:
            for messages in read_range(self.kafka, self.topic, each):
                values = deserializer.deserialize_many(None, messages, instead)
                for message, value in zip(messages, values, strict=True):
                    if value is not _SKIPPED:
                        yield Received(value, *_metadata(message))


@dataclass(frozen=True, slots=True)
class LoadTask:
    """The task of :meth:`KafkaAvroSource.load`, which gets the numbers of its ranges as rows."""

    task: SourceTask
    ranges: tuple[OffsetRange, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from record_batches(self.task.kafka, self.task.topic, self.ranges[number])


def _metadata(message: Message) -> tuple[Any, ...]:
    """Key, topic, partition, offset, timestamp and headers, in the order of :class:`Received`."""
    kind, timestamp = message.timestamp()
    return (
        message.key(),
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp if kind else None,
        headers_of(message),
    )
