"""Arrays, maps, enums, fixed and bytes."""

import json

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = {
    "type": "record",
    "name": "Many",
    "fields": [
        {"name": "suits", "type": {"type": "array", "items": {"type": "enum", "name": "Suit", "symbols": ["S", "H"]}}},
        {"name": "trump", "type": ["null", "Suit"], "default": None},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "body", "type": "bytes"},
        {"name": "matrix", "type": {"type": "array", "items": {"type": "array", "items": "float"}}},
        {"name": "counts", "type": {"type": "map", "values": {"type": "map", "values": "long"}}},
        {"name": "mixed", "type": {"type": "array", "items": ["null", "string", "double", "boolean"]}},
    ],
}
VALUES = [
    {
        "suits": ["S", "H", "S"],
        "trump": "H",
        "hash": b"\x00\x01\xfe\xff",
        "body": b"\x03\x04\x00",
        "matrix": [[0.5, -1.25], []],
        "counts": {"a": {"b": 1}, "c": {}},
        "mixed": [None, "x", 2.5, True],
    },
    {"suits": (), "hash": bytes(4), "body": b"", "matrix": [], "counts": {}, "mixed": []},
]


def run(client, brokers, topic):
    serializer, deserializer = AvroSerializer(client, json.dumps(SCHEMA)), AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    return [deserializer(serializer(value, context), context) for value in VALUES]


def main(url, brokers, topic):
    with SchemaRegistryClient({"url": url}) as client:
        return run(client, brokers, topic)


READ = [
    VALUES[0],
    {"suits": [], "trump": None, "hash": bytes(4), "body": b"", "matrix": [], "counts": {}, "mixed": []},
]
