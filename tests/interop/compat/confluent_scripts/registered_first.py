"""auto.register.schemas=false: only schemas that an administrator registered are written; others fail with a 404."""

from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

KNOWN = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
OTHER = '{"type": "record", "name": "R", "fields": [{"name": "b", "type": "int"}]}'


def run(client, brokers, topic):
    client.register_schema(f"{topic}-value", Schema(KNOWN, "AVRO"))
    context = SerializationContext(topic, MessageField.VALUE)
    read = [
        AvroDeserializer(client)(
            AvroSerializer(client, KNOWN, None, {"auto.register.schemas": False})({"a": 1}, context), context
        )
    ]
    for subject, ask in (
        (
            "unknown schema",
            lambda: AvroSerializer(client, OTHER, conf={"auto.register.schemas": False})({"b": 1}, context),
        ),
        ("unknown lookup", lambda: client.lookup_schema(f"{topic}-value", Schema(OTHER, "AVRO"))),
        ("unknown subject", lambda: client.get_latest_version(f"{topic}-none-value")),
    ):
        try:
            ask()
        except SchemaRegistryError as error:
            read.append((subject, error.http_status_code))
    return read


READ = [{"a": 1}, ("unknown schema", 404), ("unknown lookup", 404), ("unknown subject", 404)]
