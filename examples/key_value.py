"""Write and read a topic of Pulsar's type KEY_VALUE with confluent-kafka's clients: keys and values have a schema each.

    python examples/key_value.py [BOOTSTRAP_SERVERS SCHEMA_REGISTRY_URL]

Without addresses, the program starts an embedded registry and an embedded broker.
"""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from confluent_kafka import DeserializingConsumer, SerializingProducer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, KeyValueSchema
from streamnative_serdes.testing import LocalRegistry, MockBroker

TOPIC = "stock"


@dataclass(frozen=True)
class Article:
    shop: str
    number: int


@dataclass
class Stock:
    pieces: int
    shelf: str | None = None


# Registered as one schema. SEPARATED: the key is the message's key, so Kafka compacts the topic by it.
PAIR = KeyValueSchema(Article, Stock, "SEPARATED")
SENT = [
    (Article("Paris", 1), Stock(12, "A7")),
    (Article("Paris", 2), Stock(3)),
    (Article("Paris", 1), Stock(11, "A7")),
    (Article("Paris", 2), None),  # a tombstone
]


def produce(brokers: str, registry: str) -> None:
    conf = {"schema.registry.url": registry}
    producer = SerializingProducer(
        {
            "bootstrap.servers": brokers,
            "key.serializer": KafkaAvroSerializer(conf, PAIR, is_key=True),
            "value.serializer": KafkaAvroSerializer(conf, PAIR),
        }
    )
    for article, stock in SENT:
        producer.produce(TOPIC, key=article, value=stock)
    if producer.flush(30):
        raise SystemExit("some messages were not delivered")


def read(consumer: DeserializingConsumer) -> tuple[Any, Any]:
    message = consumer.poll(30)
    if message is None:
        raise SystemExit("no message came")
    return message.key(), message.value()


def consume(brokers: str, registry: str, count: int) -> list[tuple[Article, Stock | None]]:
    conf = {"schema.registry.url": registry}
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "example",
            "auto.offset.reset": "earliest",
            # With the pair, objects of its classes are returned; without it, dicts.
            "key.deserializer": KafkaAvroDeserializer(conf, PAIR, is_key=True),
            "value.deserializer": KafkaAvroDeserializer(conf, PAIR),
        }
    )
    consumer.subscribe([TOPIC])
    try:
        return [read(consumer) for _ in range(count)]
    finally:
        consumer.close()


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        if arguments:
            brokers, registry = arguments
        else:
            brokers = stack.enter_context(MockBroker({TOPIC: 1})).bootstrap_servers
            registry = stack.enter_context(LocalRegistry()).url
        produce(brokers, registry)
        received = consume(brokers, registry, len(SENT))
    assert received == SENT
    for article, stock in dict(received).items():
        print(article, "->", stock)


if __name__ == "__main__":
    main(sys.argv[1:])
