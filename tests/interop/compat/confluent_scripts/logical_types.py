"""Logical types: dates, times, timestamps, decimals and UUIDs as Python types."""

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def logical(kind, base, **more):
    return {"type": base, "logicalType": kind, **more}


TYPES = {
    "day": logical("date", "int"),
    "at_ms": logical("time-millis", "int"),
    "at_us": logical("time-micros", "long"),
    "moment_ms": logical("timestamp-millis", "long"),
    "moment_us": logical("timestamp-micros", "long"),
    "wall_ms": logical("local-timestamp-millis", "long"),
    "wall_us": logical("local-timestamp-micros", "long"),
    "price": logical("decimal", "bytes", precision=9, scale=2),
    "rate": logical("decimal", "fixed", name="Rate", size=6, precision=10, scale=4),
    "id": logical("uuid", "string"),
    "maybe": ["null", logical("date", "int")],
}
SCHEMA = {"type": "record", "name": "Typed", "fields": [{"name": name, "type": TYPES[name]} for name in TYPES]}
INDIA = timezone(timedelta(hours=5, minutes=30))
VALUE = {
    "day": date(1969, 12, 31),
    "at_ms": time(23, 59, 59, 999000),
    "at_us": time(0, 0, 0, 1),
    "moment_ms": datetime(2020, 2, 29, 12, 30, 0, 123000, tzinfo=INDIA),
    "moment_us": datetime(1955, 5, 5, 5, 5, 5, 5, tzinfo=UTC),
    "wall_ms": datetime(2020, 2, 29, 12, 30, 0, 123000),
    "wall_us": datetime(1955, 5, 5, 5, 5, 5, 5),
    "price": Decimal("-1234567.89"),
    "rate": Decimal("0.5"),
    "id": UUID("12345678-1234-5678-1234-567812345678"),
    "maybe": date(2024, 1, 1),
}


def run(client, brokers, topic):
    serializer, deserializer = AvroSerializer(client, json.dumps(SCHEMA)), AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    return [deserializer(serializer(VALUE, context), context)]


def main(url, brokers, topic):
    with SchemaRegistryClient({"url": url}) as client:
        return run(client, brokers, topic)


READ = [
    {
        **VALUE,
        "moment_ms": datetime(2020, 2, 29, 7, 0, 0, 123000, tzinfo=UTC),
        "rate": Decimal("0.5000"),
    }
]
