"""A stream from topic to topic on real servers: eight mixed schema versions, and Kafka dies in the middle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import spark_topics
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from orders import ranges_now
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from servers import Kafka, Pulsar
from waiting import HANG_SECONDS, until

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, Received, decode_df

MESSAGES, VERSIONS, PARTITIONS = 20_000, 8, 4
SOURCE, TARGET = "spark-from", "spark-to"
RESTARTS = 10  # the broker's death causes fewer; and a busy machine starts a worker too late for Spark


def schema(version: int) -> dict[str, Any]:
    """Return the schema of an order with ``version`` optional fields."""
    more = [{"name": f"more{n}", "type": ["null", "long"], "default": None} for n in range(version)]
    return {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *more]}


def record(number: int) -> dict[str, Any]:
    """Return a record of version ``number % VERSIONS`` whose fields contain the number."""
    return {"id": number} | {f"more{n}": number for n in range(number % VERSIONS)}


class Job:
    """The stream, which is restarted from its checkpoint after a failure."""

    def __init__(self, spark: SparkSession, kafka: dict[str, Any], conf: dict[str, str], checkpoint: Path) -> None:
        self._spark, self._kafka, self._conf, self._checkpoint = spark, kafka, conf, checkpoint
        self._sink = KafkaAvroSink(TARGET, kafka, conf, schema(VERSIONS - 1), key="id_text", dedup_headers=True)
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


def produce(kafka: dict[str, Any], conf: dict[str, str], numbers: range) -> None:
    serializers = [KafkaAvroSerializer(conf, schema(version)) for version in range(VERSIONS)]
    producer = Producer({**kafka, "enable.idempotence": True, "linger.ms": 50})
    for number in numbers:
        value = serializers[number % VERSIONS].serialize(SOURCE, record(number))
        producer.produce(SOURCE, value, partition=number // VERSIONS % PARTITIONS)  # each partition has all versions
    assert producer.flush(3 * HANG_SECONDS) == 0  # Kafka may be starting


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
    admin = AdminClient(kafka)
    created = admin.create_topics([NewTopic(name, PARTITIONS) for name in (SOURCE, TARGET)])
    for future in created.values():
        future.result(HANG_SECONDS)
    half = MESSAGES // 2
    produce(kafka, conf, range(half))
    job = Job(spark, kafka, conf, tmp_path / "checkpoint")
    query = job.start()
    until(lambda: written(kafka) > 0 or not query.isActive, "the stream writes")
    assert query.exception() is None
    kafka_to_kill.kill()
    kafka_to_kill.start()
    produce(kafka, conf, range(half, MESSAGES))
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
        expected = dict.fromkeys((f"more{n}" for n in range(VERSIONS - 1)), None) | record(number)
        assert (message.value, message.key) == (expected, str(number).encode())
