"""Streams through KafkaAvroSink: a restart from the checkpoint loses no row, and headers identify duplicates."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes import ConfigError, KafkaAvroSerializer
from streamnative_serdes.spark import (
    KafkaAvroSink,
    KafkaAvroSource,
    OffsetOutOfRangeError,
    Received,
    decode_df,
    to_avro_schema,
)
from streamnative_serdes.spark.stream import HAS_LIMITS, Origin, StreamReader
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "flights"
COLUMNS = "id bigint, note string"


def put(folder: Path, name: str, ids: range) -> None:
    """Create a file with these rows atomically."""
    draft = folder.parent / name
    draft.write_text("".join(json.dumps({"id": number, "note": f"n{number}"}) + "\n" for number in ids))
    draft.rename(folder / name)


def run(spark: SparkSession, folder: Path, each: Callable[[DataFrame, int], None]) -> str:
    """Run a stream over the files in ``folder`` from its checkpoint until it has read all; return its id."""
    rows = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder))
    query = (
        rows.writeStream.foreachBatch(each)
        .option("checkpointLocation", str(folder.parent / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return str(query.id)


def received(kafka: dict[str, str], conf: dict[str, str]) -> Iterator[Received]:
    source = KafkaAvroSource(TOPIC, kafka, conf)
    return source.read(source.ranges())


def place(message: Received) -> tuple[str, ...]:
    headers = {name: (value or b"").decode() for name, value in message.headers}
    return tuple(headers[f"spark.{name}"] for name in ("query.id", "batch.id", "write.id", "partition.id", "row"))


def test_a_stream_that_restarts_after_its_last_flush_sends_that_batch_again(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path, registry: LocalRegistry
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    schema = to_avro_schema(spark.createDataFrame([], COLUMNS).schema)
    sink = KafkaAvroSink(TOPIC, kafka, conf, schema, key="note", dedup_headers=True)
    put(folder, "a", range(100))
    first = run(spark, folder, sink.foreach_batch)
    put(folder, "b", range(100, 150))

    def fails_after(df: DataFrame, batch: int) -> None:
        sink.foreach_batch(df, batch)
        raise RuntimeError("after the last flush of the batch")

    with pytest.raises(StreamingQueryException, match="after the last flush"):
        run(spark, folder, fails_after)
    assert run(spark, folder, sink.foreach_batch) == first

    messages = list(received(kafka, conf))
    assert Counter(message.value["id"] for message in messages) == {i: 1 if i < 100 else 2 for i in range(150)}
    by_place = {place(message): message.value for message in messages}
    assert len(by_place) == 150
    assert {(query, batch) for query, batch, *_ in by_place} == {(first, "0"), (first, "1")}
    assert {value["id"] for value in by_place.values()} == set(range(150))
    assert registry.calls == {"POST schema": 1, "GET schemas": 1}  # one each by sink and source, on the driver


@pytest.mark.parametrize("group", [None, "mine"])
def test_several_writes_of_one_batch_are_not_duplicates(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path, group: str | None
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "a", range(40))
    put(folder, "b", range(40, 80))
    sinks = [
        KafkaAvroSink(TOPIC, kafka, conf, "long", value=value, dedup_headers=True)
        for value in (lambda row: row.id, "id")
    ]
    refused = KafkaAvroSink(TOPIC, kafka, conf, "long", value="id", key="idd", dedup_headers=True)
    failing = ["once"]

    def each(df: DataFrame, batch: int) -> None:
        if group is not None:
            df.sparkSession.sparkContext.setJobGroup(group, "a user's own")
        parts = [df.where(f"id % 4 = {part}") for part in range(4)]
        sinks[0].foreach_batch(parts[0], batch)
        if failing:
            with pytest.raises(ConfigError):
                refused.write(df)  # nothing was sent, so this write does not count
        sinks[0].write(parts[1])
        sinks[1].write(parts[2])
        parts[3].foreachPartition(sinks[0].foreach_partition)
        if batch == 1 and failing:
            failing.clear()
            raise RuntimeError("once")

    with pytest.raises(StreamingQueryException, match="once"):
        run(spark, folder, each)
    query = run(spark, folder, each)

    by_place: dict[tuple[str, ...], set[int]] = {}
    for message in received(kafka, conf):
        by_place.setdefault(place(message), set()).add(message.value)
    assert all(len(values) == 1 for values in by_place.values()), "different messages have the same headers"
    assert {headers[0] for headers in by_place} == {query}
    # A job group set by the user hides that the batch is repeated, so the duplicates have other numbers.
    assert {headers[2] for headers in by_place} == set("0123" if group is None else "01234567")
    assert len(by_place) == (80 if group is None else 120)


def test_the_checkpoint_of_a_stream_stores_how_far_the_topic_was_read(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path
) -> None:
    """From topic to topic, through columns."""
    sink = KafkaAvroSink(TOPIC, kafka, conf, "long", value=lambda row: row.id)
    sink.write(spark.range(100))
    source = KafkaAvroSource(TOPIC, kafka, conf)
    copies = KafkaAvroSink("copies", kafka, conf, "long", value=lambda row: row["value"])

    def copy() -> list[int]:
        stream = decode_df(source.stream(spark), conf, topic=TOPIC)
        query = stream.writeStream.foreachBatch(copies.foreach_batch)
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start().awaitTermination()
        read = KafkaAvroSource("copies", kafka, conf)
        return sorted(message.value for message in read.read(read.ranges()))

    assert copy() == list(range(100))
    sink.write(spark.range(100, 130))
    assert copy() == list(range(130))
    assert copy() == list(range(130))


def numbered(kafka: dict[str, str], conf: dict[str, str], counts: dict[int, int]) -> dict[str, str]:
    """Send messages to partitions of the topic: ``counts`` has their number by partition."""
    producer, data = Producer(kafka), KafkaAvroSerializer(conf, "long").serialize(TOPIC, 1)
    for partition, count in counts.items():
        for _ in range(count):
            producer.produce(TOPIC, data, partition=partition)
    assert producer.flush(30) == 0
    return kafka


def test_available_now_ends_where_the_topic_ended_at_the_start(kafka: dict[str, str], conf: dict[str, str]) -> None:
    reader = StreamReader(Origin(numbered(kafka, conf, {0: 5, 1: 3}), TOPIC, "earliest"))
    start = reader.initialOffset()
    seen = {"0": 5, "1": 3, "2": 0, "3": 0}
    reader.prepareForTriggerAvailableNow()
    numbered(kafka, conf, {0: 2, 2: 4})
    assert reader.latestOffset(start, None) == seen
    assert reader.latestOffset(start, Limit(6)) == {"0": 3, "1": 2, "2": 0, "3": 0}
    assert reader.latestOffset(seen, Limit(6)) == seen
    assert reader.reportLatestOffset() == {"0": 7, "1": 3, "2": 4, "3": 0}
    fresh = StreamReader(Origin(kafka, TOPIC, "earliest"))  # for another trigger
    assert fresh.latestOffset(start, None) == {"0": 7, "1": 3, "2": 4, "3": 0}


@dataclass
class Limit:
    """Like Spark's ReadMaxRows, which PySpark has from 4.2 on."""

    max_rows: int


