"""Produce and consume with confluent-kafka's asyncio clients: the event loop never waits for the registry.

BOOTSTRAP_SERVERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/confluent_asyncio.py

Needs confluent-kafka 2.16 or newer, where these clients are experimental.
"""

import asyncio
import os

from confluent_kafka.aio import AsyncDeserializingConsumer, AsyncSerializingProducer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.integrations.aio import awaited

KAFKA = {"bootstrap.servers": os.environ.get("BOOTSTRAP_SERVERS", "localhost:9092")}
CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "users")
SCHEMA = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}


async def main() -> None:
    """Send three users and read them back."""
    serializer = awaited(KafkaAvroSerializer(CONF, SCHEMA))
    producer = await AsyncSerializingProducer({**KAFKA, "value.serializer": serializer})
    users = [{"name": name, "age": age} for name, age in (("Ada", 36), ("Grace", 85), ("Edsger", 72))]
    reports = [await producer.produce(TOPIC, value=user) for user in users]
    await producer.flush()
    for report in reports:
        await report
    await producer.close()

    reading = {**KAFKA, "group.id": "example", "auto.offset.reset": "earliest"}
    deserializer = awaited(KafkaAvroDeserializer(CONF))
    consumer = await AsyncDeserializingConsumer({**reading, "value.deserializer": deserializer})
    await consumer.subscribe([TOPIC])
    for _ in users:
        message = await consumer.poll(30)
        print(message and message.value())
    await consumer.close()


if __name__ == "__main__":
    asyncio.run(main())
