"""Connect's data API: schemas made at run time, structs, and converters with the formats of Java's workers."""

from __future__ import annotations

from .avro import AvroConverter
from .builder import SchemaBuilder, SchemaLike
from .converter import Converter
from .json_converter import JsonConverter
from .logical import Date, Decimal, Enum, Time, Timestamp
from .projector import SchemaProjector
from .schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES,
    OPTIONAL_FLOAT32,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT8,
    OPTIONAL_INT16,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Field,
    Schema,
    Type,
    newer,
)
from .struct import Struct
from .values import SchemaAndValue, validate

__all__ = [
    "BOOLEAN",
    "BYTES",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "OPTIONAL_BOOLEAN",
    "OPTIONAL_BYTES",
    "OPTIONAL_FLOAT32",
    "OPTIONAL_FLOAT64",
    "OPTIONAL_INT8",
    "OPTIONAL_INT16",
    "OPTIONAL_INT32",
    "OPTIONAL_INT64",
    "OPTIONAL_STRING",
    "STRING",
    "AvroConverter",
    "Converter",
    "Date",
    "Decimal",
    "Enum",
    "Field",
    "JsonConverter",
    "Schema",
    "SchemaAndValue",
    "SchemaBuilder",
    "SchemaLike",
    "SchemaProjector",
    "Struct",
    "Time",
    "Timestamp",
    "Type",
    "newer",
    "validate",
]
