"""A stream from topic to topic on real servers: eight mixed schema versions, and Kafka dies in the middle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import spark_topics
from migrations import create
from orders import VERSIONS, latest, produce, ranges_now, schema_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from servers import Kafka, Pulsar
from waiting import until

from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, Received, decode_df

MESSAGES, PARTITIONS = 20_000, 4
SOURCE, TARGET = "spark-from", "spark-to"
RESTARTS = 10  # the broker's death causes fewer; and a busy machine starts a worker too late for Spark


class Job:
    """The stream, which is restarted from its checkpoint after a failure."""

    def __init__(self, spark: SparkSession, kafka: dict[str, Any], conf: dict[str, str], checkpoint: Path) -> None:
        self._spark, self._kafka, self._conf, self._checkpoint = spark, kafka, conf, checkpoint
        self._sink = KafkaAvroSink(TARGET, kafka, conf, schema_of(VERSIONS - 1), key="id_text", dedup_headers=True)
        self.restarts = 0

    def start(self) -> StreamingQuery:
        writer = spark_topics.stream(self._spark, self._kafka, SOURCE).writeStream.foreachBatch(self._each)
        return writer.option("checkpointLocation", str(self._checkpoint)).start()

    def _each(self, df: DataFrame, batch: int) -> None:
        decoded = decode_df(df, self._conf, topic=SOURCE)
        self._sink.foreach_batch(decoded.selectExpr("string(id) as id_text", "*"), batch)

    def finish(self, query: StreamingQuery) -> None:
        """Run until all existing messages were read and written."""
        while True:
            try:
                query.processAllAvailable()
                break
            except StreamingQueryException:
                self.restarts += 1
                assert self.restarts <= RESTARTS, "it fails again and again"
                query = self.start()
        query.stop()


def written(kafka: dict[str, Any]) -> int:
    return sum(span.end for span in ranges_now(kafka, TARGET))


def place(message: Received) -> tuple[bytes | None, ...]:
    headers = dict(message.headers)
    return tuple(headers[f"spark.{name}"] for name in ("query.id", "batch.id", "write.id", "partition.id", "row"))


def test_a_stream_of_eight_versions_loses_no_row_although_kafka_dies_midway(
    spark: SparkSession, kafka_to_kill: Kafka, pulsar: Pulsar, tmp_path: Path
) -> None:
    kafka = {
        "bootstrap.servers": kafka_to_kill.bootstrap_servers,
        "reconnect.backoff.max.ms": 500,
        "log_level": 0,  # refused connections are expected
    }
    conf = {"schema.registry.url": pulsar.url}
    create(kafka_to_kill.bootstrap_servers, SOURCE, TARGET, partitions=PARTITIONS)
    half = MESSAGES // 2
    produce(kafka, conf, SOURCE, range(half), PARTITIONS)
    job = Job(spark, kafka, conf, tmp_path / "checkpoint")
    query = job.start()
    until(lambda: written(kafka) > 0 or not query.isActive, "the stream writes")
    assert query.exception() is None
    kafka_to_kill.kill()
    kafka_to_kill.start()
    produce(kafka, conf, SOURCE, range(half, MESSAGES), PARTITIONS)
    job.finish(query)

    source = KafkaAvroSource(TARGET, kafka, conf)
    messages = list(source.read(source.ranges()))
    found = Counter(message.value["id"] for message in messages)
    assert found.keys() == set(range(MESSAGES))
    # Duplicates can be identified by their headers.
    by_place = {place(message): message for message in messages}
    assert len(by_place) == MESSAGES
    for message in by_place.values():
        number = message.value["id"]
        assert (message.value, message.key) == (latest(number), str(number).encode())
