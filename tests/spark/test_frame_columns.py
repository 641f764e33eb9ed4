"""decode_df and encode_df: arbitrary column names, unambiguously, and batches of any size."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from schemas import array, logical, record

from streamnative_serdes import (
    BatchTooLargeError,
    ConfigError,
    EncodeError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaError,
)
from streamnative_serdes.spark import (
    KafkaAvroSink,
    decode_df,
    encode_df,
    from_avro,
    split_errors,
    to_avro,
    to_avro_schema,
    to_spark_type,
)
from streamnative_serdes.spark.frames.encoding import Encoder
from streamnative_serdes.spark.session import SparkError, spark_errors
from streamnative_serdes.spark.types.arrow import arrow_type
from streamnative_serdes.spark.types.avro import HAS_TIME

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it

TOPIC = "orders"
NUMBER, NOTE = {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}


ORDER = record("Order", NUMBER, NOTE)


def test_a_column_may_have_any_name(spark: SparkSession, conf: dict[str, str]) -> None:
    names = ["a`b", "a.b", "`", "0", "a b"]
    df = spark.range(3).select("id", *(F.col("id").alias(name) for name in names))
    encoded = encode_df(df, conf, topic=TOPIC, schema=ORDER, keep=names, value="v`.")
    assert encoded.columns == [*names, "v`."]
    decoded = decode_df(encoded, conf, topic=TOPIC, value="v`.", keep=names, options={"errorColumn": "e`."})
    assert decoded.columns == [*names, "id", "note", "e`."]
    good, dead = split_errors(decoded, "e`.")
    assert good.columns == [*names, "id", "note"]
    assert [tuple(row) for row in good.collect()] == [(number,) * 6 + (None,) for number in range(3)]
    assert dead.count() == 0


def test_a_column_that_differs_in_case_is_named_in_the_error(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.sql("select 1L id, 'a' Note")
    with pytest.raises(ConfigError, match=r"expected a column note, got Note.*hint: rename the column"):
        encode_df(df, conf, topic=TOPIC, schema=ORDER)
    inner = record("Outer", ("of", ORDER))
    with pytest.raises(EncodeError, match=r"field of\.note: there is no column of that name, but there is 'Note'"):
        encode_df(df.select(F.struct("*").alias("of")), conf, topic="outer", schema=inner)
    ignoring = {**conf, "unmatched.columns": "ignore"}
    for columns in ("id, 'a' note, 'b' Note", "id, 'a' other"):
        frame = spark.sql(f"select {columns} from range(1)")
        if "Note" in columns:  # Avro distinguishes the two names, but Spark does not
            spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            (row,) = decode_df(encode_df(frame, ignoring, topic=TOPIC, schema=ORDER), conf, topic=TOPIC).collect()
        finally:
            spark.conf.unset("spark.sql.caseSensitive")
        assert tuple(row) == (0, "a" if "Note" in columns else None)


def test_intervals_are_refused_before_the_job_and_by_name(spark: SparkSession, conf: dict[str, str]) -> None:
    kafka = {"bootstrap.servers": "localhost:1"}
    for text, kind in (("interval '1' day", "day"), ("array(struct(interval '2' month m))", "month")):
        df = spark.sql(f"select 1L id, {text} length")
        schema = to_avro_schema(df.schema)
        with pytest.raises(ConfigError, match=f"column 'length' contains interval {kind}, which is not supported"):
            encode_df(df, conf, topic=kind, schema=schema)
        if kind == "month":
            with pytest.raises(ConfigError, match="column 'length' contains interval month"):
                KafkaAvroSink(kind, kafka, conf, schema).write(df)
            with pytest.raises(ConfigError, match="column 'length' contains interval month"):
                encode_df(df, conf, topic=TOPIC, schema=ORDER, keep=["length"])
        else:
            # Before PySpark 4.1, functions run row by row.
            refused = r"duration\[us\] cannot be written: 'length'|field length: expected long, got timedelta"
            with pytest.raises(SparkError, match=refused), spark_errors():
                df.select(to_avro(F.struct("*"), conf, topic=kind, schema=schema)).collect()
            assert encode_df(df, conf, topic=TOPIC, schema=ORDER, keep=["length"]).count() == 1


@pytest.mark.parametrize("rows", [0, 2])
def test_a_column_of_another_type_is_refused_before_the_job_and_by_name(
    spark: SparkSession, conf: dict[str, str], kafka: dict[str, str], rows: int
) -> None:
    df = spark.range(rows).selectExpr("id", "1.5D note", "struct(id, array('x') note) of", "null nothing")
    expected = "topic orders, schema version 0, field note: expected a column for string, got a column of type "
    with pytest.raises(EncodeError, match=expected + r"double \(hint: cast"):
        encode_df(df, conf, topic=TOPIC, schema=ORDER)
    with pytest.raises(EncodeError, match=expected + "double"):
        KafkaAvroSink(TOPIC, kafka, conf, ORDER).write(df)
    for value in ("of", F.col("of")):
        with pytest.raises(EncodeError, match=expected + "list"):
            KafkaAvroSink(TOPIC, kafka, conf, ORDER, value=value).foreach_batch(df, 0)
    with pytest.raises(EncodeError, match=r"topic orders: expected a struct for record Order, got bigint \(hint"):
        KafkaAvroSink(TOPIC, kafka, conf, ORDER, value="id").write(df)
    with pytest.raises(
        EncodeError, match="topic days, schema version 0: expected a column for date, got a column of type struct"
    ):
        KafkaAvroSink("days", kafka, conf, {"type": "int", "logicalType": "date"}, value="of").write(df)


def test_a_schema_too_deep_for_columns_is_refused_before_the_job(spark: SparkSession, conf: dict[str, str]) -> None:
    deep: Any = "int"
    for _ in range(70):
        deep = {"type": "array", "items": deep}
    messages = spark.sql("select binary('') value")
    schema = record("Order", ("deep", deep))
    with pytest.raises(SchemaError, match="nested deeper than the 60 levels of Arrow columns"):
        decode_df(messages, conf, topic="deep", schema=schema)
    with pytest.raises(SchemaError, match="nested deeper than the 60 levels of Arrow columns"):
        messages.select(from_avro("value", conf, topic="deep", schema=schema))


@pytest.mark.parametrize("enabled", [False, True] if HAS_TIME else [False])
def test_times_of_day_have_a_type_that_the_session_supports(
    spark: SparkSession, conf: dict[str, str], tmp_path: Path, enabled: bool
) -> None:
    """Without Spark's option, TIME can be collected, but neither cached, grouped nor stored."""
    at, schema = dt.time(1, 2, 3, 4), record("Order", ("at", logical("long", "time-micros")))
    messages = spark.createDataFrame(
        [(KafkaAvroSerializer(conf, schema).serialize("times", {"at": at}),)], "value binary"
    )
    expected = to_spark_type(schema, times=enabled)
    if HAS_TIME:
        spark.conf.set("spark.sql.timeType.enabled", str(enabled).lower())
    try:
        for df in (
            decode_df(messages, conf, topic="times"),
            messages.select(from_avro("value", conf, topic="times").alias("of")).select("of.*"),
        ):
            assert df.dtypes == [("at", "time(6)" if enabled else "bigint")]
            assert [field.dataType for field in df.schema] == [field.dataType for field in expected]
            df.groupBy("at").count().persist().write.mode("overwrite").parquet(str(tmp_path))
            (row,) = spark.read.parquet(str(tmp_path)).collect()
            assert row.at == (at if enabled else 3_723_000_004)
            assert encode_df(df, conf, topic="times").collect() == messages.collect()
    finally:
        if HAS_TIME:
            spark.conf.unset("spark.sql.timeType.enabled")


