"""Values of all types: fields left to their defaults, arrays, maps, enums, nested records, and logical types."""

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

USER = """
{"type": "record", "name": "User", "namespace": "example", "fields": [
  {"name": "name", "type": "string"},
  {"name": "favorite_number", "type": "long"},
  {"name": "favorite_color", "type": ["null", "string"], "default": null},
  {"name": "height", "type": "double", "default": 1.75},
  {"name": "active", "type": "boolean", "default": true}]}
"""
USERS_WRITTEN = [
    {"name": "Ada", "favorite_number": 36, "favorite_color": "green", "height": 1.5, "active": False},
    {"name": "Zoë", "favorite_number": -(2**62)},
]
MANY = {
    "type": "record",
    "name": "Many",
    "fields": [
        {"name": "suits", "type": {"type": "array", "items": {"type": "enum", "name": "Suit", "symbols": ["S", "H"]}}},
        {"name": "trump", "type": ["null", "Suit"], "default": None},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "body", "type": "bytes"},
        {"name": "matrix", "type": {"type": "array", "items": {"type": "array", "items": "float"}}},
        {"name": "counts", "type": {"type": "map", "values": {"type": "map", "values": "long"}}},
        {"name": "mixed", "type": {"type": "array", "items": ["null", "string", "double", "boolean"]}},
    ],
}
MANY_WRITTEN = [
    {
        "suits": ["S", "H", "S"],
        "trump": "H",
        "hash": b"\x00\x01\xfe\xff",
        "body": b"\x03\x04\x00",
        "matrix": [[0.5, -1.25], []],
        "counts": {"a": {"b": 1}, "c": {}},
        "mixed": [None, "x", 2.5, True],
    },
    {"suits": (), "hash": bytes(4), "body": b"", "matrix": [], "counts": {}, "mixed": []},
]
POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]}
SHAPE = {
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
TYPED = {"type": "record", "name": "Typed", "fields": [{"name": name, "type": TYPES[name]} for name in TYPES]}
INDIA = timezone(timedelta(hours=5, minutes=30))
TIMES = {
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
WRITTEN = [(USER, USERS_WRITTEN), (json.dumps(MANY), MANY_WRITTEN), (json.dumps(SHAPE), [INNER, OUTER])]
WRITTEN += [(json.dumps(TYPED), [TIMES])]


def run(client, brokers, topic):
    read = []
    for number, (schema, values) in enumerate(WRITTEN):
        serializer, deserializer = AvroSerializer(client, schema), AvroDeserializer(client)
        context = SerializationContext(f"{topic}-{number}", MessageField.VALUE)
        read += [deserializer(serializer(value, context), context) for value in values]
    return read


READ = [
    USERS_WRITTEN[0],
    {**USERS_WRITTEN[1], "favorite_color": None, "height": 1.75, "active": True},
    MANY_WRITTEN[0],
    {"suits": [], "trump": None, "hash": bytes(4), "body": b"", "matrix": [], "counts": {}, "mixed": []},
    INNER,
    OUTER,
    {
        **TIMES,
        "moment_ms": datetime(2020, 2, 29, 7, 0, 0, 123000, tzinfo=UTC),
        "rate": Decimal("0.5000"),
    },
]
