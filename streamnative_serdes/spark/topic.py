"""Kafka topic access for Spark jobs: finds the offsets of a topic's partitions, and consumes offset ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from streamnative_serdes._kafka import (
    ASSIGNED,
    ClientErrors,
    OffsetsGoneError,
    RangeReader,
    ask,
    bounds_of,
    client,
)
from streamnative_serdes.errors import ConfigError, SerdesError

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

PATIENCE: Final = 60.0  # seconds without any progress before giving up
_CHUNK: Final = 1_000  # messages per call of the client's consume()

# The client requires a group; partitions are assigned manually and offsets are never committed.
_CONSUMER_DEFAULTS: Final[Mapping[str, Any]] = {"group.id": "streamnative-serdes"}


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets from ``start`` (inclusive) to ``end`` (exclusive) of one partition.

    Raises:
        ConfigError: a number is not an integer from 0 on, or the range ends before it starts.
    """

    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if not (_is_whole(self.partition, 0) and _is_whole(self.start, 0) and _is_whole(self.end, 0)):
            raise ConfigError(f"expected integers from 0 on, got {self!r:.200}")
        if self.start > self.end:
            raise ConfigError(f"expected start <= end, got {self!r:.200}")


Offsets: TypeAlias = Literal["earliest", "latest"] | Mapping[int, int]


class OffsetOutOfRangeError(SerdesError):
    """The partition does not have the requested offsets, so data may be lost; see Spark's ``failOnDataLoss``.

    The topic was recreated, has dropped its oldest messages, or no longer has the partition.
    """

    @classmethod
    def of(cls, topic: str, partition: int, offset: int, found: str) -> OffsetOutOfRangeError:
        return cls(
            f"cannot read partition {partition} from offset {offset}: {found}; messages may be lost",
            topic=topic,
            hint="restart with other offsets, or a stream with a new checkpoint",
        )


