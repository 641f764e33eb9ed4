"""Records in records, arrays and maps, and a recursive record."""

import json

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]}
SCHEMA = {
    "type": "record",
    "name": "Shape",
    "namespace": "geo",
    "fields": [
        {"name": "center", "type": POINT},
        {"name": "corners", "type": {"type": "array", "items": "Point"}},
        {"name": "named", "type": {"type": "map", "values": "geo.Point"}},
        {"name": "inside", "type": {"type": "array", "items": "Shape"}},
    ],
}
INNER = {"center": {"x": 0, "y": 1}, "corners": [], "named": {}, "inside": []}
OUTER = {
    "center": {"x": -1, "y": 2},
    "corners": [{"x": i, "y": -i} for i in range(3)],
    "named": {"top": {"x": 5, "y": 5}, "bottom": {"x": 6, "y": 6}},
    "inside": [INNER, {**INNER, "inside": [INNER]}],
}


def run(client, brokers, topic):
    serializer, deserializer = AvroSerializer(client, json.dumps(SCHEMA)), AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    return [deserializer(serializer(shape, context), context) for shape in (INNER, OUTER)]


def main(url, brokers, topic):
    with SchemaRegistryClient({"url": url}) as client:
        return run(client, brokers, topic)


READ = [INNER, OUTER]
