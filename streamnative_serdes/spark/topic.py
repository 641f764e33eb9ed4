"""Kafka topic access for Spark jobs: finds the offsets of a topic's partitions, and consumes offset ranges."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from streamnative_serdes._kafka import ClientErrors, ask, client
from streamnative_serdes.errors import ConfigError, SerdesError

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Consumer, Message

PATIENCE: Final = 60.0  # seconds without any progress before giving up
_CHUNK: Final = 1_000  # messages per call of the client's consume()

# The client requires a group; partitions are assigned manually and offsets are never committed.
_CONSUMER_DEFAULTS: Final[Mapping[str, Any]] = {"group.id": "streamnative-serdes"}
_CONSUMER: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # An offset that the broker no longer has is an error; the consumer must not skip messages.
    "auto.offset.reset": "error",
}


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
        self._consumer = client(Consumer, {**_CONSUMER_DEFAULTS, **kafka, **_CONSUMER}, topic, self._errors)

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
        return _bounds(self._consumer, self._errors, self._topic, partition)

    def partitions(self) -> int:
        """The topic's number of partitions; 0 if it does not exist.

        Raises:
            BrokerUnavailableError: no broker answers.
        """
        # List all topics: some brokers create a topic when its metadata is requested by name.
        listed = ask(self._consumer, self._errors, lambda seconds: self._consumer.list_topics(timeout=seconds))
        found = listed.topics.get(self._topic)
        return len(found.partitions) if found is not None and found.error is None else 0


def _bounds(consumer: Consumer, errors: ClientErrors, topic: str, partition: int) -> tuple[int, int]:
    from confluent_kafka import TopicPartition

    asked = TopicPartition(topic, partition)
    low, high = ask(consumer, errors, lambda seconds: consumer.get_watermark_offsets(asked, timeout=seconds))
    return int(low), int(high)


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
        BrokerUnavailableError: no broker answered for a minute.
        KafkaException: the broker reports an error.
        TimeoutError: no messages arrived for a minute.
    """
    from confluent_kafka import Consumer, TopicPartition

    if span.start >= span.end:
        return
    errors = ClientErrors(kafka, topic)
    consumer = client(Consumer, {**_CONSUMER_DEFAULTS, **kafka, **_CONSUMER}, topic, errors)
    try:
        consumer.assign([TopicPartition(topic, span.partition, span.start)])
        position = span.start
        while position < span.end:
            messages = _consume(consumer, errors, min(_CHUNK, span.end - position), topic, span.partition)
            position = _position(messages, topic, position)
            if position < span.end and messages[-1].error() is not None:  # end of partition before end of range
                _require_rest(consumer, errors, topic, span)
            yield [message for message in messages if not message.error() and _offset(message) < span.end]
    finally:
        consumer.close()


def _require_rest(consumer: Consumer, errors: ClientErrors, topic: str, span: OffsetRange) -> None:
    """Raises OffsetOutOfRangeError if the partition still ends before ``span`` does, so the topic was recreated."""
    _, high = _bounds(consumer, errors, topic, span.partition)
    if high < span.end:
        raise OffsetOutOfRangeError.of(
            topic,
            span.partition,
            span.start,
            f"expected messages up to offset {span.end}, but the partition ends at {high}",
        )


def _consume(consumer: Consumer, errors: ClientErrors, most: int, topic: str, partition: int) -> list[Message]:
    errors.clear()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        # The client waits until it has `most` messages or the timeout ends, so the timeout is short: fewer may be left.
        messages = consumer.consume(most, timeout=0.5)
        if messages:
            errors.answer()
            return messages
    if str(errors):
        raise errors.error(PATIENCE)
    raise TimeoutError(
        f"topic {topic}, partition {partition}: no messages for {PATIENCE:.0f} s; does the topic still exist?"
    )


def _position(messages: Sequence[Message], topic: str, position: int) -> int:
    """The offset after ``messages``; at the partition's end, it includes transaction markers.

    Raises:
        OffsetOutOfRangeError: the broker does not have the offset ``position``.
        KafkaException: the broker reports another error.
    """
    from confluent_kafka import KafkaError, KafkaException

    for message in messages:
        error = message.error()
        if error is None:
            position = _offset(message) + 1
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (the client has no public name for it)
            position = _offset(message)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 (no public name either)
            partition = message.partition()
            assert partition is not None
            raise OffsetOutOfRangeError.of(topic, partition, position, error.str()) from KafkaException(error)
        else:
            raise KafkaException(error)
    return position


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None  # everything that a broker sends has one, even the end of a partition
    return offset


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
