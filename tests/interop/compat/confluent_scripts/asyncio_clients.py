"""Confluent's asyncio_avro_producer.py: awaits serializer and deserializer, many calls concurrently."""

import asyncio

from confluent_kafka.schema_registry import AsyncSchemaRegistryClient
from confluent_kafka.schema_registry.avro import AsyncAvroDeserializer, AsyncAvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = '{"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}'


async def run(client, topic):
    serializer = await AsyncAvroSerializer(client, SCHEMA, lambda name, ctx: {"name": name})
    deserializer = await AsyncAvroDeserializer(client, SCHEMA, lambda user, ctx: user["name"])
    contexts = [SerializationContext(f"{topic}-{n % 2}", MessageField.VALUE) for n in range(6)]
    messages = await asyncio.gather(*(serializer(f"user {n}", context) for n, context in enumerate(contexts)))
    names = await asyncio.gather(*map(deserializer, messages, contexts))
    latest = await client.get_latest_version(f"{topic}-1-value")
    return [*names, await serializer(None, contexts[0]), latest.subject.removeprefix(topic)]


def main(url, brokers, topic):
    async def connected():
        async with AsyncSchemaRegistryClient({"url": url}) as client:
            return await run(client, topic)

    return asyncio.run(connected())


READ = ["user 0", "user 1", "user 2", "user 3", "user 4", "user 5", None, "-1-value"]
