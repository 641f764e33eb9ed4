"""Produce and consume with kafka-python.

BOOTSTRAP_SERVERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/kafka_python_client.py
"""

import os

from kafka import KafkaConsumer, KafkaProducer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.integrations.kafka_python import for_kafka_python

BOOTSTRAP_SERVERS = os.environ.get("BOOTSTRAP_SERVERS", "localhost:9092")
CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "users")
SCHEMA = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}


def main() -> None:
    """Send three users and read them back."""
    producer = KafkaProducer(
        bootstrap_servers=BOOTSTRAP_SERVERS, value_serializer=for_kafka_python(KafkaAvroSerializer(CONF, SCHEMA))
    )
    for name, age in (("Ada", 36), ("Grace", 85), ("Edsger", 72)):
        producer.send(TOPIC, {"name": name, "age": age})
    producer.flush(30)
    producer.close()

    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=BOOTSTRAP_SERVERS,
        auto_offset_reset="earliest",
        consumer_timeout_ms=10_000,
        value_deserializer=for_kafka_python(KafkaAvroDeserializer(CONF)),
    )
    for _, message in zip(range(3), consumer, strict=False):
        print(message.value)
    consumer.close()


if __name__ == "__main__":
    main()
