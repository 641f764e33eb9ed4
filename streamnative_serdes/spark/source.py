"""KafkaAvroSource: ranges of offsets of a Kafka topic, consumed in Spark's tasks as objects or as a DataFrame of bytes.

The ranges are chosen on the driver and are all that is read: a task that is run again reads the same messages, and
whoever begins where the job before has ended reads each message once::

    ranges = source.ranges(starts)
    starts |= {each.partition: each.end for each in ranges}  # partitions without news have no range
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes._reading.many import OnError
from streamnative_serdes.config import refuse_other_tenant
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.serialization import SerializationContext

from .kafka import require_options
from .pythons import warn_of_workers
from .stream import KAFKA_COLUMNS, open_stream
from .topic import OffsetRange, Offsets, TopicAdmin, cut, headers_of, read_range, record_batches
from .workers import Carried

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_SKIPPED: Final = object()


class Received(NamedTuple):
    """A message as read; ``timestamp`` counts milliseconds since 1970 UTC, or is None."""

    value: Any
    key: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    headers: list[tuple[str, bytes | None]]


class KafkaAvroSource:
    """Reads ranges of a topic. It is made on the driver, asks the registry there, and takes the answer to the workers.

    Args:
        topic: the Kafka topic.
        kafka: the consumer's configuration, with ``bootstrap.servers``. Offsets are never committed.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        schema: the reader's schema, as of KafkaAvroDeserializer.
        from_dict: as of KafkaAvroDeserializer.
        on_error: as of :meth:`KafkaAvroDeserializer.deserialize_many`.

    Raises:
        ConfigError: a bad option, or a short topic name and a Kafka user of another tenant than ``pulsar.tenant``.
        SchemaRegistryError: the registry cannot be reached, or refuses to answer.
    """

    _sent: SourceTask | None = None  # all that there is of a source in a worker

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
        if "/" not in topic:  # a full name is what it is, whoever signs in
            refuse_other_tenant(kafka, conf)
        self._topic, self._kafka, self._on_error = topic, dict(kafka), on_error
        self._deserializer = KafkaAvroDeserializer(conf, schema, from_dict)
        self._deserializer.warm_up(topic)

    def ranges(
        self, starts: Offsets = "earliest", ends: Offsets = "latest", per_partition: int = 1
    ) -> list[OffsetRange]:
        """The ranges between two places of the topic, as they are now; those that are empty are left out.

        Args:
            starts: offsets by partition; partitions that are not named begin with what they still have.
            ends: offsets by partition, not included; partitions that are not named end with what they have now.
            per_partition: into how many ranges of about the same length each partition is cut.

        Raises:
            ConfigError: the topic does not exist, or has no such partitions or ends; or a number is none.
            OffsetOutOfRangeError: a start is not among the offsets that the partition has.
            BrokerUnavailableError: no broker answers: after 5 s if none ever did, and the client says of each address
                why not, else after 20 s.
            KafkaException: a broker refuses.
        """
        with closing(TopicAdmin(self._kafka, self._topic)) as admin:
            return cut(admin, self._topic, starts, ends, per_partition)

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[Received]:
        """The messages of ``ranges``, deserialized: ``sc.parallelize(ranges, len(ranges)).mapPartitions(source.read)``.

        Raises:
            SerdesError: a message cannot be read, and ``on_error`` says ``"raise"``.
            OffsetOutOfRangeError: the broker no longer has a range's first offsets.
            BrokerUnavailableError: no broker answered for a minute.
            KafkaException: the broker reports an error.
            TimeoutError: nothing came for a minute.
        """
        return self._task().read(ranges)

    def load(self, spark: SparkSession, ranges: Iterable[OffsetRange]) -> DataFrame:
        """The messages of ``ranges`` as they are, in the columns of Spark's own Kafka source.

        ``decode_df`` makes columns of their values.
        """
        warn_of_workers(spark)
        chosen = list(ranges)
        rows = [(each.partition, each.start, each.end) for each in chosen]
        # One task each, whatever the session thinks of so few rows.
        slices = spark.sparkContext.parallelize(rows, max(len(rows), 1))
        cut = spark.createDataFrame(slices, "partition int, start bigint, end bigint")
        return cut.mapInArrow(self._task().load, KAFKA_COLUMNS)

    def stream(
        self, spark: SparkSession, starts: Offsets = "earliest", max_offsets_per_trigger: int | None = None
    ) -> DataFrame:
        """The topic as a stream, in the same columns. Spark's checkpoint keeps how far it has been read.

        Partitions that the topic gets later are read from what they have. A query fails with OffsetOutOfRangeError
        where the checkpoint says more than the topic has, or the topic has dropped what is to be read: then data may be
        lost. (A topic that was made anew and has grown beyond the checkpoint is like any other.)

        Args:
            spark: the session.
            starts: where a query without a checkpoint begins; see :meth:`ranges`.
            max_offsets_per_trigger: how many offsets a batch takes at most, from each partition in proportion to what
                it has left, but one at least; takes PySpark 4.2. Without it a batch takes all that there is.

        Raises:
            ConfigError: a limit that is no number from 1 on, or PySpark is too old for one.
        """
        warn_of_workers(spark)
        return open_stream(spark, self._kafka, self._topic, starts, max_offsets_per_trigger)

    def close(self) -> None:
        """Close idle connections of the driver to the registry."""
        self._deserializer.close()

    def _task(self) -> SourceTask:
        return self._sent or SourceTask(self._topic, self._kafka, Carried(self._deserializer), Carried(self._on_error))

    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._task()}


@dataclass(frozen=True, slots=True)
class SourceTask:
    """What goes to the workers: consumes ranges there."""

    topic: str
    kafka: Mapping[str, Any] = field(repr=False)  # may sign in
    deserializer: Carried[KafkaAvroDeserializer]
    on_error: Carried[OnError]

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[Received]:
        """As :meth:`KafkaAvroSource.read`."""
        deserializer, on_error = self.deserializer.get(), self.on_error.get()
        # One value for each message, so that each finds its own.
        instead: OnError = (lambda _: _SKIPPED) if on_error == "skip" else on_error
        for each in ranges:
            for messages in read_range(self.kafka, self.topic, each):
                values = deserializer.deserialize_many(None, messages, instead)
                for message, value in zip(messages, values, strict=True):
                    if value is not _SKIPPED:
                        yield Received(value, *_place_and_headers(message))

    def load(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """As :meth:`KafkaAvroSource.load`; gets the ranges as record batches."""
        for batch in batches:
            for row in batch.to_pylist():
                yield from record_batches(self.kafka, self.topic, OffsetRange(**row))


def _place_and_headers(message: Message) -> tuple[Any, ...]:
    kind, timestamp = message.timestamp()
    return (
        message.key(),
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp if kind else None,
        headers_of(message),
    )
