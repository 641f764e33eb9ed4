"""Nested dataclasses, with methods that convert them to dicts and back."""

import json
from dataclasses import dataclass, field

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}],
}
SCHEMA = {
    "type": "record",
    "name": "Basket",
    "fields": [{"name": "owner", "type": "string"}, {"name": "lines", "type": {"type": "array", "items": LINE}}],
}


@dataclass
class Line:
    sku: str
    count: int


@dataclass
class Basket:
    owner: str
    lines: list = field(default_factory=list)

    def to_dict(self, ctx):
        return {"owner": f"{self.owner}@{ctx.field}", "lines": [vars(line) for line in self.lines]}

    @classmethod
    def from_dict(cls, data, ctx):
        return cls(data["owner"], [Line(**line) for line in data["lines"]])


BASKETS = [Basket("Ada"), Basket("Alan", [Line("apple", 2), Line("pear", 1)])]


def run(client, brokers, topic):
    serializer = AvroSerializer(client, json.dumps(SCHEMA), Basket.to_dict)
    deserializer = AvroDeserializer(client, json.dumps(SCHEMA), Basket.from_dict)
    context = SerializationContext(topic, MessageField.VALUE)
    return [deserializer(serializer(basket, context), context) for basket in BASKETS]


READ = [Basket("Ada@value"), Basket("Alan@value", [Line("apple", 2), Line("pear", 1)])]
