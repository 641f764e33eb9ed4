"""Cost of a message in confluent-kafka's clients, with our SerDes and with SerDes that do nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle
from statistics import median
from typing import Any

from confluent_kafka import DeserializingConsumer, SerializingProducer, TopicPartition
from measure import CLOCK, ClientCost
from shapes import SHAPES

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "bench"
SHAPE = next(shape for shape in SHAPES if shape.name == "flat")
SLICE = 500  # messages


def measure_clients(slices: int) -> dict[str, ClientCost]:
    """Measure ``produce`` and ``poll``, alternating between our SerDes and SerDes that do nothing."""
    with LocalRegistry() as registry, MockBroker({TOPIC: 1}) as broker:
        conf = {"schema.registry.url": registry.url}
        serializer = KafkaAvroSerializer(conf, SHAPE.schema)
        message = serializer.serialize(TOPIC, SHAPE.records[0])
        client = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 2}
        produced = _produce(client, serializer, message, slices)
        polled = _poll(client, KafkaAvroDeserializer(conf), slices)
    return {"SerializingProducer.produce": produced, "DeserializingConsumer.poll": polled}


def _produce(client: dict[str, Any], serializer: KafkaAvroSerializer, message: bytes | None, slices: int) -> ClientCost:
    producers = [
        SerializingProducer({**client, "queue.buffering.max.messages": 1_000_000, "value.serializer": each})
        for each in (lambda _obj, _ctx: message, serializer)
    ]

    def run(producer: SerializingProducer) -> Callable[[], float]:
        records = cycle(SHAPE.records)

        def one_slice() -> float:
            values = [next(records) for _ in range(SLICE)]
            began = CLOCK()
            for value in values:
                producer.produce(TOPIC, value=value)
            spent = CLOCK() - began
            if producer.flush(60):
                raise RuntimeError("the mock broker did not accept all messages")
            return spent

        return one_slice

    return _compared([run(producer) for producer in producers], slices)


def _poll(client: dict[str, Any], deserializer: KafkaAvroDeserializer, slices: int) -> ClientCost:
    consumers = []
    for number, each in zip(count(), (lambda _data, _ctx: None, deserializer)):
        consumer = DeserializingConsumer({**client, "group.id": f"g{number}", "value.deserializer": each})
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        consumers.append(consumer)

    def run(consumer: DeserializingConsumer) -> Callable[[], float]:
        def one_slice() -> float:
            began = CLOCK()
            for _ in range(SLICE):
                if consumer.poll(60) is None:
                    raise RuntimeError("the mock broker returned no message")
            return CLOCK() - began

        return one_slice

    try:
        return _compared([run(consumer) for consumer in consumers], slices)
    finally:
        for consumer in consumers:
            consumer.close()


def _compared(runs: list[Callable[[], float]], slices: int) -> ClientCost:
    """Compare the medians. The first slice does not count: it opens connections and fills queues."""
    rows = [[run() / SLICE * 1e9 for run in runs] for _ in range(slices + 1)][1:]
    constant, ours = (median(column) for column in zip(*rows, strict=True))
    return ClientCost(constant, ours, median(row[1] / row[0] for row in rows))
