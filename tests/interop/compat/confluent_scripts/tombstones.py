"""Tombstones: None stays None in both directions, and to_dict and from_dict are not called."""

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = '{"type": "record", "name": "Entry", "fields": [{"name": "text", "type": "string"}]}'


def run(client, brokers, topic):
    serializer = AvroSerializer(client, SCHEMA, lambda text, ctx: {"text": text})
    deserializer = AvroDeserializer(client, from_dict=lambda entry, ctx: entry["text"])
    producer = Producer({"bootstrap.servers": brokers})
    for value in ("there", None):
        data = serializer(value, SerializationContext(topic, MessageField.VALUE))
        producer.produce(topic, key=b"k", value=data)
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    messages = [consumer.poll(60.0) for _ in range(2)]
    consumer.close()
    context = SerializationContext(topic, MessageField.VALUE)
    return [(m.key(), m.value() is None, deserializer(m.value(), context)) for m in messages]


READ = [(b"k", False, "there"), (b"k", True, None)]
