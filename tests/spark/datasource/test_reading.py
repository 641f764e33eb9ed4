"""Reading with ``format("streamnative-kafka")``: which rows and columns, and what is refused before a task runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import spark_topics
from confluent_kafka import Producer
from program import printed
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from waiting import HANG_SECONDS

from pyspark_streamnative_kafka import DefaultSource
from streamnative_serdes import KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes.spark import SchemaEvolvedError, decode_df, split_errors
from streamnative_serdes.spark.datasource.offsets.bounds import Topics
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.reading.columns import Plan, plan
from streamnative_serdes.spark.datasource.reading.stream import HAS_LIMITS, stream_reader
from streamnative_serdes.spark.session.local import reason
from streamnative_serdes.testing import LocalRegistry, MockBroker

FORMAT, PARTITIONS, COUNT = "streamnative-kafka", 4, 40
INNER = {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}
OLD = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "first", "type": INNER},
        {"name": "second", "type": ["null", "Color"], "default": None},
        {"name": "parts", "type": {"type": "array", "items": "string"}},
    ],
}
NEW = {**OLD, "fields": [*OLD["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}  # type: ignore[misc]


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    topics = ("orders", "other", "damaged", "pairs", "stream", "returns")
    with MockBroker(dict.fromkeys(topics, PARTITIONS)) as running:
        yield running


@pytest.fixture(scope="module")
def shared_registry(broker: MockBroker) -> Iterator[LocalRegistry]:
    """A registry, with messages of two versions in `orders`, some of them damaged in `damaged`."""
    with LocalRegistry() as running:
        conf = {"schema.registry.url": running.url}
        for topic in ("orders", "other", "damaged"):
            serializers = [KafkaAvroSerializer(conf, OLD), KafkaAvroSerializer(conf, NEW)]
            sent = [serializers[n % 2].serialize(topic, order(n)) for n in range(COUNT)]
            if topic == "damaged":
                sent[7], sent[8] = sent[7][:-1], None  # type: ignore[call-overload]
            send(broker, topic, sent)
        yield running


def order(n: int) -> dict[str, Any]:
    made = {"id": n, "first": "RED", "second": "BLUE" if n % 3 else None, "parts": [f"p{n}"]}
    return made | ({"note": f"n{n}"} if n % 2 else {})


def send(broker: MockBroker, topic: str, values: list[bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for n, value in enumerate(values):
        producer.produce(topic, value, f"k{n}".encode(), n % PARTITIONS, headers=[("h", b"1")] if n % 2 else None)
    assert producer.flush(30) == 0


@pytest.fixture
def client(broker: MockBroker) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap_servers, "kafka.log_level": "0"}


@pytest.fixture
def decoding(shared_registry: LocalRegistry, client: dict[str, str]) -> dict[str, str]:
    return {**client, "decode": "true", "schema.registry.url": shared_registry.url}


def load(spark: SparkSession, **options: str) -> DataFrame:
    return spark.read.format(FORMAT).options(**options).load()


def test_decoded_columns_are_those_of_decode_df(spark: SparkSession, decoding: dict[str, str]) -> None:
    conf = {"schema.registry.url": decoding["schema.registry.url"]}
    client = {name: value for name, value in decoding.items() if name.startswith("kafka.")}
    raw = load(spark, **client, subscribe="orders", includeHeaders="true")
    keep = ["headers", "key", "offset"]
    expected = decode_df(raw, conf, topic="orders", keep=keep).orderBy("id")
    found = load(spark, **decoding, subscribe="orders", keep=",".join(keep), minPartitions="6").orderBy("id")
    assert found.schema == expected.schema
    rows = found.collect()
    assert rows == expected.collect()
    assert [row.id for row in rows] == list(range(COUNT))
    assert rows[1].note == "n1"
    assert (rows[0].headers, rows[1].headers[0].key) == (None, "h")


def test_only_the_fields_that_are_asked_for_are_read_in_that_order(
    spark: SparkSession, decoding: dict[str, str]
) -> None:
    """The type of `second` is defined in the field before it, which is left out."""
    df = load(spark, **decoding, subscribe="orders", columns="second, id")
    assert df.dtypes == [("second", "string"), ("id", "bigint")]
    assert df.where("id in (2, 3)").orderBy("id").collect() == [("BLUE", 2), (None, 3)]


def test_messages_that_cannot_be_read_are_dead_letters_or_fail_or_are_dropped(
    spark: SparkSession, decoding: dict[str, str]
) -> None:
    df = load(spark, **decoding, subscribe="damaged", errorColumn="e", columns="id").persist()
    good, dead = split_errors(df, "e")
    assert good.count() == COUNT - 1
    (letter,) = dead.collect()
    assert (letter.key, letter.topic, letter.partition, letter.offset) == (b"k7", "damaged", 3, 1)
    assert letter.value is not None
    assert "byte" in letter.error
    df.unpersist()
    assert load(spark, **decoding, subscribe="damaged", mode="dropmalformed", columns="id").count() == COUNT - 1
    with pytest.raises(PySparkException, match="topic damaged, row 1, partition 3, offset 1"):
        load(spark, **decoding, subscribe="damaged").collect()


def test_several_topics_with_equal_columns_are_one_frame(spark: SparkSession, decoding: dict[str, str]) -> None:
    df = load(spark, **decoding, subscribePattern="o.*r.*", keep="topic")
    assert {tuple(row) for row in df.groupBy("topic").count().collect()} == {("orders", COUNT), ("other", COUNT)}


def test_topics_with_other_columns_need_one_schema(
    spark: SparkSession, decoding: dict[str, str], shared_registry: LocalRegistry, broker: MockBroker
) -> None:
    conf = {"schema.registry.url": shared_registry.url}
    pair = KeyValueSchema("STRING", "long", "SEPARATED")
    value = KafkaAvroSerializer(conf, pair).serialize("pairs", 5)
    send(broker, "pairs", [value] * 4)
    df = load(spark, **decoding, subscribe="pairs", keep="offset")
    assert df.columns == ["offset", "key", "value"]
    assert {(row.key, row.value) for row in df.collect()} == {(f"k{n}", 5) for n in range(4)}
    refuse(spark, "its columns differ from those of", **decoding, subscribe="orders,pairs")
    refuse(spark, "two columns would have the name key", **decoding, subscribe="pairs", keep="key")
    narrow = json.dumps({**OLD, "fields": OLD["fields"][:1]})
    df = load(spark, **decoding, subscribe="orders,other", **{"reader.schema": narrow})
    assert df.columns == ["id"]
    assert df.count() == 2 * COUNT


def test_fields_of_other_names_become_equal_columns_by_a_schema_for_each_topic(
    spark: SparkSession, decoding: dict[str, str], shared_registry: LocalRegistry, broker: MockBroker
) -> None:
    written = {"type": "record", "name": "Return", "fields": [{"name": "number", "type": "long"}]}
    serializer = KafkaAvroSerializer({"schema.registry.url": shared_registry.url}, written)
    send(broker, "returns", [serializer.serialize("returns", {"number": 100 + n}) for n in range(4)])
    both = {**decoding, "subscribe": "orders,returns", "keep": "topic"}
    refuse(spark, "or one for each with reader.schemas", **both)
    read = {**written, "fields": [{"name": "id", "type": "long", "aliases": ["number"]}]}
    schemas = {"orders": {**OLD, "fields": OLD["fields"][:1]}, "returns": read}
    df = load(spark, **both, **{"reader.schemas": json.dumps(schemas)})
    assert df.columns == ["topic", "id"]
    found = sorted(row.id for row in df.where("topic = 'returns'").collect())
    assert (found, df.count()) == (list(range(100, 104)), COUNT + 4)
    # A topic that is not named is read as without the option.
    df = load(spark, **both, columns="id", **{"reader.schemas": json.dumps({"returns": read})})
    assert df.count() == COUNT + 4
    for wrong, said in (
        ("[]", "expected JSON with a schema for each topic"),
        ('{"orders": 1}', "expected JSON with a schema for each topic"),
        (json.dumps({"return": read}), "topic return: reader.schemas: the query does not read the topic"),
    ):
        refuse(spark, said, **both, **{"reader.schemas": wrong})


def test_the_policy_says_as_which_schema_the_columns_are_read(
    spark: SparkSession, decoding: dict[str, str], tmp_path: Path
) -> None:
    orders, policy = {**decoding, "subscribe": "orders"}, "reader.schema.policy"
    narrow = json.dumps({**OLD, "fields": OLD["fields"][:1]})
    latest = ["id", "first", "second", "parts", "note"]
    for given, columns in (
        ({}, latest),
        ({policy: "latest"}, latest),
        ({policy: "latest", "columns": "note"}, ["note"]),
        ({"reader.schema": narrow}, ["id"]),
        ({policy: "fixed", "reader.schema": narrow}, ["id"]),
        ({policy: "fixed", "reader.schemas": json.dumps({"orders": json.loads(narrow)})}, ["id"]),
    ):
        df = load(spark, **orders, **given)
        assert df.columns == columns
        assert df.count() == COUNT
    stream = spark.readStream.format(FORMAT).options(**orders, startingOffsets="earliest", **{policy: "latest"}).load()
    assert stream.columns == latest
    assert sorted(number for batch in run(stream, tmp_path / "c") for number in batch) == list(range(COUNT))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reader.schema.policy": "writer"}, "columns need one schema.*reader.schema.policy=writer"),
        ({"reader.schema.policy": "latest.seen"}, "no reader.schema.policy=latest.seen.*schemaEvolution=restart"),
        ({"reader.schema.policy": "fixed"}, "reader.schema.policy=fixed requires a schema"),
        ({"reader.schema.policy": "newest"}, "reader.schema.policy: expected writer or latest.seen or latest or fixed"),
        ({"reader.schema.policy": "latest", "reader.schema": '"long"'}, "both a reader's schema and"),
        ({"reader.schema.policy": "latest", "decode": "false"}, "has no effect without decode=true"),
    ],
)
def test_a_policy_that_columns_cannot_have_is_an_error_of_batches_and_streams_before_any_job(
    spark: SparkSession, decoding: dict[str, str], tmp_path: Path, given: dict[str, str], said: str
) -> None:
    refuse(spark, f"ConfigError.*{said}", **{**decoding, "subscribe": "orders", **given})
    reader = spark.readStream.format(FORMAT).options(**{**decoding, "subscribe": "orders", **given})
    with pytest.raises(PySparkException, match=f"ConfigError.*{said}"):
        reader.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    assert not (tmp_path / "c").exists()


def refuse(spark: SparkSession, said: str, **options: str) -> None:
    """The driver refuses before any job."""
    group = f"refused {said}"
    spark.sparkContext.setJobGroup(group, "")
    with pytest.raises(PySparkException, match=said):
        load(spark, **options).collect()
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup(group)


def test_bad_input_is_an_error_on_the_driver_before_any_job(spark: SparkSession, decoding: dict[str, str]) -> None:
    orders = {**decoding, "subscribe": "orders"}
    refuse(spark, "did you mean subscribe", **decoding, subscibe="orders")
    refuse(spark, "topic orderz: the topic does not exist", **decoding, subscribe="orders,orderz")
    refuse(spark, "the record has no field 'idd'.*did you mean id", **orders, columns="idd")
    refuse(spark, "expected one of the options assign", **decoding)
    away = {**orders, "schema.registry.url": "http://127.0.0.1:1", "retries.first.ms": "50"}
    refuse(spark, "RegistryUnavailableError", **away)
    with pytest.raises(PySparkException, match="cannot be chosen with schema"):
        spark.read.format(FORMAT).options(**orders).schema("id int").load().collect()


def checkpoint(folder: Path, offsets: Any) -> Path:
    """The checkpoint of a query whose first batch is planned, and whose offsets are these."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": str(uuid4())}))
    planned = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}}
    (folder / "offsets" / "0").write_text(f"v1\n{json.dumps(planned)}\n{json.dumps(offsets)}")
    return folder


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        (17, "the checkpoint is of another source: its offsets are 17"),
        ({"logOffset": 3}, r"the checkpoint is of another source: its offsets are \{'logOffset': 3\}"),
        ({"format": 1, "source": "iceberg", "topics": {}}, "the checkpoint is of another source: 'iceberg'"),
        ({"format": 2, "source": FORMAT, "topics": {}}, "offsets of format 2, and this version reads formats up to 1"),
    ],
)
def test_a_query_on_the_checkpoint_of_another_source_ends_before_any_job(
    spark: SparkSession, client: dict[str, str], tmp_path: Path, offsets: Any, said: str
) -> None:
    reader = spark.readStream.format(FORMAT).options(**client, subscribePattern="ord.*")
    folder = checkpoint(tmp_path / "c", offsets)
    query = reader.load().writeStream.format("noop").option("checkpointLocation", str(folder)).start()
    with pytest.raises(PySparkException, match=said):
        query.awaitTermination()
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId))


