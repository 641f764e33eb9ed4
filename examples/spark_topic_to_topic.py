"""A stream from topic to topic by the data source alone: read columns, sum and filter in Spark, write columns.

    python examples/spark_topic_to_topic.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker. On a real Kafka, the option
``delivery=transactional`` writes each row once, for readers of committed messages.
"""

import json
import sys
import tempfile
from contextlib import ExitStack

from pyspark.sql import SparkSession

from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

FORMAT, ORDERS, LARGE = "streamnative-kafka", "orders", "large-orders"
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "prices", "type": {"type": "array", "items": "double"}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
TOTAL = {
    "type": "record",
    "name": "Total",
    "fields": [{"name": "id", "type": "long"}, {"name": "total", "type": ["null", "double"], "default": None}],
}


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    client = {"kafka.bootstrap.servers": brokers, "schema.registry.url": registry}
    orders = spark.sql("select id, array(double(id), double(id % 7)) prices, string(null) note from range(500)")
    to = {**client, "topic": ORDERS, "encode": "columns", "schema": json.dumps(ORDER)}
    orders.write.format(FORMAT).options(**to).mode("append").save()

    # Of the fields, two are decoded and the note is skipped; the partition is kept as a column.
    given = {**client, "subscribe": ORDERS, "decode": "true", "columns": "id,prices", "keep": "partition"}
    stream = spark.readStream.format(FORMAT).options(**given, startingOffsets="earliest").load()
    sums = stream.selectExpr("id", "aggregate(prices, 0D, (sum, price) -> sum + price) total", "partition")
    large = sums.where("total >= 400").selectExpr("string(partition) key", "id", "total")

    to = {**client, "topic": LARGE, "encode": "columns", "keep": "key", "schema": json.dumps(TOTAL)}
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = large.writeStream.format(FORMAT).options(**to, dedupHeaders="true")
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()

    found = spark.read.format(FORMAT).options(**client, subscribe=LARGE, decode="true").load()
    best = found.orderBy("total", ascending=False).first()
    assert best is not None
    print(f"{found.count()} large orders, the largest: number {best.id} with {best.total}")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("topic to topic"))
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({ORDERS: 4, LARGE: 4})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(sys.argv[1:])
