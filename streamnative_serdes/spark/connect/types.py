"""Connect's schemas as Spark's types, and back.

| Connect | Spark |
|---|---|
| INT8, INT16, INT32, INT64 | TINYINT, SMALLINT, INT, BIGINT |
| FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES | FLOAT, DOUBLE, BOOLEAN, STRING, BINARY |
| ARRAY, MAP, STRUCT | ARRAY, MAP, STRUCT |
| Date, Timestamp | DATE, TIMESTAMP |
| Time | INT, milliseconds |
| Decimal | DECIMAL(p, scale); p is the parameter ``connect.decimal.precision``, else 38 |

With ``metadata=True``, each column's metadata has its schema, as JSON. On the way back, only the properties of the
outermost struct are then lost: its name, version, doc, parameters and default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from pyspark.sql import types as T

from streamnative_serdes._formats.jackson.parsing import parse
from streamnative_serdes.connect import Date, Decimal, Schema, SchemaBuilder, Timestamp, Type
from streamnative_serdes.connect.json_schema import from_json, to_json
from streamnative_serdes.connect.json_values import Form
from streamnative_serdes.connect.logical import logical_of
from streamnative_serdes.errors import DecodeError, SchemaError
from streamnative_serdes.spark.types.avro import MOST_COLUMNS, MOST_DIGITS

METADATA: Final = "connect.schema"
PRECISION: Final = "connect.decimal.precision"
_FORM: Final = Form()
_MAX_DEPTH: Final = 1_000
LEAVES: Final[Mapping[Type, T.DataType]] = {
    Type.INT8: T.ByteType(),
    Type.INT16: T.ShortType(),
    Type.INT32: T.IntegerType(),
    Type.INT64: T.LongType(),
    Type.FLOAT32: T.FloatType(),
    Type.FLOAT64: T.DoubleType(),
    Type.BOOLEAN: T.BooleanType(),
    Type.STRING: T.StringType(),
    Type.BYTES: T.BinaryType(),
}


# --- Connect -> Spark


def to_spark_type(schema: Schema, *, metadata: bool = False) -> T.DataType:
    """The Spark type for values of ``schema``, for a column or, if it is a STRUCT, for a whole DataFrame.

    Args:
        schema: a Connect schema.
        metadata: whether the fields of the outermost struct have their schemas in their metadata, for
            :func:`from_spark_type`.

    Raises:
        SchemaError: Spark has no type for a field: a decimal with more than 38 digits; or there would be more than
            20,000 columns. ``path`` names the field.
    """
    kind = _Reader().type(schema)
    if metadata and isinstance(kind, T.StructType):
        return T.StructType(
            [
                T.StructField(each.name, each.dataType, each.nullable, {METADATA: to_json(field.schema, _FORM)})
                for each, field in zip(kind.fields, schema.fields or (), strict=True)
            ]
        )
    return kind


class _Reader:
    def __init__(self) -> None:
        self._columns = 0

    def type(self, schema: Schema) -> T.DataType:
        self._columns += 1
        if self._columns > MOST_COLUMNS:
            raise SchemaError(f"the schema needs more than {MOST_COLUMNS} columns")
        match schema.type:
            case Type.ARRAY:
                return T.ArrayType(self._inner("[]", schema.values), schema.values.optional)
            case Type.MAP:
                if schema.keys.optional:
                    raise SchemaError("Spark has no maps with optional keys")
                keys, values = (
                    self._inner("{key}", schema.keys),
                    self._inner("{}", schema.values),
                )
                return T.MapType(keys, values, schema.values.optional)
            case Type.STRUCT:
                return T.StructType(
                    [
                        T.StructField(field.name, self._inner(field.name, field.schema), field.schema.optional)
                        for field in schema.fields or ()
                    ]
                )
        return _leaf(schema)

    def _inner(self, path: str, schema: Schema) -> T.DataType:
        try:
            return self.type(schema)
        except SchemaError as error:
            raise error.inside(path) from None


def _leaf(schema: Schema) -> T.DataType:
    logical = logical_of(schema)
    if logical is Date:
        return T.DateType()
    if logical is Timestamp:
        return T.TimestampType()
    return _decimal(schema) if logical is Decimal else LEAVES[schema.type]


def _decimal(schema: Schema) -> T.DecimalType:
    scale, precision = max(Decimal.scale(schema), 0), MOST_DIGITS
    text = (schema.parameters or {}).get(PRECISION, "")
    if text.isdecimal() and len(text) < 6:
        precision = max(int(text), scale, 1)
    if scale > MOST_DIGITS or precision > MOST_DIGITS:
        raise SchemaError(f"expected a decimal with at most {MOST_DIGITS} digits, Spark's limit, got {text or scale}")
    return T.DecimalType(precision, scale)


# --- Spark -> Connect


def from_spark_type(kind: T.DataType, *, name: str | None = None, optional: bool = False) -> Schema:
    """The Connect schema for values of a Spark type: ``from_spark_type(df.schema)``.

    A column whose metadata has a schema of this type, as :func:`to_spark_type` made it, gets this schema.

    Args:
        kind: the type.
        name: of the schema, if it is a STRUCT.
        optional: whether the value may be null.

    Raises:
        SchemaError: Connect has no type for a column (TIMESTAMP_NTZ, intervals, CHAR, VARCHAR, VARIANT, TIME, NULL);
            ``path`` names the column.
    """
    match kind:
        case T.ArrayType():
            made = SchemaBuilder.array(_within("[]", kind.elementType, kind.containsNull))
        case T.MapType():
            keys = _within("{key}", kind.keyType, False)
            made = SchemaBuilder.map(keys, _within("{}", kind.valueType, kind.valueContainsNull))
        case T.StructType():
            made = SchemaBuilder.struct(name)
            for field in kind.fields:
                made.field(field.name, _kept(field) or _within(field.name, field.dataType, field.nullable))
        case _:
            return _from_leaf(kind, optional)
    return (made.optional() if optional else made).build()


def _within(path: str, kind: T.DataType, optional: bool) -> Schema:
    try:
        return from_spark_type(kind, optional=optional)
    except SchemaError as error:
        raise error.inside(path) from None


def _kept(field: T.StructField) -> Schema | None:
    """The schema in a column's metadata, unless the column has another type now."""
    text = (field.metadata or {}).get(METADATA)
    if not isinstance(text, str):
        return None
    try:
        schema = from_json(parse(text.encode(), _MAX_DEPTH), _FORM)
        fits = to_spark_type(schema) == field.dataType
    except (DecodeError, SchemaError):
        return None
    if not fits:
        return None
    return schema.replaced(optional=True) if field.nullable and not schema.optional else schema


def _from_leaf(kind: T.DataType, optional: bool) -> Schema:
    if isinstance(kind, T.DecimalType):
        return Decimal.schema(kind.scale, optional=optional, parameters={PRECISION: str(kind.precision)})
    make = _SCHEMAS.get(type(kind))
    if make is None or (isinstance(kind, T.StringType) and kind != T.StringType()):
        raise SchemaError(f"Connect has no type for {kind.simpleString()}", hint="cast the column")
    return make(optional)


_SCHEMAS: Final[Mapping[type[Any], Callable[[bool], Schema]]] = {
    **{type(spark): partial(Schema, kind) for kind, spark in LEAVES.items()},
    T.DateType: lambda optional: Date.schema(optional=optional),
    T.TimestampType: lambda optional: Timestamp.schema(optional=optional),
}
