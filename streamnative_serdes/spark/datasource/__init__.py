"""The Spark data source ``streamnative-kafka``: reads and writes Kafka topics, in batches and in streams."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pyspark_streamnative_kafka import DefaultSource

__all__ = ["DefaultSource", "register"]


def register(spark: SparkSession) -> None:
    """Register the data source ``streamnative-kafka`` in a session.

    Spark finds it by itself where the package is installed. This is for sessions that were started before.

    Args:
        spark: the session; of Spark Connect too.
    """
    spark.dataSource.register(DefaultSource)
