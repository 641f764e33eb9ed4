"""One serializer and one deserializer for several topics at once."""

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = '{"type": "record", "name": "Event", "fields": [{"name": "at", "type": "long"}]}'


def run(client, brokers, topic):
    serializer = AvroSerializer(client, SCHEMA, lambda at, ctx: {"at": at})
    deserializer = AvroDeserializer(client, SCHEMA, lambda event, ctx: (ctx.topic.removeprefix(topic), event["at"]))
    read = []
    for at in range(6):
        context = SerializationContext(f"{topic}-{at % 3}", MessageField.VALUE)
        read.append(deserializer(serializer(at, context), context))
    registered = [client.get_latest_version(f"{topic}-{n}-value").schema.schema_type for n in range(3)]
    return [*read, registered]


READ = [("-0", 0), ("-1", 1), ("-2", 2), ("-0", 3), ("-1", 4), ("-2", 5), ["AVRO", "AVRO", "AVRO"]]