def test_bad_input_of_a_stream_is_an_error_before_any_job(
    spark: SparkSession, decoding: dict[str, str], tmp_path: Path
) -> None:
    def run(name: str, options: dict[str, str]) -> None:
        df = spark.readStream.format(FORMAT).options(**decoding, **options).load()
        query = df.writeStream.format("noop").option("checkpointLocation", str(tmp_path / name)).start()
        group.append(str(query.runId))
        query.awaitTermination()

    def refused(said: str, **options: str) -> None:
        with pytest.raises(PySparkException, match=said):
            run(str(len(group)), options)

    group: list[str] = []
    refused("did you mean startingOffsets", subscribe="orders", startingOfsets="earliest")
    refused(
        "the option kafka.auto.offset.reset is not supported", subscribe="orders", **{"kafka.auto.offset.reset": "x"}
    )
    refused("the option endingOffsets has no meaning for a stream", subscribe="orders", endingOffsets="latest")
    refused("the option topic has no meaning when Spark reads", subscribe="orders", topic="orders")
    refused("no topic matches 'nothing.*'", subscribePattern="nothing.*")
    refused("topic orders: .*partition 3", subscribe="orders", startingOffsets='{"orders": {"0": 1, "1": 1, "2": 1}}')
    if not HAS_LIMITS:
        for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"):
            refused(rf"the option {name} requires PySpark 4\.2", subscribe="orders", **{name: "5"})
    for each in group:
        assert not spark.sparkContext.statusTracker().getJobIdsForGroup(each)