def test_available_now_ends_even_if_messages_keep_arriving(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path
) -> None:
    numbered(kafka, conf, {0: 30, 1: 10})
    source, batches = KafkaAvroSource(TOPIC, kafka, conf), []

    def note(df: DataFrame, _: int) -> None:
        batches.append(Counter(row.partition for row in df.select("partition").collect()))
        if len(batches) < 8:  # otherwise a query that continues would never end
            numbered(kafka, conf, {0: 20, 3: 5})

    def run(**options: Any) -> Counter[int]:
        batches.clear()
        query = source.stream(spark, **options).writeStream.foreachBatch(note)
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start().awaitTermination()
        return sum(batches, Counter())

    assert run(**({"max_offsets_per_trigger": 20} if HAS_LIMITS else {})) == {0: 30, 1: 10}
    came = len(batches)
    assert run() == {0: 20 * came, 3: 5 * came}


def test_a_stream_fails_if_its_topic_was_recreated(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path
) -> None:
    """Another broker simulates it: a checkpoint has partitions and offsets, but no broker addresses."""

    def run(kafka: dict[str, str], checkpoint: Path = tmp_path / "checkpoint") -> Counter[int]:
        read: Counter[int] = Counter()

        def note(df: DataFrame, _: int) -> None:
            read.update(row.partition for row in df.select("partition").collect())

        query = KafkaAvroSource(TOPIC, kafka, conf).stream(spark).writeStream.foreachBatch(note)
        query = query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query.start().awaitTermination()
        return read

    assert run(numbered(kafka, conf, {0: 5, 1: 7, 3: 1})) == {0: 5, 1: 7, 3: 1}
    with MockBroker({TOPIC: 6}) as grown:  # has all offsets that were read and more, and new partitions
        client = {**kafka, "bootstrap.servers": grown.bootstrap_servers}
        assert run(numbered(client, conf, {0: 6, 1: 7, 3: 1, 5: 4})) == {0: 1, 5: 4}
    for partitions, counts, expected in (
        (
            6,
            {0: 6, 1: 6, 3: 1, 5: 4},
            "cannot read partition 1 from offset 7: the partition ends at 6; messages may be",
        ),
        (4, {0: 9, 1: 9, 3: 9}, "cannot read partition 4 from offset 0: the partition no longer exists"),
    ):
        with MockBroker({TOPIC: partitions}) as recreated:
            client = numbered({**kafka, "bootstrap.servers": recreated.bootstrap_servers}, conf, counts)
            checkpoint = copytree(tmp_path / "checkpoint", tmp_path / str(partitions))
            for _ in range(2):
                with pytest.raises(StreamingQueryException, match=f"OffsetOutOfRangeError: topic {TOPIC}: {expected}"):
                    run(client, checkpoint)


