"""KafkaAvroSink: every row arrives unchanged, at least once."""

from __future__ import annotations

import copy
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from any_type import delete, register
from orders import ROWS, SCHEMA, TOPIC, in_order, messages_of, read
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.codec import Duration
from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, decode_df, encode_df, to_avro_schema
from streamnative_serdes.spark.datasource.writing.sink_columns import SinkColumns
from streamnative_serdes.spark.frames.encoding import Encoder
from streamnative_serdes.spark.partitions.sink import ColumnsTask
from streamnative_serdes.testing import LocalRegistry

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it


def headers_of(message: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in message.headers() or ()}


def test_every_row_arrives_unchanged(orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)
    orders.foreachPartition(sink.foreach_partition)
    assert in_order(read(conf, messages_of(kafka))) == ROWS


def test_only_the_driver_asks_the_registry(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], registry: LocalRegistry
) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA)
    for _ in range(2):
        orders.repartition(8).foreachPartition(sink.foreach_partition)
        sink.write(orders)
    latest = KafkaAvroSink(TOPIC, kafka, conf)
    latest.write(orders)
    # By the driver: three for the three writes, which also answer what the second sink asks: it has no schema.
    assert registry.calls == {"POST schema": 1, "GET schema": 4}


def test_workers_do_not_check_topics_for_changes(spark: SparkSession, conf: dict[str, str]) -> None:
    from streamnative_serdes import KafkaAvroSerializer
    from streamnative_serdes.spark.session.workers import Carried

    serializer = KafkaAvroSerializer({**conf, "cache.latest.ttl.sec": 0}, SCHEMA)
    serializer.warm_up(TOPIC)
    carried = Carried(serializer)

    def begun(rows: Iterable[Any]) -> Iterator[str]:
        import threading

        from streamnative_serdes._topics.watch import Watch

        Watch.allowed = True  # as in the first task of a process
        before = set(threading.enumerate())  # threads of earlier tests
        carried.get().serialize(TOPIC, {"id": 1, "state": "OPEN"})
        yield from (thread.name for thread in threading.enumerate() if thread not in before)

    assert spark.sparkContext.parallelize([1, 2], 2).mapPartitions(begun).collect() == []


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("note", lambda id, note: note and note.encode()),
        ("bytes", lambda id, note: note and note.encode()),
        ("nothing", lambda id, note: None),
        (lambda row: str(row.id), lambda id, note: str(id).encode()),
        (lambda row: row.id.to_bytes(8), lambda id, note: id.to_bytes(8)),
        ("expression", lambda id, note: f"{('OPEN', 'PAID')[id % 2]}-{id}".encode()),
    ],
    ids=["column of strings", "column of binaries", "column of nulls", "text", "bytes", "expression"],
)
def test_a_key_is_a_column_a_function_or_an_expression(
    orders: DataFrame,
    kafka: dict[str, str],
    conf: dict[str, str],
    key: Any,
    expected: Callable[[int, str | None], bytes | None],
) -> None:
    chosen = F.concat_ws("-", "state", "id") if key == "expression" else key  # needs a session
    more = {"bytes": F.col("note").cast("binary"), "nothing": F.lit(None)}
    df = orders.withColumn(key, more[key]) if key in more else orders
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key=chosen).write(df)
    messages = messages_of(kafka)
    records = read(conf, messages)
    assert [message.key() for message in messages] == [expected(record["id"], record["note"]) for record in records]
    assert len(messages) == len(ROWS)


@pytest.mark.parametrize("by", ["column", "expression", "function"])
def test_a_null_value_is_a_tombstone(orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], by: str) -> None:
    columns = orders.select(F.col("id").cast("string").alias("id"), F.struct("*").alias("order"))
    paid = F.when(F.col("order.state") == "PAID", F.col("order"))
    if by == "column":
        sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="id", value="order")
        sink.write(columns.withColumn("order", paid))
    elif by == "expression":
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="id", value=paid).write(columns)
    else:
        task = KafkaAvroSink(
            TOPIC, kafka, conf, SCHEMA, key="id", value=lambda row: row.order if row.order.state == "PAID" else None
        )
        task.write(columns)
    messages = messages_of(kafka)
    assert {int(message.key()) for message in messages if message.value() is None} == set(range(0, 1000, 2))
    assert in_order(record for record in read(conf, messages) if record) == ROWS[1::2]


