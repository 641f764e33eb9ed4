"""Classes as schemas, and objects instead of dicts.

A class is a dataclass, a pydantic model, a typed NamedTuple, an attrs class or a ``pulsar.schema.Record``.

Our own derivation, and no library's: py-avro-schema and dataclasses-avroschema put fields in the order of the class,
take enum symbols from values, add docs and defaults, and know no ``java-class``; each of these makes another
version than what Pulsar's Java client has registered. Neither knows NamedTuple, attrs and Record, nor says which field
it cannot take. How they write the digits of a Decimal is understood.
"""

from .annotations import (
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
from .derive import schema_of
from .kinds import is_model
from .matching import shapes_to_read, shapes_to_write
from .reading import Reading, Target, reading_of

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
    "Target",
    "TimeMillis",
    "TimestampMillis",
    "is_model",
    "reading_of",
    "schema_of",
    "shapes_to_read",
    "shapes_to_write",
]
