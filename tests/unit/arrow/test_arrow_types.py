# ruff: noqa: E501 - one case per line
"""The Arrow types that Avro types are decoded to, and those that they can be encoded from."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from schemas import array, doubling, logical, record

pa = pytest.importorskip("pyarrow")

from streamnative_serdes._schema import parse  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec, Columns, ColumnWriter, arrow_schema_of  # noqa: E402 - requires pyarrow
from streamnative_serdes.codec import Codec, Duration  # noqa: E402
from streamnative_serdes.errors import ConfigError, EncodeError, SchemaError  # noqa: E402

DAY, NOW = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, 15, 123000)
ID = UUID("bdd640fb-0667-4ad1-9c80-317fa3b1799d")


def fixed(size: int, **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size, **more}


def required(name: str, kind: Any) -> Any:
    return pa.field(name, kind, nullable=False)


MEMBERS = pa.struct([("member0", pa.int32()), ("member1", pa.string())])
# Avro type, Arrow type, value of Codec, value of the column
TYPES: list[tuple[Any, Any, Any, Any]] = [
    ("boolean", pa.bool_(), True, True),
    ("int", pa.int32(), -5, -5),
    ("long", pa.int64(), 1 << 40, 1 << 40),
    ("float", pa.float32(), 1.5, 1.5),
    ("double", pa.float64(), 0.1, 0.1),
    ("bytes", pa.binary(), b"\0\xff", b"\0\xff"),
    ("string", pa.string(), "é𝄞", "é𝄞"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, pa.string(), "B", "B"),
    (fixed(3), pa.binary(), b"abc", b"abc"),
    (logical("int", "date"), pa.date32(), DAY, DAY),
    (logical("int", "time-millis"), pa.time32("ms"), NOW.time(), NOW.time()),
    (logical("long", "time-micros"), pa.time64("ns"), NOW.time(), NOW.time()),
    (logical("long", "timestamp-millis"), pa.timestamp("us", "UTC"), NOW.replace(tzinfo=dt.UTC), ...),
    (logical("long", "timestamp-micros"), pa.timestamp("us", "UTC"), NOW.replace(tzinfo=dt.UTC), ...),
    (logical("long", "local-timestamp-millis"), pa.timestamp("us"), NOW, NOW),
    (logical("long", "local-timestamp-micros"), pa.timestamp("us"), NOW, NOW),
    (logical("bytes", "decimal", precision=38, scale=2), pa.decimal128(38, 2), Decimal("-12.34"), ...),
    (fixed(5, logicalType="decimal", precision=9, scale=2), pa.decimal128(9, 2), Decimal("12.34"), ...),
    (logical("string", "uuid"), pa.string(), ID, str(ID)),
    (fixed(16, logicalType="uuid"), pa.binary(), ID, ID.bytes),
    (fixed(12, logicalType="duration"), pa.binary(), Duration(1, 2, 3), bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])),
    (logical("bytes", "big-decimal"), pa.binary(), Decimal("1.5"), b"\x02\x0f\x02"),
    (array("int"), pa.list_(required("element", pa.int32())), [1, 2], [1, 2]),
    (array(["null", "int"]), pa.list_(pa.field("element", pa.int32())), [1, None], [1, None]),
    ({"type": "map", "values": "long"}, pa.map_(pa.string(), required("value", pa.int64())), {"a": 1}, [("a", 1)]),
    (["null", "int"], pa.int32(), None, None),
    (["int", "null"], pa.int32(), 7, 7),
    (["string"], pa.string(), "x", "x"),
    (["int", "long"], pa.int64(), 1 << 40, 1 << 40),
    (["null", "float", "double"], pa.float64(), 0.1, 0.1),
    (["int", "null", "string"], MEMBERS, "x", {"member0": None, "member1": "x"}),
    (["null"], pa.struct([]), None, None),
]


@pytest.mark.parametrize(("schema", "kind", "datum", "value"), TYPES, ids=str)
def test_each_type_is_decoded_to_its_column_and_encoded_from_it(schema: Any, kind: Any, datum: Any, value: Any) -> None:
    columns, data = ColumnCodec(schema), Codec(schema).encode(datum)

    batch = columns.decode(pa.array([data, None]))
    batch.validate(full=True)
    assert batch.schema == columns.arrow_schema == pa.schema([("value", kind)])
    assert batch.to_pylist() == [{"value": datum if value is ... else value}, {"value": None}]
    assert columns.encode(batch.slice(0, 1)).to_pylist() == [data]


def test_null_becomes_the_null_type() -> None:
    columns = ColumnCodec({"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]})

    batch = columns.decode(pa.array([b"", None]))
    assert batch.schema == pa.schema([("n", pa.null())])
    assert columns.encode(batch).to_pylist() == [b"", b""]


@pytest.mark.parametrize("kind", ["timestamp-nanos", "local-timestamp-nanos"])
def test_nanoseconds_are_a_timestamp_or_a_number(kind: str) -> None:
    schema, number = logical("long", kind), 1_709_209_815_123_456_789
    data = pa.array([Codec(schema).encode(number)])

    stamps, numbers = (ColumnCodec(schema, dialect=dialect) for dialect in ("arrow", "spark"))
    stamp = pa.timestamp("ns", None if kind.startswith("local") else "UTC")
    assert stamps.decode(data).column(0) == pa.array([number], stamp)
    assert numbers.decode(data).column(0) == pa.array([number])
    assert stamps.encode(stamps.decode(data)) == numbers.encode(numbers.decode(data)) == data


def test_another_dialect_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"dialect: expected one of arrow, spark, spark-4\.0, got 'spark4'"):
        arrow_schema_of('"int"', dialect="spark4")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="got None"):
        ColumnCodec('"int"', dialect=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dialect", "millis", "micros"),
    [
        ("arrow", pa.time32("ms"), pa.time64("ns")),
        ("spark", pa.int32(), pa.time64("ns")),
        ("spark-4.0", pa.int32(), pa.int64()),
    ],
)
def test_dialects_differ_in_times_of_day(dialect: Any, millis: Any, micros: Any) -> None:
    for base, kind, expected in (("int", "time-millis", millis), ("long", "time-micros", micros)):
        schema = logical(base, kind)
        columns, data = ColumnCodec(schema, dialect=dialect), pa.array([Codec(schema).encode(NOW.time())])
        assert arrow_schema_of(schema, dialect=dialect).field("value").type == expected
        assert columns.encode(columns.decode(data)) == data


def test_large_types_apply_to_text_and_bytes() -> None:
    schema = {"type": "map", "values": array("bytes")}

    assert arrow_schema_of(schema, large_types=True).field(0).type == pa.map_(
        pa.large_string(), required("value", pa.list_(required("element", pa.large_binary())))
    )


def test_without_logical_types_columns_have_the_base_type() -> None:
    schema = logical("bytes", "decimal", precision=50, scale=2)

    assert arrow_schema_of(schema, logical_types=False).field(0).type == pa.binary()
    with pytest.raises(SchemaError, match="more digits than the 38 of Arrow"):
        arrow_schema_of(schema)


def test_a_recursive_record_is_an_error() -> None:
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "kids", "type": array("Tree")}]}

    with pytest.raises(SchemaError, match="record Tree contains itself, and Arrow has no recursive types"):
        arrow_schema_of(tree)
    flat = {**tree, "fields": [{"name": "leaf", "type": "int", "default": 3}]}
    assert ColumnCodec(tree, flat).decode(pa.array([b"\2\2\0\0\0"])).to_pylist() == [{"leaf": 3}]


def test_the_number_and_depth_of_columns_are_limited() -> None:
    nested: Any = "int"
    for _ in range(70):
        nested = array(nested)
    with pytest.raises(SchemaError, match="nested deeper than the 60 levels"):
        arrow_schema_of(nested)

    with pytest.raises(SchemaError, match="more than 20000 Arrow columns"):
        arrow_schema_of(doubling(19))


@pytest.mark.parametrize(("records", "fits"), [(1_023, True), (1_024, False)])
def test_skipped_records_may_nest_at_most_1024_levels(records: int, fits: bool) -> None:
    """Each record refers to the previous one by name, so the text of the schema is shallow."""
    kinds = [record("R0", ("f", "int")), *(record(f"R{k}", ("f", f"R{k - 1}")) for k in range(1, records))]
    writer = record("Top", *((f"a{k}", ["null", kind]) for k, kind in enumerate(kinds)), ("z", f"R{records - 1}"))
    reader = record("Top", *((f"a{k}", ["null"]) for k in range(records)))
    columns = Columns(parse(reader), {}, "arrow", False)
    if fits:
        columns.plan(parse(writer))
    else:
        with pytest.raises(SchemaError, match="nested deeper than 1024 levels"):
            columns.plan(parse(writer))


def test_matching_columns_to_nested_unions_of_records_ends_after_a_limited_number_of_steps() -> None:
    """Each level has two records, which columns cannot distinguish."""
    column, branches = pa.string(), [record("A0", ("x", "long")), record("B0", ("x", "long"))]
    for level in range(1, 18):
        column = pa.struct([("x", column)])
        again = [f"A{level - 1}", f"B{level - 1}"]
        branches = [record(f"A{level}", ("x", branches)), record(f"B{level}", ("x", again))]
    column = pa.struct([("x", pa.struct([("x", column)]))])
    with pytest.raises(SchemaError, match="takes more than 200000 steps to find the columns of its unions"):
        ColumnWriter(parse(record("Top", ("x", branches))), {}).encode(pa.array([], column), b"")


# --- other column types that can be encoded --------------------------------------------------------------------------


OTHERS = [
    ("long", pa.array([1, -2], pa.int8()), [1, -2]),
    ("int", pa.array([1, 2**31 - 1], pa.uint64()), [1, 2**31 - 1]),
    ("double", pa.array([1, -(2**53)]), [1.0, -(2.0**53)]),
    ("double", pa.array([0.5], pa.float32()), [0.5]),
    ("float", pa.array([0.1]), [0.10000000149011612]),
    ("string", pa.array(["a", "é𝄞 of more than twelve bytes"], pa.string_view()), ["a", "é𝄞 of more than twelve bytes"]),
    ("string", pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
    ("bytes", pa.array([b"ab", b"cd"], pa.binary(2)), [b"ab", b"cd"]),
    ("bytes", pa.array([b"a", b"long enough for a buffer"], pa.binary_view()), [b"a", b"long enough for a buffer"]),
    (fixed(2), pa.array([b"ab"], pa.large_binary()), [b"ab"]),
    (["null", "string"], pa.nulls(2), [None, None]),
    (["null", "string"], pa.array(["x", None]).dictionary_encode(), ["x", None]),
    (["null", "string"], pa.DictionaryArray.from_arrays([0, 1], ["x", None]), ["x", None]),
    (["null", "string", "int"], pa.array(["x", None]), ["x", None]),
    (array("int"), pa.array([[1], [2, 3]], pa.large_list(pa.int32())), [[1], [2, 3]]),
    (array("int"), pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)), [[1, 2], [3, 4]]),
    (logical("int", "date"), pa.array([DAY], pa.date64()), [DAY]),
    (logical("int", "time-millis"), pa.array([NOW.time()], pa.time64("us")), [NOW.time()]),
    (logical("long", "time-micros"), pa.array([NOW.time()], pa.time32("ms")), [NOW.time()]),
    (logical("long", "timestamp-millis"), pa.array([NOW], pa.timestamp("ns", "UTC")), [NOW.replace(tzinfo=dt.UTC)]),
    (logical("long", "timestamp-micros"), pa.array([-1], pa.timestamp("s", "Asia/Kolkata")),
     [dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=dt.UTC)]),
    (logical("long", "local-timestamp-millis"), pa.array([-1], pa.timestamp("us")),
     [dt.datetime(1969, 12, 31, 23, 59, 59, 999000)]),
    (logical("bytes", "decimal", precision=9, scale=3), pa.array([Decimal("1.5"), Decimal("-0.1")], pa.decimal128(20, 1)),
     [Decimal("1.500"), Decimal("-0.100")]),
    (fixed(16, logicalType="decimal", precision=38, scale=1), pa.array([Decimal("-1.50")], pa.decimal128(38, 2)),
     [Decimal("-1.5")]),
    (logical("string", "uuid"), pa.array([str(ID), "{" + ID.hex.upper() + "}"]), [ID, ID]),
    (logical("string", "uuid"), pa.array([ID.bytes], pa.binary(16)), [ID]),
    (fixed(16, logicalType="uuid"), pa.array([str(ID)]), [ID]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "column", "expected"), OTHERS, ids=str)
def test_columns_of_other_types_that_convert_without_loss_are_encoded(
    schema: Any, column: Any, expected: list[Any]
) -> None:
    batch = pa.record_batch([column], ["value"])
    data = ColumnCodec(schema).encode(batch)

    assert [Codec(schema).decode(one.as_py()) for one in data] == expected
    assert data[1:] == ColumnCodec(schema).encode(batch.slice(1))


REFUSED = [
    ("int", pa.array([1.0]), r"expected a column for int, got a column of type double \(hint: cast"),
    ("int", pa.array([True]), "expected a column for int"),
    ("string", pa.array([b"x"]), "expected a column for string"),
    ("bytes", pa.array(["x"]), "expected a column for bytes"),
    ("boolean", pa.array([1]), "expected a column for boolean"),
    ("null", pa.array([1]), "expected a column for null"),
    (array("int"), pa.array([1]), "expected a column for array"),
    ({"type": "map", "values": "int"}, pa.array([[1]]), "expected a column for map"),
    ({"type": "map", "values": "int"}, pa.array([[(1, 1)]], pa.map_(pa.int32(), pa.int32())), "the keys of a map"),
    (logical("long", "timestamp-millis"), pa.array([NOW]), "expected a column for timestamp-millis"),
    (logical("long", "local-timestamp-millis"), pa.array([NOW], pa.timestamp("us", "UTC")), "a column for local-"),
    (logical("int", "date"), pa.array([NOW]), "expected a column for date"),
    (logical("bytes", "decimal", precision=4, scale=1), pa.array([1.5]), r"expected a column for decimal\(4, 1\)"),
    (["null", "string", "int"], pa.array([1.5]), "expected a column for a branch of union of string, int"),
    ("double", pa.array([1], pa.duration("s")), r"Arrow columns of duration\[s\] cannot be written"),
]


PING = record("Ping", ("id", "string"))
ORDER = record("Order", ("id", "string"), ("total", "double"), ("lines", array("string"), []))
STRUCTS = [
    ([PING, ORDER], {"id": "1"}),
    ([PING, ORDER], {"id": "1", "total": 9.5}),
    ([PING, ORDER], {"id": "1", "total": 9.5, "lines": ["a"]}),
    ([PING, ORDER, record("Offer", ("id", "string"), ("total", "string"))], {"id": "1", "total": "9.50"}),
    ([ORDER, PING, record("Pong", ("id", "string"), ("at", "int", 0))], {"id": "1", "at": 5, "note": "x"}),
    ([record("A", ("x", "int"), ("y", "int", 0)), record("B", ("x", "int"))], {"x": 1}),
]


@pytest.mark.parametrize(("union", "datum"), STRUCTS, ids=str)
def test_a_struct_is_written_to_the_record_that_an_object_is_written_to(union: Any, datum: Any) -> None:
    schema = record("R", ("f", [*union, "null", "int"]))
    assert ColumnCodec(schema).encode(pa.table({"f": [datum]})).to_pylist() == [Codec(schema).encode({"f": datum})]


def test_a_wrong_type_is_the_error_of_the_only_record_that_has_all_columns_of_a_struct() -> None:
    for union in ([PING, ORDER], [ORDER, PING, "null", "int"]):
        columns = pa.table({"f": [{"id": "1", "total": "9.50"}]})
        with pytest.raises(EncodeError, match="expected a column for double, got a column of type string") as caught:
            ColumnCodec(record("R", ("f", union))).encode(columns)
        assert caught.value.path == "f.total"


@pytest.mark.parametrize(("schema", "column", "said"), REFUSED, ids=str)
def test_a_column_of_another_type_is_refused_before_any_row(schema: Any, column: Any, said: str) -> None:
    with pytest.raises(EncodeError, match=said) as caught:
        ColumnCodec(schema).encode(pa.record_batch([column], ["value"]))
    assert caught.value.row is None


NAMED: list[pa.DataType] = [
    *(pa.null(), pa.string(), pa.float16(), pa.float32(), pa.float64(), pa.binary(4), pa.binary(), pa.large_binary()),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.large_string(), pa.string_view(), pa.binary_view(), pa.date32(), pa.date64(), pa.month_day_nano_interval()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms")),
    *(pa.timestamp("us", "UTC"), pa.timestamp("ns", "Asia/Tokyo"), *(pa.duration(unit) for unit in ("s", "ms", "ns"))),
    *(pa.decimal128(10, 2), pa.decimal256(60, -3), pa.list_(pa.int8()), pa.large_list(pa.int8())),
    *(pa.list_(pa.int8(), 3), pa.list_view(pa.int8()), pa.map_(pa.string(), pa.int8()), pa.struct([("a", pa.int8())])),
    *(pa.run_end_encoded(pa.int32(), pa.int8()), pa.dense_union([pa.field("a", pa.int8())])),
]


@pytest.mark.parametrize("kind", NAMED, ids=str)
def test_a_refused_type_is_named_as_pyarrow_names_it(kind: pa.DataType) -> None:
    with pytest.raises(EncodeError) as caught:
        ColumnCodec("boolean").encode(pa.record_batch([pa.nulls(0, kind)], ["value"]))
    inside = re.compile(r"<.*>|\[day\]|(?<=date64)\[ms\]")
    assert f" {inside.sub('', str(kind))} " in str(caught.value)
