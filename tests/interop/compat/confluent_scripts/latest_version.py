"""use.latest.version: writes with the topic's latest schema, and registers nothing."""

from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

FIRST = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
SECOND = (
    '{"type": "record", "name": "R", "fields": '
    '[{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "none"}]}'
)


def run(client, brokers, topic):
    for text in (FIRST, SECOND):
        client.register_schema(f"{topic}-value", Schema(text, "AVRO"))
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    serializer = AvroSerializer(client, FIRST, conf=conf)
    deserializer = AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    read = [deserializer(serializer(value, context), context) for value in ({"a": 1, "b": "x"}, {"a": 2})]
    return [*read, len(client.get_versions(f"{topic}-value"))]


READ = [{"a": 1, "b": "x"}, {"a": 2, "b": "none"}, 2]
