"""Choosing a union's branch: by tuple, by "-type", or by fit; and getting its name when reading."""

import json

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def record(name, field):
    return {"type": "record", "name": name, "fields": [{"name": field, "type": "int"}]}


SCHEMA = {
    "type": "record",
    "name": "Owner",
    "namespace": "zoo",
    "fields": [
        {"name": "pet", "type": ["null", record("Cat", "age"), record("Dog", "age"), record("Fish", "fins")]},
        {"name": "tag", "type": ["null", "string", "int"]},
    ],
}
OWNERS = [
    {"pet": ("zoo.Dog", {"age": 3}), "tag": "a"},
    {"pet": {"-type": "zoo.Dog", "age": 4}, "tag": 5},
    {"pet": {"fins": 2}, "tag": None},
    {"pet": {"age": 1}, "tag": ("string", "5")},
    {"pet": None, "tag": None},
]


def run(client, brokers, topic):
    serializer = AvroSerializer(client, json.dumps(SCHEMA))
    plain, named = AvroDeserializer(client), AvroDeserializer(client, return_record_name=True)
    context = SerializationContext(topic, MessageField.VALUE)
    messages = [serializer(owner, context) for owner in OWNERS]
    return [(plain(message, context), named(message, context)) for message in messages]


READ = [
    ({"pet": {"age": 3}, "tag": "a"}, {"pet": ("zoo.Dog", {"age": 3}), "tag": "a"}),
    ({"pet": {"age": 4}, "tag": 5}, {"pet": ("zoo.Dog", {"age": 4}), "tag": 5}),
    ({"pet": {"fins": 2}, "tag": None}, {"pet": ("zoo.Fish", {"fins": 2}), "tag": None}),
    ({"pet": {"age": 1}, "tag": "5"}, {"pet": ("zoo.Cat", {"age": 1}), "tag": "5"}),
    ({"pet": None, "tag": None}, {"pet": None, "tag": None}),
]
