"""Unmatched columns: a renamed column is not silently written as its field's default (sink, encode_df, to_avro)."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from orders import SCHEMA, TOPIC, in_order, messages_of, read
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from schemas import array, record

from streamnative_serdes import ConfigError, EncodeError, KafkaAvroDeserializer
from streamnative_serdes.spark import KafkaAvroSink, encode_df, to_avro
from streamnative_serdes.spark.session import SparkError, spark_errors

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it
FEW = 20
BOTH = r"record Order has no field for column 'nota', and no column for its field 'note'.* .hint: is column 'nota' the"
INNER: dict[str, Any] = record("Outer", ("of", ["null", array(SCHEMA)], None))
NESTED = r"field of\[\]: " + BOTH


@pytest.fixture
def renamed(orders: DataFrame) -> DataFrame:
    return orders.limit(FEW).coalesce(1).withColumnRenamed("note", "nota")


@pytest.fixture
def nested(renamed: DataFrame) -> DataFrame:
    return renamed.select(F.array(F.struct("*")).alias("of"))


def key_of(row: Row) -> str:
    return "k"


def test_a_renamed_column_is_refused_on_the_driver(
    renamed: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match=f"^topic {TOPIC}: {BOTH}"):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA).write(renamed)
    with pytest.raises(ConfigError, match=BOTH):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA).foreach_batch(renamed, 0)
    with pytest.raises(ConfigError, match=BOTH):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key=key_of).write(renamed)
    with pytest.raises(ConfigError, match=BOTH):
        encode_df(renamed, conf, topic=TOPIC, schema=SCHEMA)
    assert messages_of(kafka) == []


def test_nested_structs_are_checked_on_the_driver(
    nested: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    with pytest.raises(EncodeError, match=NESTED):
        KafkaAvroSink(TOPIC, kafka, conf, INNER).write(nested)
    with pytest.raises(EncodeError, match=f"^topic {TOPIC}, {NESTED}"):
        KafkaAvroSink(TOPIC, kafka, conf, INNER, key=key_of).write(nested)
    with pytest.raises(EncodeError, match=NESTED):
        encode_df(nested, conf, topic=TOPIC, schema=INNER)
    assert messages_of(kafka) == []


def test_a_value_column_is_checked_on_the_driver(
    renamed: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    whole = renamed.select(F.struct("*").alias("whole"), F.lit("k").alias("k"))
    for value in ("whole", F.col("whole")):
        with pytest.raises(EncodeError, match=BOTH):
            KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="k", value=value).write(whole)
    with pytest.raises(EncodeError, match=BOTH):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key=key_of, value="whole").write(whole)
    assert messages_of(kafka) == []


def test_columns_the_driver_cannot_check_are_refused_in_the_task(
    renamed: DataFrame, nested: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)
    with pytest.raises(SparkError, match=rf"EncodeError: .*{BOTH}"), spark_errors():
        renamed.foreachPartition(sink.foreach_partition)
    with pytest.raises(SparkError, match=f"EncodeError: .*{BOTH}"), spark_errors():
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, value=lambda row: row).write(renamed)
    with (
        pytest.raises(SparkError, match=r"EncodeError: .*field of\[0\]: record Order has no field for"),
        spark_errors(),
    ):
        nested.foreachPartition(KafkaAvroSink("nested", kafka, conf, INNER).foreach_partition)
    with pytest.raises(SparkError, match=f"EncodeError: .*{BOTH}"), spark_errors():
        renamed.select(to_avro(F.struct("*"), conf, topic=TOPIC, schema=SCHEMA)).collect()
    assert messages_of(kafka) == []


def test_ignore_writes_the_default(
    renamed: DataFrame, nested: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    ignoring = {**conf, "unmatched.columns": "ignore"}
    expected = [(i, ("OPEN", "PAID")[i % 2], None) for i in range(FEW)]
    KafkaAvroSink(TOPIC, kafka, ignoring, SCHEMA).write(renamed)
    KafkaAvroSink(TOPIC, kafka, ignoring, SCHEMA, key=key_of).write(renamed)
    renamed.foreachPartition(KafkaAvroSink(TOPIC, kafka, ignoring, SCHEMA).foreach_partition)
    assert in_order(read(conf, messages_of(kafka))) == in_order(
        {"id": i, "state": state, "note": note} for i, state, note in expected * 3
    )
    deserializer = KafkaAvroDeserializer(conf)
    for made in (
        encode_df(renamed, ignoring, topic=TOPIC, schema=SCHEMA),
        renamed.select(to_avro(F.struct("*"), ignoring, topic=TOPIC, schema=SCHEMA)),
    ):
        records = [deserializer.deserialize(TOPIC, bytes(row[0])) for row in made.collect()]
        assert in_order(records) == expected
    assert encode_df(nested, ignoring, topic="nested", schema=INNER).count() == FEW


def test_additional_columns_or_missing_defaults_alone_are_accepted(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    few = orders.limit(FEW).coalesce(1)
    for df in (few.withColumn("nota", F.lit(1)), few.drop("note")):
        for key in (None, key_of):
            KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key=key).write(df)
        df.foreachPartition(KafkaAvroSink(TOPIC, kafka, conf, SCHEMA).foreach_partition)
        assert encode_df(df, conf, topic=TOPIC, schema=SCHEMA).count() == FEW
    assert len(messages_of(kafka)) == 6 * FEW


def test_key_and_kept_columns_need_not_be_fields(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    df = orders.limit(FEW).coalesce(1).drop("note").withColumn("k", F.lit("key"))
    for more in ({}, {"validate.strict.allow.default": True}):
        KafkaAvroSink(TOPIC, kafka, {**conf, **more}, SCHEMA, key="k").write(df)
        assert encode_df(df, {**conf, **more}, topic=TOPIC, schema=SCHEMA, keep=["k"]).count() == FEW
    assert len(messages_of(kafka)) == 2 * FEW
    KafkaAvroSink(TOPIC, kafka, {**conf, "validate.strict": True}, SCHEMA, key="note").write(orders.limit(FEW))
    with pytest.raises(ConfigError, match="no field for column 'k', and no column for its field 'note'"):
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA).write(df)


@pytest.mark.parametrize("option", ["validate.strict", "validate.strict.allow.default"])
def test_strict_validation_applies_to_every_path(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], option: str
) -> None:
    strict = {**conf, option: True, "unmatched.columns": "ignore"}
    few = orders.limit(FEW).coalesce(1)
    more, fewer = few.withColumn("more", F.lit(1)), few.drop("note")
    said = r"record Order has no field '?more"
    for key in (None, key_of):
        with pytest.raises(ConfigError, match=said):
            KafkaAvroSink(TOPIC, kafka, strict, SCHEMA, key=key).write(more)
    with pytest.raises(ConfigError, match=said):
        encode_df(more, strict, topic=TOPIC, schema=SCHEMA)
    deep = more.select(F.array(F.struct("*")).alias("of"))
    for key in (None, key_of):
        with pytest.raises(EncodeError, match=said):
            KafkaAvroSink("nested", kafka, strict, INNER, key=key).write(deep)
    with pytest.raises(SparkError, match=said), spark_errors():
        more.foreachPartition(KafkaAvroSink(TOPIC, kafka, strict, SCHEMA).foreach_partition)
    with pytest.raises(SparkError, match=said), spark_errors():
        more.select(to_avro(F.struct("*"), strict, topic=TOPIC, schema=SCHEMA)).collect()

    if option == "validate.strict":
        with pytest.raises(EncodeError, match=r"field note: there is no column .*: validate.strict requires"):
            KafkaAvroSink(TOPIC, kafka, strict, SCHEMA).write(fewer)
        with pytest.raises(EncodeError, match=r"field note: there is no column .*: validate.strict requires"):
            encode_df(fewer, strict, topic=TOPIC, schema=SCHEMA)
        with pytest.raises(SparkError, match=r"field note: the field is missing, and validate.strict"), spark_errors():
            fewer.foreachPartition(KafkaAvroSink(TOPIC, kafka, strict, SCHEMA).foreach_partition)
        assert messages_of(kafka) == []
    else:
        KafkaAvroSink(TOPIC, kafka, strict, SCHEMA).write(fewer)
        assert len(messages_of(kafka)) == FEW
