"""Schema evolution: reads each version with its own, an older and a newer schema."""

import json

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

OLD = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "count", "type": "int", "default": 1}],
}
NEW = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "id", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["none"]},
    ],
}
WIDE = {"type": "record", "name": "Order", "fields": [{"name": "count", "type": "double", "default": 0.5}]}


def run(client, brokers, topic):
    context = SerializationContext(topic, MessageField.VALUE)
    messages = [
        AvroSerializer(client, json.dumps(OLD))({"id": "a", "count": 2}, context),
        AvroSerializer(client, json.dumps(NEW))({"id": "b", "note": "new", "tags": []}, context),
    ]
    readers = [AvroDeserializer(client, schema and json.dumps(schema)) for schema in (None, OLD, NEW, WIDE)]
    return [[reader(message, context) for reader in readers] for message in messages]


READ = [
    [{"id": "a", "count": 2}, {"id": "a", "count": 2}, {"note": None, "id": "a", "tags": ["none"]}, {"count": 2.0}],
    [
        {"note": "new", "id": "b", "tags": []},
        {"id": "b", "count": 1},
        {"note": "new", "id": "b", "tags": []},
        {"count": 0.5},
    ],
]
