"""AsyncSerializingProducer and AsyncDeserializingConsumer, including a tombstone."""

import asyncio

from confluent_kafka.aio import AsyncDeserializingConsumer, AsyncSerializingProducer
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient
from confluent_kafka.schema_registry.avro import AsyncAvroDeserializer, AsyncAvroSerializer
from confluent_kafka.serialization import StringDeserializer, StringSerializer

SCHEMA = '{"type": "record", "name": "Reading", "fields": [{"name": "celsius", "type": "double"}]}'
VALUES = [{"celsius": 21.5}, None, {"celsius": -3.0}]


async def produce(client, brokers, topic):
    producer = await AsyncSerializingProducer(
        {
            "bootstrap.servers": brokers,
            "log_level": 2,
            "key.serializer": StringSerializer("utf_8"),
            "value.serializer": await AsyncAvroSerializer(client, SCHEMA),
        }
    )
    sent = [await producer.produce(topic, key=str(number), value=value) for number, value in enumerate(VALUES)]
    await producer.flush()
    await asyncio.gather(*sent)
    await producer.close()


async def consume(client, brokers, topic):
    consumer = await AsyncDeserializingConsumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "key.deserializer": StringDeserializer("utf_8"),
            "value.deserializer": await AsyncAvroDeserializer(client),
        }
    )
    await consumer.subscribe([topic])
    messages = [await consumer.poll(60.0) for _ in VALUES]
    await consumer.close()
    return [(message.key(), message.value()) for message in messages]


async def run(url, brokers, topic):
    async with AsyncSchemaRegistryClient({"url": url}) as client:
        await produce(client, brokers, topic)
        return await consume(client, brokers, topic)


def main(url, brokers, topic):
    return asyncio.run(run(url, brokers, topic))


READ = [("0", {"celsius": 21.5}), ("1", None), ("2", {"celsius": -3.0})]
