"""Writing with ``format("streamnative-kafka")``: what arrives, and what is refused before a task runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from any_type import delete, register
from any_type import header as header_of
from orders import messages_of
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamnative_serdes import ConfigError, EncodeError, KafkaAvroDeserializer, KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes._kafka import transactions
from streamnative_serdes.spark import to_avro_schema
from streamnative_serdes.spark.datasource.writing import writers
from streamnative_serdes.spark.datasource.writing.transactions import Transaction, TransactionError
from streamnative_serdes.spark.datasource.writing.writers import StreamRowWriter
from streamnative_serdes.spark.datasource.writing.writes import Sent
from streamnative_serdes.testing import LocalRegistry, MockBroker

PARTITIONS = 4
KEYED = T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.StringType())])
ROW = T.StructType([T.StructField("id", T.LongType()), T.StructField("name", T.StringType())])


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    topics = ("plain", "parts", "elsewhere", "columns", "struct", "pairs", "stream", "view", "typed", "rows", "none")
    topics += ("values", "pair-values", "new-value", "new-columns", "defaults")
    with MockBroker(dict.fromkeys(topics, PARTITIONS)) as running:
        yield running


@pytest.fixture
def options(broker: MockBroker) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap_servers, "kafka.log_level": "0"}


def write(df: DataFrame, options: Mapping[str, str], **more: str) -> None:
    df.write.format("streamnative-kafka").options(**options, **more).mode("append").save()


def arrived(broker: MockBroker, topic: str) -> list[Any]:
    """All messages of a topic, in the order of partitions and offsets."""
    return messages_of({"bootstrap.servers": broker.bootstrap_servers}, topic)


def headers(message: Any) -> dict[str, bytes]:
    return dict(message.headers() or ())


def test_keys_and_values_arrive_in_the_partitions_where_java_puts_them(
    spark: SparkSession, broker: MockBroker, options: dict[str, str]
) -> None:
    keys = "string(element_at(array('no-digits', 'foobar', 'abc'), int(id + 1)))"  # Kafka's UtilsTest has their hashes
    rows = spark.range(300, numPartitions=3).selectExpr(
        f"if(id < 3, {keys}, string(id)) key", "if(id = 7, null, binary(string(id))) value"
    )
    write(rows, options, topic="plain")
    found = {message.key(): message for message in arrived(broker, "plain")}
    assert found.keys() == {b"no-digits", b"foobar", b"abc", *(b"%d" % number for number in range(3, 300))}
    values = {key: message.value() for key, message in found.items() if key.isdigit()}
    assert values == {key: key for key in values} | {b"7": None}
    hashes = {b"foobar": -790332482, b"abc": 479470107}
    assert {key: found[key].partition() for key in hashes} == {
        key: (hashed & 0x7FFFFFFF) % PARTITIONS for key, hashed in hashes.items()
    }


def test_each_part_of_a_message_is_what_its_column_says(
    spark: SparkSession, broker: MockBroker, options: dict[str, str]
) -> None:
    columns = (
        "if(id < 4, 'parts', 'elsewhere') topic",
        "int(if(id = 5, null, id % 4)) partition",
        "if(id = 6, null, timestamp_millis(1700000000000 + id)) timestamp",
        "if(id = 1, null, array(named_struct('key', 'h', 'value', binary('x')), "
        "named_struct('key', 'null', 'value', binary(null)))) headers",
        "string(id) value",
        "id offset",
    )
    write(spark.range(8, numPartitions=2).selectExpr(*columns), options, dedupHeaders="true")
    first, second = arrived(broker, "parts"), arrived(broker, "elsewhere")
    assert [int(message.value() or b"") for message in first] == [0, 1, 2, 3]
    assert {int(message.value() or b"") for message in second} == {4, 5, 6, 7}
    for message in (*first, *second):
        number = int(message.value() or b"")
        assert number == 5 or message.partition() == number % 4
        assert number == 6 or message.timestamp()[1] == 1700000000000 + number
        own = {} if number == 1 else {"h": b"x", "null": None}
        given = headers(message)
        query = given.pop("spark.query.id")
        assert given == {**own, "spark.partition.id": b"%d" % (number // 4), "spark.row": b"%d" % (number % 4)}
        assert query == headers(first[0])["spark.query.id"]


def test_columns_are_encoded_by_the_topics_schema(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], conf: dict[str, str], registry: LocalRegistry
) -> None:
    rows = spark.range(100, numPartitions=2).selectExpr("id", "string(id % 10) key", "double(id) / 4 total")
    schema = json.dumps(to_avro_schema(rows.drop("key").schema, "Order"))
    write(rows, {**options, **conf}, topic="columns", encode="columns", keep="key", schema=schema)
    assert registry.calls == {"POST schema": 1}, "the driver registers the schema, and tasks ask nothing"
    structs = rows.select("key", F.struct("total", "id").alias("value"))
    write(structs, {**options, **conf}, topic="columns", encode="value")
    read = KafkaAvroDeserializer(conf)
    found = [(message.key(), read.deserialize("columns", message.value())) for message in arrived(broker, "columns")]
    expected = [(b"%d" % (number % 10), {"id": number, "total": number / 4}) for number in range(100)]
    assert sorted(found, key=lambda each: each[1]["id"]) == [each for each in expected for _ in range(2)]


def test_pairs_are_encoded_to_keys_and_values(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], conf: dict[str, str]
) -> None:
    pair = KeyValueSchema(
        "STRING", {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}, "SEPARATED"
    )
    KafkaAvroSerializer(conf, pair).warm_up("pairs")
    rows = spark.range(20).selectExpr("string(id) key", "struct(id n) value", "int(id % 4) partition")
    write(rows, {**options, **conf}, topic="pairs", encode="value")
    found = arrived(broker, "pairs")
    assert sorted(int(message.key() or b"") for message in found) == list(range(20))
    assert all(int(message.key() or b"") % 4 == message.partition() for message in found)


def test_a_stream_tells_each_message_by_its_headers(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], tmp_path: Path
) -> None:
    for number in range(2):
        spark.range(10 * number, 10 * number + 10, numPartitions=1).write.mode("append").parquet(f"{tmp_path}/from")
    stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/from")
    writer = stream.selectExpr("string(id) value").writeStream.format("streamnative-kafka")
    query = writer.options(**options, topic="stream", dedupHeaders="true", checkpointLocation=f"{tmp_path}/c").start()
    query.processAllAvailable()
    query.stop()
    found = arrived(broker, "stream")
    assert sorted(int(message.value() or b"") for message in found) == list(range(20))
    told = {
        tuple(headers(message)[f"spark.{name}"] for name in ("batch.id", "partition.id", "row")) for message in found
    }
    assert told == {(b"%d" % batch, b"0", b"%d" % row) for batch in range(2) for row in range(10)}
    assert {headers(message)["spark.query.id"] for message in found} == {str(query.id).encode()}


def test_rows_of_a_stream_before_pyspark_4_1_arrive_as_columns_do(
    spark: SparkSession, broker: MockBroker, options: dict[str, str]
) -> None:
    schema = T.StructType([*KEYED, T.StructField("timestamp", T.TimestampType())])
    rows = spark.sql("select 'k' key, 'v' value, timestamp_millis(1700000000000) timestamp").collect()
    task = writers.stream_writer({**options, "topic": "rows"}, schema, overwrite=False)._task  # type: ignore[attr-defined]
    sent = StreamRowWriter(task, schema).write(iter(rows * 3))
    assert isinstance(sent, Sent)
    assert sent.messages == 3
    found = arrived(broker, "rows")
    assert [(each.key(), each.value(), each.timestamp()[1]) for each in found] == [(b"k", b"v", 1700000000000)] * 3


def view(spark: SparkSession, name: str, options: Mapping[str, str]) -> None:
    told = ", ".join(f"`{option}` '{value}'" for option, value in options.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} USING `streamnative-kafka` OPTIONS ({told})")


def test_sql_inserts_into_a_view(spark: SparkSession, broker: MockBroker, options: dict[str, str]) -> None:
    view(spark, "a_view", {**options, "topic": "view"})
    parts = spark.table("a_view").columns
    assert parts == ["key", "value", "headers", "partition", "timestamp"]
    spark.sql("INSERT INTO a_view SELECT binary(string(id)), binary('x'), null, int(id % 4), null FROM range(10)")
    assert [message.partition() for message in arrived(broker, "view")] == sorted(number % 4 for number in range(10))
    if pyspark.__version__ > "4.1":  # before, an INSERT has to have all columns
        spark.sql("INSERT INTO a_view (key, value) SELECT binary('k'), binary('v')")
        assert len(arrived(broker, "view")) == 11


def test_sql_inserts_columns_by_the_topics_schema(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], conf: dict[str, str]
) -> None:
    KafkaAvroSerializer(conf, to_avro_schema(ROW, "R")).warm_up("typed")
    view(spark, "typed_view", {**options, **conf, "topic": "typed", "encode": "columns", "keep": "key"})
    assert spark.table("typed_view").columns == ["key", "id", "name"]
    spark.sql("INSERT INTO typed_view SELECT binary('k'), id, 'n' FROM range(3)")
    read = KafkaAvroDeserializer(conf)
    found = [read.deserialize("typed", message.value()) for message in arrived(broker, "typed")]
    assert sorted(each["id"] for each in found) == [0, 1, 2]


@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="an INSERT has to have all columns")
def test_sql_inserts_the_defaults_of_fields_that_it_leaves_out(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], conf: dict[str, str]
) -> None:
    odd = 'it\'s \\n a "default"'
    given = {
        "whole": ("int", 5),
        "long": ("long", -(2**63)),
        "text": (["string", "null"], odd),
        "flag": ("boolean", True),
        "half": ("double", 1e300),
        "float": ("float", 0),
        "kind": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
        "none": (["null", "int"], None),
    }
    fields = [{"name": name, "type": kind, "default": default} for name, (kind, default) in given.items()]
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, *fields]}
    KafkaAvroSerializer(conf, schema).warm_up("defaults")
    view(spark, "defaults_view", {**options, **conf, "topic": "defaults", "encode": "columns", "keep": "key"})
    spark.sql("INSERT INTO defaults_view (id) VALUES (1)")
    spark.sql("INSERT INTO defaults_view (id, whole, text) VALUES (2, 7, NULL)")
    read = KafkaAvroDeserializer(conf)
    found = [read.deserialize("defaults", message.value()) for message in arrived(broker, "defaults")]
    usual = {name: default for name, (_, default) in given.items()}
    assert sorted(found, key=lambda each: each["id"]) == [
        {"id": 1, **usual},
        {"id": 2, **usual, "whole": 7, "text": None},
    ]


def test_sql_inserts_structs_as_values_by_the_topics_schema(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], conf: dict[str, str]
) -> None:
    KafkaAvroSerializer(conf, to_avro_schema(ROW, "R")).warm_up("values")
    view(spark, "values_view", {**options, **conf, "topic": "values", "encode": "value"})
    columns = {field.name: field.dataType.simpleString() for field in spark.table("values_view").schema}
    assert list(columns) == ["key", "value", "headers", "partition", "timestamp"]
    assert (columns["key"], columns["value"]) == ("binary", "struct<id:bigint,name:string>")
    value = "if(id = 1, null, named_struct('id', int(id), 'name', 'n'))"
    spark.sql(f"INSERT INTO values_view SELECT binary('k'), {value}, null, int(id), null FROM range(3)")
    others = "binary('k') key, null headers, timestamp(null) timestamp, 3 partition"
    spark.sql(f"INSERT INTO values_view BY NAME SELECT {others}, named_struct('name', 'n', 'id', 3) value")
    read = KafkaAvroDeserializer(conf)
    found = {message.partition(): message for message in arrived(broker, "values")}
    values = {partition: read.deserialize("values", message.value()) for partition, message in found.items()}
    assert values == {number: None if number == 1 else {"id": number, "name": "n"} for number in range(4)}
    assert {message.key() for message in found.values()} == {b"k"}


def test_sql_inserts_pairs_by_the_topics_schema(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], conf: dict[str, str]
) -> None:
    halves = [{"type": "record", "name": name, "fields": [{"name": "n", "type": "long"}]} for name in ("K", "V")]
    pair = KeyValueSchema(*halves, "SEPARATED")
    KafkaAvroSerializer(conf, pair).warm_up("pair-values")
    view(spark, "pairs_view", {**options, **conf, "topic": "pair-values", "encode": "value"})
    columns = {field.name: field.dataType.simpleString() for field in spark.table("pairs_view").schema}
    assert (columns["key"], columns["value"]) == ("struct<n:bigint>", "struct<n:bigint>")
    pairs = "named_struct('n', id), named_struct('n', -id)"
    spark.sql(f"INSERT INTO pairs_view SELECT {pairs}, null, int(id), null FROM range(3)")
    found = arrived(broker, "pair-values")
    keys, values = ([getattr(message, half)() for message in found] for half in ("key", "value"))
    read = KafkaAvroDeserializer(conf).deserialize_batch("pair-values", values, keys=keys).to_pylist()
    assert read == [{"key": {"n": number}, "value": {"n": -number}} for number in range(3)]


def test_sql_inserts_values_by_a_schema_that_is_not_registered_yet(
    spark: SparkSession, broker: MockBroker, options: dict[str, str], registry: LocalRegistry
) -> None:
    schema = json.dumps(to_avro_schema(ROW, "R"))
    for encode, row in (("value", "null, named_struct('id', 1, 'name', 'n'), null, null, null"), ("columns", "1, 'n'")):
        told = {**options, "schema.registry.url": registry.url, "topic": f"new-{encode}", "encode": encode}
        view(spark, "new_view", {**told, "schema": schema})
        spark.sql(f"INSERT INTO new_view SELECT {row}")
        assert [message.key() for message in arrived(broker, f"new-{encode}")] == [None]


def test_a_table_that_has_lost_its_options_is_an_error_that_says_so(
    spark: SparkSession, options: dict[str, str]
) -> None:
    told = ", ".join(f"`{name}` '{value}'" for name, value in {**options, "topic": "view"}.items())
    spark.sql("DROP TABLE IF EXISTS a_table")
    spark.sql(f"CREATE TABLE a_table (value string) USING `streamnative-kafka` OPTIONS ({told})")
    with pytest.raises(PySparkException, match="CREATE TEMPORARY VIEW name USING `streamnative-kafka`"):
        spark.sql("INSERT INTO a_table SELECT 'x'")
    spark.sql("DROP TABLE a_table")


@pytest.mark.parametrize("use", [{"topic": "view"}, {"subscribe": "view"}, {"topic": "view", "subscribe": "view"}])
def test_a_table_without_named_columns_is_refused_where_it_is_made_or_used(
    spark: SparkSession, options: dict[str, str], use: dict[str, str]
) -> None:
    """PySpark 4.3 passes the options of CREATE TABLE a second time, as ``option.NAME``, and drops them afterwards."""
    told = ", ".join(f"`{name}` '{value}'" for name, value in {**options, **use}.items())
    spark.sql("DROP TABLE IF EXISTS a_table")

    def make_and_use() -> None:
        spark.sql(f"CREATE TABLE a_table USING `streamnative-kafka` OPTIONS ({told})")
        spark.sql("SELECT * FROM a_table").collect()

    with pytest.raises(PySparkException, match=r"CREATE TABLE \.\.\. USING.*CREATE TEMPORARY VIEW \.\.\. USING"):
        make_and_use()
    spark.sql("DROP TABLE IF EXISTS a_table")


def test_spark_itself_refuses_its_own_default_mode_and_overwrite_is_refused_by_name(
    spark: SparkSession, options: dict[str, str]
) -> None:
    writer = spark.range(1).selectExpr("string(id) value").write.format("streamnative-kafka").options(**options)
    with pytest.raises(PySparkException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        writer.option("topic", "none").save()
    with pytest.raises(PySparkException, match=r"mode overwrite is not supported.*mode\(.append.\)"):
        writer.option("topic", "none").mode("overwrite").save()


def test_a_task_that_fails_names_the_row(spark: SparkSession, options: dict[str, str]) -> None:
    rows = spark.range(10, numPartitions=1).selectExpr("string(id) value", "int(if(id = 6, -3, 0)) partition")
    with pytest.raises(PySparkException, match=r"expected a partition from 0 to .*, got -3 \(row 6 of partition 0\)"):
        write(rows, options, topic="none")


@pytest.mark.parametrize(
    ("columns", "given", "said"),
    [
        ("key string", {"topic": "t"}, "there is no column value, which the sink needs"),
        ("key string, value string", {}, "there is neither the option topic nor a column topic"),
        ("value string, header string", {"topic": "t"}, "no column 'header'; did you mean headers"),
        ("value string, Key string", {"topic": "t"}, "no column 'Key'; did you mean key"),
        ("value int", {"topic": "t"}, "column value: expected type string or binary, got int"),
        ("value string, key int", {"topic": "t"}, "column key: expected type string or binary, got int"),
        ("value string, partition bigint", {"topic": "t"}, "column partition: expected type int, got bigint"),
        ("value string, timestamp timestamp_ntz", {"topic": "t"}, "expected type timestamp, got timestamp_ntz"),
        ("value string, headers map<string,binary>", {"topic": "t"}, "column headers: expected headers of type"),
        ("value string, topic int", {}, "column topic: expected type string, got int"),
        ("value string", {"topic": "t", "keep": "key"}, "the option keep has no effect without encode"),
        ("value string", {"topic": "t", "schema": "{}"}, "the option schema has no effect without encode"),
        ("value string", {"topic": "t", "validate.strict": "true"}, "validate.strict has no effect without encode"),
        ("value string", {"topic": "t", "delivery": "exactly-once"}, "delivery: expected at-least-once or transact"),
        ("value string", {"topic": "t", "kafka.transactional.id": "x"}, "use delivery=transactional"),
        (
            "value string, topic string",
            {"delivery": "transactional"},
            "delivery=transactional requires the option topic",
        ),
        (
            "value string",
            {"topic": "t", "delivery": "transactional", "kafka.transaction.timeout.ms": "10m"},
            "kafka.transaction.timeout.ms: expected a number of milliseconds from 1 on, got '10m'",
        ),
        ("value string", {"topic": "t", "kafka.acks": "0"}, "acks=0 is not supported"),
        ("value string", {"topic": "t", "subscribe": "t"}, "subscribe has no meaning when Spark writes"),
        ("value string", {"topic": "t", "dedupHeader": "true"}, "did you mean dedupHeaders"),
        ("value string", {"topic": "t", "encode": "avro"}, "encode: expected false or value or columns"),
        ("id int, topic string", {"encode": "columns", "keep": "topic"}, "the option topic is required"),
        ("id bigint, value string", {"topic": "t", "encode": "value", "keep": "key"}, "with encode=columns alone"),
        ("id bigint", {"topic": "t", "encode": "columns", "keep": "key"}, "keep: there is no column 'key'"),
        (
            "id bigint, value string",
            {"topic": "t", "encode": "columns", "keep": "value"},
            "messages have no part 'value'",
        ),
    ],
)
@pytest.mark.usefixtures("spark")  # parses the columns
def test_what_is_wrong_is_refused_before_a_task_runs(columns: str, given: dict[str, str], said: str) -> None:
    schema = T.StructType.fromDDL(columns)
    with pytest.raises(ConfigError, match=said):
        writers.writer({"kafka.bootstrap.servers": "127.0.0.1:1", **given}, schema, overwrite=False)


def test_columns_that_do_not_match_the_fields_are_refused_before_a_task_runs(registry: LocalRegistry) -> None:
    given = {"kafka.bootstrap.servers": "127.0.0.1:1", "schema.registry.url": registry.url, "topic": "t"}
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]})
    told = {**given, "encode": "columns", "schema": schema}
    with pytest.raises(EncodeError, match="field id: expected a column for long, got a column of type string"):
        writers.writer(told, T.StructType.fromDDL("id string"), overwrite=False)
    with pytest.raises(ConfigError, match="record R has no field for column 'other'"):
        writers.writer(told, T.StructType.fromDDL("other string"), overwrite=False)
    for column in ("key string", "headers array<struct<key: string, value: binary>>"):
        name = column.partition(" ")[0]
        with pytest.raises(ConfigError, match=f"the column {name} is neither a field .* keep={name} writes it"):
            writers.writer(told, T.StructType.fromDDL(f"id bigint, {column}"), overwrite=False)
    with pytest.raises(ConfigError, match=r"expected a record schema, got long .*encode=value"):
        writers.writer(
            {**told, "topic": "longs", "schema": '"long"'}, T.StructType.fromDDL("id bigint"), overwrite=False
        )
    with pytest.raises(EncodeError, match="expected a struct for record R, got string"):
        writers.writer({**told, "encode": "value"}, T.StructType.fromDDL("value string"), overwrite=False)


def test_each_write_is_planned_by_the_schema_that_the_topic_has_then(
    options: dict[str, str], conf: dict[str, str], registry: LocalRegistry
) -> None:
    """Spark keeps the process that plans from query to query, and others change the topic meanwhile."""

    def encoded(**more: str) -> tuple[tuple[str, ...], bytes]:
        told = {**options, **conf, "topic": "none", "encode": "columns", **more}
        columns = writers.stream_writer(told, ROW, overwrite=False)._task.columns  # type: ignore[attr-defined]
        made = columns.encode(pa.RecordBatch.from_pydict({"id": [1], "name": ["n"]}))
        return columns.fields, made[0].as_py()[:10]

    schema = to_avro_schema(ROW, "R")
    register(registry, "none", "AVRO", {**schema, "fields": schema["fields"][:1]})
    assert encoded() == (("id",), header_of(0))
    register(registry, "none", "AVRO", schema)
    assert encoded() == (("id", "name"), header_of(1))
    delete(registry, "none")
    registry.reset_calls()
    assert encoded(schema=json.dumps(schema)) == (("id", "name"), header_of(0))
    assert registry.calls == {"GET schema": 1, "POST schema": 1}


def test_a_transaction_needs_the_ids_of_query_and_batch(options: dict[str, str]) -> None:
    told = {**options, "topic": "none", "delivery": "transactional"}
    task = writers.stream_writer(told, KEYED, overwrite=False)._task  # type: ignore[attr-defined]
    rows = pa.RecordBatch.from_pydict({"key": ["k"], "value": ["v"]})
    for part in (rows, rows.slice(1)):  # a task without rows, too, looks what was committed in its place
        with pytest.raises(ConfigError, match=r"which query \(sql.streaming.queryId\) and batch"):
            task.run(iter([part]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka.batch.num.messages": "many"}, "batch.num.messages"),
        ({"kafka.acks": "1"}, "acks"),
        ({"delivery": "transactional", "kafka.enable.idempotence": "false"}, "enable.idempotence"),
        ({"delivery": "transactional", "kafka.message.timeout.ms": "700000"}, "message.timeout.ms"),
    ],
)
def test_what_the_producers_of_tasks_would_refuse_is_refused_on_the_driver_in_later_writes_too(
    options: dict[str, str], given: dict[str, str], said: str
) -> None:
    writers.writer({**options, "topic": "none"}, KEYED, overwrite=False)  # so it is known that a broker answers
    for make in (writers.writer, writers.stream_writer):
        with pytest.raises(ConfigError, match=f"the Kafka client refuses its configuration: .*{said}"):
            make({**options, "topic": "none", **given}, KEYED, overwrite=False)


def test_the_driver_tries_a_transaction_once_for_all_batches(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fence, tried = Transaction.fence, []
    monkeypatch.setattr(Transaction, "fence", lambda mine: (tried.append(mine), fence(mine)))
    told = {**options, "topic": "none", "delivery": "transactional", "kafka.client.id": "once"}
    for _ in range(3):
        writers.stream_writer(told, KEYED, overwrite=False)
    assert len(tried) == 1


def test_a_view_has_the_columns_that_a_write_takes_or_says_why_there_are_none(
    options: dict[str, str], registry: LocalRegistry
) -> None:
    conf = {**options, "schema.registry.url": registry.url, "topic": "columns-of-views", "encode": "columns"}
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}
    confluents = {"framing": "confluent", "confluent.schema.registry.url": registry.url, "schema": json.dumps(schema)}
    assert writers.columns_to_write({**conf, **confluents}).simpleString() == "struct<n:bigint>"
    KafkaAvroSerializer({"schema.registry.url": registry.url}, KeyValueSchema(schema, schema, "SEPARATED")).warm_up(
        "columns-of-views"
    )
    pairs = "struct<partition:int,key:struct<n:bigint>,value:struct<n:bigint>>"
    assert writers.columns_to_write({**conf, "keep": "partition"}).simpleString() == pairs
    columns = T.StructType.fromDDL("partition int, key struct<n:bigint>, value struct<n:bigint>")
    for given, said in (
        ({"keep": "key"}, "keep: the schema of a topic of type KEY_VALUE encodes the key"),
        ({"keep": "value"}, "keep: messages have no part 'value'"),
        ({"keep": "partition", "encode": "value"}, "keep has an effect with encode=columns alone"),
    ):
        for make in (writers.columns_to_write, lambda given: writers.writer(given, columns, overwrite=False)):
            with pytest.raises(ConfigError, match=said):
                make({**conf, **given})
    with pytest.raises(ConfigError, match="so the option topic is required"):
        writers.columns_to_write({name: value for name, value in conf.items() if name != "topic"})


def test_brokers_without_producer_ids_are_noticed_on_the_driver(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As a KoP without transaction coordinator: an idempotent producer would wait for its id without end."""
    monkeypatch.setattr(transactions, "_asked", lambda *_: "the brokers give no producer ids")
    monkeypatch.setattr(transactions, "_known", {})
    told = {**options, "topic": "none"}
    for make in (writers.writer, writers.stream_writer):
        planned = make(told, KEYED, overwrite=False)._task  # type: ignore[attr-defined]
        assert planned.more["enable.idempotence"] is False
        with pytest.raises(ConfigError, match=r"enable\.idempotence=true: .*the brokers give no producer ids"):
            make({**told, "kafka.enable.idempotence": "true"}, KEYED, overwrite=False)
        with pytest.raises(
            TransactionError, match=r"not possible: the brokers give no producer ids .*delivery=at-least-once"
        ):
            make({**told, "delivery": "transactional"}, KEYED, overwrite=False)
        assert not make({**told, "kafka.enable.idempotence": "false"}, KEYED, overwrite=False)._task.more  # type: ignore[attr-defined]
    assert "sent without enable.idempotence" in caplog.text
