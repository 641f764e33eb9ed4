"""The columns of Spark's own Kafka source, as types of Spark."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as T

_HEADERS: Final = T.ArrayType(
    T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())])
)
KAFKA_COLUMNS: Final = T.StructType(
    [
        T.StructField("key", T.BinaryType()),
        T.StructField("value", T.BinaryType()),
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
        T.StructField("timestamp", T.TimestampType()),
        T.StructField("timestampType", T.IntegerType()),
    ]
)
WITH_HEADERS: Final = T.StructType([*KAFKA_COLUMNS.fields, T.StructField("headers", _HEADERS)])
