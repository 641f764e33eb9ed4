"""Write JSON, numbers and key/value messages to Pulsar's topics as a Kafka client, and read them without a schema.

    python examples/any_topic.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer

from streamnative_serdes import (
    GenericObject,
    KafkaAutoConsumeDeserializer,
    KafkaPulsarSerializer,
    KeyValueSchema,
    TypedSchema,
)
from streamnative_serdes.testing import LocalRegistry, MockBroker


@dataclass
class Order:
    number: int
    customer: str


def produce(brokers: str, registry: str) -> None:
    conf = {"schema.registry.url": registry}
    orders = KafkaPulsarSerializer(conf, TypedSchema("JSON", Order))
    temperatures = KafkaPulsarSerializer(conf, "DOUBLE")
    # The schemas of key and value are registered as one, by whichever serializer runs first.
    pair = KeyValueSchema("STRING", Order, "SEPARATED")
    keys, values = KafkaPulsarSerializer(conf, pair, is_key=True), KafkaPulsarSerializer(conf, pair)

    producer = Producer({"bootstrap.servers": brokers})
    producer.produce("orders", orders.serialize("orders", Order(1, "Ada")))
    producer.produce("temperatures", temperatures.serialize("temperatures", 21.5))
    ada = keys.serialize("orders-by-customer", "Ada")
    producer.produce("orders-by-customer", values.serialize("orders-by-customer", Order(2, "Ada")), ada)
    producer.produce("orders-by-customer", None, ada)
    producer.produce("raw", b"\x00\x01")
    if producer.flush(30):
        raise SystemExit("some messages were not delivered")


def consume(brokers: str, registry: str, count: int) -> list[GenericObject]:
    deserializer = KafkaAutoConsumeDeserializer({"schema.registry.url": registry})
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "example", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders", "temperatures", "orders-by-customer", "raw"])
    found: list[GenericObject] = []
    try:
        while len(found) < count:
            messages = consumer.consume(count - len(found), timeout=30)
            if not messages:
                raise SystemExit("some messages did not arrive")
            found += deserializer.deserialize_many(None, messages)
    finally:
        consumer.close()
    return found


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        if arguments:
            brokers, registry = arguments
        else:
            topics = {"orders": 1, "temperatures": 1, "orders-by-customer": 1, "raw": 1}
            brokers = stack.enter_context(MockBroker(topics)).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        produce(brokers, registry)
        for message in sorted(consume(brokers, registry, 5), key=lambda message: message.schema_type):
            print(f"{message.schema_type}: {message.native_object} ({message.decoded_by.rule})")


if __name__ == "__main__":
    main(sys.argv[1:])