def test_rows_without_a_session_are_sent_too(kafka: dict[str, str], conf: dict[str, str]) -> None:
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="note")
    sink.foreach_partition({"id": number, "state": "OPEN", "note": "x"} for number in range(3))
    sink.foreach_partition([])
    messages = messages_of(kafka)
    assert [record["id"] for record in read(conf, messages)] == [0, 1, 2]
    assert {message.key() for message in messages} == {b"x"}


def test_the_schema_is_derived_from_the_dataframe(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    KafkaAvroSink(TOPIC, kafka, conf, to_avro_schema(orders.schema, "Order")).write(orders)
    assert in_order(read(conf, messages_of(kafka))) == ROWS


def test_the_sink_waits_while_the_queue_is_full(orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]) -> None:
    small = {**kafka, "queue.buffering.max.messages": 10, "linger.ms": 0}
    KafkaAvroSink(TOPIC, small, conf, SCHEMA).write(orders)
    assert in_order(read(conf, messages_of(kafka))) == ROWS


def test_the_repr_of_pickled_tasks_shows_no_secret(conf: dict[str, str]) -> None:
    kafka = {"bootstrap.servers": "localhost:9", "sasl.password": "c4n4ry"}
    ends = [KafkaAvroSink(TOPIC, kafka, conf, SCHEMA), KafkaAvroSource(TOPIC, kafka, conf)]
    by_rows = ends[0].__getstate__()["_sent"]
    by_columns = ColumnsTask(by_rows.to, SinkColumns({}, (), (0,), Encoder.plan(TOPIC, conf, SCHEMA)[0]))
    tasks = [by_rows, by_columns]
    assert [task.to.kafka["sasl.password"] for task in tasks] == ["c4n4ry"] * 2
    assert "c4n4ry" not in repr([*ends, *tasks])


def test_a_copy_of_a_sink_is_the_sink(conf: dict[str, str]) -> None:
    """A pickle has only what tasks need."""
    sink = KafkaAvroSink(TOPIC, {"bootstrap.servers": "localhost:9"}, conf, SCHEMA)
    assert copy.copy(sink) is sink
    assert copy.deepcopy([sink]) == [sink]


def test_a_name_is_a_column_with_and_without_an_expression(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    dotted = orders.coalesce(1).limit(1).select(F.struct("*").alias("of"), F.lit("dotted").alias("of.note"))
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="of.note", value="of").write(dotted)
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="of.note", value=F.col("of")).write(dotted)
    assert [message.key() for message in messages_of(kafka)] == [b"dotted"] * 2


