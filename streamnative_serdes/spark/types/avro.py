"""Type mapping between Avro and Spark, like that of Spark's own Avro reader and writer (``SchemaConverters``).

There are three differences. ``timestamp-nanos`` and ``local-timestamp-nanos`` are BIGINT: PySpark has no type for them,
and no precision is lost. A nullable column becomes ``["null", X]`` with default null, so that it can be added to a
topic later; Spark's ``[X, "null"]`` without a default cannot. Recursive schemas are refused: the depth of a DataFrame's
schema must be known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from streamnative_serdes._formats.parts import Part, Parts
from streamnative_serdes._schema import (
    Array,
    AvroType,
    Enum,
    Fixed,
    Logical,
    Map,
    Primitive,
    Record,
    Schema,
    Union,
    is_name,
    load,
    parse,
    qualified,
)
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError

# The same limit as for Arrow: a record that is used twice has its columns twice, so nesting multiplies them.
MOST_COLUMNS: Final = 20_000
MOST_DIGITS: Final = 38  # of a DECIMAL in Spark, and of decimal128 in Arrow
_CATALYST_TYPE: Final = "spark.sql.catalyst.type"  # the property in which Spark records a type that Avro lacks
# Spark's own Avro reader supports TIME from 4.3 on, in sessions that enable it.
HAS_TIME: Final = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3)

_PLAIN: Final[Mapping[str, T.DataType]] = {
    "null": T.NullType(),
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "bytes": T.BinaryType(),
    "string": T.StringType(),
}
_LOGICAL: Final[Mapping[str, T.DataType]] = {
    "date": T.DateType(),
    **({"time-micros": T.TimeType(6)} if HAS_TIME else {}),
    "timestamp-millis": T.TimestampType(),
    "timestamp-micros": T.TimestampType(),
    "local-timestamp-millis": T.TimestampNTZType(),
    "local-timestamp-micros": T.TimestampNTZType(),
}


# --- Avro -> Spark


def has_time(session: SparkSession) -> bool:
    """Whether the session supports TIME: unless it is enabled, such columns cannot be cached, grouped or stored."""
    return HAS_TIME and session.conf.get("spark.sql.timeType.enabled") == "true"


def to_spark_type(schema: object, *, logical_types: bool = True, times: bool = HAS_TIME) -> T.DataType:
    """The Spark type for data of ``schema``, for a column or a whole DataFrame.

    Args:
        schema: as for :class:`KafkaAvroSerializer`. A record becomes a StructType. A union of several types besides
            null becomes a struct of ``member0``, ``member1``, ..., one of which is not null; but int and long together
            become BIGINT, float and double DOUBLE.
        logical_types: as the option ``avro.logical.types``: if false, a timestamp is BIGINT, a decimal BINARY.
        times: if true, ``time-micros`` is TIME, as in Spark's own reader from 4.3 on; else it is BIGINT, as in
            :func:`decode_df` for sessions whose ``spark.sql.timeType.enabled`` is false.

    Raises:
        SchemaError: the schema is invalid or recursive, needs more than 20,000 columns, or has a decimal with more than
            38 digits. The error has the field.
    """
    # Not strict: a registered schema may have an invalid default, which does not matter here.
    root = parse(schema if isinstance(schema, Schema) else load(schema), strict=False).root
    try:
        return _Reader(logical_types, times).of(root)
    except RecursionError:
        raise NestedTooDeeplyError from None


class _Reader:
    """Converts a schema by a recursive walk; ``open`` are the records that enclose the current type."""

    def __init__(self, logical_types: bool, times: bool) -> None:
        self.logical_types, self.times = logical_types, times
        self.open: list[str] = []
        self.columns = 1  # the rows, as one struct

    def of(self, root: AvroType) -> T.DataType:
        if not isinstance(root, Record):
            self._count(1)
        return self.type(root, "")

    def _count(self, more: int) -> None:
        self.columns += more
        if self.columns > MOST_COLUMNS:
            raise SchemaError(f"the schema needs more than {MOST_COLUMNS} columns")

    def type(self, kind: AvroType, path: str) -> T.DataType:
        match kind:
            case Primitive() | Fixed():
                return self._leaf(kind, path)
            case Enum():
                return T.StringType()
            case Array():
                self._count(1)
                return T.ArrayType(self.type(kind.items, f"{path}[]"), nullable(kind.items))
            case Map():
                self._count(3)  # its entries, keys and values
                return T.MapType(T.StringType(), self.type(kind.values, f"{path}{{}}"), nullable(kind.values))
            case Union():
                return self._union(kind, path)
        return self._record(kind, path)

    def _leaf(self, kind: Primitive | Fixed, path: str) -> T.DataType:
        plain = _PLAIN["bytes"] if isinstance(kind, Fixed) else _PLAIN[kind.kind]
        if kind.logical is None or not self.logical_types:
            return plain
        if kind.logical.name == "decimal":
            return _decimal(kind.logical, path)
        if kind.logical.name == "time-micros" and not self.times:
            return plain
        return _LOGICAL.get(kind.logical.name, plain)

    def _record(self, record: Record, path: str) -> T.StructType:
        if record.name in self.open:
            raise SchemaError(
                f"record {record.name} is recursive, which Spark does not support",
                path=path,
                hint="read the topic with a reader's schema without that field",
            )
        self._count(len(record.fields))
        self.open.append(record.name)
        try:
            inner = f"{path}." if path else ""
            return T.StructType(
                [
                    T.StructField(field.name, self.type(field.type, f"{inner}{field.name}"), nullable(field.type))
                    for field in record.fields
                ]
            )
        finally:
            self.open.pop()

    def _union(self, union: Union, path: str) -> T.DataType:
        branches = [branch for branch in union.branches if branch.kind != "null"]
        if len(branches) == 1:
            return self.type(branches[0], path)
        kinds = {branch.kind for branch in branches}
        if branches and kinds <= {"int", "long"}:
            return T.LongType()
        if branches and kinds <= {"float", "double"}:
            return T.DoubleType()
        self._count(len(branches))
        return T.StructType(
            [
                T.StructField(f"member{number}", self.type(branch, f"{path}.member{number}"), True)
                for number, branch in enumerate(branches)
            ]
        )


def nullable(kind: AvroType) -> bool:
    """Whether a datum of this type can be null."""
    return kind.kind == "null" or (isinstance(kind, Union) and any(branch.kind == "null" for branch in kind.branches))


def _decimal(logical: Logical, path: str) -> T.DataType:
    if logical.precision > MOST_DIGITS:
        raise SchemaError(
            f"expected a decimal with at most {MOST_DIGITS} digits, Spark's limit, got {logical.precision}", path=path
        )
    return T.DecimalType(logical.precision, logical.scale)


# --- Spark -> Avro


def to_avro_schema(struct_type: T.StructType, name: str = "topLevelRecord", namespace: str = "") -> dict[str, Any]:
    """The Avro record schema for the rows of a DataFrame: ``to_avro_schema(df.schema)``.

    Args:
        struct_type: the DataFrame's schema. Nullable columns, items and values become ``["null", X]``.
        name: name of the record. Nested records are named after their columns.
        namespace: namespace of the record.

    Raises:
        SchemaError: Avro has no type for a column (CHAR, VARCHAR, VARIANT, collations other than UTF8_BINARY, maps with
            keys that are not strings), or a name is not valid in Avro; the error has the column. Or there are more than
            20,000 columns, nested ones included.
    """
    if not isinstance(struct_type, T.StructType):
        raise SchemaError(f"expected a StructType, got {type(struct_type).__name__}", hint="pass df.schema")
    _require_bounded(struct_type)
    try:
        return _record(struct_type, name, namespace, "")
    except RecursionError:
        raise NestedTooDeeplyError from None


def _require_bounded(struct: T.StructType) -> None:
    """Check the number of columns: a type that is used twice is written out twice."""
    waiting: list[T.DataType] = [struct]
    count = 0
    while waiting:
        kind = waiting.pop()
        inner = parts_of(kind)
        count += len(inner)
        if count > MOST_COLUMNS:
            raise SchemaError(f"the schema would have more than {MOST_COLUMNS} columns")
        waiting += inner


def parts_of(kind: T.DataType) -> list[T.DataType]:
    """The types nested directly in this one."""
    match kind:
        case T.StructType():
            return [field.dataType for field in kind.fields]
        case T.ArrayType():
            return [kind.elementType]
        case T.MapType():
            return [kind.keyType, kind.valueType]
    return []


def _record(struct: T.StructType, name: str, namespace: str, path: str) -> dict[str, Any]:
    if not is_name(name):
        raise SchemaError(
            f"{name!r:.80} is not a valid Avro name", path=path, hint="rename the column, or pass a name for the record"
        )
    tree: dict[str, Any] = {"type": "record", "name": name}
    if namespace:
        tree["namespace"] = namespace
    tree["fields"] = list(_fields(struct, qualified(name, namespace), path))
    return tree


def _fields(struct: T.StructType, namespace: str, path: str) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for field in struct.fields:
        here = f"{path}.{field.name}" if path else field.name
        if field.name in seen:
            raise SchemaError("two columns have the same name", path=here, hint="rename one of them")
        seen.add(field.name)
        if not is_name(field.name):
            raise SchemaError(f"{field.name!r:.80} is not a valid Avro name", path=here, hint="rename the column")
        kind = _type(field.dataType, field.name, namespace, here)
        if not field.nullable or kind == "null":
            yield {"name": field.name, "type": kind}
        else:
            yield {"name": field.name, "type": ["null", kind], "default": None}


def _type(spark: T.DataType, name: str, namespace: str, path: str) -> Any:
    match spark:
        case T.StructType():
            return _record(spark, name, namespace, path)
        case T.ArrayType():
            return {"type": "array", "items": _item(spark.elementType, spark.containsNull, name, namespace, path)}
        case T.MapType() if spark.keyType == T.StringType():
            return {"type": "map", "values": _item(spark.valueType, spark.valueContainsNull, name, namespace, path)}
        case T.DecimalType():
            return _fixed(spark, f"{namespace}.{name}")
        case T.StringType() if spark != T.StringType():
            found = None
        case _:
            found = _LEAVES.get(type(spark))
    if found is None:
        raise SchemaError(f"Avro has no type for {spark.simpleString()}", path=path, hint="cast the column")
    if isinstance(found, str):
        return found
    return {**found, **({_CATALYST_TYPE: spark.simpleString()} if _CATALYST_TYPE in found else {})}


def _item(spark: T.DataType, with_null: bool, name: str, namespace: str, path: str) -> Any:
    kind = _type(spark, name, namespace, f"{path}[]")
    return ["null", kind] if with_null and kind != "null" else kind


def _fixed(spark: T.DecimalType, namespace: str) -> dict[str, Any]:
    """The smallest fixed type for all decimals of this precision."""
    size = (10**spark.precision - 1).bit_length() // 8 + 1
    logical = {"logicalType": "decimal", "precision": spark.precision, "scale": spark.scale}
    return {"type": "fixed", "name": "fixed", "namespace": namespace, "size": size, **logical}


_LEAVES: Final[Mapping[type[T.DataType], str | Mapping[str, str]]] = {
    T.NullType: "null",
    T.BooleanType: "boolean",
    T.ByteType: "int",
    T.ShortType: "int",
    T.IntegerType: "int",
    T.LongType: "long",
    T.FloatType: "float",
    T.DoubleType: "double",
    T.StringType: "string",
    T.BinaryType: "bytes",
    T.DateType: {"type": "int", "logicalType": "date"},
    T.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    T.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
    T.YearMonthIntervalType: {"type": "int", _CATALYST_TYPE: ""},
    T.DayTimeIntervalType: {"type": "long", _CATALYST_TYPE: ""},
    **({T.TimeType: {"type": "long", "logicalType": "time-micros", _CATALYST_TYPE: ""}} if HAS_TIME else {}),
}


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
    """Spark's type of data with these parts; the arguments are those of :func:`to_spark_type`."""
    if isinstance(parts, Part):
        return _type_of_part(parts, logical_types, times)
    return T.StructType(
        [T.StructField(name, _type_of_part(part, logical_types, times)) for name, part in parts.items()]
    )


def _type_of_part(part: Part, logical_types: bool, times: bool) -> T.DataType:
    if part.schema is None:
        return _PRIMITIVES[part.type]
    return to_spark_type(part.schema, logical_types=logical_types, times=times)
