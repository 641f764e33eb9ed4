"""A topic as polars frames: rows to Kafka, all of them back as columns, and a message that nobody can read set aside.

    python examples/kafka_to_polars.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack

import polars as pl

from streamnative_serdes.integrations.consuming import ArrowConsumer, ArrowProducer, split_errors
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "trips"
TRIP = {
    "type": "record",
    "name": "Trip",
    "fields": [
        {"name": "vehicle", "type": "string"},
        {"name": "started", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kilometres", "type": ["null", "double"], "default": None},
    ],
}


def trips() -> pl.DataFrame:
    frame = pl.DataFrame({"vehicle": ["tram", "bus", "tram", "ferry"] * 250, "kilometres": [1.5, 4.0, None, 2.5] * 250})
    return frame.with_columns(
        started=pl.datetime(2026, 1, 1, time_zone="UTC") + pl.duration(minutes=pl.int_range(1_000))
    )


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 3})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        conf = {"bootstrap.servers": brokers, "schema.registry.url": registry}
        with ArrowProducer(conf, TOPIC, TRIP, key="vehicle") as producer:
            producer.write(trips())
            producer.client.produce(TOPIC, b"\xff", "bus")  # what another program sends by mistake

        good, dead = [], []
        group = {**conf, "group.id": "polars", "auto.offset.reset": "earliest"}
        with ArrowConsumer(group, keep=["partition", "offset"], error_column="error") as consumer:
            consumer.subscribe([TOPIC])
            while not consumer.at_end:
                rows, letters = split_errors(consumer.read_batch(400, timeout=10), "error")
                good.append(pl.DataFrame(rows))
                dead.append(pl.DataFrame(letters))
            # Keep the frames and the dead letters before this: a restart goes on behind them.
            consumer.commit(asynchronous=False)
    frame = pl.concat(good)
    print(frame.group_by("vehicle").agg(pl.len(), pl.sum("kilometres")).sort("vehicle").rows())
    print(pl.concat(dead).select("key", "value", "topic").rows())


if __name__ == "__main__":
    main(sys.argv[1:])
