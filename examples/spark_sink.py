"""Send rows of a DataFrame to a topic with foreachPartition and read them back, without a JVM jar.

    python examples/spark_sink.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack

from pyspark.sql import SparkSession

from streamnative_serdes.spark import KafkaAvroSink, KafkaAvroSource, to_avro_schema
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "readings"


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    kafka, conf = {"bootstrap.servers": brokers}, {"schema.registry.url": registry}
    readings = spark.sql(
        "select concat('meter-', id % 10) meter, id / 4 value, timestamp_seconds(1767225600 + id) at from range(1000)"
    )

    # Create the sink on the driver, which registers the schema. Workers get it with the sink, and need not ask for it.
    schema = to_avro_schema(readings.schema, "Reading")
    sink = KafkaAvroSink(TOPIC, kafka, conf, schema, key="meter", dedup_headers=True)
    readings.foreachPartition(sink.foreach_partition)

    source = KafkaAvroSource(TOPIC, kafka, conf)
    ranges = source.ranges()
    received = spark.sparkContext.parallelize(ranges, len(ranges)).mapPartitions(source.read)
    # Delivery is at least once: messages that a task sent twice have equal headers.
    distinct = received.map(lambda message: (str(message.headers), message.value)).reduceByKey(lambda one, _: one)
    total = distinct.map(lambda pair: pair[1]["value"]).sum()
    print(f"{distinct.count()} readings in {len(ranges)} partitions, {total:.2f} in all")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("sink"))
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 4})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(sys.argv[1:])
