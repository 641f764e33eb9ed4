"""Spark's four ways on a real KoP: batches and streams, read and written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

from confluent_kafka import Producer
from kop_server import Kop
from migrations import create, new_name
from pyspark.sql import SparkSession
from waiting import HANG_SECONDS

from streamnative_serdes import ConfigError
from streamnative_serdes.spark.datasource.writing import writers
from streamnative_serdes.spark.datasource.writing.transactions import TransactionError

FORMAT, ROWS, PARTITIONS = "streamnative-kafka", 300, 2
COLUMNS = "struct<id:bigint,name:string>"

pytestmark = pytest.mark.usefixtures("nothing_is_known")


def options(kop: Kop, topic: str, **more: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": kop.kafka, "schema.registry.url": kop.url, "topic": topic, **more}


def rows(spark: SparkSession) -> Any:
    return spark.range(ROWS).selectExpr("id", "concat('row ', id) AS name")


def reading(given: Mapping[str, str]) -> dict[str, str]:
    told = {name: value for name, value in given.items() if name not in ("topic", "encode", "delivery")}
    return {**told, "subscribe": given["topic"], "decode": "true", "kafka.isolation.level": "read_committed"}


def ids(spark: SparkSession, given: Mapping[str, str]) -> list[int]:
    read = spark.read.format(FORMAT).options(**reading(given)).load()
    return sorted(row.id for row in read.select("id").collect())


def streamed(spark: SparkSession, given: Mapping[str, str], to: Mapping[str, str], folder: Path) -> None:
    """Copy one topic to another by a stream that ends."""
    read = spark.readStream.format(FORMAT).options(**reading(given), startingOffsets="earliest").load()
    write = read.select("id", "name").writeStream.format(FORMAT).options(**to)
    query = write.option("checkpointLocation", str(folder)).trigger(availableNow=True).start()
    assert query.awaitTermination(int(HANG_SECONDS))
    assert query.exception() is None


@pytest.mark.parametrize("delivery", ["at-least-once", "transactional"])
def test_batches_and_streams_are_written_and_read_to_their_ends(
    spark: SparkSession, kop: Kop, tmp_path: Path, delivery: str
) -> None:
    """With transactions, each partition ends with a marker, and no end is reported."""
    first, second = (options(kop, new_name("spark"), encode="columns", delivery=delivery) for _ in range(2))
    create(kop.kafka, first["topic"], second["topic"], partitions=PARTITIONS)
    rows(spark).write.format(FORMAT).options(**first, schema=schema()).mode("append").save()
    assert ids(spark, first) == list(range(ROWS))
    streamed(spark, first, {**second, "schema": schema()}, tmp_path)
    assert ids(spark, second) == list(range(ROWS))


def test_a_range_of_aborted_messages_alone_ends(spark: SparkSession, kop: Kop) -> None:
    topic = new_name("aborted")
    create(kop.kafka, topic, partitions=1)
    producer = Producer({"bootstrap.servers": kop.kafka, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(HANG_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"never")
    producer.flush(HANG_SECONDS)
    producer.abort_transaction(HANG_SECONDS)
    told = {"kafka.bootstrap.servers": kop.kafka, "subscribe": topic, "kafka.isolation.level": "read_committed"}
    assert spark.read.format(FORMAT).options(**told).load().count() == 0


def test_a_kop_as_delivered_is_written_without_idempotence_unless_it_is_asked_for_by_name(
    spark: SparkSession, kop_as_delivered: Kop, tmp_path: Path
) -> None:
    first, second = (options(kop_as_delivered, new_name("spark"), encode="columns") for _ in range(2))
    create(kop_as_delivered.kafka, first["topic"], second["topic"], partitions=PARTITIONS)
    began = time.monotonic()
    rows(spark).write.format(FORMAT).options(**first, schema=schema()).mode("append").save()
    assert time.monotonic() - began < 60.0
    assert ids(spark, first) == list(range(ROWS))
    streamed(spark, first, {**second, "schema": schema()}, tmp_path)
    assert ids(spark, second) == list(range(ROWS))
    began = time.monotonic()
    for more, kind in (
        ({"kafka.enable.idempotence": "true"}, ConfigError),
        ({"delivery": "transactional"}, TransactionError),
    ):
        with pytest.raises(kind, match="the brokers give no producer ids"):
            writers.writer({**first, "schema": schema(), **more}, rows(spark).schema, overwrite=False)
    assert time.monotonic() - began < 30.0


def schema() -> str:
    fields = '{"name": "id", "type": "long"}, {"name": "name", "type": "string"}'
    return f'{{"type": "record", "name": "Row", "fields": [{fields}]}}'
