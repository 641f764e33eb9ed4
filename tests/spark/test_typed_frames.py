"""decode_df and encode_df of KEY_VALUE topics, of JSON and of primitive types."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from schemas import record

from streamnative_serdes import (
    ConfigError,
    EncodeError,
    KafkaAvroSerializer,
    KeyValueSchema,
    SchemaError,
    TypedSchema,
    header,
)
from streamnative_serdes.codec import Codec
from streamnative_serdes.spark import KafkaAvroSink, decode_df, encode_df, from_avro, split_errors, to_avro
from streamnative_serdes.spark.session import SparkError, spark_errors
from streamnative_serdes.testing import LocalRegistry

TOPIC: Final = "users"
FRAME: Final = "key binary, value binary, topic string, partition int, offset bigint"
KEY: Final = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}
USER: Final[dict[str, Any]] = record("User", ("name", "string"), ("age", ["null", "int"], None))
WIDER: Final = {**USER, "fields": [*USER["fields"], {"name": "mail", "type": "string", "default": "-"}]}
K, V, W = Codec(KEY), Codec(USER), Codec(WIDER)
ADA: Final = {"name": "ada", "age": 36}


def registered(conf: Mapping[str, Any], schema: Any, topic: str = TOPIC) -> None:
    KafkaAvroSerializer(conf, schema).warm_up(topic)


def post(registry: LocalRegistry, kind: str, text: str = "", topic: str = TOPIC) -> None:
    url = f"{registry.url}/admin/v2/schemas/public/default/{topic}/schema"
    requests.post(url, json={"type": kind, "schema": text, "properties": {}}, timeout=10).raise_for_status()


def frame(spark: SparkSession, rows: list[tuple[bytes | None, bytes | None]], slices: int = 2) -> DataFrame:
    numbered = [(key, value, TOPIC, 0, offset) for offset, (key, value) in enumerate(rows)]
    return spark.createDataFrame(spark.sparkContext.parallelize(numbered, slices), FRAME)


def joined(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(b"\xff" * 4 if half is None else len(half).to_bytes(4) + half for half in (key, value))


def plain(df: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in df.collect()]


def message(number: int) -> tuple[bytes, bytes]:
    return K.encode({"id": number}), V.encode({"name": f"u{number}", "age": number})


# KEY_VALUE


@pytest.mark.parametrize("framing", ["bare", "value"])
@pytest.mark.parametrize("encoding", ["SEPARATED", "INLINE"])
def test_both_halves_are_structs_and_are_written_again(
    spark: SparkSession, conf: dict[str, str], encoding: Any, framing: str
) -> None:
    options = {**conf, "key.value.framing": framing}
    registered(options, KeyValueSchema(KEY, USER, encoding))
    head = header.pack(0) if framing == "value" else b""
    halves = [message(1), (None, message(2)[1]), (message(3)[0], None), (None, None)]
    rows = [
        (None, head + joined(*each)) if encoding == "INLINE" else (each[0], None if each[1] is None else head + each[1])
        for each in halves
    ]
    df = frame(spark, rows)
    decoded = decode_df(df, conf, topic=TOPIC, keep=["offset"])
    assert decoded.schema.simpleString() == (
        "struct<offset:bigint,key:struct<id:bigint>,value:struct<name:string,age:int>>"
    )
    one, two = {"id": 1}, {"name": "u2", "age": 2}
    expected = [(one, {"name": "u1", "age": 1}), (None, two), ({"id": 3}, None), (None, None)]
    assert [(row["key"], row["value"]) for row in plain(decoded)] == expected
    assert [row[0] for row in decoded.select(F.col("key.id")).collect()] == [1, None, 3, None]

    encoded = encode_df(decoded, options, topic=TOPIC, keep=["offset"])
    assert encoded.schema.simpleString() == "struct<offset:bigint,key:binary,value:binary>"
    assert [(row.key, row.value) for row in encoded.collect()] == rows


def test_a_framed_message_is_read_by_its_version_and_a_bare_one_by_the_latest(
    spark: SparkSession, conf: dict[str, str]
) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    registered(conf, KeyValueSchema(KEY, WIDER, "SEPARATED"))
    key, old = message(1)
    new = W.encode({**ADA, "mail": "a@b"})
    df = frame(spark, [(key, header.pack(0) + old), (key, header.pack(1) + new), (key, new), (key, old), (key, None)])
    decoded = decode_df(df, conf, topic=TOPIC, options={"errorColumn": "e"})
    rows = [row["value"] and row["value"]["mail"] for row in plain(decoded)]
    assert rows == ["-", "a@b", "a@b", None, None]
    good, dead = split_errors(decoded, "e")
    assert good.count() == 4
    [letter] = plain(dead)
    assert (letter["offset"], letter["key"], letter["value"]) == (3, key, old)
    assert letter["error"].startswith("topic users, schema version 1, field value.mail, byte 5: ")


def test_the_keys_schema_is_that_of_the_values_version(spark: SparkSession, conf: dict[str, str]) -> None:
    """Objects alone cannot know it: they read keys by the latest."""
    other = {**KEY, "fields": [{"name": "no", "type": ["null", "string"], "default": None}, *KEY["fields"]]}
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    registered(conf, KeyValueSchema(other, USER, "SEPARATED"))
    key, value = message(5)
    newer = Codec(other).encode({"no": "x", "id": 6})
    df = frame(spark, [(key, header.pack(0) + value), (newer, header.pack(1) + value), (newer, None)])
    keys = [row["key"] for row in plain(decode_df(df, conf, topic=TOPIC))]
    assert keys == [{"no": None, "id": 5}, {"no": "x", "id": 6}, {"no": "x", "id": 6}]


def test_one_error_for_each_message_with_both_halves_null_and_its_own_key(
    spark: SparkSession, conf: dict[str, str]
) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    key, value = message(1)
    rows: list[tuple[bytes | None, bytes | None]] = [
        (key, value), (b"\xff", value), (key, value[:1]), (b"\xff", b"\xff"), (b"\xff", None), (None, None)
    ]  # fmt: skip
    df = frame(spark, rows)
    decoded = decode_df(df, conf, topic=TOPIC, options={"errorColumn": "e"}).persist()
    good, dead = split_errors(decoded, "e")
    assert plain(good) == [
        {"key": {"id": 1}, "value": {"name": "u1", "age": 1}},
        {"key": None, "value": None},
    ]
    letters = plain(dead)
    assert [(letter["key"], letter["value"]) for letter in letters] == rows[1:5]
    assert [letter["error"].split(", byte")[0].rpartition("field ")[2] for letter in letters] == [
        "key.id", "value.name", "key.id", "key.id"
    ]  # fmt: skip
    assert decode_df(df, conf, topic=TOPIC, options={"mode": "DROPMALFORMED"}).count() == 2
    permissive = decode_df(df, conf, topic=TOPIC, options={"mode": "PERMISSIVE"})
    assert [row["key"] for row in plain(permissive)] == [{"id": 1}, None, None, None, None, None]
    with pytest.raises(SparkError, match=r"partition 0, offset [13], schema version 0, field key\.id"), spark_errors():
        decode_df(df, conf, topic=TOPIC).collect()


def test_the_key_column_may_have_another_name(spark: SparkSession, conf: dict[str, str]) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    key, value = message(7)
    df = frame(spark, [(key, value), (b"\xff", value)]).withColumnRenamed("key", "k").withColumn("key", F.lit(1))
    decoded = decode_df(df, conf, topic=TOPIC, key="k", options={"errorColumn": "e"})
    good, dead = split_errors(decoded, "e")
    assert plain(good.select("key.id")) == [{"id": 7}]
    assert plain(dead.select("key", "value")) == [{"key": b"\xff", "value": value}]
    encoded = encode_df(good, conf, topic=TOPIC, key="kafka_key", value="kafka_value")
    assert plain(encoded) == [{"kafka_key": key, "kafka_value": value}]


def test_wrong_columns_are_errors_before_any_job(spark: SparkSession, conf: dict[str, str]) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    df = frame(spark, [message(1)])
    for given, expected in (
        ({"df": df.drop("key")}, "the messages' keys, and the DataFrame has no column 'key' with them"),
        ({"key": "k"}, "the DataFrame has no column 'k'"),
        ({"key": "offset"}, "column offset: expected messages of type BINARY, got bigint"),
        ({"key": 1}, "key: expected a column name"),
        ({"keep": ["key"]}, "two columns of the result would have the same name: key"),
        ({"keep": ["value"]}, "two columns of the result would have the same name: value"),
        ({"options": {"errorColumn": "key"}}, "two columns of the result would have the same name: key"),
    ):
        with pytest.raises(ConfigError, match=expected):
            decode_df(**{"df": df, "conf": conf, "topic": TOPIC, **given})  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="expected a key of type STRING, but the topic has type AVRO"):
        decode_df(df, conf, topic=TOPIC, schema=KeyValueSchema("STRING", USER, "SEPARATED"))
    pairs = decode_df(df, conf, topic=TOPIC)
    for rows, expected in (
        (pairs.drop("key"), "there is no column key"),
        (pairs.drop("value"), "there is no column value"),
    ):
        with pytest.raises(ConfigError, match=expected):
            encode_df(rows, conf, topic=TOPIC)
    with pytest.raises(EncodeError, match="field value: expected a column for record User, got a column of type int64"):
        encode_df(pairs.withColumn("value", F.lit(1).cast("long")), conf, topic=TOPIC)
    with pytest.raises(EncodeError, match=r"field key.*nome"):
        encode_df(pairs.withColumn("key", F.struct(F.lit(1).alias("nome"))), conf, topic=TOPIC)
    with pytest.raises(ConfigError, match="two columns of the result would have the same name: key"):
        encode_df(pairs, conf, topic=TOPIC, keep=["key"])
    with pytest.raises(ConfigError, match="use decode_df"):
        from_avro("value", conf, topic=TOPIC)
    with pytest.raises(ConfigError, match="encode_df"):
        to_avro("value", conf, topic=TOPIC)
    with pytest.raises(ConfigError, match="encode_df"):
        KafkaAvroSink(TOPIC, {"bootstrap.servers": "127.0.0.1:9"}, conf).write(pairs)


def test_inline_needs_no_key_column_and_ignores_one(spark: SparkSession, conf: dict[str, str]) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "INLINE"))
    df = frame(spark, [(b"\xff", joined(*message(1))), (b"\xff", None)])
    expected = [{"key": {"id": 1}, "value": {"name": "u1", "age": 1}}, {"key": None, "value": None}]
    assert plain(decode_df(df, conf, topic=TOPIC)) == expected
    assert plain(decode_df(df.drop("key"), conf, topic=TOPIC)) == expected


def test_given_schemas_are_what_both_halves_are_read_as(spark: SparkSession, conf: dict[str, str]) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "INLINE"))
    view = KeyValueSchema({**KEY, "fields": [{"name": "id", "type": "double"}]}, WIDER, "INLINE")
    df = frame(spark, [(None, header.pack(0) + joined(*message(1))), (None, joined(*message(2)))])
    assert plain(decode_df(df, conf, topic=TOPIC, schema=view)) == [
        {"key": {"id": float(number)}, "value": {"name": f"u{number}", "age": number, "mail": "-"}} for number in (1, 2)
    ]


def test_schema_evolution_restart_notices_a_newer_version(spark: SparkSession, conf: dict[str, str]) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    key, _ = message(1)
    df = frame(spark, [(key, header.pack(1) + W.encode({**ADA, "mail": "m"}))])
    none, restart = (decode_df(df, conf, topic=TOPIC, options={"schemaEvolution": how}) for how in ("none", "restart"))
    registered(conf, KeyValueSchema(KEY, WIDER, "SEPARATED"))
    assert plain(none) == [{"key": {"id": 1}, "value": ADA}]
    with pytest.raises(SparkError, match="the query was planned when version 0 was the topic's latest"), spark_errors():
        restart.collect()


def test_only_the_driver_asks_the_registry(spark: SparkSession, conf: dict[str, str], registry: LocalRegistry) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    lasting = {**conf, "cache.latest.ttl.sec": "3600"}
    decoded = decode_df(frame(spark, [message(n) for n in range(40)], slices=8), lasting, topic=TOPIC)
    encoded = encode_df(decoded, lasting, topic=TOPIC)
    before = registry.calls.copy()
    for _ in range(2):
        assert encoded.count() == 40
    assert registry.calls == before


def test_halves_of_other_types_are_columns_of_their_types(spark: SparkSession, conf: dict[str, str]) -> None:
    registered(conf, KeyValueSchema("STRING", TypedSchema("JSON", USER), "SEPARATED"))
    rows: list[tuple[bytes | None, bytes | None]] = [
        ("zoë".encode(), b'{"name":"ada","age":36}'), (b"b", b'{"name":"bob"}'), (b"c", None), (b"\xff", b"{}"),
        (b"d", b"no JSON"), (None, b'{"name":"x","age":1}'),
    ]  # fmt: skip
    df = frame(spark, rows)
    decoded = decode_df(df, conf, topic=TOPIC, options={"errorColumn": "e"})
    assert decoded.schema["key"].dataType.simpleString() == "string"
    assert decoded.schema["value"].dataType.simpleString() == "struct<name:string,age:int>"
    good, dead = split_errors(decoded, "e")
    assert [(row["key"], row["value"]) for row in plain(good)] == [
        ("zoë", ADA), ("b", {"name": "bob", "age": None}), ("c", None), (None, {"name": "x", "age": 1})
    ]  # fmt: skip
    assert [(letter["key"], letter["value"]) for letter in plain(dead)] == [rows[3], rows[4]]
    assert [letter["error"].partition(": ")[0] for letter in plain(dead)] == [
        "topic users, schema version 0, field key, byte 1", "topic users, schema version 0, field value, byte 0"
    ]  # fmt: skip
    written = [(row.key, row.value) for row in encode_df(good, conf, topic=TOPIC).collect()]
    assert written == [rows[0], rows[1], rows[2], rows[5]]


# JSON and primitive types


def test_json_has_the_records_fields_as_columns(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry
) -> None:
    post(registry, "JSON", json.dumps(USER))
    values = [b'{"name":"ada","age":36}', None, b'{"age":1,"more":[1]}', b"[", b'{"name":5}']
    df = frame(spark, [(None, value) for value in values])
    decoded = decode_df(df, conf, topic=TOPIC, keep=["offset"], options={"errorColumn": "e"})
    assert decoded.schema.names == ["offset", "name", "age", "e"]
    assert [(row.name, row.age, row.e is None) for row in decoded.collect()] == [
        ("ada", 36, True), (None, None, True), (None, 1, True), (None, None, False), (None, None, False)
    ]  # fmt: skip
    errors = [row.e.error for row in decoded.where("e is not null").collect()]
    assert errors[0].startswith("topic users, schema version 0, byte 1: expected JSON")
    assert errors[1] == "topic users, schema version 0, field name: expected string, got int 5"
    struct = df.limit(1).select(from_avro("value", conf, topic=TOPIC).alias("user"))
    assert plain(struct.select("user.*")) == [ADA]
    with pytest.raises(SparkError, match="partition 0, offset 3"), spark_errors():
        decode_df(df, conf, topic=TOPIC).collect()


def test_json_is_read_as_the_given_schema(spark: SparkSession, conf: dict[str, str], registry: LocalRegistry) -> None:
    post(registry, "JSON", json.dumps(USER))
    df = frame(spark, [(None, b'{"name":"ada","age":36,"mail":"m"}'), (None, b'{"age":1}')])
    assert plain(decode_df(df, conf, topic=TOPIC, schema=WIDER)) == [
        {**ADA, "mail": "m"}, {"name": None, "age": 1, "mail": "-"}
    ]  # fmt: skip


def test_columns_are_written_as_json(spark: SparkSession, conf: dict[str, str], registry: LocalRegistry) -> None:
    rows = spark.createDataFrame([("ada", 36, 0), ("bob", None, 1)], "name string, age int, no long")
    encoded = encode_df(rows, conf, topic=TOPIC, schema=TypedSchema("JSON", USER), keep=["no"])
    expected = [(0, b'{"name":"ada","age":36}'), (1, b'{"name":"bob"}')]
    assert [(row.no, bytes(row.value)) for row in encoded.collect()] == expected
    [entry] = registry.store.versions(f"public/default/{TOPIC}")
    assert entry.data is not None
    assert entry.data.type == "JSON"
    assert [bytes(row.value) for row in encode_df(rows, conf, topic=TOPIC).collect()] == [data for _, data in expected]
    with pytest.raises(ConfigError, match="there is no column for the fields name"):
        encode_df(rows.select("age"), conf, topic=TOPIC)
    with pytest.raises(SparkError, match=r"field name: expected string"), spark_errors():
        encode_df(rows.withColumn("name", F.expr("if(no = 1, null, name)")), conf, topic=TOPIC).collect()


INSTANT: Final = dt.datetime(2026, 11, 23, 13, 45, 0, 123000)


@pytest.mark.parametrize(
    ("kind", "payload", "spark_type", "value"),
    [
        ("BOOLEAN", b"\1", "boolean", True),
        ("INT8", b"\xff", "tinyint", -1),
        ("INT16", b"\x01\x00", "smallint", 256),
        ("INT32", b"\0\0\0\7", "int", 7),
        ("INT64", b"\xff" * 8, "bigint", -1),
        ("FLOAT", b"\x3f\xc0\0\0", "float", 1.5),
        ("DOUBLE", b"\xbf\xf8" + bytes(6), "double", -1.5),
        ("STRING", "zoë".encode(), "string", "zoë"),
        ("LOCAL_DATE", (20_780).to_bytes(8), "date", dt.date(2026, 11, 23)),
        ("LOCAL_TIME", (5).to_bytes(8), "bigint", 5),
        ("INSTANT", (2).to_bytes(8) + (7).to_bytes(4), "bigint", 2_000_000_007),
        ("LOCAL_DATE_TIME", (1).to_bytes(8) + (9).to_bytes(8), "bigint", 86_400_000_000_009),
    ],
)
def test_primitive_types_have_one_column(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry,
    kind: str, payload: bytes, spark_type: str, value: Any,
) -> None:  # fmt: skip
    post(registry, kind)
    df = frame(spark, [(None, payload), (None, None)], slices=1)
    decoded = decode_df(df, conf, topic=TOPIC)
    assert decoded.schema.simpleString() == f"struct<value:{spark_type}>"
    assert [row.value for row in decoded.collect()] == [value, None]
    encoded = encode_df(decoded, conf, topic=TOPIC)
    assert [row.value for row in encoded.collect()] == [payload, None]


@pytest.mark.parametrize("kind", ["DATE", "TIME", "TIMESTAMP"])
def test_javas_dates_are_timestamps(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry, kind: str
) -> None:
    post(registry, kind)
    payload = int(INSTANT.replace(tzinfo=dt.UTC).timestamp() * 1000).to_bytes(8)
    decoded = decode_df(frame(spark, [(None, payload)]), conf, topic=TOPIC)
    assert decoded.schema.simpleString() == "struct<value:timestamp>"
    [row] = decoded.selectExpr("unix_millis(value) millis").collect()
    assert row.millis == int.from_bytes(payload)
    assert [row.value for row in encode_df(decoded, conf, topic=TOPIC).collect()] == [payload]


def test_a_schema_without_columns_is_a_clear_error(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry
) -> None:
    post(registry, "JSON", json.dumps({"type": "object", "properties": {}}))
    with pytest.raises(SchemaError, match="read the messages one by one"):
        decode_df(frame(spark, [(None, b"{}")]), conf, topic=TOPIC)


def test_a_stream_of_pairs_is_decoded_and_encoded(spark: SparkSession, conf: dict[str, str], tmp_path: Path) -> None:
    registered(conf, KeyValueSchema(KEY, USER, "SEPARATED"))
    folder = str(tmp_path / "in")
    frame(spark, [message(number) for number in range(30)]).write.parquet(folder)
    stream = spark.readStream.schema(FRAME).parquet(folder)
    encoded = encode_df(decode_df(stream, conf, topic=TOPIC), conf, topic=TOPIC)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    query = encoded.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start(out).awaitTermination()
    read = spark.read.parquet(out)
    assert sorted((row.key, row.value) for row in read.collect()) == sorted(message(number) for number in range(30))
