"""Type mapping between Avro and Spark, compared with Spark's own Avro reader and writer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from avro_strategies import ALL_LOGICAL, schema_and_data
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from schemas import doubling, logical

from streamnative_serdes import SchemaError
from streamnative_serdes._schema import parse
from streamnative_serdes.arrow import arrow_schema_of
from streamnative_serdes.errors import NestedTooDeeplyError
from streamnative_serdes.spark.types.avro import HAS_TIME, to_avro_schema, to_spark_type

# One session serves all examples.
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(*fields: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(fields)]}


AVRO = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    {"type": "enum", "name": "E", "symbols": ["A"]},
    {"type": "fixed", "name": "F", "size": 3},
    {"type": "array", "items": "int"},
    {"type": "array", "items": ["null", "int"]},
    {"type": "array", "items": "null"},
    {"type": "map", "values": "int"},
    {"type": "map", "values": ["int", "null"]},
    record(),
    record(["null", "int"], "string", record("int", name="Inner"), "Inner"),
    logical("int", "date"),
    logical("int", "time-millis"),
    logical("long", "time-micros"),
    *(
        logical("long", f"{local}timestamp-{unit}")
        for local in ("", "local-")
        for unit in ("millis", "micros", "nanos")
    ),
    logical("string", "uuid"),
    logical("bytes", "big-decimal"),
    logical("int", "unheard-of"),
    logical("fixed", "uuid", name="F", size=16),
    logical("fixed", "duration", name="F", size=12),
    logical("bytes", "decimal", precision=10, scale=2),
    logical("bytes", "decimal", precision=10),
    logical("fixed", "decimal", name="F", size=16, precision=38, scale=38),
    # Unions and their Spark types.
    *(["null", "int"], ["int", "null"], ["int"], ["null"]),
    *(["int", "long"], ["null", "long", "int"], ["float", "double"], ["double", "null", "float"]),
    [logical("long", "timestamp-millis"), "int"],
    *(["int", "string"], ["string", "null", "int"], ["int", "long", "string"], ["int", "float"], ["long", "double"]),
    ["null", {"type": "array", "items": ["null", "int"]}, {"type": "map", "values": record()}],
]


def of_spark(spark: SparkSession, schema: Any) -> T.DataType:
    """Return Spark's type for an Avro schema; nanoseconds as BIGINT, as in Spark 4.0, which PySpark supports."""
    jvm: Any = spark._jvm
    parsed = jvm.org.apache.avro.Schema.Parser().parse(json.dumps(schema))
    text = jvm.org.apache.spark.sql.avro.SchemaConverters.toSqlType(parsed).dataType().json()
    for nanoseconds in ('"timestamp_ltz(9)"', '"timestamp_ntz(9)"'):
        text = text.replace(nanoseconds, '"long"')
    return T._parse_datatype_json_string(text)


@pytest.mark.parametrize("schema", AVRO, ids=lambda schema: json.dumps(schema).replace('"', ""))
def test_each_avro_type_maps_to_the_type_of_sparks_reader(spark: SparkSession, schema: Any) -> None:
    assert to_spark_type(schema) == of_spark(spark, schema)


def contains_itself(schema: Any) -> bool:
    return '"next"' in json.dumps(schema)


@SHARED
@given(schema_and_data(ALL_LOGICAL))
def test_random_avro_schemas_map_to_the_types_of_sparks_reader(spark: SparkSession, made: Any) -> None:
    schema = made[0]
    try:
        expected = of_spark(spark, schema)
    except Py4JError as refused:
        assert "recursive" in str(refused)
        with pytest.raises(SchemaError, match="is recursive"):
            to_spark_type(schema)
    else:
        assert to_spark_type(schema) == expected


def test_the_error_for_a_decimal_that_spark_cannot_hold_names_it() -> None:
    wide = logical("bytes", "decimal", precision=39, scale=2)
    with pytest.raises(
        SchemaError, match=r"field f0\.f0\[\]: expected a decimal with at most 38 digits, Spark's limit, got 39"
    ):
        to_spark_type(record(record({"type": "array", "items": wide}, name="I")))


def test_the_error_for_a_recursive_record_names_it() -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    with pytest.raises(SchemaError, match=r"field f0\.next: record N is recursive"):
        to_spark_type(record(node))


MOST = 20_000  # columns