def test_a_column_is_found_in_each_row(spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]) -> None:
    """Rows that do not come from a DataFrame may have different fields."""
    rows = [Row(id=1, state="OPEN", note="a"), Row(note="b", id=2, state="PAID"), Row(state="OPEN", note="c", id=3)]
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="note")
    spark.sparkContext.parallelize(rows, 1).foreachPartition(sink.foreach_partition)
    sink.foreach_partition([{"id": 4, "state": "PAID", "note": "d"}, Row(id=5, note="e", state="OPEN")])
    messages = messages_of(kafka)
    found = {message.key().decode(): datum for message, datum in zip(messages, read(conf, messages), strict=True)}
    assert {key: datum["id"] for key, datum in found.items()} == {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
    assert all(datum["note"] == key for key, datum in found.items())


EVERYTHING: list[dict[str, Any]] = [
    {"name": "value", "type": ["null", "int", "string", "boolean"]},
    {"name": "took", "type": {"type": "fixed", "name": "Took", "size": 12, "logicalType": "duration"}},
    {"name": "much", "type": {"type": "bytes", "logicalType": "big-decimal"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": ["null", "double"]}}},
    {"name": "of", "type": ["null", SCHEMA], "default": None},
]


def test_a_sink_writes_the_result_of_decode_df(
    spark: SparkSession, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    """From topic to topic with equal bytes, including unions, which become structs of their members."""
    schema = {"type": "record", "name": "Everything", "fields": EVERYTHING}
    serializer = KafkaAvroSerializer(conf, schema)
    sent = [
        serializer.serialize(
            TOPIC,
            {
                "value": value,
                "took": Duration(1, number, 3),
                "much": Decimal(number) / 8,
                "at": datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC),
                "day": date(1969, 12, 1 + number),
                "price": Decimal(number) / 4,
                "tags": {"a": [1.5, None], "": []} if number % 2 else {},
                "of": dict(zip(("id", "state", "note"), ROWS[number], strict=True)) if number % 3 else None,
            },
        )
        for number, value in enumerate((None, 1, "a", True, -1))
    ]
    decoded = decode_df(spark.createDataFrame([(each,) for each in sent], "value binary"), conf, topic=TOPIC)
    KafkaAvroSink(TOPIC, kafka, conf, schema).write(decoded)
    KafkaAvroSink(TOPIC, kafka, conf, schema, value="whole").write(decoded.select(F.struct("*").alias("whole")))
    assert sorted(message.value() for message in messages_of(kafka)) == sorted(sent * 2)


def test_columns_and_rows_give_the_same_messages(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    typed = orders.select(
        "*",
        F.expr("timestamp_micros(id * 1000003)").alias("at"),
        F.expr("timestamp_ntz '1969-12-31 23:59:59' + make_dt_interval(0, 0, 0, id)").alias("local"),
        F.expr("date '1969-12-31' + int(id)").alias("day"),
        F.expr("cast(id / 8 - 50 as decimal(12, 3))").alias("price"),
        F.expr("array(id, null)").alias("list"),
        F.expr("map(state, struct(float(id) as f, cast(note as binary) as b))").alias("map"),
        F.expr("cast(id % 100 as tinyint)").alias("tiny"),
    )
    sink = KafkaAvroSink(TOPIC, kafka, conf, to_avro_schema(typed.schema, "Typed"), dedup_headers=True)
    sink.write(typed)
    typed.foreachPartition(sink.foreach_partition)
    found: dict[str, set[tuple[str, str, bytes]]] = {}
    for message in messages_of(kafka):
        headers = headers_of(message)
        of_write = found.setdefault(headers["spark.query.id"], set())
        of_write.add((headers["spark.partition.id"], headers["spark.row"], message.value()))
    by_columns, by_rows = found.values()
    assert by_columns == by_rows
    assert len(by_rows) == len(ROWS)


def test_a_row_of_a_later_batch_has_its_own_number(
    spark: SparkSession, orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "30")
    try:
        KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, dedup_headers=True).write(orders.coalesce(1))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    messages = messages_of(kafka)
    numbers = [int(headers_of(message)["spark.row"]) for message in messages]
    assert [record["id"] for record in read(conf, messages)] == numbers
    assert sorted(numbers) == list(range(1000))


def test_each_write_uses_the_schema_that_is_latest_then(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], registry: LocalRegistry
) -> None:
    register(registry, TOPIC, "AVRO", {**SCHEMA, "fields": SCHEMA["fields"][:2]})  # type: ignore[index]
    sink = KafkaAvroSink(TOPIC, kafka, conf)
    sink.write(orders)
    register(registry, TOPIC, "AVRO", SCHEMA)
    sink.foreach_batch(orders, 0)
    found = Counter(tuple(record) for record in read(conf, messages_of(kafka)))
    assert found == {("id", "state"): 1000, ("id", "state", "note"): 1000}


@pytest.mark.parametrize("more", [{}, {"key": lambda row: None}, {"to_dict": lambda row, _: row.asDict()}])
def test_the_schema_is_registered_again_on_a_topic_that_was_recreated(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], registry: LocalRegistry, more: dict[str, Any]
) -> None:
    versions = []
    sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, **more)
    for make in (False, False, True):
        delete(registry, TOPIC)
        sink = KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, **more) if make else sink
        registry.reset_calls()
        sink.write(orders.limit(1))
        versions.append(registry.calls)
    assert versions == [{"GET schema": 1, "POST schema": 1}] * 2 + [{"GET schema": 1}]
    assert len(read(conf, messages_of(kafka))) == 3


