"""Arrow: the type in which Spark passes a column to Python, known before the job runs; Kafka's messages as columns.

PySpark's own ``to_arrow_type`` is not public, and its arguments change between releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import types as T

from .avro import HAS_TIME

_ARROW: Final[Mapping[type[T.DataType], pa.DataType]] = {
    T.NullType: pa.null(),
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),  # in any session time zone
    T.TimestampNTZType: pa.timestamp("us"),
    **({T.TimeType: pa.time64("ns")} if HAS_TIME else {}),
}


def arrow_type(kind: T.DataType) -> pa.DataType:
    """The Arrow type in which Spark passes a column of this type to Python.

    Raises:
        LookupError: Spark cannot pass this type to Python, or Avro has no type for it.
    """
    match kind:
        case T.ArrayType():
            return pa.list_(arrow_type(kind.elementType))
        case T.MapType():
            # pyarrow makes no map whose keys are of type null, as those of create_map() are, but reads Spark's.
            keys = pa.string() if isinstance(kind.keyType, T.NullType) else arrow_type(kind.keyType)
            return pa.map_(keys, arrow_type(kind.valueType))
        case T.StructType():
            return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in kind.fields])
        case T.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case T.UserDefinedType():
            return arrow_type(kind.sqlType())
    return _ARROW[type(kind)]


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch of messages as columns, a row for each message; ``errors`` has a text for each unreadable message."""

    columns: list[pa.Array]
    errors: pa.Array

    @property
    def failed(self) -> bool:
        return bool(self.errors.null_count < len(self.errors))


_HEADERS: Final = T.ArrayType(
    T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())])
)
KAFKA_COLUMNS: Final = T.StructType(
    [
        T.StructField("key", T.BinaryType()),
        T.StructField("value", T.BinaryType()),
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
        T.StructField("timestamp", T.TimestampType()),
        T.StructField("timestampType", T.IntegerType()),
    ]
)
WITH_HEADERS: Final = T.StructType([*KAFKA_COLUMNS.fields, T.StructField("headers", _HEADERS)])
