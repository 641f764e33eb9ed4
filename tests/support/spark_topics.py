"""A topic as a DataFrame or a stream of messages, by the data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def _options(kafka: Mapping[str, Any], topic: str) -> dict[str, str]:
    client = {f"kafka.{name}": str(value) for name, value in kafka.items()}
    return {**client, "subscribe": topic, "startingOffsets": "earliest", "includeHeaders": "true"}


def load(spark: SparkSession, kafka: Mapping[str, Any], topic: str) -> DataFrame:
    """All messages that there are now."""
    return spark.read.format("streamnative-kafka").options(**_options(kafka, topic)).load()


def stream(spark: SparkSession, kafka: Mapping[str, Any], topic: str) -> DataFrame:
    """All messages, from the first on."""
    return spark.readStream.format("streamnative-kafka").options(**_options(kafka, topic)).load()
