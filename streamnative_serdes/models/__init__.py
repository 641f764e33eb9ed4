"""Derives Avro schemas from Python classes, and maps records to their instances.

A class is a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a ``pulsar.schema.Record``.

The derivation is our own, since existing libraries do not give the schemas that Pulsar's Java client registers:
py-avro-schema and dataclasses-avroschema keep fields in class order, take enum symbols from values, add docs and
defaults, and do not write ``java-class``; each difference would register another version. Neither supports NamedTuple,
attrs and Record, nor names the field that it cannot map. Their annotations for the digits of a Decimal are accepted.
"""

from .derive import schema_of
from .kinds import is_model
from .matching import shapes_to_read, shapes_to_write
from .reading import Reading, Registered, Target, reading_of
from .type_hints import (
    AvroClass,
    AvroField,
    AvroType,
    DecimalMeta,
    Float32,
    Int32,
    LocalTimestampMicros,
    LocalTimestampMillis,
    TimeMillis,
    TimestampMillis,
)

__all__ = [
    "AvroClass",
    "AvroField",
    "AvroType",
    "DecimalMeta",
    "Float32",
    "Int32",
    "LocalTimestampMicros",
    "LocalTimestampMillis",
    "Reading",
    "Registered",
    "Target",
    "TimeMillis",
    "TimestampMillis",
    "is_model",
    "reading_of",
    "schema_of",
    "shapes_to_read",
    "shapes_to_write",
]