def test_the_arrow_types_that_spark_passes_to_python_are_predicted(spark: SparkSession) -> None:
    names = [
        *("void", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(38,3)", "string"),
        *("string collate unicode", "binary", "date", "timestamp", "timestamp_ntz"),
        *("array<timestamp>", "map<string,array<int>>", "struct<a:map<int,void>,b:array<binary>>"),
        *(["time(6)"] if HAS_TIME else []),
    ]
    schema = T.StructType.fromDDL(", ".join(f"`{number}` {name}" for number, name in enumerate(names)))

    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"schema": [batch.schema.serialize().to_pybytes()]})

    df = spark.createDataFrame([(None,) * len(names)], schema)
    (row,) = df.mapInArrow(told, "schema binary").collect()
    handed = pa.ipc.read_schema(pa.py_buffer(row.schema))
    assert [arrow_type(field.dataType) for field in df.schema] == handed.types


def test_functions_are_called_by_their_names_in_plans(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.sql("select named_struct('id', 1L) pair")
    messages = df.select(to_avro("pair", conf, topic=TOPIC, schema=ORDER))
    assert messages.columns == ["to_avro(pair)"]
    assert messages.select(from_avro(messages[0], conf, topic=TOPIC)).columns == ["from_avro(to_avro(pair))"]


def test_two_columns_that_spark_would_mix_up_are_refused(spark: SparkSession, conf: dict[str, str]) -> None:
    df = encode_df(spark.range(1), conf, topic=TOPIC, schema=ORDER).select("value", F.lit(7).alias("ID"))
    with pytest.raises(
        ConfigError, match=r"two columns of the result would have the same name: ID, id .*spark\.sql\.caseSensitive"
    ):
        decode_df(df, conf, topic=TOPIC, keep=["ID"])
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert decode_df(df, conf, topic=TOPIC, keep=["ID"]).select("ID", "id").collect() == [(7, 0)]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_result_without_columns_is_refused(spark: SparkSession, conf: dict[str, str]) -> None:
    serializer = KafkaAvroSerializer(conf, record("Ping"))
    df = spark.createDataFrame([(bytes(serializer.serialize("pings", {}) or b""), 5)], "value binary, n int")
    with pytest.raises(
        ConfigError, match=r"no fields, so the result would have no columns.*keep a column, or set errorColumn"
    ):
        decode_df(df, conf, topic="pings")
    assert decode_df(df, conf, topic="pings", keep=["n"]).collect() == [(5,)]
    assert decode_df(df, conf, topic="pings", options={"errorColumn": "e"}).collect() == [(None,)]


def test_a_dead_letter_of_a_key_includes_the_value(spark: SparkSession, conf: dict[str, str]) -> None:
    KafkaAvroSerializer(conf, ORDER).serialize(TOPIC, {"id": 1})
    df = spark.createDataFrame([(b"bad", b"the value", 3)], "key binary, value binary, offset bigint")
    decoded = decode_df(df, conf, topic=TOPIC, value="key", options={"errorColumn": "e"})
    (row,) = split_errors(decoded, "e")[1].collect()
    assert (bytes(row.key), bytes(row.value), row.topic, row.offset) == (b"bad", b"the value", TOPIC, 3)
    (row,) = split_errors(decode_df(df, conf, topic=TOPIC, options={"errorColumn": "e"}), "e")[1].collect()
    assert (bytes(row.key), bytes(row.value)) == (b"bad", b"the value")


def test_a_batch_that_is_too_large_is_read_in_parts(spark: SparkSession, conf: dict[str, str]) -> None:
    """Messages of many small items, read with a schema of many more fields."""
    extra = [{"name": f"f{number}", "type": ["null", "int"], "default": None} for number in range(40)]
    point = record("Point", ("x", "int"))
    reader = {"type": "array", "items": {**point, "fields": [*point["fields"], *extra]}}
    serializer = KafkaAvroSerializer(conf, {"type": "array", "items": point})
    good = bytes(serializer.serialize(TOPIC, [{"x": number} for number in range(1_000)]) or b"")
    rows = [(good[:-1] if number == 30 else good, number) for number in range(60)]
    df = spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), "value binary, offset bigint")
    tight = {**conf, "max.items": 100_000}

    decoded = decode_df(df, tight, topic=TOPIC, schema=reader, keep=["offset"], options={"errorColumn": "e"})
    good_rows, dead = split_errors(decoded, "e")
    read = good_rows.select("offset", F.size("value"), F.expr("value[999].x")).collect()
    assert read == [(number, 1_000, 999) for number in range(60) if number != 30]
    assert [row.offset for row in dead.collect()] == [30]
    as_column = df.where("offset <> 30").select(from_avro("value", tight, topic=TOPIC, schema=reader).alias("v"))
    assert as_column.select(F.size("v")).collect() == [(1_000,)] * 59
    serializer = KafkaAvroSerializer(conf, record("Order", ("points", array(point))))
    rows = [(bytes(serializer.serialize("lists", {"points": [{"x": n}] * 1_000}) or b""), n) for n in range(60)]
    df = spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), "value binary, n int")
    lists = from_avro("value", tight, topic="lists", schema=record("Order", ("points", reader)))
    assert df.select("n", lists.alias("v")).selectExpr("n", "v.points[999].x").collect() == [(n, n) for n in range(60)]