class TopicAdmin:
    """Finds a topic's partitions and their offsets; must be closed.

    Args:
        kafka: the client's configuration.
        topic: the topic.

    Raises:
        ConfigError: the client refuses its configuration.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        from confluent_kafka import Consumer

        self._topic, self._errors = topic, ClientErrors(kafka, topic)
        self._consumer = client(Consumer, {**_CONSUMER_DEFAULTS, **kafka, **ASSIGNED}, topic, self._errors)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def ends(self, partitions: int) -> list[int]:
        """The end offset of each partition, that is the offset of its next message.

        Raises:
            BrokerUnavailableError: no broker answers.
            KafkaException: the broker refuses.
        """
        return [self.bounds(partition)[1] for partition in range(partitions)]

    def bounds(self, partition: int) -> tuple[int, int]:
        """The partition's earliest available offset and its end offset.

        Raises:
            BrokerUnavailableError: no broker answers.
            KafkaException: the broker refuses.
        """
        return bounds_of(self._consumer, self._errors, self._topic, partition)

    def partitions(self) -> int:
        """The topic's number of partitions; 0 if it does not exist.

        Raises:
            BrokerUnavailableError: no broker answers.
        """
        # List all topics: some brokers create a topic when its metadata is requested by name.
        listed = ask(self._consumer, self._errors, lambda seconds: self._consumer.list_topics(timeout=seconds))
        found = listed.topics.get(self._topic)
        return len(found.partitions) if found is not None and found.error is None else 0


def cut(
    admin: TopicAdmin, topic: str, starts: Offsets, ends: Offsets, per_partition: int = 1, *, empty: bool = False
) -> list[OffsetRange]:
    """As :meth:`KafkaAvroSource.ranges`; with ``empty``, includes empty ranges."""
    check_count("per_partition", per_partition, topic)
    partitions = admin.partitions()
    if not partitions:
        raise ConfigError("the topic does not exist", topic=topic)
    for which in (starts, ends):
        _check_ends(which, partitions, topic)
    found: list[OffsetRange] = []
    for partition in range(partitions):
        low, high = admin.bounds(partition)
        start, end = _offset_of(starts, partition, low, high, low), _offset_of(ends, partition, low, high, high)
        if isinstance(starts, Mapping) and not low <= start <= high:
            raise OffsetOutOfRangeError.of(topic, partition, start, f"the partition has offsets {low} to {high}")
        if not start <= end <= high:
            raise ConfigError(
                f"cannot read partition {partition} from offset {start} to {end}",
                topic=topic,
                hint=f"the partition ends at offset {high}",
            )
        steps = [start + (end - start) * step // per_partition for step in range(per_partition + 1)]
        found += [OffsetRange(partition, *step) for step in pairwise(steps) if empty or step[0] < step[1]]
    return found


def check_count(name: str, given: Any, topic: str) -> None:
    """Raises ConfigError if ``given`` is not an integer from 1 on."""
    if not _is_whole(given, 1):
        raise ConfigError(f"{name}: expected an integer from 1 on, got {given!r:.40}", topic=topic)


def _is_whole(given: Any, least: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= least


def _check_ends(which: Offsets, partitions: int, topic: str) -> None:
    if isinstance(which, Mapping):
        for partition, offset in which.items():
            if not (_is_whole(partition, 0) and _is_whole(offset, 0)):
                raise ConfigError(
                    f"expected integers from 0 on as partition and offset, got {partition!r:.40}: {offset!r:.40}",
                    topic=topic,
                )
            if partition >= partitions:
                raise ConfigError(
                    f"partition {partition} does not exist: the topic has {partitions} partitions", topic=topic
                )
    elif which not in ("earliest", "latest"):
        raise ConfigError(
            f"expected 'earliest', 'latest' or a dict of offsets by partition, got {which!r:.40}", topic=topic
        )


def _offset_of(which: Offsets, partition: int, low: int, high: int, rest: int) -> int:
    if isinstance(which, Mapping):
        return which.get(partition, rest)
    return low if which == "earliest" else high


def read_range(kafka: Mapping[str, Any], topic: str, span: OffsetRange) -> Iterator[list[Message]]:
    """Yield the messages of ``span`` in chunks.

    It ends by offset, not by the number of messages: transaction markers occupy offsets too.

    Raises:
        OffsetOutOfRangeError: the broker does not have all of the range.
        BrokerUnavailableError: no messages arrived for a minute.
        KafkaException: the broker reports an error.
    """
    from confluent_kafka import Consumer

    if span.start >= span.end:
        return
    errors = ClientErrors(kafka, topic)
    consumer = client(Consumer, {**_CONSUMER_DEFAULTS, **kafka, **ASSIGNED}, topic, errors)
    try:
        reader = RangeReader(consumer, errors, topic, PATIENCE)
        reader.start({span.partition: [(span.start, span.end)]})
        while reader.left:
            # The client waits until it has as many messages, so the time is short: fewer may be left.
            yield reader.take(_CHUNK, 0.5)
    except OffsetsGoneError as gone:
        raise OffsetOutOfRangeError.of(topic, gone.partition, gone.place, gone.found) from gone
    finally:
        consumer.close()


def record_batches(kafka: Mapping[str, Any], topic: str, span: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The messages of ``span`` in the columns of Spark's own Kafka source; raises as :func:`read_range` does."""
    for messages in read_range(kafka, topic, span):
        yield _as_batch(messages)


def _as_batch(messages: list[Message]) -> pa.RecordBatch:
    import pyarrow as pa

    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    stamps = [message.timestamp() for message in messages]  # (kind, milliseconds); kind 0: no timestamp
    columns = {
        "key": pa.array([message.key() for message in messages], pa.binary()),
        "value": pa.array([message.value() for message in messages], pa.binary()),
        "topic": pa.array([message.topic() for message in messages], pa.string()),
        "partition": pa.array([message.partition() for message in messages], pa.int32()),
        "offset": pa.array([message.offset() for message in messages], pa.int64()),
        "timestamp": pa.array([at * 1000 if kind else None for kind, at in stamps], pa.timestamp("us", "UTC")),
        # Kafka's numbers: 0 for CreateTime, 1 for LogAppendTime; the client's are higher by one.
        "timestampType": pa.array([kind - 1 for kind, _ in stamps], pa.int32()),
        "headers": pa.array([[{"key": k, "value": v} for k, v in headers_of(m)] for m in messages], headers),
    }
    return pa.RecordBatch.from_pydict(columns)


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    return cast(list[tuple[str, bytes | None]], message.headers() or [])
