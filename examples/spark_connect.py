"""Spark Connect: topics are read and written in a session of a server, batch and stream, with secrets that do not show.

    python examples/spark_connect.py [REMOTE BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

REMOTE is a server such as sc://localhost. Its driver and its executors need this package; this side needs it too. By
default, the program starts a server on this machine, an embedded registry and an embedded broker.

A Connect server writes the values of options to its event log and its UI. So secrets are given as references, which
the server and its executors resolve: file:///PATH or env:NAME.
"""

import json
import os
import sys
import tempfile
from contextlib import ExitStack

from pyspark.sql import SparkSession

from streamnative_serdes.spark.datasource import register
from streamnative_serdes.spark.session.java import java_home
from streamnative_serdes.testing import LocalRegistry, MockBroker

FORMAT, TOPIC = "streamnative-kafka", "orders"
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "total", "type": "double"}],
}


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    register(spark)  # for a server that was started before the package was installed; others find the source
    client = {"kafka.bootstrap.servers": brokers, "schema.registry.url": registry}
    secret = {"kafka.sasl.username": "ada", "kafka.sasl.password": "env:KAFKA_PASSWORD"}
    orders = spark.sql("select id, double(id) / 4 total from range(1000)")
    to = {**client, **secret, "topic": TOPIC, "encode": "columns", "schema": json.dumps(ORDER)}
    orders.write.format(FORMAT).options(**to).mode("append").save()

    given = {**client, **secret, "subscribe": TOPIC, "decode": "true"}
    found = spark.read.format(FORMAT).options(**given).load()
    print(f"{found.count()} orders, {found.where('total > 200').count()} of more than 200")

    stream = spark.readStream.format(FORMAT).options(**given, startingOffsets="earliest").load()
    with tempfile.TemporaryDirectory() as folder:  # on a cluster: one that the server and its executors reach
        writer = stream.where("id % 100 = 0").writeStream.format("parquet").option("path", f"{folder}/table")
        query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        print(f"{spark.read.parquet(f'{folder}/table').count()} rows of the stream in a table")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        if arguments:
            remote, brokers, registry = arguments
        else:
            os.environ |= {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable, "KAFKA_PASSWORD": "secret"}
            remote, brokers = "local[2]", stack.enter_context(MockBroker({TOPIC: 4})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        spark = SparkSession.builder.remote(remote).getOrCreate()
        try:
            run(spark, brokers, registry)
        finally:
            spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
