"""Spark types of what is not Avro: Pulsar's primitive types, and both halves of KEY_VALUE messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as T

from streamnative_serdes._formats.parts import Part, Parts

from .types import to_spark_type

# Counts of nanoseconds are BIGINT: PySpark has no type for them.
_PRIMITIVES: Final[Mapping[str, T.DataType]] = {
    "BOOLEAN": T.BooleanType(),
    "INT8": T.ByteType(),
    "INT16": T.ShortType(),
    "INT32": T.IntegerType(),
    "INT64": T.LongType(),
    "FLOAT": T.FloatType(),
    "DOUBLE": T.DoubleType(),
    "STRING": T.StringType(),
    "BYTES": T.BinaryType(),
    "DATE": T.TimestampType(),
    "TIME": T.TimestampType(),
    "TIMESTAMP": T.TimestampType(),
    "INSTANT": T.LongType(),
    "LOCAL_DATE": T.DateType(),
    "LOCAL_TIME": T.LongType(),
    "LOCAL_DATE_TIME": T.LongType(),
}


def type_of_parts(parts: Parts, *, logical_types: bool, times: bool) -> T.DataType:
    """The type of what is read; the arguments are those of :func:`to_spark_type`.

    Raises:
        SchemaError: Spark has no type for it.
    """
    if isinstance(parts, Part):
        return _type_of_part(parts, logical_types, times)
    return T.StructType(
        [T.StructField(name, _type_of_part(part, logical_types, times)) for name, part in parts.items()]
    )


def _type_of_part(part: Part, logical_types: bool, times: bool) -> T.DataType:
    if part.schema is None:
        return _PRIMITIVES[part.type]
    return to_spark_type(part.schema, logical_types=logical_types, times=times)