def fits(schema: Any) -> tuple[bool, bool]:
    """Return whether the number of columns is within the limit of Spark, and of Arrow."""
    return _fits(to_spark_type, schema), _fits(arrow_schema_of, schema)


def _fits(types: Callable[[Any], object], schema: Any) -> bool:
    try:
        types(schema)
    except SchemaError as error:
        assert re.search("the schema (takes|needs) more than 20000 (Arrow )?columns", str(error))
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("int", 1),
        (["null", "int"], 1),
        (["int", "long"], 1),
        ({"type": "array", "items": "int"}, 2),
        (record("int", "int", name="Inner"), 3),
        (["string", "null", "int"], 3),
        ({"type": "map", "values": "int"}, 4),
    ],
    ids=str,
)
def test_the_limit_on_columns_is_that_of_arrow(kind: Any, columns: int) -> None:
    count, rest = divmod(MOST - 1, columns)  # the rows count as one column
    again = "Inner" if "Inner" in str(kind) else kind
    fields = [kind, *[again] * (count - 1), *["int"] * rest]
    assert fits(record(*fields)) == (True, True)
    assert fits(record(*fields, "int")) == (False, False)


def test_a_schema_that_is_not_a_record_counts_one_more_column() -> None:
    for fields, expected in ((MOST - 3, True), (MOST - 2, False)):  # in addition to the rows, "value" and its item
        assert fits({"type": "array", "items": record(*["int"] * fields)}) == (expected, expected)


def test_records_that_double_at_each_level_are_refused_before_columns_are_created() -> None:
    with pytest.raises(SchemaError, match="needs more than 20000 columns"):
        to_spark_type(doubling(16))


# --- Spark -> Avro