def test_a_partition_that_is_missing_is_an_error_before_spark_stores_the_end_of_the_batch(
    kafka: dict[str, str], conf: dict[str, str]
) -> None:
    """Otherwise the checkpoint would lack it from then on, also if the partition came back."""
    numbered(kafka, conf, {0: 5})
    reader = StreamReader(Origin(kafka, TOPIC, "earliest"))
    ends = reader.latestOffset()
    with pytest.raises(OffsetOutOfRangeError, match="partition 99 from offset 0: the partition no longer exists"):
        reader.latestOffset({**ends, "99": 0})


@pytest.mark.skipif(not HAS_LIMITS, reason="PySpark has read limits from 4.2 on")
def test_a_batch_respects_max_offsets_per_trigger(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path
) -> None:
    by_partition = {0: 100, 1: 40, 2: 1}
    numbered(kafka, conf, by_partition)
    source, batches = KafkaAvroSource(TOPIC, kafka, conf), []

    def note(df: DataFrame, _: int) -> None:
        batches.append(Counter(row.partition for row in df.select("partition").collect()))

    def run(**options: Any) -> None:
        query = source.stream(spark, **options).writeStream.foreachBatch(note)
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query.start().awaitTermination()

    run(max_offsets_per_trigger=50)
    assert batches[0] == {0: 35, 1: 14, 2: 1}
    assert all(batch.total() <= 50 for batch in batches)
    assert sum(batches, Counter()) == by_partition
    numbered(kafka, conf, {1: 1})
    batches.clear()
    run(max_offsets_per_trigger=50)
    assert batches == [{1: 1}]
    for limit in (0, True, "50"):
        with pytest.raises(ConfigError, match="max_offsets_per_trigger: expected an integer from 1 on"):
            source.stream(spark, max_offsets_per_trigger=limit)  # type: ignore[arg-type]


@pytest.mark.skipif(HAS_LIMITS, reason="PySpark has read limits from 4.2 on")
def test_a_limit_is_refused_if_pyspark_does_not_support_it(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    KafkaAvroSink(TOPIC, kafka, conf, "long", value=lambda row: row.id).write(spark.range(1))
    with pytest.raises(ConfigError, match=r"max_offsets_per_trigger requires PySpark 4\.2"):
        KafkaAvroSource(TOPIC, kafka, conf).stream(spark, max_offsets_per_trigger=50)


def test_each_batch_write_has_a_unique_id(spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, "long", value=lambda row: row.id, dedup_headers=True)
    sink.write(spark.range(3))
    sink.write(spark.range(3))
    queries = Counter(dict(message.headers)["spark.query.id"] for message in received(kafka, conf))
    assert sorted(queries.values()) == [3, 3]
