"""reader.schema.policy in Spark: latest.seen for each batch of a query, over restarts; what is not possible says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
import pytest
import requests
from confluent_stand_in import ConfluentStandIn
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from spark_topics import send, stream
from versions import SEEN, as_version, bare, damaged, framed, register, schema

from streamnative_serdes import ConfigError, DecodeError, KafkaAvroDeserializer
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes.spark import KafkaAvroSource, SeenSchemas, decode_df, from_avro
from streamnative_serdes.spark.session import SparkError, spark_errors
from streamnative_serdes.testing import LocalRegistry

TOPIC = "flights"


@pytest.fixture
def seen_conf(conf: dict[str, str], registry: LocalRegistry) -> dict[str, Any]:
    """The topic has the versions 0 to 3."""
    register(registry, TOPIC, range(4))
    registry.reset_calls()
    return {**conf, **SEEN}


def frame(spark: SparkSession, messages: list[bytes | None], slices: int = 2) -> DataFrame:
    rows = [(message, number) for number, message in enumerate(messages)]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, slices), "value binary, id int")


def read(df: DataFrame, conf: dict[str, Any], *versions: int, seen: SeenSchemas | None = None, **more: Any) -> int:
    """As which version a batch comes out; checks its rows."""
    decoded = decode_df(df, conf, topic=TOPIC, keep=["id"], seen=seen, **more)
    shown = len(decoded.columns) - 2
    rows = [row.asDict() for row in decoded.orderBy("id").collect()]
    assert rows == [{"id": number, **as_version(version, shown)} for number, version in enumerate(versions)]
    return shown


def batch(spark: SparkSession, conf: dict[str, Any], *versions: int, seen: SeenSchemas | None = None) -> int:
    return read(frame(spark, [framed(version) for version in versions]), conf, *versions, seen=seen)


# One DataFrame


@pytest.mark.parametrize(("policy", "expected"), [(None, 3), ("latest", 3), ("latest.seen", 1)])
def test_the_policy_says_as_which_version_a_dataframe_comes_out(
    spark: SparkSession, conf: dict[str, Any], registry: LocalRegistry, policy: str | None, expected: int
) -> None:
    register(registry, TOPIC, range(4))
    assert batch(spark, {**conf, "reader.schema.policy": policy}, 1, 0) == expected


def test_a_schema_that_is_given_is_fixed(spark: SparkSession, seen_conf: dict[str, Any]) -> None:
    fixed = {**seen_conf, "reader.schema.policy": "fixed"}
    df = frame(spark, [framed(1), framed(3)])
    assert read(df, fixed, 1, 3, schema=schema(2)) == 2
    with pytest.raises(ConfigError, match=r"reader.schema.policy=fixed requires a schema"):
        read(df, fixed, 1, 3)
    with pytest.raises(ConfigError, match=r"both a reader's schema and reader.schema.policy=latest.seen"):
        read(df, seen_conf, 1, 3, schema=schema(2))


@pytest.mark.parametrize(
    ("messages", "versions", "expected"),
    [
        pytest.param([framed(0), framed(2), framed(1), framed(0)], (0, 2, 1, 0), 2, id="highest"),
        pytest.param([framed(0), framed(1)], (0, 1), 1, id="without SeenSchemas, each is on its own"),
        pytest.param([framed(0), bare(3)], (0, 3), 3, id="messages without a version count as the latest"),
        pytest.param([], (), 3, id="an empty one is the latest"),
    ],
)
def test_a_dataframe_is_the_highest_version_that_its_messages_have(
    spark: SparkSession, seen_conf: dict[str, Any], messages: list[bytes | None], versions: Any, expected: int
) -> None:
    assert read(frame(spark, messages), seen_conf, *versions) == expected


def test_messages_that_cannot_be_read_do_not_count(spark: SparkSession, seen_conf: dict[str, Any]) -> None:
    df = frame(spark, [framed(0), damaged(3), framed(1), damaged(2), None], slices=3)
    decoded = decode_df(df, seen_conf, topic=TOPIC, keep=["id"], options={"errorColumn": "why"})
    assert decoded.columns == ["id", "name", "f0", "why"]
    rows = {row.id: row for row in decoded.collect()}
    assert [rows[number].name for number in range(5)] == ["v0", None, "v1", None, None]
    assert "schema version 3, field name" in rows[1].why.error
    assert "schema version 2, field name" in rows[3].why.error
    with pytest.raises(SparkError, match="DecodeError"), spark_errors():
        decode_df(df, seen_conf, topic=TOPIC).collect()


def test_a_topic_with_one_version_takes_no_job_to_find_it(
    spark: SparkSession, conf: dict[str, Any], registry: LocalRegistry, tmp_path: Path
) -> None:
    register(registry, TOPIC, range(1))
    poison = F.udf(lambda _: 1 // 0, "binary")
    df = frame(spark, [framed(0)]).withColumn("value", poison("value"))
    seen = SeenSchemas(str(tmp_path / "seen"))
    assert decode_df(df, {**conf, **SEEN}, topic=TOPIC, seen=seen).columns == ["name"]
    register(registry, TOPIC, range(1, 2))
    with pytest.raises(SparkError, match="ZeroDivisionError"), spark_errors():
        decode_df(df, {**conf, **SEEN}, topic=TOPIC, seen=seen)


def test_only_new_versions_are_looked_for(
    spark: SparkSession, seen_conf: dict[str, Any], tmp_path: Path, registry: LocalRegistry
) -> None:
    seen = SeenSchemas(str(tmp_path / "seen"))
    assert batch(spark, seen_conf, 2, seen=seen) == 2
    registry.reset_calls()
    assert batch(spark, seen_conf, 0, 1, 2, seen=seen) == 2
    assert registry.calls == {"GET schemas": 2}  # by the driver: workers know all versions
    assert batch(spark, seen_conf, 3, seen=seen) == 3


@pytest.mark.parametrize("drop", [False, True])
def test_headers_may_name_the_schema_of_another_registry(
    spark: SparkSession, seen_conf: dict[str, Any], drop: bool
) -> None:
    with ConfluentStandIn() as second:
        number = second.register(f"{TOPIC}-value", schema(3))
        both = {**seen_conf, "confluent.schema.registry.url": second.url}
        both["framings"] = "snip42,confluent-header,headerless"
        headers = [("__value_schema_id", b"\0" + number.to_bytes(4))]
        rows = [(bare(3), headers, 0), (framed(1), [], 1)]
        df = spark.createDataFrame(rows, "value binary, headers array<struct<key: string, value: binary>>, id int")
        if drop:
            with pytest.raises(ConfigError, match="includeHeaders"):
                decode_df(df.drop("headers"), both, topic=TOPIC)
            return
        decoded = decode_df(df, both, topic=TOPIC, keep=["id"])
        assert decoded.columns == ["id", "name", "f0"]  # not the version of the other registry
        assert sorted(tuple(row) for row in decoded.collect()) == [(0, "v3", 100), (1, "v1", 100)]


# The batches of a query


def test_batches_do_not_go_back_also_after_a_restart(
    spark: SparkSession, seen_conf: dict[str, Any], tmp_path: Path
) -> None:
    folder = str(tmp_path / "seen")
    seen = SeenSchemas(folder)
    assert [batch(spark, seen_conf, *each, seen=seen) for each in ((0, 1), (0,), (2, 0), (), (1,))] == [1, 1, 2, 2, 2]
    for _ in range(2):
        Binding.forget()
        again = SeenSchemas(folder)
        assert batch(spark, seen_conf, 0, seen=again) == 2
        assert batch(spark, seen_conf, seen=again) == 2
    assert batch(spark, seen_conf, 3, seen=again) == 3
    assert batch(spark, seen_conf, 0, seen=SeenSchemas(folder)) == 3
    assert batch(spark, seen_conf, 0, seen=SeenSchemas(str(tmp_path / "other"))) == 0


def test_a_batch_that_is_planned_again_has_the_same_columns(
    spark: SparkSession, seen_conf: dict[str, Any], tmp_path: Path
) -> None:
    folder = str(tmp_path / "seen")
    assert batch(spark, seen_conf, 0, 1, seen=SeenSchemas(folder)) == 1
    for _ in range(2):  # the query fails after the batch was planned, and runs it again
        assert batch(spark, seen_conf, 0, 2, seen=SeenSchemas(folder)) == 2


def test_topics_of_one_folder_do_not_mix(
    spark: SparkSession, seen_conf: dict[str, Any], tmp_path: Path, registry: LocalRegistry
) -> None:
    register(registry, "other", range(2))
    seen = SeenSchemas(str(tmp_path / "seen"))
    assert batch(spark, seen_conf, 3, seen=seen) == 3
    df = frame(spark, [framed(0)])
    for names in (["name"], ["name"]):
        assert decode_df(df, seen_conf, topic="other", seen=seen).columns == names
        seen = SeenSchemas(str(tmp_path / "seen"))
    assert batch(spark, seen_conf, 0, seen=seen) == 3


def test_a_recreated_topic_starts_from_the_beginning(
    spark: SparkSession, seen_conf: dict[str, Any], tmp_path: Path, registry: LocalRegistry
) -> None:
    folder = str(tmp_path / "seen")
    assert batch(spark, seen_conf, 2, seen=SeenSchemas(folder)) == 2
    url = f"{registry.url}/admin/v2/schemas/public/default/{TOPIC}/schema"
    requests.delete(url, params={"force": "true"}, timeout=10).raise_for_status()
    Binding.forget()
    register(registry, TOPIC, range(4))
    seen = SeenSchemas(folder)
    assert [batch(spark, seen_conf, *each, seen=seen) for each in ((0, 1), (0,))] == [1, 1]
    assert batch(spark, seen_conf, 0, seen=SeenSchemas(folder)) == 1


def test_a_stream_fixes_the_version_of_each_batch_and_goes_on_after_a_restart(
    spark: SparkSession, seen_conf: dict[str, Any], kafka: dict[str, str], tmp_path: Path
) -> None:
    found: list[tuple[list[str], list[str]]] = []
    fails = [False]

    def each(messages: DataFrame, _: int) -> None:
        decoded = decode_df(messages, seen_conf, topic=TOPIC, seen=seen)
        found.append((decoded.columns[1:], sorted(row.name for row in decoded.collect())))
        if fails[0]:
            raise RuntimeError("after the batch was planned")

    def run() -> None:
        query = (
            stream(spark, kafka, TOPIC)
            .writeStream.foreachBatch(each)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    for versions, names in (((0, 1, 0), ["f0"]), ((0,), ["f0"]), ((2, 0), ["f0", "f1"]), ((1,), ["f0", "f1"])):
        seen = SeenSchemas(str(tmp_path / "seen"))  # each run is a restart
        send(kafka, TOPIC, *map(framed, versions))
        run()
        assert found.pop() == (names, sorted(f"v{version}" for version in versions))
        assert not found
    send(kafka, TOPIC, framed(3), framed(0))
    fails[0] = True
    with pytest.raises(StreamingQueryException, match="after the batch was planned"):
        run()
    fails[0], seen = False, SeenSchemas(str(tmp_path / "seen"))
    run()
    assert found == [(["f0", "f1", "f2"], ["v0", "v3"])] * 2


# What is not possible


def test_columns_need_one_schema(spark: SparkSession, seen_conf: dict[str, Any]) -> None:
    writer = {**seen_conf, "reader.schema.policy": "writer"}
    df = frame(spark, [framed(0)])
    for plan in (lambda: decode_df(df, writer, topic=TOPIC), lambda: from_avro("value", writer, topic=TOPIC)):
        with pytest.raises(ConfigError, match=r"columns need one schema.*reader.schema.policy=writer"):
            plan()


def test_a_stream_has_its_columns_before_its_messages(
    spark: SparkSession, seen_conf: dict[str, Any], kafka: dict[str, str]
) -> None:
    messages = stream(spark, kafka, TOPIC)
    with pytest.raises(ConfigError, match=r"the columns of a stream are fixed before .* foreachBatch"):
        decode_df(messages, seen_conf, topic=TOPIC)
    latest = {**seen_conf, "reader.schema.policy": "latest"}
    assert decode_df(messages, latest, topic=TOPIC).columns == ["name", "f0", "f1", "f2"]


def test_a_column_function_does_not_know_its_messages(spark: SparkSession, seen_conf: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"from_avro cannot know .*hint: use decode_df"):
        from_avro("value", seen_conf, topic=TOPIC)


def test_tasks_do_not_know_what_other_tasks_have_read(
    spark: SparkSession, seen_conf: dict[str, Any], kafka: dict[str, str]
) -> None:
    send(kafka, TOPIC, framed(0), framed(1))
    source = KafkaAvroSource(TOPIC, kafka, seen_conf)
    ranges = source.ranges()
    with pytest.raises(SparkError, match="tasks do not know what other tasks have read"), spark_errors():
        spark.sparkContext.parallelize(ranges, 1).mapPartitions(source.read).collect()


def test_seen_without_the_policy_is_refused(spark: SparkSession, seen_conf: dict[str, Any], tmp_path: Path) -> None:
    seen = SeenSchemas(str(tmp_path / "seen"))
    for policy in (None, "latest"):
        with pytest.raises(ConfigError, match=r"seen has no effect without reader.schema.policy=latest.seen"):
            decode_df(frame(spark, []), {**seen_conf, "reader.schema.policy": policy}, topic=TOPIC, seen=seen)
    with pytest.raises(ConfigError, match="expected a folder"):
        SeenSchemas("")


def test_a_deserializer_of_the_same_options_agrees(spark: SparkSession, seen_conf: dict[str, Any]) -> None:
    messages: list[bytes | None] = [framed(version) for version in (0, 2, 1)]
    decoded = decode_df(frame(spark, messages), seen_conf, topic=TOPIC, keep=["id"])
    rows = decoded.orderBy("id").drop("id").toArrow().to_pylist()
    assert rows == KafkaAvroDeserializer(seen_conf).deserialize_batch(TOPIC, messages).to_pylist()
    with pytest.raises(DecodeError):
        KafkaAvroDeserializer(seen_conf).deserialize_batch(TOPIC, [damaged(0)])
