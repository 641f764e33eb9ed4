"""Messages to a topic, and a topic as a DataFrame or a stream of messages, by the data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from waiting import HANG_SECONDS


def send(kafka: Mapping[str, Any], topic: str, *values: bytes | None, key: bytes | None = None) -> None:
    """Write these messages to the first partition."""
    producer = Producer(dict(kafka))
    for value in values:
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(HANG_SECONDS) == 0


def _options(kafka: Mapping[str, Any], topic: str) -> dict[str, str]:
    client = {f"kafka.{name}": str(value) for name, value in kafka.items()}
    return {**client, "subscribe": topic, "startingOffsets": "earliest", "includeHeaders": "true"}


def load(spark: SparkSession, kafka: Mapping[str, Any], topic: str) -> DataFrame:
    """All messages that there are now."""
    return spark.read.format("streamnative-kafka").options(**_options(kafka, topic)).load()


def stream(spark: SparkSession, kafka: Mapping[str, Any], topic: str) -> DataFrame:
    """All messages, from the first on."""
    return spark.readStream.format("streamnative-kafka").options(**_options(kafka, topic)).load()
