"""The Spark data source ``streamnative-kafka``: reads and writes Kafka topics, in batches and in streams."""

from __future__ import annotations

from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pyspark_streamnative_kafka import DefaultSource

__all__ = ["DefaultSource", "register"]

_THERE: Final = "DATA_SOURCE_ALREADY_EXISTS"


def register(spark: SparkSession) -> None:
    """Register the data source ``streamnative-kafka`` in a session.

    Spark finds an installed data source by itself. The function is for sessions that were started before that.

    Args:
        spark: the session, also one of Spark Connect.
    """
    try:
        spark.dataSource.register(DefaultSource)
    except AnalysisException as error:
        if _THERE not in str(error):  # PySpark 4.0 does not replace a source that it has found; later ones do
            raise
