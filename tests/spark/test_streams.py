"""Streams through KafkaAvroSink: a restart from the checkpoint loses no row, and headers tell what it sent again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'streamnative-serdes[spark]'")

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, Received, decode_df, to_avro_schema
from streamnative_serdes.testing import LocalRegistry

TOPIC = "flights"
COLUMNS = "id bigint, note string"


@pytest.fixture
def conf(registry: LocalRegistry) -> dict[str, str]:
    return {"schema.registry.url": registry.url}


def put(folder: Path, name: str, ids: range) -> None:
    """A file with these rows, there as a whole or not at all."""
    draft = folder.parent / name
    draft.write_text("".join(json.dumps({"id": number, "note": f"n{number}"}) + "\n" for number in ids))
    draft.rename(folder / name)


def run(spark: SparkSession, folder: Path, each: Callable[[DataFrame, int], None]) -> str:
    """Run a stream over the files in ``folder``, from its checkpoint, until it has had all; its id."""
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
    return tuple(headers[f"spark.{name}"] for name in ("query.id", "batch.id", "partition.id", "row"))


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
    assert registry.calls == {"POST schema": 1, "GET schemas": 1}  # one each of sink and source, on the driver


def test_a_topic_is_a_stream_whose_checkpoint_keeps_how_far_it_is_read(
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


def test_each_write_that_is_no_streams_has_an_id_of_its_own(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, "long", value=lambda row: row.id, dedup_headers=True)
    sink.write(spark.range(3))
    sink.write(spark.range(3))
    queries = Counter(dict(message.headers)["spark.query.id"] for message in received(kafka, conf))
    assert sorted(queries.values()) == [3, 3]
