"""Produce and consume with aiokafka, without blocking the event loop while the registry is asked.

BOOTSTRAP_SERVERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/aiokafka_client.py
"""

import asyncio
import os
from functools import partial

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer

BOOTSTRAP_SERVERS = os.environ.get("BOOTSTRAP_SERVERS", "localhost:9092")
CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "users")
SCHEMA = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}


async def main() -> None:
    """Send three users and read them back."""
    serializer, deserializer = KafkaAvroSerializer(CONF, SCHEMA), KafkaAvroDeserializer(CONF)
    await asyncio.to_thread(serializer.warm_up, TOPIC)
    producer = AIOKafkaProducer(
        bootstrap_servers=BOOTSTRAP_SERVERS, value_serializer=partial(serializer.serialize, TOPIC)
    )
    async with producer:
        for name, age in (("Ada", 36), ("Grace", 85), ("Edsger", 72)):
            await producer.send_and_wait(TOPIC, {"name": name, "age": age})

    await asyncio.to_thread(deserializer.warm_up, TOPIC)
    consumer = AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=BOOTSTRAP_SERVERS,
        auto_offset_reset="earliest",
        value_deserializer=partial(deserializer.deserialize, TOPIC),
    )
    async with consumer:
        for _ in range(3):
            print((await asyncio.wait_for(consumer.getone(), 30)).value)


if __name__ == "__main__":
    asyncio.run(main())