def test_a_value_column_of_the_null_type_gives_a_tombstone_per_row(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="state", value=F.lit(None)).write(orders)
    found = Counter((message.key(), message.value()) for message in messages_of(kafka))
    assert found == {(b"OPEN", None): 500, (b"PAID", None): 500}


def test_a_column_with_an_ambiguous_name_is_found(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    alike = orders.select(F.lit("other").alias("ID"), "*", F.lit("k").alias("NOTE"))
    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, key="NOTE").write(alike)
    messages = messages_of(kafka)
    assert in_order(read(conf, messages)) == ROWS
    assert {message.key() for message in messages} == {b"k"}
    again = encode_df(alike, conf, topic=TOPIC, keep=["NOTE"])
    assert in_order(read(conf, messages_of(kafka))) == in_order(
        KafkaAvroDeserializer(conf).deserialize(TOPIC, bytes(row.value)) for row in again.collect()
    )


def test_to_dict_takes_rows_with_keys_that_spark_computes(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str]
) -> None:
    def to_dict(row: Row, _: Any) -> dict[str, Any]:
        return {"id": -row.id, "state": "OPEN"}

    KafkaAvroSink(TOPIC, kafka, conf, SCHEMA, to_dict=to_dict, key=F.col("id").cast("string")).write(orders)
    messages = messages_of(kafka)
    assert [-record["id"] for record in read(conf, messages)] == [int(message.key()) for message in messages]
    assert len(messages) == 1000


def once(mark: Path) -> bool:
    """Whether this is the first call for ``mark`` in any process."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fail_after_flush(send: Callable[[Iterable[Any]], None], mark: Path, rows: Iterable[Any]) -> None:
    send(rows)
    if once(mark):
        raise RuntimeError("all is delivered")


def die_in_the_middle(send: Callable[[Iterable[Any]], None], mark: Path, rows: Iterable[Any]) -> None:
    def dying() -> Iterator[Any]:
        for number, row in enumerate(rows):
            if number == 150 and once(mark):
                os.kill(os.getpid(), signal.SIGKILL)
            yield row

    send(dying())


def once_each(kafka: dict[str, str], conf: dict[str, str]) -> dict[tuple[tuple[str, str], ...], Any]:
    """The messages by their headers, which have all rows, after one task of five ran twice."""
    messages = messages_of(kafka)
    assert len(ROWS) <= len(messages) <= len(ROWS) + 200
    first = {tuple(sorted(headers_of(message).items())): message for message in messages}
    assert in_order(read(conf, first.values())) == ROWS
    return first


@pytest.mark.parametrize("fails", [fail_after_flush, die_in_the_middle])
def test_a_task_that_spark_repeats_loses_no_row_and_its_duplicates_can_be_identified(
    orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path, fails: Any
) -> None:
    sink = KafkaAvroSink(TOPIC, {**kafka, "linger.ms": 0}, conf, SCHEMA, dedup_headers=True)
    orders.foreachPartition(partial(fails, sink.foreach_partition, tmp_path / "failed"))
    assert (tmp_path / "failed").exists()
    messages, first = messages_of(kafka), once_each(kafka, conf)
    assert len(messages) > len(ROWS) or fails is die_in_the_middle
    assert {name for place in first for name, _ in place} == {"spark.query.id", "spark.partition.id", "spark.row"}
    assert len({headers_of(message)["spark.query.id"] for message in messages}) == 1


def test_a_task_with_columns_that_spark_repeats_loses_no_row_and_its_duplicates_can_be_identified(
    spark: SparkSession, orders: DataFrame, kafka: dict[str, str], conf: dict[str, str], tmp_path: Path
) -> None:
    mark = tmp_path / "failed"

    @F.udf("bigint")
    def dying(number):  # type: ignore[no-untyped-def] # PySpark would take hints for those of another kind
        if number == 150 and once(mark):
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    sink = KafkaAvroSink(TOPIC, {**kafka, "linger.ms": 0}, conf, SCHEMA, dedup_headers=True)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        sink.write(orders.withColumn("id", dying("id")))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert mark.exists()
    once_each(kafka, conf)
