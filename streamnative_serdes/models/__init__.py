"""Classes as schemas, and objects instead of dicts: what a dataclass, a pydantic model, an attrs class, a NamedTuple or a
``pulsar.schema.Record`` is in Avro.

Our own derivation, and no library's: py-avro-schema and dataclasses-avroschema put fields in the order of the class,
take enum symbols from values, add docs and defaults of their own and know no ``java-class``, each of which makes another
schema version of what Pulsar's Java client has registered; neither knows NamedTuple, attrs and Record, or says which
field it cannot take. Their way to write the digits of a Decimal is understood.
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

__all__ = [
    "AvroClass",
    "AvroField",
    "AvroType",
    "DecimalMeta",
    "Float32",
    "Int32",
    "LocalTimestampMicros",
    "LocalTimestampMillis",
    "TimeMillis",
    "TimestampMillis",
    "is_model",
    "schema_of",
]
