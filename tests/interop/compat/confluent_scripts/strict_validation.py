"""Additional fields are ignored unless validation is strict; missing fields are always an error."""

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = """
{"type": "record", "name": "R", "fields": [
  {"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "none"}]}
"""
VALUES = [{"a": 1, "b": "x"}, {"a": 2}, {"a": 3, "b": "x", "c": 0}, {"b": "x"}]
CONFS = [{}, {"validate.strict": True}, {"validate.strict.allow.default": True}]


def run(client, brokers, topic):
    deserializer = AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    read = []
    for conf in CONFS:
        serializer = AvroSerializer(client, SCHEMA, conf=conf)
        for value in VALUES:
            try:
                read.append(deserializer(serializer(value, context), context))
            except ValueError:
                read.append("refused")
    return read


READ = [
    *({"a": 1, "b": "x"}, {"a": 2, "b": "none"}, {"a": 3, "b": "x"}, "refused"),
    *({"a": 1, "b": "x"}, "refused", "refused", "refused"),
    *({"a": 1, "b": "x"}, {"a": 2, "b": "none"}, "refused", "refused"),
]
