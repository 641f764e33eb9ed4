"""decode_df and encode_df: messages of any version to columns and back, and no undecodable message is lost."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from avro_strategies import edited
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamnative_serdes import (
    ConfigError,
    DecodeError,
    IncompatibleSchemaError,
    KafkaAvroDeserializer,
    KafkaAvroSerializer,
    SchemaNotFoundError,
    header,
)
from streamnative_serdes import _config as config
from streamnative_serdes._schema import parse
from streamnative_serdes._topics.binding import Binding, bindings
from streamnative_serdes.codec import Codec
from streamnative_serdes.schema_registry import SchemaRegistryClient
from streamnative_serdes.spark import decode_df, encode_df, split_errors, to_avro_schema
from streamnative_serdes.spark.session import SparkError, spark_errors
from streamnative_serdes.testing import LocalRegistry

TOPIC = "orders"
FRAME = "key binary, value binary, topic string, partition int, offset bigint"
ID, NOTE = {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}
CENTS = {"name": "cents", "type": "int", "default": -1}


def order(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": list(fields)}


FIRST, SECOND, THIRD = order(ID), order(ID, NOTE), order(ID, NOTE, CENTS)


def message(conf: dict[str, str], schema: Any, **values: Any) -> bytes:
    data = KafkaAvroSerializer(conf, schema).serialize(TOPIC, values)
    assert data is not None
    return data


def frame(spark: SparkSession, values: list[bytes | None], slices: int = 2) -> DataFrame:
    """Return a DataFrame like one read from a topic of one partition; keys are the offsets."""
    rows = [(b"%d" % offset, value, TOPIC, 0, offset) for offset, value in enumerate(values)]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, slices), FRAME)


def rows_of(df: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in df.collect()]


def test_each_message_is_read_by_its_own_version(spark: SparkSession, conf: dict[str, str]) -> None:
    values = [message(conf, FIRST, id=1), message(conf, SECOND, id=2, note="n"), message(conf, THIRD, id=3, cents=5)]
    df = frame(spark, [*values, None, *reversed(values)], slices=3)
    latest = decode_df(df, conf, topic=TOPIC)
    assert latest.schema.simpleString() == "struct<id:bigint,note:string,cents:int>"
    expected = [(1, None, -1), (2, "n", -1), (3, None, 5)]
    assert rows_of(latest) == [*expected, (None, None, None), *reversed(expected)]
    assert rows_of(decode_df(df, conf, topic=TOPIC, schema=FIRST)) == [(1,), (2,), (3,), (None,), (3,), (2,), (1,)]
    view = order({"name": "number", "type": "double", "aliases": ["id"]})
    assert rows_of(decode_df(df, conf, topic=TOPIC, schema=view))[:3] == [(1.0,), (2.0,), (3.0,)]


def test_trailing_bytes_are_accepted_only_after_a_known_header(spark: SparkSession, conf: dict[str, str]) -> None:
    good = message(conf, order(ID), id=1)
    foreign = [b"\0\0\0\0\7\2", b'{"id":1}', header.pack(9) + b"\2more"]
    loose = {**conf, "ignore.trailing.bytes": "true"}
    df = frame(spark, [good + b"more", *foreign], slices=1)
    decoded = decode_df(df, loose, topic=TOPIC, options={"errorColumn": "why"})
    rows = [(row.id, row.why and row.why.error) for row in decoded.collect()]
    assert rows[0] == (1, None)
    for (number, why), words in zip(rows[1:], ("schema id 7", "JSON text", "got 4 more bytes"), strict=True):
        assert number is None
        assert words in why


def test_only_the_driver_fetches_existing_versions(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry
) -> None:
    values = [message(conf, schema, id=number) for number, schema in enumerate((FIRST, SECOND, THIRD) * 20)]
    before = registry.calls
    decoded = decode_df(frame(spark, values, slices=8), conf, topic=TOPIC)
    encoded = encode_df(decoded, conf, topic=TOPIC)
    planned = {"GET schemas": 1, "GET schema": 1}
    assert registry.calls - before == planned
    for _ in range(2):
        assert len(decoded.collect()) == 60
        assert encoded.distinct().count() == 60
    assert registry.calls - before == planned


def framed(version: int, schema: Any, **values: Any) -> bytes:
    """Return a message of a version that may not be registered yet."""
    return header.pack(version) + Codec(parse(schema)).encode(values)


def test_each_worker_fetches_a_later_version_once(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry
) -> None:
    message(conf, FIRST, id=0)
    df = frame(spark, [framed(1, SECOND, id=number, note="x") for number in range(50)], slices=10)
    decoded = decode_df(df, conf, topic=TOPIC)
    message(conf, SECOND, id=0)
    before = registry.calls
    for _ in range(2):
        assert sorted(rows_of(decoded)) == [(number,) for number in range(50)]
    calls = registry.calls - before
    assert set(calls) == {"GET version"}
    # There are twenty tasks. The workers that create the rows may also decode, and on a busy machine Spark replaces
    # workers that were idle for a minute.
    assert calls["GET version"] <= 4 * spark.sparkContext.defaultParallelism < 20


@contextmanager
def elsewhere() -> Iterator[None]:
    """As in another process, which knows nothing of what this one does."""
    known = dict(bindings.made)
    Binding.forget()
    yield
    bindings.made.clear()
    bindings.made.update(known)


def test_queries_are_planned_with_the_schemas_of_the_recreated_topic(
    spark: SparkSession, conf: dict[str, str], registry: LocalRegistry
) -> None:
    """The same driver and workers run before and after the topic is recreated."""
    registry.set_strategy("ALWAYS_COMPATIBLE")
    text, note = {"name": "text", "type": "string"}, {"name": "note", "type": "string"}
    row = {"text": "t", "note": "n"}
    for fields in ((text, note), (note, text)) * 2:
        with elsewhere():
            with closing(SchemaRegistryClient(parsed(conf))) as client:
                client.delete(TOPIC, force=True)
            value = message(conf, order(*fields), **row)
        assert header.read(value) == 0
        (decoded,) = decode_df(frame(spark, [value], slices=1), conf, topic=TOPIC).collect()
        assert decoded.asDict() == row
        for schema in (order(text, note), order(note, text)):
            df = spark.createDataFrame([row])
            (encoded,) = encode_df(df, conf, topic=TOPIC, schema=schema).collect()
            with elsewhere():
                assert KafkaAvroDeserializer(conf).deserialize(TOPIC, bytes(encoded.value)) == row


def test_a_query_may_be_made_to_restart_for_a_newer_version(spark: SparkSession, conf: dict[str, str]) -> None:
    message(conf, FIRST, id=0)
    df = frame(spark, [framed(0, FIRST, id=1), framed(1, SECOND, id=2, note="x")])
    restart = {"schemaEvolution": "restart"}
    decoded = decode_df(df, conf, topic=TOPIC, options=restart)
    message(conf, SECOND, id=0)
    expected = "SchemaEvolvedError: topic orders, schema version 1: the query was planned when version 0 was .* latest"
    with pytest.raises(SparkError, match=expected), spark_errors():
        decoded.collect()
    assert rows_of(decode_df(df, conf, topic=TOPIC, options=restart)) == [(1, None), (2, "x")]


def test_an_unknown_version_does_not_restart_the_query(spark: SparkSession, conf: dict[str, str]) -> None:
    values = [message(conf, FIRST, id=1), framed(77, FIRST, id=2)[:-1]]
    options = {"schemaEvolution": "restart", "errorColumn": "error"}
    good, dead = split_errors(decode_df(frame(spark, values), conf, topic=TOPIC, options=options), "error")
    assert rows_of(good) == [(1,)]
    assert [bytes(row.value) for row in dead.collect()] == [values[1]]


# --- What cannot be read


@pytest.fixture
def damaged(conf: dict[str, str]) -> list[bytes | None]:
    """Return messages: good, good, truncated, tombstone, too long, good."""
    good = [message(conf, SECOND, id=number, note=f"n{number}") for number in range(4)]
    return [good[0], good[1], good[2][:-1], None, good[3] + b"x", good[3]]


GOOD = [(0, "n0"), (1, "n1"), (None, None), (3, "n3")]  # including the tombstone


def test_failfast_names_the_undecodable_message(
    spark: SparkSession, conf: dict[str, str], damaged: list[bytes | None]
) -> None:
    for options in (None, {"mode": "failfast"}):
        decoded = decode_df(frame(spark, damaged, 1), conf, topic=TOPIC, options=options)
        expected = (
            "DecodeError: topic orders, row 2, partition 0, offset 2, schema version 0, field note, byte .*hint: "
        )
        with pytest.raises(SparkError, match=expected), spark_errors():
            decoded.collect()
    others = frame(spark, damaged, 1).selectExpr("value", "'somewhere' as offset")
    with pytest.raises(SparkError, match="topic orders, row 2, schema version 0"), spark_errors():
        decode_df(others, conf, topic=TOPIC).collect()
    with pytest.raises(ConfigError, match="column offset: expected the type of a Kafka message's offset, got string"):
        decode_df(others, conf, topic=TOPIC, options={"errorColumn": "error"})


def test_permissive_gives_nulls(spark: SparkSession, conf: dict[str, str], damaged: list[bytes | None]) -> None:
    decoded = decode_df(frame(spark, damaged), conf, topic=TOPIC, keep=["offset"], options={"mode": "PERMISSIVE"})
    assert rows_of(decoded) == [
        *[(0, 0, "n0"), (1, 1, "n1"), (2, None, None), (3, None, None), (4, None, None), (5, 3, "n3")]
    ]


def test_dropmalformed_drops_undecodable_messages(
    spark: SparkSession, conf: dict[str, str], damaged: list[bytes | None]
) -> None:
    decoded = decode_df(frame(spark, damaged), conf, topic=TOPIC, options={"mode": "DropMalformed"})
    assert rows_of(decoded) == GOOD


def test_dead_letters_contain_the_message_unchanged(
    spark: SparkSession, conf: dict[str, str], damaged: list[bytes | None]
) -> None:
    decoded = decode_df(frame(spark, damaged), conf, topic=TOPIC, options={"errorColumn": "what is wrong"})
    assert decoded.columns == ["id", "note", "what is wrong"]
    good, dead = split_errors(decoded, "what is wrong")
    assert (good.columns, rows_of(good)) == (["id", "note"], GOOD)
    assert dead.columns == ["error", "key", "value", "topic", "partition", "offset"]
    letters = dead.orderBy("offset").collect()
    assert [(bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) for row in letters] == [
        *[(b"2", damaged[2], TOPIC, 0, 2), (b"4", damaged[4], TOPIC, 0, 4)]
    ]
    for row in letters:
        with pytest.raises(DecodeError) as caught:
            KafkaAvroDeserializer(conf).deserialize(TOPIC, bytes(row.value))
        assert caught.value.message in row.error


def test_dead_letters_keep_the_dataframes_kafka_columns(
    spark: SparkSession, conf: dict[str, str], damaged: list[bytes | None]
) -> None:
    df = frame(spark, damaged).selectExpr("value as v", "string(key) as key")
    decoded = decode_df(df, conf, topic=TOPIC, value="v", keep=["key"], options={"errorColumn": "error"})
    good, dead = split_errors(decoded, "error")
    assert [row.key for row in good.collect()] == ["0", "1", "3", "5"]
    letters = dead.orderBy("key").collect()
    assert [(bytes(row.key), bytes(row.value)) for row in letters] == [(b"2", damaged[2]), (b"4", damaged[4])]
    assert {(row.topic, row.partition, row.offset) for row in letters} == {(TOPIC, None, None)}


def test_of_many_messages_exactly_the_damaged_are_dead_letters(
    spark: SparkSession, conf: dict[str, str], tmp_path: Path
) -> None:
    """One message in a hundred is damaged. SERDES_DEAD_LETTER_ROWS sets the number of messages."""
    count, chance = int(os.environ.get("SERDES_DEAD_LETTER_ROWS", "50000")), random.Random(8)
    serializers = [KafkaAvroSerializer(conf, schema) for schema in (FIRST, SECOND, THIRD)]
    values = [
        serializers[n % 3].serialize(TOPIC, {"id": n, "note": f"note {n}", "cents": n % 99}) for n in range(count)
    ]
    damaged = dict.fromkeys(chance.sample(range(count), count // 100), b"")
    deserializer = KafkaAvroDeserializer({**conf, "fallback.to.latest": False})
    for place in damaged:
        values[place] = damaged[place] = unreadable(values[place] or b"", deserializer, chance)
    columns = {"value": pa.array(values, pa.binary()), "offset": pa.array(range(count), pa.int64())}
    pq.write_table(pa.table(columns), tmp_path / "messages.parquet", row_group_size=count // 8)

    options = {"errorColumn": "error"}
    strict = {**conf, "fallback.to.latest": False}
    df = spark.read.parquet(str(tmp_path / "messages.parquet"))
    good, dead = split_errors(decode_df(df, strict, topic=TOPIC, keep=["offset"], options=options), "error")
    letters = dead.select("offset", "value").toArrow()
    assert dict(zip(letters["offset"].to_pylist(), letters["value"].to_pylist(), strict=True)) == damaged
    read = good.select("offset", "id", "note", "cents").toArrow().to_pylist()
    assert len(read) == count - len(damaged)
    for row in read:
        number = row["offset"]
        note, cents = f"note {number}" if number % 3 else None, number % 99 if number % 3 == 2 else -1
        assert row == {"offset": number, "id": number, "note": note, "cents": cents}
        assert number not in damaged


def unreadable(data: bytes, deserializer: KafkaAvroDeserializer, chance: random.Random) -> bytes:
    """Damage ``data`` until it cannot be read."""
    while True:
        data = edited(data, [(chance.choice(["set", "cut", "insert"]), chance.randrange(99), chance.randrange(256))])
        try:
            deserializer.deserialize(TOPIC, data)
        except (DecodeError, SchemaNotFoundError):
            return data


# --- Columns to messages


def test_columns_become_messages_that_other_readers_can_read(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.createDataFrame([(1, "a", 5), (2, None, 6)], "id bigint, note string, extra int")
    encoded = encode_df(df, conf, topic=TOPIC, schema=SECOND, value="v", keep=["extra", "note"])
    assert encoded.schema.simpleString() == "struct<extra:int,note:string,v:binary>"
    deserializer = KafkaAvroDeserializer(conf)
    assert [(row.extra, row.note, deserializer.deserialize(TOPIC, bytes(row.v))) for row in encoded.collect()] == [
        *[(5, "a", {"id": 1, "note": "a"}), (6, None, {"id": 2, "note": None})]
    ]


def test_a_missing_column_is_written_as_the_fields_default(spark: SparkSession, conf: dict[str, str]) -> None:
    encoded = encode_df(spark.range(2), conf, topic=TOPIC, schema=THIRD)
    assert rows_of(decode_df(encoded, conf, topic=TOPIC)) == [(0, None, -1), (1, None, -1)]
    renamed, ignoring = spark.range(2).withColumnRenamed("id", "number"), {**conf, "unmatched.columns": "ignore"}
    with pytest.raises(ConfigError, match="no field for column 'number', and no column for its fields 'id', 'note'"):
        encode_df(renamed, conf, topic=TOPIC, schema=THIRD)
    with pytest.raises(ConfigError, match="there is no column for the fields id"):
        encode_df(renamed, ignoring, topic=TOPIC, schema=THIRD)


def test_a_dataframe_round_trips_with_the_schema_derived_from_it(spark: SparkSession, conf: dict[str, str]) -> None:
    df = spark.sql(
        """select id, cast(id as int) i, cast(id as float) f, cast(id as double) d, id % 2 = 0 b, cast(id as string) s,
           cast(cast(id as string) as binary) bin, date '2026-01-01' da, timestamp '2026-01-01 12:34:56.789012' ts,
           timestamp_ntz '1969-12-31 23:59:59.999999' ntz, cast(id / 7 as decimal(20, 5)) de, array(id, null) arr,
           map('k', id, 'n', null) m, named_struct('x', id, 'y', array(named_struct('z', 'z'))) st,
           if(id % 3 = 0, null, named_struct('q', id)) st2, void_column v
           from range(20) lateral view explode(array(null)) t as void_column"""
    )
    encoded = encode_df(df, conf, topic=TOPIC, schema=to_avro_schema(df.schema))
    decoded = decode_df(encoded, conf, topic=TOPIC)
    assert [field.dataType for field in decoded.schema] == [field.dataType for field in df.schema]
    assert decoded.collect() == df.collect()


def test_the_error_for_a_value_that_does_not_fit_names_it(spark: SparkSession, conf: dict[str, str]) -> None:
    schema = order({"name": "id", "type": "int"})
    encoded = encode_df(spark.range(2**31 - 1, 2**31 + 1, numPartitions=1), conf, topic=TOPIC, schema=schema)
    with (
        pytest.raises(SparkError, match="EncodeError: topic orders, row 1, schema version 0, field id: "),
        spark_errors(),
    ):
        encoded.collect()


def test_a_schema_that_the_topic_refuses_fails_on_the_driver(spark: SparkSession, conf: dict[str, str]) -> None:
    message(conf, FIRST, id=0)
    with pytest.raises(IncompatibleSchemaError):
        encode_df(spark.range(1), conf, topic=TOPIC, schema=order({"name": "id", "type": "string"}))


def test_a_schema_that_is_not_a_record_becomes_one_column(spark: SparkSession, conf: dict[str, str]) -> None:
    serializer = KafkaAvroSerializer(conf, {"type": "array", "items": "int"})
    df = frame(spark, [serializer.serialize(TOPIC, [1, 2]), None])
    decoded = decode_df(df, conf, topic=TOPIC)
    assert rows_of(decoded) == [([1, 2],), (None,)]
    with pytest.raises(ConfigError, match="expected a record schema, got array"):
        encode_df(decoded, conf, topic=TOPIC)


# --- Names and options


def test_invalid_arguments_are_named(spark: SparkSession, conf: dict[str, str]) -> None:
    message(conf, SECOND, id=0)
    df = frame(spark, [])
    for expected, arguments in (
        ("the DataFrame has no column 'v'", {"value": "v"}),
        ("column offset: expected messages of type BINARY, got bigint", {"value": "offset"}),
        ("the DataFrame has no column 'x'", {"keep": ["x"]}),
        ("two columns of the result would have the same name: note", {"options": {"errorColumn": "note"}}),
        ("mode: expected FAILFAST or PERMISSIVE or DROPMALFORMED, got 'LENIENT'", {"options": {"mode": "LENIENT"}}),
        ("schemaEvolution: expected none or restart, got 1", {"options": {"schemaEvolution": 1}}),
        ("unknown option 'errorcolumn'.*did you mean errorColumn", {"options": {"errorcolumn": "e"}}),
        ("errorColumn requires mode PERMISSIVE", {"options": {"errorColumn": "e", "mode": "FAILFAST"}}),
        ("errorColumn: expected a column name", {"options": {"errorColumn": 1}}),
    ):
        with pytest.raises(ConfigError, match=expected):
            decode_df(df, conf, topic=TOPIC, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="two columns of the result would have the same name: id"):
        decode_df(df.withColumn("id", F.lit(1)), conf, topic=TOPIC, keep=["id"])
    with pytest.raises(ConfigError, match="expected 'error' to be an error column of decode_df"):
        split_errors(decode_df(df, conf, topic=TOPIC), "error")
    with pytest.raises(SchemaNotFoundError):
        decode_df(df, conf, topic="nothing")
    with pytest.raises(SchemaNotFoundError):
        encode_df(spark.range(1), conf, topic="nothing")


def test_columns_are_refused_where_names_are_expected(spark: SparkSession, conf: dict[str, str]) -> None:
    message(conf, SECOND, id=0)
    messages, columns = frame(spark, []), spark.range(1)
    for given, shown in (([F.col("value")], "Column<'value'>"), ([["offset"]], r"\['offset'\]"), (["offset", 1], "1")):
        with pytest.raises(ConfigError, match=f"keep: expected a column name, got {shown}"):
            decode_df(messages, conf, topic=TOPIC, keep=given)
        with pytest.raises(ConfigError, match=f"keep: expected a column name, got {shown}"):
            encode_df(columns, conf, topic=TOPIC, keep=given)
    for given, shown in (("offset", "'offset'"), (None, "None"), (F.col("offset"), "Column<'offset'>")):
        with pytest.raises(ConfigError, match=f"keep: expected a list of column names, got {shown}"):
            decode_df(messages, conf, topic=TOPIC, keep=given)
    for given in (F.col("value"), None, 1, ""):
        with pytest.raises(ConfigError, match="value: expected a column name, got "):
            decode_df(messages, conf, topic=TOPIC, value=given)
        with pytest.raises(ConfigError, match="value: expected a column name, got "):
            encode_df(columns, conf, topic=TOPIC, value=given)
    for given in (F.col("e"), ["e"], 1):
        with pytest.raises(ConfigError, match="errorColumn: expected a column name, got "):
            decode_df(messages, conf, topic=TOPIC, options={"errorColumn": given})
        with pytest.raises(ConfigError, match="error_column: expected a column name, got "):
            split_errors(decode_df(messages, conf, topic=TOPIC, options={"errorColumn": "e"}), given)
    with pytest.raises(ConfigError, match=r"hint: pass its name; use df\.withColumn to name a computed column"):
        decode_df(messages, conf, topic=TOPIC, keep=[F.col("offset") + 1])


def test_names_of_columns_may_come_from_an_iterator(spark: SparkSession, conf: dict[str, str]) -> None:
    df = frame(spark, [message(conf, FIRST, id=7)])
    decoded = decode_df(df, conf, topic=TOPIC, keep=(name for name in ("offset", "partition")))
    assert decoded.columns == ["offset", "partition", "id"]
    encoded = encode_df(decoded, conf, topic=TOPIC, keep=iter(["partition"]))
    assert encoded.columns == ["partition", "value"]
    assert encoded.count() == decoded.count() == 1


def test_a_topics_schema_may_have_invalid_defaults(spark: SparkSession, conf: dict[str, str]) -> None:
    """Pulsar accepts a default of another type."""
    faulty = json.dumps(order({**ID, "default": "none"}))
    SchemaRegistryClient(parsed(conf)).register(TOPIC, faulty)
    assert rows_of(decode_df(frame(spark, [framed(0, FIRST, id=7)]), conf, topic=TOPIC)) == [(7,)]


def parsed(conf: dict[str, str]) -> dict[str, Any]:
    return config.parse(config.REGISTRY_OPTIONS, conf, strict=True)


def test_a_stream_is_decoded_and_encoded(spark: SparkSession, conf: dict[str, str], tmp_path: Path) -> None:
    values = [message(conf, schema, id=number) for number, schema in enumerate((FIRST, SECOND, THIRD) * 10)]
    folder = tmp_path / "in"
    frame(spark, values).write.parquet(str(folder))
    stream = spark.readStream.schema(FRAME).parquet(str(folder))
    encoded = encode_df(decode_df(stream, conf, topic=TOPIC), conf, topic=TOPIC)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    query = encoded.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start(out).awaitTermination()
    read = decode_df(spark.read.parquet(out), conf, topic=TOPIC, schema=FIRST)
    assert sorted(rows_of(read)) == [(number,) for number in range(30)]