LEAVES = [
    *(T.NullType(), T.BooleanType(), T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType()),
    *(T.FloatType(), T.DoubleType(), T.StringType(), T.BinaryType(), T.DateType()),
    *(T.TimestampType(), T.TimestampNTZType()),
    *(T.DayTimeIntervalType(), T.DayTimeIntervalType(0, 1), T.YearMonthIntervalType(), T.YearMonthIntervalType(0, 0)),
    *(T.DecimalType(digits, digits // 2) for digits in range(1, 39)),
    *((T.TimeType(0), T.TimeType(6)) if HAS_TIME else ()),
]


def struct(*types: T.DataType, nullable: bool = True) -> T.StructType:
    return T.StructType([T.StructField(f"c{number}", each, nullable) for number, each in enumerate(types)])


def struct_types() -> st.SearchStrategy[T.StructType]:
    inner = st.recursive(
        st.sampled_from(LEAVES),
        lambda more: st.one_of(
            st.builds(T.ArrayType, more, st.booleans()),
            st.builds(lambda kind, null: T.MapType(T.StringType(), kind, null), more, st.booleans()),
            structs(more),
        ),
        max_leaves=8,
    )
    return structs(inner)


def structs(inner: st.SearchStrategy[T.DataType]) -> st.SearchStrategy[T.StructType]:
    fields = st.lists(st.tuples(inner, st.booleans()), max_size=4)
    return fields.map(
        lambda some: T.StructType([T.StructField(f"c{i}", kind, null) for i, (kind, null) in enumerate(some)])
    )


def null_first(tree: Any) -> Any:
    """Change Spark's ``[X, null]`` to ``[null, X]``; such fields get the default null."""
    if isinstance(tree, list):
        return ["null", null_first(tree[0])] if tree[1:] == ["null"] else [null_first(branch) for branch in tree]
    if not isinstance(tree, dict):
        return tree
    out = {key: null_first(value) for key, value in tree.items() if key not in ("fields", "default")}
    if "fields" in tree:
        out["fields"] = [field_of(field) for field in tree["fields"]]
    return out


def field_of(field: Any) -> Any:
    kind = null_first(field["type"])
    return {"name": field["name"], "type": kind} | ({"default": None} if isinstance(kind, list) else {})


def written_by_spark(spark: SparkSession, struct_type: T.StructType, name: str, namespace: str) -> Any:
    jvm: Any = spark._jvm
    theirs = jvm.org.apache.spark.sql.types.DataType.fromJson(struct_type.json())
    schema = jvm.org.apache.spark.sql.avro.SchemaConverters.toAvroType(theirs, False, name, namespace)
    return json.loads(schema.toString())


def same(spark: SparkSession, one: Any, other: Any) -> bool:
    """Whether Java's Avro treats both as the same schema; its text omits optional attributes."""
    parse_json = spark._jvm.org.apache.avro.Schema.Parser  # type: ignore[union-attr]
    return bool(parse_json().parse(json.dumps(one)).equals(parse_json().parse(json.dumps(other))))


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_each_spark_type_maps_to_the_type_of_sparks_writer(spark: SparkSession, leaf: T.DataType) -> None:
    for nullable in (True, False):
        columns = struct(leaf, T.ArrayType(leaf, nullable), T.MapType(T.StringType(), leaf), nullable=nullable)
        expected = null_first(written_by_spark(spark, columns, "Top", "a.b"))
        assert same(spark, to_avro_schema(columns, "Top", "a.b"), expected)


@SHARED
@given(struct_types(), st.sampled_from(["", "a", "a.b"]))
def test_random_structs_map_to_the_types_of_sparks_writer(
    spark: SparkSession, struct_type: T.StructType, namespace: str
) -> None:
    ours = to_avro_schema(struct_type, "Top", namespace)
    assert same(spark, ours, null_first(written_by_spark(spark, struct_type, "Top", namespace)))
    parse(ours)  # strict, so it checks names and defaults


def test_a_struct_round_trips_through_its_schema() -> None:
    kinds = [
        T.StringType(),
        T.LongType(),
        T.TimestampType(),
        T.TimestampNTZType(),
        T.DecimalType(20, 3),
        T.BinaryType(),
    ]
    columns = struct(*kinds, T.ArrayType(struct(*kinds)), T.MapType(T.StringType(), T.DoubleType(), False))
    assert to_spark_type(to_avro_schema(columns)) == columns


def test_a_column_added_later_does_not_break_readers() -> None:
    (field,) = to_avro_schema(struct(T.StringType()))["fields"]
    assert field == {"name": "c0", "type": ["null", "string"], "default": None}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (T.CharType(3), r"c0: Avro has no type for char\(3\)"),
        (T.VarcharType(3), r"c0: Avro has no type for varchar\(3\)"),
        (T.VariantType(), "c0: Avro has no type for variant"),
        (T.StringType("UTF8_LCASE"), "c0: Avro has no type for string collate UTF8_LCASE"),
        (T.CalendarIntervalType(), "c0: Avro has no type for interval"),
        (T.MapType(T.IntegerType(), T.StringType()), "c0: Avro has no type for map<int,string>"),
        (T.ArrayType(struct(T.VariantType())), r"c0\[\]\.c0: Avro has no type for variant"),
        (T.StructType([T.StructField("a b", T.StringType())]), r"c0\.a b: 'a b' is not a valid Avro name"),
        (T.StructType([T.StructField("a", T.StringType())] * 2), r"c0\.a: two columns have the same name"),
    ],
    ids=str,
)
def test_the_error_for_a_type_that_avro_lacks_names_it(kind: T.DataType, expected: str) -> None:
    with pytest.raises(SchemaError, match=expected):
        to_avro_schema(struct(kind))


def test_structs_that_double_at_each_level_are_refused_before_a_schema_is_created() -> None:
    columns = struct(T.IntegerType())
    for _ in range(16):
        columns = struct(columns, columns)
    with pytest.raises(SchemaError, match="would have more than 20000 columns"):
        to_avro_schema(columns)
    to_avro_schema(struct(*[T.IntegerType()] * MOST))
    for many in (struct(*[T.IntegerType()] * (MOST + 1)), struct(*[T.ArrayType(T.IntegerType())] * (MOST // 2 + 1))):
        with pytest.raises(SchemaError, match="would have more than 20000 columns"):
            to_avro_schema(many)


def test_a_struct_that_is_nested_too_deeply_is_an_error() -> None:
    columns = struct(T.IntegerType())
    for _ in range(1_500):
        columns = struct(columns)
    with pytest.raises(NestedTooDeeplyError):
        to_avro_schema(columns)


def test_a_schema_is_derived_only_from_structs() -> None:
    with pytest.raises(SchemaError, match="expected a StructType, got ArrayType"):
        to_avro_schema(T.ArrayType(T.StringType()))  # type: ignore[arg-type]
