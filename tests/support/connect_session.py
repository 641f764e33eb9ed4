"""What works in a session of Spark Connect: a program that tries it, and prints what it found as JSON.

A process has either kind of session, so this is a program of its own.
"""

from __future__ import annotations

import io
import json
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from typing import Any
from unittest import mock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamnative_serdes.spark import (
    KafkaAvroSink,
    SeenSchemas,
    decode_df,
    encode_df,
    from_avro,
    split_errors,
    to_avro,
    to_avro_schema,
)
from streamnative_serdes.spark.datasource import register
from streamnative_serdes.spark.session.java import java_home

FORMAT = "streamnative-kafka"
ROWS = 40
SECRET = "c4n4ryInTheCoalMine"
# Spark's own redaction goes by names and values such as `password`; it knows neither of these.
LOGIN = f"principal=me scope={SECRET}"
USER = f"me:{SECRET}"
LITERAL = "principal=literal"
RECORD = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}


def long_of(message: Any) -> dict[str, Any]:
    """A record of the sink's rows, made by a function."""
    return {"id": message.id}


class Trial:
    """Tries one thing after another; each method whose name begins with ``try_`` returns what it found."""

    def __init__(self, spark: SparkSession, servers: str, url: str, folder: str) -> None:
        self.spark, self.folder = spark, folder
        self.conf, self.kafka = {"schema.registry.url": url}, {"bootstrap.servers": servers, "log_level": 0}
        self.client = {"kafka.bootstrap.servers": servers, "kafka.log_level": "0"}
        self.secret = {"kafka.sasl.oauthbearer.config": "env:CONNECT_LOGIN"}
        self.with_schemas = {**self.secret, **self.conf, "basic.auth.user.info": os.environ["CONNECT_USER_FILE"]}
        self.decoding = {**self.client, **self.with_schemas, "decode": "true"}

    def load(self, topic: str, **options: str) -> DataFrame:
        return self.spark.read.format(FORMAT).options(**self.client, subscribe=topic, **options).load()

    def ids(self, topic: str) -> list[int]:
        """The ids in a topic, in ascending order."""
        return ids(decode_df(self.load(topic), self.conf, topic=topic))

    def follow(self, df: DataFrame, function: Callable[[DataFrame, int], None], name: str) -> str | None:
        """Run a stream to its end; returns its error."""
        writer = df.writeStream.foreachBatch(function).option("checkpointLocation", f"{self.folder}/{name}-checkpoint")
        query = writer.trigger(availableNow=True).start()
        with suppress(Exception):  # the query tells its error
            query.awaitTermination()
        return None if query.exception() is None else str(query.exception())

    def orders(self) -> DataFrame:
        """The topic ``orders`` as a stream of columns."""
        reader = self.spark.readStream.format(FORMAT).options(**self.decoding, subscribe="orders")
        return reader.option("startingOffsets", "earliest").load()

    def try_batch(self) -> list[int]:
        return ids(self.spark.read.format(FORMAT).options(**self.decoding, subscribe="orders", keep="offset").load())

    def try_decode_df(self) -> list[int]:
        return self.ids("orders")

    def try_stream(self) -> list[int]:
        return self.stored(self.orders(), "a")

    def try_decode_stream(self) -> list[int]:
        raw = self.spark.readStream.format(FORMAT).options(**self.client, subscribe="orders")
        return self.stored(decode_df(raw.option("startingOffsets", "earliest").load(), self.conf, topic="orders"), "b")

    def stored(self, df: DataFrame, name: str) -> list[int]:
        """The ids that a stream writes to a file, from its checkpoint."""
        writer = df.writeStream.format("json").option("path", f"{self.folder}/{name}")
        query = writer.option("checkpointLocation", f"{self.folder}/{name}-checkpoint").trigger(availableNow=True)
        query.start().awaitTermination()
        return ids(self.spark.read.json(f"{self.folder}/{name}"))

    def try_view(self) -> list[int]:
        told = ", ".join(f"`{name}` '{value}'" for name, value in {**self.decoding, "subscribe": "orders"}.items())
        self.spark.sql(f"CREATE TEMPORARY VIEW v USING `{FORMAT}` OPTIONS ({told})")
        return ids(self.spark.sql("SELECT id FROM v"))

    def try_from_avro_and_to_avro(self) -> list[int]:
        structs = self.load("orders").select(from_avro("value", self.conf, topic="orders").alias("order"))
        again = structs.select(to_avro("order", self.conf, topic="orders").alias("value"))
        return ids(decode_df(again, self.conf, topic="orders"))

    def try_dead_letters(self) -> list[Any]:
        damaged = self.load("orders").withColumn("value", F.expr("if(offset = 3, substring(value, 1, 9), value)"))
        good, dead = split_errors(decode_df(damaged, self.conf, topic="orders", options={"errorColumn": "e"}), "e")
        return [good.count(), sorted({row.offset for row in dead.collect()})]

    def try_sink_columns(self) -> list[int]:
        sink = KafkaAvroSink("columns", self.kafka, self.conf, RECORD, key=F.col("id").cast("string"))
        sink.write(self.spark.range(ROWS))
        assert {bytes(row.key) for row in self.load("columns").collect()} == {b"%d" % n for n in range(ROWS)}
        return self.ids("columns")

    def try_sink_rows(self) -> list[int]:
        KafkaAvroSink("rows", self.kafka, self.conf, RECORD, value=long_of).write(self.spark.range(ROWS))
        return self.ids("rows")

    def try_sink_partitions(self) -> list[int]:
        sink = KafkaAvroSink("partitions", self.kafka, self.conf, RECORD)
        self.spark.range(ROWS).foreachPartition(sink.foreach_partition)
        return self.ids("partitions")

    def try_sink_batches(self) -> list[int]:
        sink = KafkaAvroSink("batches", self.kafka, self.conf, RECORD, key=F.col("id").cast("string"))
        error = self.follow(self.orders(), sink.foreach_batch, "c")
        assert error is None, error
        return self.ids("batches")

    def try_sink_batches_of_rows(self) -> list[int]:
        sink = KafkaAvroSink("row-batches", self.kafka, self.conf, RECORD, value=long_of)
        error = self.follow(self.orders(), sink.foreach_batch, "d")
        assert error is None, error
        return self.ids("row-batches")

    def try_sink_headers(self) -> list[str | None]:
        sink = KafkaAvroSink("columns", self.kafka, self.conf, RECORD, dedup_headers=True)

        def each(df: DataFrame, _: int) -> None:
            sink.write(df)

        return [self.follow(self.orders(), sink.foreach_batch, "e"), self.follow(self.orders(), each, "f")]

    def try_stream_to_stream(self) -> list[Any]:
        options = {**self.client, **self.with_schemas, "encode": "columns", "schema": json.dumps(RECORD)}
        writer = self.orders().writeStream.format(FORMAT).options(**options, topic="stream", dedupHeaders="true")
        query = writer.option("checkpointLocation", f"{self.folder}/g-checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        rows = self.load("stream", includeHeaders="true").selectExpr("map_from_entries(headers) h").collect()
        told = {(bytes(row.h["spark.partition.id"]), bytes(row.h["spark.row"])) for row in rows}
        assert len(told) == ROWS
        assert {bytes(row.h["spark.query.id"]).decode() for row in rows} == {query.id}
        return self.ids("stream")

    def try_seen(self) -> list[Any]:
        conf, seen = {**self.conf, "reader.schema.policy": "latest.seen"}, SeenSchemas(f"{self.folder}/seen")
        found = f"{self.folder}/found"

        def each(df: DataFrame, _: int) -> None:
            decode_df(df, conf, topic="orders", seen=seen).write.mode("append").json(found)

        raw = self.spark.readStream.format(FORMAT).options(**self.client, subscribe="orders")
        error = self.follow(raw.option("startingOffsets", "earliest").load(), each, "h")
        assert error is None, error
        return ids(self.spark.read.json(found))

    def try_error(self) -> str:
        try:
            self.spark.read.format(FORMAT).options(**self.decoding, subscribe="orderz").load().collect()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            return str(error)
        return ""

    def try_example(self) -> list[str]:
        """The lines that the example of the docs prints; it gets this session, and must not end it."""
        said, main = io.StringIO(), runpy.run_path(os.environ["CONNECT_EXAMPLE"])["main"]
        with redirect_stdout(said), mock.patch.object(type(self.spark), "stop"):
            main([])
        return said.getvalue().splitlines()

    def try_literal_secret(self) -> int:
        """Other values than the one that must not show: the server logs a warning that names the option."""
        return self.load("orders", **{"kafka.sasl.oauthbearer.config": LITERAL}).count()


def ids(df: DataFrame) -> list[int]:
    return sorted(row.id for row in df.collect())


def conf_of_server(folder: str) -> dict[str, str]:
    """All that the server stores is in the folder, and not compressed."""
    os.mkdir(f"{folder}/events")
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.eventLog.compress": "false",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "2",
    }


def main(servers: str, url: str, folder: str) -> None:
    """Try everything; the error of what does not work is what was found."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, JAVA_HOME=str(java_home()))
    builder = SparkSession.builder.remote("local[2]")
    for name, value in conf_of_server(folder).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        register(spark)
        trial, found = Trial(spark, servers, url, folder), {}
        rows = spark.range(ROWS)
        encoded = encode_df(rows, trial.conf, topic="orders", schema=to_avro_schema(rows.schema))
        to = {**trial.client, **trial.secret, "topic": "orders"}
        encoded.write.format(FORMAT).options(**to).mode("append").save()
        for name in [each for each in dir(trial) if each.startswith("try_")]:
            try:
                found[name.removeprefix("try_")] = getattr(trial, name)()
            except Exception as error:  # noqa: BLE001 - the test looks at it
                found[name.removeprefix("try_")] = f"{type(error).__name__}: {error}"
        print("FOUND " + json.dumps(found))
    finally:
        spark.stop()


if __name__ == "__main__":
    import connect_session  # by the name under which workers import it

    connect_session.main(*sys.argv[1:])
