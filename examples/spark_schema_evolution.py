"""Schema evolution while a stream reads the topic: the query ends, and is restarted with the new columns.

    python examples/spark_schema_evolution.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker. Without ``schemaEvolution``, the
query would continue and read the new messages as the schema with which it started.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes.spark import KafkaAvroSink
from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "visits"
PAGE, AGENT = {"name": "page", "type": "string"}, {"name": "agent", "type": ["null", "string"], "default": None}


def visit(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Visit", "fields": list(fields)}


def read_all(spark: SparkSession, kafka: dict[str, str], conf: dict[str, str], checkpoint: str) -> None:
    """Run the query once, planned with the schema that is the latest now."""
    options = {"kafka.bootstrap.servers": kafka["bootstrap.servers"], "subscribe": TOPIC, "startingOffsets": "earliest"}
    reader = spark.readStream.format("streamnative-kafka").options(**options, **conf)
    visits = reader.options(decode="true", schemaEvolution="restart").load()
    counts = []

    def count(df: DataFrame, _: int) -> None:
        counts.append(df.count())

    query = visits.writeStream.foreachBatch(count).option("checkpointLocation", checkpoint).start()
    try:
        query.processAllAvailable()
        # A producer registers a new version while the query runs.
        newer = spark.sql("select concat('/', id) page, 'curl' agent from range(5)")
        if "agent" not in visits.columns:
            KafkaAvroSink(TOPIC, kafka, conf, visit(PAGE, AGENT)).write(newer)
            query.processAllAvailable()
    finally:
        query.stop()
        print(f"{sum(counts)} rows of {', '.join(visits.columns)}")


def run(spark: SparkSession, brokers: str, registry: str) -> None:
    kafka, conf = {"bootstrap.servers": brokers}, {"schema.registry.url": registry}
    KafkaAvroSink(TOPIC, kafka, conf, visit(PAGE)).write(spark.sql("select concat('/', id) page from range(10)"))
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = str(Path(folder, "checkpoint"))
        while True:
            try:
                return read_all(spark, kafka, conf, checkpoint)
            except StreamingQueryException as error:
                if "SchemaEvolvedError" not in str(error):
                    raise
                print("the topic has a newer schema: restarting from the checkpoint")


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        spark = stack.enter_context(local_session("schema evolution"))
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 2})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        run(spark, brokers, registry)
        spark.stop()  # must come before the broker is closed


if __name__ == "__main__":
    main(sys.argv[1:])
