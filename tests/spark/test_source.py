"""KafkaAvroSource: chosen ranges of a topic, each message once, as objects."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    Message,
    Producer,
)
from pyspark.sql import SparkSession
from spark_topics import send

from streamnative_serdes import ConfigError, KafkaAvroSerializer
from streamnative_serdes.spark import KafkaAvroSource, OffsetOutOfRangeError, OffsetRange
from streamnative_serdes.spark.partitions.source import _metadata
from streamnative_serdes.spark.session import SparkError, spark_errors
from streamnative_serdes.testing import LocalRegistry

TOPIC = "flights"
PARTITIONS = 4
STAMP = 1_700_000_000_123


def fill(kafka: dict[str, str], conf: dict[str, str], count: int) -> None:
    """Send numbers from 0 on to the partitions in turn."""
    serializer, producer = KafkaAvroSerializer(conf, "long"), Producer(kafka)
    for number in range(count):
        value = serializer.serialize(TOPIC, number)
        producer.produce(TOPIC, value, str(number), number % PARTITIONS, timestamp=STAMP, headers={"n": str(number)})
    assert producer.flush(30) == 0


@pytest.mark.parametrize("per_partition", [1, 3])
def test_tasks_read_each_message_once(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], registry: LocalRegistry, per_partition: int
) -> None:
    fill(kafka, conf, 403)
    source = KafkaAvroSource(TOPIC, kafka, conf)
    ranges = source.ranges(per_partition=per_partition)
    assert len(ranges) == PARTITIONS * per_partition
    read = spark.sparkContext.parallelize(ranges, len(ranges)).mapPartitions(source.read).collect()
    assert sorted(message.value for message in read) == list(range(403))
    for message in read:
        number = str(message.value).encode()
        assert (message.key, message.topic, message.timestamp) == (number, TOPIC, STAMP)
        assert message.headers == [("n", number)]
        assert message.offset * PARTITIONS + message.partition == message.value
    assert registry.calls == {"POST schema": 1, "GET schemas": 1}


def test_a_job_starts_where_the_previous_one_ended(kafka: dict[str, str], conf: dict[str, str]) -> None:
    fill(kafka, conf, 10)
    source = KafkaAvroSource(TOPIC, kafka, conf)
    ends = {each.partition: each.end for each in source.ranges()}
    assert source.ranges(starts=ends) == []
    assert list(source.read([])) == []
    fill(kafka, conf, 6)
    assert source.ranges(starts=ends) == [
        *(OffsetRange(0, 3, 5), OffsetRange(1, 3, 5), OffsetRange(2, 2, 3), OffsetRange(3, 2, 3))
    ]
    assert source.ranges(starts={0: 1, 1: 3}, ends={0: 2, 2: 1, 3: 1}) == [
        *(OffsetRange(0, 1, 2), OffsetRange(1, 3, 5), OffsetRange(2, 0, 1), OffsetRange(3, 0, 1))
    ]
    assert source.ranges("latest") == []


class Compacted(Consumer):
    """Simulates a compacted topic without messages at odd offsets, because the mock broker does not compact."""

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        found: list[Message] = []
        while len(found) < num_messages and (news := super().consume(1, timeout)):
            found += [message for message in news if message.error() or (message.offset() or 0) % 2 == 0]
        return found


def test_no_message_after_the_end_of_a_range_is_read_if_offsets_are_missing(
    kafka: dict[str, str], conf: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be read a second time with the range that begins there."""
    fill(kafka, conf, 10 * PARTITIONS)
    monkeypatch.setattr("confluent_kafka.Consumer", Compacted)
    source = KafkaAvroSource(TOPIC, kafka, conf)
    read = [
        [message.offset for message in source.read([span])] for span in (OffsetRange(0, 0, 5), OffsetRange(0, 5, 9))
    ]
    assert read == [[0, 2, 4], [6, 8]]


