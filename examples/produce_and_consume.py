"""Send and read orders with plain confluent-kafka clients; the schema comes from a dataclass.

    python examples/produce_and_consume.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from confluent_kafka import Consumer, Producer
from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "orders"


@dataclass
class Order:
    number: int
    customer: str
    placed: datetime
    items: dict[str, int]
    note: str | None = None


def produce(brokers: str, registry: str, orders: list[Order]) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": registry}, Order)
    producer = Producer({"bootstrap.servers": brokers})
    for order in orders:
        context = SerializationContext(TOPIC, MessageField.VALUE)
        producer.produce(TOPIC, key=str(order.number), value=serializer(order, context))
    if producer.flush(30):
        raise SystemExit("some orders were not delivered")


def consume(brokers: str, registry: str, count: int) -> list[Order]:
    deserializer = KafkaAvroDeserializer({"schema.registry.url": registry}, from_dict=lambda data, _: Order(**data))
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "example", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    try:
        messages = consumer.consume(count, timeout=30)
        return [deserializer.deserialize(TOPIC, message.value()) for message in messages]
    finally:
        consumer.close()


def main(arguments: list[str]) -> None:
    orders = [Order(i, "Ada", datetime(2026, 1, 1, 12, i, tzinfo=UTC), {"tea": i}) for i in range(10)]
    with ExitStack() as stack:
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 1})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        produce(brokers, registry, orders)
        received = consume(brokers, registry, len(orders))
    print(f"{len(received)} orders, the last one: {received[-1]}")
    assert received == orders


if __name__ == "__main__":
    main(sys.argv[1:])
