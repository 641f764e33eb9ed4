"""FastStream with confluent-kafka: a decoder for what subscribers get, and bytes for what is published.

    pip install "faststream[confluent]"
    BOOTSTRAP_SERVERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:8080 python examples/faststream_client.py

The event loop never waits for the registry.
"""

import asyncio
import os
from typing import Any

from confluent_kafka.serialization import MessageField, SerializationContext
from faststream.confluent import KafkaBroker

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.integrations.aio import awaited

CONF = {"schema.registry.url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:8080")}
TOPIC = os.environ.get("TOPIC", "users")
SCHEMA = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": "int"}],
}
broker = KafkaBroker(os.environ.get("BOOTSTRAP_SERVERS", "localhost:9092"), logger=None)
serialize, deserialize = awaited(KafkaAvroSerializer(CONF, SCHEMA)), awaited(KafkaAvroDeserializer(CONF))
received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()


async def decode(message: Any) -> Any:
    """The value of a message, for the arguments of subscribers; a tombstone is None."""
    raw = message.raw_message
    return await deserialize(raw.value(), SerializationContext(raw.topic(), MessageField.VALUE, raw.headers()))


@broker.subscriber(TOPIC, group_id="example", auto_offset_reset="earliest", decoder=decode)
async def on_user(user: dict[str, Any]) -> None:
    """FastStream checks the value, by pydantic, against the type of the argument, which may also be a class."""
    await received.put(user)


async def main() -> None:
    """Send three users and receive them."""
    async with broker:
        for name, age in (("Ada", 36), ("Grace", 85), ("Edsger", 72)):
            context = SerializationContext(TOPIC, MessageField.VALUE)
            await broker.publish(await serialize({"name": name, "age": age}, context), TOPIC)
        await broker.start()
        for _ in range(3):
            print(await asyncio.wait_for(received.get(), 30))


if __name__ == "__main__":
    asyncio.run(main())
