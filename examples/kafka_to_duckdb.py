"""Kafka and duckdb: the rows of a query to a topic, and a topic into a table, each row once.

    python examples/kafka_to_duckdb.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Delivery is at least once: after a crash between the insert and commit(), rows come again, as they do here to a second
group. So the place of a row is its key in the table, and rows that are there already are left out.

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack

import duckdb

from streamnative_serdes.integrations.consuming import ArrowConsumer, ArrowProducer
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "readings"
READING = {
    "type": "record",
    "name": "Reading",
    "fields": [{"name": "sensor", "type": "string"}, {"name": "celsius", "type": "double"}],
}
TABLE = """
CREATE TABLE readings(
    "partition" INTEGER, "offset" BIGINT, sensor VARCHAR, celsius DOUBLE, PRIMARY KEY ("partition", "offset")
)
"""
QUERY = "SELECT 'sensor ' || range % 3 AS sensor, range / 10 AS celsius, range % 2 AS place FROM range(300)"


def load(database: duckdb.DuckDBPyConnection, conf: dict[str, str], group: str) -> int:
    """Put what is new for the group into the table, and return the number of rows that came."""
    came = 0
    place = {**conf, "group.id": group, "auto.offset.reset": "earliest"}
    with ArrowConsumer(place, keep=["partition", "offset"]) as consumer:
        consumer.subscribe([TOPIC])
        while not consumer.at_end:
            batch = consumer.read_batch(100, timeout=10)
            database.register("batch", batch)
            database.execute("INSERT OR IGNORE INTO readings SELECT * FROM batch")
            consumer.commit(asynchronous=False)
            came += batch.num_rows
    return came


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 2})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        conf = {"bootstrap.servers": brokers, "schema.registry.url": registry}
        database = stack.enter_context(duckdb.connect())
        database.execute(TABLE)
        with ArrowProducer(conf, TOPIC, READING, partition="place") as producer:
            producer.write(database.sql(QUERY))
        came = [load(database, conf, group) for group in ("first", "second")]
        print(f"{came} rows came")
        query = "SELECT sensor, count(*), round(avg(celsius), 2) FROM readings GROUP BY ALL ORDER BY ALL"
        print(database.sql(query).fetchall())


if __name__ == "__main__":
    main(sys.argv[1:])