def test_views_in_sql_read_a_topic(spark: SparkSession, decoding: dict[str, str]) -> None:
    given = ", ".join(f"`{name}` '{value}'" for name, value in {**decoding, "subscribe": "orders"}.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING `{FORMAT}` OPTIONS ({given})")
    assert spark.sql("SELECT max(id) FROM v").first() == (COUNT - 1,)


def test_filters_choose_what_is_read_if_the_session_pushes_them_down(
    spark: SparkSession, client: dict[str, str], shared_registry: LocalRegistry
) -> None:
    raw = {**client, "subscribe": "orders"}
    where = "partition in (1, 2) and partition >= 2 and offset > 3 and offset <= 7 and key is not null"
    expected = [(2, offset) for offset in range(4, 8)]
    assert sorted(map(tuple, load(spark, **raw).where(where).select("partition", "offset").collect())) == expected
    name = "spark.sql.python.filterPushdown.enabled"
    try:
        spark.conf.set(name, "true")
        df = load(spark, **raw).where(where).select("partition", "offset")
        assert sorted(map(tuple, df.collect())) == expected
        if HAS_LIMITS:  # PySpark 4.0 pushes nothing down
            assert load(spark, **raw).where("partition = 2 and offset > 3").rdd.getNumPartitions() == 1
    finally:
        spark.conf.set(name, "false")


def run(df: DataFrame, folder: Path) -> list[list[int]]:
    """Run a stream to its end; returns the ids of each batch."""
    batches: list[list[int]] = []
    writer = df.writeStream.foreachBatch(lambda batch, _: batches.append(sorted(row.id for row in batch.collect())))
    writer.option("checkpointLocation", str(folder)).trigger(availableNow=True).start().awaitTermination()
    return batches


def test_a_stream_goes_on_from_its_checkpoint(
    spark: SparkSession, decoding: dict[str, str], shared_registry: LocalRegistry, broker: MockBroker, tmp_path: Path
) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": shared_registry.url}, OLD)
    send(broker, "stream", [serializer.serialize("stream", order(n)) for n in range(20)])
    limit = {"maxOffsetsPerTrigger": "8"} if HAS_LIMITS else {}
    options = {**decoding, **limit, "subscribe": "stream", "startingOffsets": "earliest", "schemaEvolution": "restart"}
    df = spark.readStream.format(FORMAT).options(**options).load()
    first = run(df, tmp_path / "c")
    assert sorted(number for batch in first for number in batch) == list(range(20))
    assert [len(batch) for batch in first] == ([8, 8, 4] if HAS_LIMITS else [20])
    log = max((tmp_path / "c" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    assert json.loads(log.read_text().splitlines()[-1])["topics"] == {"stream": dict.fromkeys("0123", 5)}
    newer = KafkaAvroSerializer({"schema.registry.url": shared_registry.url}, NEW)
    send(broker, "stream", [newer.serialize("stream", order(n)) for n in (21, 23)])
    with pytest.raises(PySparkException, match=SchemaEvolvedError.__name__):
        run(df, tmp_path / "c")
    again = spark.readStream.format(FORMAT).options(**options).load()
    assert again.columns[-1] == "note"
    assert run(again, tmp_path / "c") == [[21, 23]]


def forgetful(hidden: Path) -> type[DefaultSource]:
    """The data source, whose brokers do not know the topic `forgotten` at the next questions; a file has how many.

    The class is pickled with its code, as one of a function, so Spark's processes need no module of the tests.
    """

    class Forgetful(DefaultSource):
        @classmethod
        def name(cls) -> str:
            return "forgetful"

        def streamReader(self, schema: T.StructType) -> Any:
            from streamnative_serdes.spark.datasource.offsets.brokers import Brokers

            existing: Any = Brokers.existing

            def some(self: Any) -> dict[str, int]:
                found: dict[str, int] = existing(self)
                left = int(hidden.read_text())
                if left:
                    hidden.write_text(str(left - 1))
                    del found["forgotten"]
                return found

            Brokers.existing = some  # type: ignore[method-assign]
            return super().streamReader(schema)

    return Forgetful


def test_a_topic_that_brokers_do_not_know_while_a_query_starts_is_read_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Before PySpark 4.2, Spark asks a new query for the end of the first batch before it asks for the beginning."""
    hidden, topics = tmp_path / "hidden", ("forgotten", "kept")
    found: list[tuple[str, int]] = []
    spark.dataSource.register(forgetful(hidden))
    with MockBroker(dict.fromkeys(topics, 1)) as running:
        producer = Producer({"bootstrap.servers": running.bootstrap_servers})
        options = {"kafka.bootstrap.servers": running.bootstrap_servers, "kafka.log_level": "0"}
        options |= {"subscribePattern": "|".join(topics), "startingOffsets": "earliest"}
        options |= {"fetchOffset.retryIntervalMs": "0"}
        for times in (1, 2):  # a new query, and from its checkpoint
            hidden.write_text(str(times))
            for topic in topics * 3:
                producer.produce(topic, b"v", partition=0)
            assert producer.flush(30) == 0
            writer = spark.readStream.format("forgetful").options(**options).load().writeStream
            writer = writer.foreachBatch(lambda df, _: found.extend((row.topic, row.offset) for row in df.collect()))
            query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
            query.processAllAvailable()
            query.stop()
            assert hidden.read_text() == "0"
    assert sorted(found) == [(topic, offset) for topic in topics for offset in range(6)]


def test_an_error_in_the_options_of_a_stream_is_what_spark_reports(spark: SparkSession, tmp_path: Path) -> None:
    """Spark hides what a reader raises when it is made: it stops the reader then, which does not exist."""
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t", "startingOffsets": "erliest"}
    writer = spark.readStream.format(FORMAT).options(**options).load().writeStream.format("noop")
    for trigger in ({"availableNow": True}, {"processingTime": "1 second"}):
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(**trigger).start()  # type: ignore[arg-type]
        with pytest.raises(StreamingQueryException) as caught:
            query.awaitTermination()
        assert "ConfigError: startingOffsets: expected earliest, latest, or JSON" in reason(str(caught.value))


class Requests:
    """Counts what the client sends to brokers, by its own statistics."""

    def __init__(self) -> None:
        self._sent: dict[str, dict[str, int]] = {}

    def note(self, statistics: str) -> None:
        found = json.loads(statistics)
        for name, broker in found["brokers"].items():
            self._sent[f"{found['name']} {name}"] = broker["req"]

    def sent(self, kind: str) -> int:
        return sum(each.get(kind, 0) for each in self._sent.values())


def test_offsets_of_ten_thousand_partitions_are_a_few_requests_per_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are the requests that the client has sent, not our calls of it alone."""
    requests, topics, rounds = Requests(), {f"t{n}": 50 for n in range(200)}, 5
    with MockBroker(topics) as running:
        options = {"kafka.bootstrap.servers": running.bootstrap_servers, "subscribePattern": "t[0-9]+"}
        planned = plan({**options, "startingOffsets": "earliest"})
        kafka = {**planned.kafka(), "statistics.interval.ms": 50, "stats_cb": requests.note}
        monkeypatch.setattr(Plan, "kafka", lambda _: kafka)
        reader: Any = stream_reader(planned)
        start = reader.initialOffset()
        assert sum(map(len, start["topics"].values())) == 10_000
        settle(reader, requests)
        before, calls = requests.sent("ListOffsets"), reader._brokers.calls
        metadata = requests.sent("Metadata")
        calls.clear()
        for _ in range(rounds):
            end = reader.latestOffset(start, None)
            assert reader.reportLatestOffset()["topics"] == end["topics"]
            assert reader.partitions(start, end) == []
        assert calls == {"topics": rounds, "offsets": rounds}
        settle(reader, requests)
        # One broker leads all partitions: a trigger is one question for topics, and one for 10,000 offsets. Once in a
        # while, the client refreshes what it knows.
        assert requests.sent("ListOffsets") - before == rounds
        assert rounds <= requests.sent("Metadata") - metadata <= rounds + 2


def settle(reader: Any, requests: Requests) -> None:
    """Wait for statistics that count all that was sent until now."""
    counted: list[int] = []
    until = time.monotonic() + HANG_SECONDS
    while time.monotonic() < until and (len(counted) < 3 or len(set(counted[-3:])) > 1):
        reader._brokers._admin.poll(0.2)
        counted.append(requests.sent("ListOffsets") + requests.sent("Metadata"))
    assert counted[-1]


def test_a_pattern_finds_topics_and_partitions_that_were_added(broker: MockBroker) -> None:
    kafka = {"bootstrap.servers": broker.bootstrap_servers}
    brokers = Brokers(kafka, Topics(pattern="added|orders"))
    before = brokers.places()
    spark_topics.send(kafka, "added", b"1")
    assert {topic for topic, _ in set(brokers.left()) - set(before)} == {"added"}


@pytest.mark.parametrize("hidden", ["pyarrow", "confluent_kafka", "streamnative_serdes", "pyspark.sql.datasource"])
def test_the_module_that_spark_imports_never_fails(hidden: str) -> None:
    """One that does would hide all Python data sources."""
    program = f"""if True:
        import sys
        sys.modules[{hidden!r}] = None
        import pyspark_streamnative_kafka as module
        assert module.DefaultSource.name() == {FORMAT!r}
        loaded = {{name.partition(".")[0] for name in sys.modules if sys.modules[name]}}
        assert not loaded & {{"streamnative_serdes", "confluent_kafka"}}, loaded
    """
    assert printed("-c", program) == ""


def test_the_columns_of_kafka_are_those_of_sparks_own_source(spark: SparkSession, client: dict[str, str]) -> None:
    df = load(spark, **client, subscribe="orders", includeHeaders="true")
    assert df.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    assert isinstance(df.schema["timestamp"].dataType, T.TimestampType)


def test_timestamps_are_instants_whichever_type_sql_calls_timestamp(
    spark: SparkSession, client: dict[str, str]
) -> None:
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        df = load(spark, **client, subscribe="orders")
        assert df.schema["timestamp"].dataType == T.TimestampType()
        assert df.where("timestamp is null").count() == 0
    finally:
        spark.conf.unset("spark.sql.timestampType")
