"""Schemas with references, one of them reached by two paths (as avro_producer's "nested" example, and a diamond)."""

import json

from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def record(full, **fields):
    fields = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": full, "namespace": "shop", "fields": fields})


MONEY = record("Money", cents="long")
CUSTOMER = record("Customer", name="string", credit="shop.Money")
ORDER = record(
    "Order", customer="shop.Customer", price=["null", "shop.Money"], paid={"type": "array", "items": "Money"}
)
SOLD = {
    "customer": {"name": "Ada", "credit": {"cents": 1}},
    "price": {"cents": 1250},
    "paid": [{"cents": 1000}, {"cents": 250}],
}


def refer(client, name, subject):
    return SchemaReference(name, subject, client.get_latest_version(subject).version)


def run(client, brokers, topic):
    client.register_schema(f"{topic}-money", Schema(MONEY, "AVRO"))
    money = refer(client, "shop.Money", f"{topic}-money")
    client.register_schema(f"{topic}-customer", Schema(CUSTOMER, "AVRO", [money]))
    customer = SchemaReference("shop.Customer", f"{topic}-customer", 1)  # versions count from 1
    order = Schema(ORDER, "AVRO", [money, customer])
    serializer = AvroSerializer(client, order)
    context = SerializationContext(topic, MessageField.VALUE)
    message = serializer(SOLD, context)
    return [AvroDeserializer(client)(message, context), AvroDeserializer(client, order)(message, context)]


READ = [SOLD, SOLD]
