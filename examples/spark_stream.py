"""A stream from topic to topic: decode messages to columns, sum and filter in Spark, write with foreachBatch.

    python examples/spark_stream.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
import tempfile
from contextlib import ExitStack

from pyspark.sql import SparkSession

from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

ORDERS, LARGE = "orders", "large-orders"
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "prices", "type": {"type": "array", "items": "double"}},
    ],
}
TOTAL = {
    "type": "record",
    "name": "Total",
    "fields": [{"name": "id", "type": "long"}, {"name": "total", "type": ["null", "double"], "default": None}],
}


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    kafka, conf = {"bootstrap.servers": brokers}, {"schema.registry.url": registry}
    orders = spark.sql("select id, array(double(id), double(id % 7)) prices from range(500)")
    KafkaAvroSink(ORDERS, kafka, conf, ORDER).write(orders)

    options = {"kafka.bootstrap.servers": brokers, "subscribe": ORDERS, "startingOffsets": "earliest"}
    stream = spark.readStream.format("streamnative-kafka").options(**options, **conf, decode="true").load()
    totals = stream.selectExpr("id", "aggregate(prices, 0D, (sum, price) -> sum + price) total").where("total >= 400")
    sink = KafkaAvroSink(LARGE, kafka, conf, TOTAL, dedup_headers=True)
    with tempfile.TemporaryDirectory() as checkpoint:
        query = totals.writeStream.foreachBatch(sink.foreach_batch).option("checkpointLocation", checkpoint)
        query.trigger(availableNow=True).start().awaitTermination()

    source = KafkaAvroSource(LARGE, kafka, conf)
    found = sorted((message.value["total"], message.value["id"]) for message in source.read(source.ranges()))
    print(f"{len(found)} large orders, the largest: number {found[-1][1]} with {found[-1][0]}")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("stream"))
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({ORDERS: 4, LARGE: 4})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(sys.argv[1:])
