"""Columns of Spark's type void: array() and create_map() without items, and NULL, fit what has no items or a null."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from schemas import array, mapping, record

from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes.errors import EncodeError
from streamnative_serdes.spark import encode_df

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = record("R", ("ids", array("long")), ("names", ["null", mapping("string")]), ("note", ["null", "string"]))


def test_arrays_and_maps_without_items_are_written(spark: SparkSession, conf: dict[str, str]) -> None:
    from pyspark.sql import functions as F

    df = spark.range(2).select(F.array().alias("ids"), F.create_map().alias("names"), F.lit(None).alias("note"))
    messages = encode_df(df, conf, topic="t", schema=SCHEMA).collect()
    found = [KafkaAvroDeserializer(conf).deserialize("t", bytes(row.value)) for row in messages]
    assert found == [{"ids": [], "names": {}, "note": None}] * 2


def test_a_column_of_nulls_for_a_field_without_null_is_refused_on_the_driver(
    spark: SparkSession, conf: dict[str, str]
) -> None:
    from pyspark.sql import functions as F

    df = spark.range(2).select(F.lit(None).alias("ids"), F.lit(None).alias("names"), F.lit(None).alias("note"))
    with pytest.raises(EncodeError, match="expected a column for array, got a column of type null"):
        encode_df(df, conf, topic="t", schema=SCHEMA)