def test_on_error_decides_about_undecodable_messages(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    fill(kafka, conf, 8)
    send(kafka, TOPIC, b"\x03\x04" + bytes(8), None)  # a header without a datum

    def read(on_error: Any) -> list[Any]:
        source = KafkaAvroSource(TOPIC, kafka, conf, on_error=on_error)
        values = spark.sparkContext.parallelize(source.ranges(), 1).mapPartitions(source.read)
        return values.map(lambda message: message.value).collect()

    assert sorted(read("skip"), key=str) == [*range(8), None]
    assert sorted(read(lambda error: error.raw.offset), key=str) == [0, 1, 2, 2, *range(3, 8), None]
    expected = "DecodeError: topic flights, partition 0, offset 2, schema version 0"
    with pytest.raises(SparkError, match=expected), spark_errors():
        read("raise")


class Stamped:
    """A message with a timestamp in the client's form: (type, milliseconds)."""

    def __init__(self, kind: int, milliseconds: int) -> None:
        self.timestamp = lambda: (kind, milliseconds)
        self.key = self.value = self.headers = lambda: None
        self.topic, self.partition, self.offset = (lambda: TOPIC), (lambda: 0), (lambda: 0)


def test_a_message_without_a_timestamp_has_none() -> None:
    kinds = [TIMESTAMP_NOT_AVAILABLE, TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME]
    messages: list[Any] = [Stamped(kind, -1 if kind == TIMESTAMP_NOT_AVAILABLE else STAMP + kind) for kind in kinds]
    assert [_metadata(message)[4] for message in messages] == [None, STAMP + 1, STAMP + 2]


def test_the_error_for_a_missing_topic_names_it(kafka: dict[str, str], conf: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="topic nowhere: the topic does not exist"):
        KafkaAvroSource("nowhere", kafka, conf).ranges()


def test_invalid_ranges_are_refused(kafka: dict[str, str], conf: dict[str, str]) -> None:
    fill(kafka, conf, 10)
    source = KafkaAvroSource(TOPIC, kafka, conf)
    offsets = "expected 'earliest', 'latest' or a dict of offsets by partition, integers from 0 on, got"
    arguments: tuple[tuple[str, dict[str, Any]], ...] = (
        (f"starts: {offsets} 'begin'", {"starts": "begin"}),
        (f"ends: {offsets} None", {"ends": None}),
        (f"starts: {offsets} {{'0': 3}}", {"starts": {"0": 3}}),
        (f"ends: {offsets} {{1: '3'}}", {"ends": {1: "3"}}),
        (f"starts: {offsets} {{1: -1}}", {"starts": {1: -1}}),
        ("starts: partition 9 does not exist", {"starts": {9: 1}}),
        ("ends: partition 4 does not exist", {"ends": {4: 1}}),
        (r"partition 0 would be read from offset 3 \(starts\) to 0 \(ends\)", {"starts": "latest", "ends": "earliest"}),
        (r"partition 0 would be read from offset 2 \(starts\) to 1 \(ends\)", {"starts": {0: 2}, "ends": {0: 1}}),
        ("per_partition: expected an integer from 1 on, got 0", {"per_partition": 0}),
        ("per_partition: expected an integer from 1 on, got '2'", {"per_partition": "2"}),
    )
    for expected, given in arguments:
        with pytest.raises(ConfigError, match=f"topic {TOPIC}: {expected}"):
            source.ranges(**given)


@pytest.mark.parametrize("numbers", [(0, -1, 5), (-1, 0, 5), (0, 0, 5.0), (0, "0", 5), (0, 5, 3)], ids=str)
def test_an_invalid_offset_range_is_refused(numbers: tuple[Any, Any, Any]) -> None:
    with pytest.raises(
        ConfigError, match=r"expected integers from 0 on, and start <= end, got OffsetRange\(partition="
    ):
        OffsetRange(*numbers)


def test_offsets_that_the_topic_no_longer_has_are_an_error(kafka: dict[str, str], conf: dict[str, str]) -> None:
    """The mock broker keeps only 5 MB per partition."""
    producer = Producer(kafka)
    for _ in range(80):
        producer.produce(TOPIC, bytes(100_000), partition=2)
        producer.flush(30)
    source = KafkaAvroSource(TOPIC, kafka, conf)
    (span,) = source.ranges()
    assert 0 < span.start < span.end == 80
    with pytest.raises(OffsetOutOfRangeError, match=f"starts: partition 2 has offsets {span.start} to 80, got 0"):
        source.ranges({2: 0})
    assert source.ranges({0: 0}) == [span]


def test_offsets_that_the_topic_does_not_have_are_an_error(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    """Such as after the topic was recreated."""
    fill(kafka, conf, 10)
    source = KafkaAvroSource(TOPIC, kafka, conf)
    for which in ("starts", "ends"):
        expected = f"topic {TOPIC}: {which}: partition 1 has offsets 0 to 3, got 4; .*lost"
        with pytest.raises(OffsetOutOfRangeError, match=expected) as caught:
            source.ranges(**{which: {1: 4}})
        assert "failOnDataLoss" not in str(caught.value)  # an option of the data source
    assert source.ranges({1: 3}, {0: 0, 2: 0, 3: 0}) == []
    with pytest.raises(
        OffsetOutOfRangeError,
        match=r"partition 1 from offset 3: expected messages up to offset 9, but the partition ends at 3",
    ):
        list(source.read([OffsetRange(1, 2, 9)]))
    with pytest.raises(OffsetOutOfRangeError, match=r"cannot read partition 1 from offset 7: .*out of range"):
        list(source.read([OffsetRange(1, 7, 9)]))
    with (
        pytest.raises(SparkError, match="OffsetOutOfRangeError: topic flights: cannot read partition 1"),
        spark_errors(),
    ):
        spark.sparkContext.parallelize([OffsetRange(1, 7, 9)], 1).mapPartitions(source.read).collect()
