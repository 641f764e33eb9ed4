"""Where the JSON of Java's classes differs from the type of Avro: the marks of such classes in schemas.

Avro's reflection writes the class into the property ``java-class``, or makes a record of the class's name. Such a
record of a class of Java's own has no fields, since these are private. Kafka Connect, and so Debezium, writes its own
name of a type into ``connect.name``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamnative_serdes._schema import Array, AvroType, Logical, Primitive, Record, Schema, TreeCopy

CHARACTER: Final = "java.lang.Character"  # an int in the schema, text in JSON
NUMBERS: Final = ("java.math.BigDecimal", "java.math.BigInteger")  # strings in the schema, numbers in JSON
DATES: Final = ("java.util.Date", "java.sql.Timestamp")  # records in the schema, milliseconds in JSON
_MAP: Final = "java.util.Map"
_OF_JAVA: Final = ("java.", "javax.")
_OF_CONNECT: Final = "org.apache.kafka.connect.data."


def java_class(node: AvroType) -> str | None:
    """The class in ``java-class``, if any."""
    found = getattr(node, "props", {}).get("java-class")
    return found if isinstance(found, str) else None


def is_of_java(node: Record) -> bool:
    return node.name.startswith(_OF_JAVA)


def is_pairs(node: AvroType) -> bool:
    """Whether an array stands for a map with other keys than text, an object in JSON."""
    if not isinstance(node, Array) or not isinstance(node.items, Record) or java_class(node) != _MAP:
        return False
    return [part.name for part in node.items.fields] == ["key", "value"]


def is_of_connect(node: AvroType) -> bool:
    """Whether Kafka Connect's JsonConverter writes the type: dates and times as ticks, decimals in base64."""
    return str(getattr(node, "props", {}).get("connect.name")).startswith(_OF_CONNECT)


def has_primitives(properties: Mapping[str, str]) -> bool:
    """Whether Pulsar's Java client made the schema, and only fields of Java's primitive types do not allow null."""
    return properties.get("__alwaysAllowNull") == "true"


def inner_schema(schema: Schema) -> Schema:
    """The schema with a timestamp in place of java.util.Date, a record without fields; else the schema itself."""
    if not any(name in schema.names for name in DATES):
        return schema
    return Schema(schema.text, _WithDates().of(schema.root))


class _WithDates(TreeCopy):
    def of(self, node: AvroType) -> AvroType:
        if isinstance(node, Record) and node.name in DATES:
            return Primitive("long", Logical("timestamp-millis"), {"java-class": node.name})
        return super().of(node)
