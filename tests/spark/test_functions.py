"""from_avro and to_avro: column functions equivalent to decode_df and encode_df."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from schemas import logical, mapping, record

from streamnative_serdes import ConfigError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.spark import from_avro, to_avro
from streamnative_serdes.spark.session import SparkError, spark_errors

TOPIC = "orders"
SCHEMA: dict[str, Any] = record(
    "Order",
    ("id", "long"),
    ("note", ["null", "string"], None),
    ("tags", mapping("int"), {}),
    ("sent", logical("long", "timestamp-millis"), 0),
)


@pytest.fixture
def messages(spark: SparkSession, conf: dict[str, str]) -> DataFrame:
    """Return two readable messages, an unreadable one, and a tombstone."""
    serializer = KafkaAvroSerializer(conf, SCHEMA)
    good = [serializer.serialize(TOPIC, {"id": n, "note": f"n{n}", "tags": {"k": n}}) for n in (1, 2)]
    rows = [(number, value) for number, value in enumerate([*good, b"\x03\x04" + bytes(8), None])]
    return spark.createDataFrame(rows, "n int, value binary")


def test_from_avro_returns_a_struct(conf: dict[str, str], messages: DataFrame) -> None:
    order = from_avro("value", conf, topic=TOPIC)
    df = messages.where("n != 2").select("n", order.alias("o"), F.unix_millis(order["sent"]).alias("sent"))
    assert df.schema["o"].dataType.simpleString() == (
        "struct<id:bigint,note:string,tags:map<string,int>,sent:timestamp>"
    )
    rows = {row.n: row for row in df.collect()}
    assert [(rows[n].o.id, rows[n].o.note, rows[n].o.tags, rows[n].sent) for n in (0, 1)] == [
        *[(1, "n1", {"k": 1}, 0), (2, "n2", {"k": 2}, 0)]
    ]
    assert rows[3].o is None


def test_the_mode_decides_about_undecodable_messages(conf: dict[str, str], messages: DataFrame) -> None:
    def read(options: dict[str, str]) -> list[Any]:
        return messages.select("n", from_avro("value", conf, topic=TOPIC, options=options).alias("o")).collect()

    with pytest.raises(SparkError, match="DecodeError: topic orders, row 0, schema version 0"), spark_errors():
        read({"mode": "FAILFAST"})
    assert [row.o and row.o.id for row in read({"mode": "PERMISSIVE"})] == [1, 2, None, None]
    rows = read({"errorColumn": "why"})
    assert [row.o and row.o.id for row in rows] == [1, 2, None, None]
    assert [row.o is None for row in rows] == [False, False, False, True]
    assert [row.o and row.o.why for row in rows[:2]] == [None, None]
    assert "schema version 0" in rows[2].o.why


def test_a_filter_on_the_result_does_not_evaluate_the_function_twice(conf: dict[str, str], messages: DataFrame) -> None:
    order = from_avro("value", conf, topic=TOPIC, options={"mode": "PERMISSIVE"})
    df = messages.select(order.alias("o")).select("o.*").where("id > 1")
    plan = df._jdf.queryExecution().executedPlan().toString()
    assert plan.count("EvalPython [") == 1, plan
    assert [row.note for row in df.collect()] == ["n2"]


def test_to_avro_returns_messages(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.sql("select if(id = 1, null, named_struct('id', id, 'note', string(id))) o from range(4)")
    schema = {**SCHEMA, "fields": SCHEMA["fields"][:2]}
    written = df.select(to_avro("o", conf, topic=TOPIC, schema=schema).alias("value"))
    deserializer = KafkaAvroDeserializer(conf)
    values = [None if row.value is None else bytes(row.value) for row in written.collect()]
    assert [deserializer.deserialize(TOPIC, value) for value in values] == [
        *[{"id": 0, "note": "0"}, None, {"id": 2, "note": "2"}, {"id": 3, "note": "3"}]
    ]
    back = written.select(from_avro(F.col("value"), conf, topic=TOPIC).alias("o"))
    assert sorted(back.collect(), key=str) == sorted(df.collect(), key=str)


def test_a_schema_that_is_not_a_record_decodes_to_a_plain_value(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.sql("select if(id = 1, null, id) v from range(3)")
    written = df.select(to_avro("v", conf, topic="numbers", schema="long").alias("value"))
    assert [row.v for row in written.select(from_avro("value", conf, topic="numbers").alias("v")).collect()] == [
        *[0, None, 2]
    ]


def test_unsupported_options_of_a_function_are_named(conf: dict[str, str], messages: DataFrame) -> None:
    with pytest.raises(ConfigError, match="from_avro does not support mode DROPMALFORMED"):
        from_avro("value", conf, topic=TOPIC, options={"mode": "DROPMALFORMED"})
    with pytest.raises(ConfigError, match="errorColumn 'id' is also the name of a field"):
        from_avro("value", conf, topic=TOPIC, options={"errorColumn": "id"})
    with pytest.raises(ConfigError, match="errorColumn requires a record schema"):
        from_avro("value", conf, topic=TOPIC, schema="long", options={"errorColumn": "error"})
