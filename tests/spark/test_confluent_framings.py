"""Messages in Confluent's framings, by prefix and by header, in DataFrames beside those of SNIP 42."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from external_schemas import GUID, ID_1, ONE
from external_topic import external_topic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamnative_serdes import Codec, KafkaAvroSerializer
from streamnative_serdes.errors import ConfigError, SchemaError, SchemaNotFoundError
from streamnative_serdes.spark import decode_df, from_avro

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
HEADER = "__value_schema_id"
MESSAGES = "value binary, headers array<struct<key: string, value: binary>>"


@pytest.fixture
def both(conf: dict[str, str], second: ConfluentStandIn) -> dict[str, str]:
    second.register("orders-value", ORDER)
    return {
        **conf,
        "confluent.schema.registry.url": second.url,
        "framings": "snip42,confluent,confluent-header,headerless",
    }


@pytest.fixture
def messages(spark: SparkSession, conf: dict[str, str], second: ConfluentStandIn, both: dict[str, str]) -> DataFrame:
    """Numbers 0 to 4 in all framings, and a tombstone; both registries know the schema."""
    ours = KafkaAvroSerializer(conf, ORDER)
    codec = Codec(json.dumps(ORDER))
    rows: list[tuple[bytes | None, Any]] = [
        (ours.serialize("orders", {"id": 0}), None),
        (b"\0\0\0\0\1" + codec.encode({"id": 1}), [("other", b"x")]),
        (codec.encode({"id": 2}), [(HEADER, b"\0\0\0\0\1")]),
        (codec.encode({"id": 3}), [("a", None), (HEADER, b"\1" + second.guid(1)), (HEADER, b"\0\0\0\0\7")]),
        (codec.encode({"id": 4}), []),
        (None, None),
    ]
    return spark.createDataFrame(rows, MESSAGES).coalesce(1)


def test_a_dataframe_holds_messages_of_all_framings(messages: DataFrame, both: dict[str, str]) -> None:
    decoded = decode_df(messages, both, topic="orders")
    assert [row.id for row in decoded.collect()] == [0, 1, 2, 3, 4, None]


def test_a_function_takes_the_column_of_headers(messages: DataFrame, both: dict[str, str]) -> None:
    for headers in ("headers", F.col("headers")):
        decoded = messages.select(from_avro("value", both, topic="orders", headers=headers).alias("order"))
        orders = [row.order for row in decoded.collect()]
        assert [order and order.id for order in orders] == [0, 1, 2, 3, 4, None]


def test_headers_may_have_another_name(messages: DataFrame, both: dict[str, str]) -> None:
    renamed = messages.withColumnRenamed("headers", "h")
    decoded = decode_df(renamed, both, topic="orders", headers="h", keep=["h"])
    assert [row.id for row in decoded.collect()] == [0, 1, 2, 3, 4, None]


def test_a_missing_column_of_headers_is_an_error_that_names_sparks_option(
    messages: DataFrame, both: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="includeHeaders"):
        decode_df(messages.drop("headers"), both, topic="orders")
    with pytest.raises(ConfigError, match="includeHeaders"):
        from_avro("value", both, topic="orders")
    with pytest.raises(ConfigError, match="column h: expected headers of type array"):
        decode_df(messages.withColumn("h", F.lit(1)), both, topic="orders", headers="h")


def test_without_that_framing_no_headers_are_needed(messages: DataFrame, both: dict[str, str]) -> None:
    prefix = {**both, "framings": "snip42,confluent,headerless"}
    decoded = decode_df(messages.drop("headers"), prefix, topic="orders")
    assert [row.id for row in decoded.collect()] == [0, 1, 2, 3, 4, None]  # here, bare Avro is of the same schema


def test_unreadable_messages_become_dead_letters(
    spark: SparkSession, both: dict[str, str], conf: dict[str, str]
) -> None:
    KafkaAvroSerializer(conf, ORDER).warm_up("orders")
    rows = [(b"\0\0\0\0\7\2", None), (b"\0\0\0\0\1\2", None)]
    df = spark.createDataFrame(rows, MESSAGES).coalesce(1)
    found = decode_df(df, both, topic="orders", options={"errorColumn": "error"}).collect()
    assert [row.id for row in found] == [None, 1]
    assert "schema id 7" in found[0].error.error
    assert found[0].error.value == rows[0][0]


def test_bytes_at_the_root_have_no_length_behind_confluents_framing(
    spark: SparkSession, both: dict[str, str], second: ConfluentStandIn
) -> None:
    """As Confluent's serializers write them; behind our header they have one."""
    number = second.register("raw-value", '"bytes"')
    ours = KafkaAvroSerializer({"schema.registry.url": both["schema.registry.url"]}, "bytes")
    rows: list[tuple[bytes | None, Any]] = [
        (ours.serialize("raw", b"hi"), None),
        (number.to_bytes(5) + b"\x04hi", None),
        (b"\x04hi", [(HEADER, number.to_bytes(5))]),
    ]
    decoded = decode_df(spark.createDataFrame(rows, MESSAGES).coalesce(1), both, topic="raw")
    assert [bytes(row.value) for row in decoded.collect()] == [b"hi", b"\x04hi", b"\x04hi"]


def test_a_topic_without_a_schema_in_pulsar_is_read_by_ids_whatever_comes_first(
    spark: SparkSession, both: dict[str, str]
) -> None:
    bare_first = {**both, "framings": "snip42,headerless,confluent,confluent-header"}
    rows = [(b"\0\0\0\0\1\2", None), (b"\2", [(HEADER, b"\0\0\0\0\1")]), (b'{"id": 1}', None), (b"\0\0\0\0\7\2", None)]
    df = spark.createDataFrame(rows, MESSAGES).coalesce(1)
    found = decode_df(df, bare_first, topic="orders", schema=ORDER, options={"errorColumn": "error"}).collect()
    assert [row.id for row in found] == [1, 1, None, None]
    assert "looks like JSON text" in found[2].error.error
    assert "not have schema id 7; as the latter: cannot read the latest schema" in found[3].error.error


def test_a_topic_that_is_not_migrated_says_so(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.createDataFrame([(b"\0\0\0\0\1\2", None)], MESSAGES).coalesce(1)
    with pytest.raises(SchemaNotFoundError, match=r"need the reader's schema; to migrate a topic: docs/migration\.md"):
        decode_df(df, conf, topic="orders")
    (row,) = decode_df(df, conf, topic="orders", schema=ORDER, options={"errorColumn": "error"}).collect()
    assert "begins like those of Confluent's serializer (0x00, schema id 1)" in row.error.error


def test_a_topic_of_type_external_is_read_as_the_schema_that_is_given(spark: SparkSession) -> None:
    with external_topic() as (external, _):
        conf = {key: value for key, value in external.items() if key != "retries.total.ms"}
        rows: list[tuple[bytes | None, Any]] = [(b"\x02", [(HEADER, ID_1)]), (b"\x06", [(HEADER, GUID)]), (b"\x02", [])]
        df = spark.createDataFrame(rows, MESSAGES).coalesce(1)
        found = decode_df(df, conf, topic="t", schema=ONE, options={"errorColumn": "error"}).collect()
        assert [row.a for row in found] == [1, 3, None]
        assert "EXTERNAL" in found[2].error.error
        column = from_avro("value", conf, topic="t", schema=ONE, headers="headers").alias("order")
        assert [row.order.a for row in df.limit(2).select(column).collect()] == [1, 3]
        with pytest.raises(SchemaError, match="EXTERNAL"):
            decode_df(df, conf, topic="t")
