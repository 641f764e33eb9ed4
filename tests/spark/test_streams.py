"""Streams through KafkaAvroSink: a restart from the checkpoint loses no row, and headers identify duplicates."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes import ConfigError
from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, Received, to_avro_schema
from streamnative_serdes.testing import LocalRegistry

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
    # On the driver: one each by sink and source, and one for each run of a batch.
    assert registry.calls == {"POST schema": 1, "GET schemas": 1, "GET schema": 3}


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


def test_each_batch_write_has_a_unique_id(spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, "long", value=lambda row: row.id, dedup_headers=True)
    sink.write(spark.range(3))
    sink.write(spark.range(3))
    queries = Counter(dict(message.headers)["spark.query.id"] for message in received(kafka, conf))
    assert sorted(queries.values()) == [3, 3]