class Cutting(Encoder):
    """Accepts at most seven rows per batch."""

    def encode(self, rows: Any) -> Any:
        if len(rows) > 7:
            error = BatchTooLargeError("more than seven")
            error.row = 7
            raise error
        return super().encode(rows)


def test_a_batch_that_is_too_large_is_written_in_parts(
    spark: SparkSession, conf: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamnative_serdes.spark.frames.frames.Encoder", Cutting)
    monkeypatch.setattr("streamnative_serdes.spark.frames.functions.Encoder", Cutting)
    df = spark.range(0, 50, 1, 1)
    encoded = encode_df(df, conf, topic=TOPIC, schema=ORDER, keep=["id"])
    again = df.select("id", to_avro(F.struct("*"), conf, topic=TOPIC).alias("value"))
    deserializer = KafkaAvroDeserializer(conf)
    for frame in (encoded, again):
        rows = frame.collect()
        assert [row.id for row in rows] == list(range(50))
        assert [deserializer.deserialize(TOPIC, bytes(row.value))["id"] for row in rows] == list(range(50))


def test_a_frame_without_a_column_for_any_field_is_refused(spark: SparkSession, conf: dict[str, str]) -> None:
    conf = {**conf, "unmatched.columns": "ignore"}
    with pytest.raises(ConfigError, match="there is no column for any field"):
        encode_df(spark.range(2), conf, topic="notes", schema=record("Order", NOTE))
    messages = spark.range(2).select(to_avro(F.struct("id"), conf, topic="notes", schema=record("Order", NOTE)))
    with pytest.raises(SparkError, match=r"EncodeError: .*(no column for any field|no field for any)"), spark_errors():
        messages.collect()
    doubled = spark.range(1).select("id", F.lit(2).alias("id"))
    with pytest.raises(ConfigError, match="two columns have the name 'id'"):
        encode_df(doubled, conf, topic=TOPIC, schema=ORDER)
