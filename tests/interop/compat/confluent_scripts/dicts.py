"""Dicts without the fields that have defaults."""

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = """
{"type": "record", "name": "User", "namespace": "example", "fields": [
  {"name": "name", "type": "string"},
  {"name": "favorite_number", "type": "long"},
  {"name": "favorite_color", "type": ["null", "string"], "default": null},
  {"name": "height", "type": "double", "default": 1.75},
  {"name": "active", "type": "boolean", "default": true}]}
"""
USERS = [
    {"name": "Ada", "favorite_number": 36, "favorite_color": "green", "height": 1.5, "active": False},
    {"name": "Zoë", "favorite_number": -(2**62)},
]


def run(client, brokers, topic):
    serializer = AvroSerializer(client, SCHEMA)
    deserializer = AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    return [deserializer(serializer(user, context), context) for user in USERS]


def main(url, brokers, topic):
    with SchemaRegistryClient({"url": url}) as client:
        return run(client, brokers, topic)


READ = [
    {"name": "Ada", "favorite_number": 36, "favorite_color": "green", "height": 1.5, "active": False},
    {"name": "Zoë", "favorite_number": -(2**62), "favorite_color": None, "height": 1.75, "active": True},
]
