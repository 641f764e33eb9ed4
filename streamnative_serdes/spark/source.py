"""KafkaAvroSource: ranges of offsets of a Kafka topic, consumed in Spark's tasks as objects or as a DataFrame of bytes.

The ranges are chosen on the driver and are all that is read: a task that is run again reads the same messages, and
whoever keeps the ends of one job as the starts of the next reads each message once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes.batches import OnError
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.serialization import SerializationContext

from .topic import OffsetRange, TopicAdmin, read_range
from .workers import Carried

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

Ends: TypeAlias = Literal["earliest", "latest"] | Mapping[int, int]

_SKIPPED: Final = object()
# The columns of Spark's own Kafka source, with headers where it has them on request.
KAFKA_COLUMNS: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


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
        ConfigError: a bad option.
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
        self._topic, self._kafka, self._on_error = topic, dict(kafka), on_error
        self._deserializer = KafkaAvroDeserializer(conf, schema, from_dict)
        self._deserializer.warm_up(topic)

    def ranges(self, starts: Ends = "earliest", ends: Ends = "latest", per_partition: int = 1) -> list[OffsetRange]:
        """The ranges between two places of the topic, as they are now; those that are empty are left out.

        Args:
            starts: offsets by partition; partitions that are not named begin with what they still have.
            ends: offsets by partition, not included; partitions that are not named end with what they have now.
            per_partition: into how many ranges of about the same length each partition is cut.

        Raises:
            ConfigError: the topic does not exist.
            KafkaException: no broker answers, or it refuses.
            TimeoutError: no broker answers.
        """
        with closing(TopicAdmin(self._kafka, self._topic)) as admin:
            partitions = admin.partitions()
            if not partitions:
                raise ConfigError("there is no such topic", topic=self._topic)
            bounds = [admin.bounds(partition) for partition in range(partitions)]
        found: list[OffsetRange] = []
        for partition, (low, high) in enumerate(bounds):
            start, end = (_place(which, partition, low, high, rest) for which, rest in ((starts, low), (ends, high)))
            steps = [start + (end - start) * step // per_partition for step in range(per_partition + 1)]
            found += [OffsetRange(partition, *step) for step in pairwise(steps) if step[0] < step[1]]
        return found

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[Received]:
        """The messages of ``ranges``, deserialized: ``sc.parallelize(ranges, len(ranges)).mapPartitions(source.read)``.

        Raises:
            SerdesError: a message cannot be read, and ``on_error`` says ``"raise"``.
            KafkaException: the broker reports an error, or no longer has a range's first offsets.
            TimeoutError: nothing came for a minute.
        """
        return self._task().read(ranges)

    def load(self, spark: SparkSession, ranges: Iterable[OffsetRange]) -> DataFrame:
        """The messages of ``ranges`` as they are, in the columns of Spark's own Kafka source.

        ``decode_df`` makes columns of their values.
        """
        chosen = list(ranges)
        rows = [(each.partition, each.start, each.end) for each in chosen]
        # One task each, whatever the session thinks of so few rows.
        slices = spark.sparkContext.parallelize(rows, max(len(rows), 1))
        cut = spark.createDataFrame(slices, "partition int, start bigint, end bigint")
        return cut.mapInArrow(self._task().load, KAFKA_COLUMNS)

    def close(self) -> None:
        """Close idle connections of the driver to the registry."""
        self._deserializer.close()

    def _task(self) -> SourceTask:
        return self._sent or SourceTask(self._topic, self._kafka, Carried(self._deserializer), Carried(self._on_error))

    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._task()}


class SourceTask(NamedTuple):
    """What goes to the workers: consumes ranges there."""

    topic: str
    kafka: Mapping[str, Any]
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
                for messages in read_range(self.kafka, self.topic, OffsetRange(**row)):
                    yield _as_batch(messages)


def _place_and_headers(message: Message) -> tuple[Any, ...]:
    kind, timestamp = message.timestamp()
    return (
        message.key(),
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp if kind else None,
        _headers(message),
    )


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    return cast(list[tuple[str, bytes | None]], message.headers() or [])


def _as_batch(messages: list[Message]) -> pa.RecordBatch:
    import pyarrow as pa

    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    stamps = [message.timestamp() for message in messages]  # (kind, milliseconds); kind 0: there is none
    columns = {
        "key": pa.array([message.key() for message in messages], pa.binary()),
        "value": pa.array([message.value() for message in messages], pa.binary()),
        "topic": pa.array([message.topic() for message in messages], pa.string()),
        "partition": pa.array([message.partition() for message in messages], pa.int32()),
        "offset": pa.array([message.offset() for message in messages], pa.int64()),
        "timestamp": pa.array([at * 1000 if kind else None for kind, at in stamps], pa.timestamp("us", "UTC")),
        # Kafka's own numbers: 0 says when it was made, 1 when it was appended; the client's are one more.
        "timestampType": pa.array([kind - 1 for kind, _ in stamps], pa.int32()),
        "headers": pa.array([[{"key": k, "value": v} for k, v in _headers(m)] for m in messages], headers),
    }
    return pa.RecordBatch.from_pydict(columns)


def _place(which: Ends, partition: int, low: int, high: int, rest: int) -> int:
    if isinstance(which, Mapping):
        return which.get(partition, rest)
    if which not in ("earliest", "latest"):
        raise ConfigError(f"expected 'earliest', 'latest' or offsets by partition, got {which!r:.40}")
    return low if which == "earliest" else high
