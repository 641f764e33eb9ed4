"""SerializingProducer and DeserializingConsumer, including an object that does not match the schema."""

from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.error import ValueSerializationError
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import StringDeserializer, StringSerializer

SCHEMA = """
{"type": "record", "name": "Reading", "fields": [
  {"name": "sensor", "type": "string"}, {"name": "celsius", "type": ["null", "double"], "default": null}]}
"""
READINGS = [{"sensor": "a", "celsius": 21.5}, {"celsius": 3.0}, {"sensor": "b"}]


def run(client, brokers, topic):
    producer = SerializingProducer(
        {
            "bootstrap.servers": brokers,
            "key.serializer": StringSerializer("utf_8"),
            "value.serializer": AvroSerializer(client, SCHEMA),
        }
    )
    seen = []
    for number, reading in enumerate(READINGS):
        try:
            producer.produce(topic=topic, key=str(number), value=reading)
        except ValueSerializationError as error:
            seen.append((number, error.name, isinstance(error.exception, ValueError)))
    assert producer.flush(60) == 0
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "key.deserializer": StringDeserializer("utf_8"),
            "value.deserializer": AvroDeserializer(client, SCHEMA),
        }
    )
    consumer.subscribe([topic])
    messages = [consumer.poll(60.0) for _ in range(2)]
    consumer.close()
    return seen + [(message.key(), message.value()) for message in messages]


READ = [
    (1, "_VALUE_SERIALIZATION", True),
    ("0", {"sensor": "a", "celsius": 21.5}),
    ("2", {"sensor": "b", "celsius": None}),
]
