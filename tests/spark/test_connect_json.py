"""decode_df with converter="connect-json": messages of Kafka's JsonConverter to columns, in a Spark session."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as PythonDecimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamnative_serdes import ConfigError, DecodeError
from streamnative_serdes.connect import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Date,
    Decimal,
    Enum,
    JsonConverter,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)
from streamnative_serdes.errors import BatchTooLargeError, SchemaError
from streamnative_serdes.spark import decode_df, split_errors
from streamnative_serdes.spark.connect import decoding as decoding_module
from streamnative_serdes.spark.connect import from_row, to_row, to_spark_type
from streamnative_serdes.spark.connect.decoding import ConnectReader
from streamnative_serdes.spark.session import SparkError, spark_errors

TOPIC = "customers"
TIES = ["1.0000001788139343", "1.00000017881393433", "16777217.0000001", "16777219", "9007199791611905", "0.1"]
FRAME = "key binary, value binary, topic string, partition int, offset bigint"
POINT = SchemaBuilder.struct("point").field("x", INT32).field("y", INT32, optional=True).build()
ALL = (
    SchemaBuilder.struct("all")
    .field("i8", INT8)
    .field("i16", INT16)
    .field("i32", INT32, default=5)
    .field("i64", INT64)
    .field("f32", FLOAT32)
    .field("f64", FLOAT64, optional=True)
    .field("bool", BOOLEAN)
    .field("text", STRING)
    .field("data", BYTES)
    .field("day", Date.schema())
    .field("time", Time.schema())
    .field("at", Timestamp.schema(optional=True))
    .field("price", Decimal.schema(2, parameters={"connect.decimal.precision": "10"}))
    .field("suit", Enum.schema("Suit", ["A", "B"], optional=True))
    .field("points", SchemaBuilder.array(POINT.replaced(optional=True)))
    .field("by_name", SchemaBuilder.map(STRING, POINT), optional=True)
    .field("by_id", SchemaBuilder.map(INT32, INT64), optional=True)
    .build()
)
WITHOUT_MAPS = SchemaBuilder.struct("all")
for _name, _, _kind in ALL.fields or ():
    if not _name.startswith("by_"):
        WITHOUT_MAPS.field(_name, _kind)
FLAT = WITHOUT_MAPS.build()


def value(schema: Schema, number: int) -> Struct:
    values: dict[str, Any] = {
        "i8": number % 100,
        "i16": -number,
        "i64": number << 40,
        "f32": 0.5,
        "f64": None if number % 2 else 1 / 3,
        "bool": True,
        "text": f'a"{number}\u20ac',
        "data": bytes([number % 256, 255]),
        "day": dt.date(2020, 2, 29),
        "time": dt.time(1, 2, 3, 4000),
        "at": dt.datetime(2020, 1, 1, 1, 2, 3, 4000, dt.UTC),
        "price": PythonDecimal(-number).scaleb(-2),
        "suit": "B" if number % 3 else None,
        "points": [Struct(POINT, x=number), None, Struct(POINT, x=1, y=2)],
        "by_name": {"a": Struct(POINT, x=number)},
        "by_id": {number: 1},
    }
    return Struct(schema, {name: values[name] for name in schema.fields_by_name if name in values})


def message(schema: Schema, data: Any, **config: Any) -> bytes:
    found = JsonConverter(config).from_connect_data(TOPIC, schema, data)
    assert found is not None
    return found


def frame(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [(b"%d" % offset, value, TOPIC, 0, offset) for offset, value in enumerate(values)]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), FRAME)


@pytest.mark.parametrize("schema", [ALL, FLAT], ids=["with maps", "without maps"])
def test_every_type_goes_through_spark_and_comes_back(spark: SparkSession, schema: Schema) -> None:
    values = [value(schema, number) for number in range(5)]
    decoded = decode_df(
        frame(spark, [message(schema, each) for each in values]), {}, topic=TOPIC, converter="connect-json"
    )
    assert [each.dataType for each in decoded.schema] == [each.dataType for each in to_spark_type(schema)]  # type: ignore[attr-defined]
    rows = decoded.orderBy("i64").collect()
    assert [from_row(schema, row) for row in rows] == [each.copy().put("i32", 5) for each in values]
    again = spark.createDataFrame([to_row(schema, each) for each in values], to_spark_type(schema)).orderBy("i64")
    assert again.collect() == rows


def test_messages_that_cannot_be_read_become_errors_or_are_dropped(spark: SparkSession) -> None:
    good = [message(POINT, Struct(POINT, x=number)) for number in range(4)]
    bad = good[0].replace(b'"x":0', b'"x":"0"')
    df = frame(spark, [*good, None, bad, b"\x00"])
    decoded = decode_df(df, {}, topic=TOPIC, converter="connect-json", options={"errorColumn": "error"}).persist()
    rows, dead = split_errors(decoded, "error")
    assert sorted(row.x for row in rows.collect() if row.x is not None) == [0, 1, 2, 3]
    assert rows.count() == 5  # one is a tombstone
    first, second = dead.orderBy("offset").collect()
    assert first.error.startswith("topic customers, field x: expected int32")
    assert (bytes(first.value), first.offset, second.offset) == (bad, 5, 6)
    decoded.unpersist()
    dropped = decode_df(df, {}, topic=TOPIC, converter="connect-json", options={"mode": "DROPMALFORMED"})
    assert dropped.count() == 5
    failing = decode_df(df, {}, topic=TOPIC, converter="connect-json")
    with pytest.raises(SparkError, match=r"offset 5.*field x: expected int32"), spark_errors():
        failing.collect()


def test_another_schema_is_projected_or_refused_by_the_name_of_the_field(spark: SparkSession) -> None:
    wider = SchemaBuilder.struct("point").field("x", INT32).field("y", INT32, optional=True).field("z", INT8).build()
    other = SchemaBuilder.struct("point").field("y", INT32).build()
    messages = [
        message(POINT, Struct(POINT, x=1)),
        message(wider, Struct(wider, x=2, z=3)),
        message(other, Struct(other, y=4)),
    ]
    decoded = decode_df(frame(spark, messages), {}, topic=TOPIC, converter="connect-json", options={"errorColumn": "e"})
    rows = decoded.orderBy("x").collect()
    assert [(row.x, row.y) for row in rows] == [(None, None), (1, None), (2, None)]
    assert "field x: the message's schema is not compatible with the query's: the field is required" in rows[0].e.error
    chosen = decode_df(frame(spark, messages[:2]), {}, topic=TOPIC, schema=wider, converter="connect-json", options={
        "mode": "DROPMALFORMED"
    })  # fmt: skip
    assert [tuple(row) for row in chosen.collect()] == [(2, None, 3)]


def test_options_that_have_no_meaning_here_are_refused(spark: SparkSession) -> None:
    df = frame(spark, [message(POINT, Struct(POINT, x=1))])

    def decode(conf: Any = None, **arguments: Any) -> DataFrame:
        return decode_df(df, conf or {}, topic=TOPIC, **{"converter": "connect-json", **arguments})

    for wrong, text in (
        ({"converter": "json"}, "converter: expected connect-json, got 'json'"),
        ({"conf": {"schema.registry.url": "http://localhost"}}, "unknown option schema.registry.url"),
        ({"conf": {"schemas.enable": "false"}}, "schemas.enable=false needs a schema"),
        ({"options": {"schemaEvolution": "restart"}}, "schemaEvolution=restart needs a registry"),
        ({"schema": 5}, "expected a schema of Connect or its JSON text, got int"),
    ):
        with pytest.raises(ConfigError) as caught:
            decode(**wrong)
        assert text in str(caught.value)
    with pytest.raises(ConfigError, match="there is no message to take the schema from"):
        decode_df(df.where("false"), {}, topic=TOPIC, converter="connect-json")
    with pytest.raises(SchemaError, match=r"field list\[\]: expected a decimal with at most 38 digits"):
        decode(schema=SchemaBuilder.struct().field("list", SchemaBuilder.array(Decimal.schema(39))).build())
    plain = spark.createDataFrame([(b'{"x":7}',)], "value binary")
    content = '{"type":"struct","fields":[{"type":"int32","field":"x"}]}'
    for conf, schema in (({"schema.content": content}, None), ({"schemas.enable": False}, content)):
        found = decode_df(plain, conf, topic=TOPIC, schema=schema, converter="connect-json")
        assert [tuple(row) for row in found.collect()] == [(7,)]


# The reader alone


def read(schema: Schema, messages: list[bytes | None], errors: dict[int, str] | None = None) -> list[Any]:
    reader = ConnectReader(TOPIC, schema, JsonConverter().options)
    found: list[Any] = reader.read(pa.array(messages, pa.binary()), errors).to_pylist()
    return found


def test_one_bad_message_does_not_make_the_others_be_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    alone: list[int] = []
    one_by_one = ConnectReader._one_by_one

    def counted(self: Any, messages: Any, rows: Any, errors: Any) -> Any:
        alone.append(len(rows))
        return one_by_one(self, messages, rows, errors)

    monkeypatch.setattr(ConnectReader, "_one_by_one", counted)
    messages: list[bytes | None] = [message(POINT, Struct(POINT, x=number)) for number in range(1000)]
    messages[700] = (messages[700] or b"").replace(b'"x":700', b'"x":true')
    errors: dict[int, str] = {}
    found = read(POINT, messages, errors)
    assert list(errors) == [700]
    assert found[700] is None
    assert [each["x"] for each in found if each] == [number for number in range(1000) if number != 700]
    assert sum(alone) <= decoding_module._FEW


@pytest.mark.parametrize(("replace", "expected"), [(True, 7), (False, None)])
def test_an_optional_field_that_another_schema_lacks_has_its_default_if_defaults_replace_null(
    replace: bool, expected: int | None
) -> None:
    wider = SchemaBuilder.struct("point").field("x", INT32).field("new", INT32, optional=True, default=7).build()
    nested = SchemaBuilder.struct("outer").field("points", SchemaBuilder.array(wider)).build()
    source = SchemaBuilder.struct("outer").field("points", SchemaBuilder.array(POINT)).build()
    data = message(source, Struct(source, points=[Struct(POINT, x=1)]))
    reader = ConnectReader(TOPIC, nested, JsonConverter({"replace.null.with.default": replace}).options)
    assert reader.read(pa.array([data]), None).to_pylist() == [{"points": [{"x": 1, "new": expected}]}]


def test_an_error_has_the_row_of_its_message() -> None:
    messages = [message(POINT, Struct(POINT, x=1)), None, b"{", message(POINT, Struct(POINT, x=2))]
    with pytest.raises(DecodeError) as caught:
        read(POINT, messages)
    assert (caught.value.row, caught.value.topic) == (2, TOPIC)


def test_many_schemas_in_one_batch_keep_the_order_of_the_messages() -> None:
    kinds = [POINT.replaced(version=number) for number in range(40)]
    messages = [message(kinds[number % 40], Struct(kinds[number % 40], x=number)) for number in range(200)]
    assert [each["x"] for each in read(POINT, messages)] == list(range(200))


def test_messages_that_begin_differently_in_turn_keep_their_order() -> None:
    kinds = [POINT, POINT.replaced(doc="a"), POINT.replaced(doc="b")]  # all fit
    messages = [message(kinds[number % 3], Struct(kinds[number % 3], x=number)) for number in range(30)]
    assert [each["x"] for each in read(POINT, messages)] == list(range(30))


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (b'"x":1', b'"x":null', "one.x"),
        (b'"x":1', b'"z":1', "one.x"),
        (b"[2]", b"[null]", "items[0]"),
        (b'{"x":1,"y":null}', b"null", None),
    ],
)
def test_null_is_an_error_where_a_value_is_required_and_only_there(old: bytes, new: bytes, path: str | None) -> None:
    schema = (
        SchemaBuilder.struct()
        .field("one", POINT.replaced(optional=True))
        .field("items", SchemaBuilder.array(INT32))
        .build()
    )
    good = message(schema, Struct(schema, one=Struct(POINT, x=1), items=[2]))
    assert old in good
    errors: dict[int, str] = {}
    found = read(schema, [good, good.replace(old, new)], errors)
    assert found[0] == {"one": {"x": 1, "y": None}, "items": [2]}
    if path is None:
        assert (errors, found[1]) == ({}, {"one": None, "items": [2]})
    else:
        assert list(errors) == [1]
        assert f"field {path}: expected int32, got null" in errors[1]


def test_a_text_is_no_number_where_decimals_are_numbers() -> None:
    schema = SchemaBuilder.struct().field("a", Decimal.schema(0)).build()
    envelope = message(schema, Struct(schema, a=PythonDecimal(7)), **{"decimal.format": "NUMERIC"})
    base64 = envelope.replace(b'"a":7', b'"a":"1234"')  # three bytes in base64
    number = int.from_bytes(b"\xd7m\xf8", "big", signed=True)
    assert [each["a"] for each in read(schema, [envelope, base64])] == [7, number]
    assert [each["a"] for each in read(schema, [base64, base64])] == [number, number]


def test_a_decimal_of_too_many_digits_is_an_error() -> None:
    schema = SchemaBuilder.struct().field("a", Decimal.schema(0, parameters={"connect.decimal.precision": "3"})).build()
    for decimals in ("BASE64", "NUMERIC"):
        messages = [message(schema, Struct(schema, a=PythonDecimal(each)), **{"decimal.format": decimals})
                    for each in (999, -999, 1000)]  # fmt: skip
        errors: dict[int, str] = {}
        assert [each and each["a"] for each in read(schema, list(messages), errors)] == [999, -999, None]
        assert "field a: expected a decimal of at most 3 digits, got 1000" in errors[2]


@pytest.mark.parametrize("nested", [False, True], ids=["field", "items"])
@pytest.mark.parametrize("number", ["10000000", "-10000000", "1e7", "10000000.00", "99999999.99"])
def test_a_number_of_too_many_digits_for_its_decimal_is_an_error(number: str, nested: bool) -> None:
    """pyarrow's reader takes an integer of too many digits."""
    price = Decimal.schema(2, parameters={"connect.decimal.precision": "9"})
    kind = SchemaBuilder.array(price).build() if nested else price
    schema = SchemaBuilder.struct().field("a", kind).build()
    right, wrong = (f"[{text}]" if nested else text for text in ("9999999", number))
    value: Any = [PythonDecimal("0.00")] if nested else PythonDecimal("0.00")
    written = JsonConverter({"decimal.format": "NUMERIC"}).from_connect_data(TOPIC, schema, Struct(schema, a=value))
    start = (written or b"")[: (written or b"").index(b'"payload":')]
    messages: list[bytes | None] = [start + b'"payload":{"a":%s}}' % text.encode() for text in (right, wrong, right)]
    errors: dict[int, str] = {}
    found = read(schema, messages, errors)
    one = PythonDecimal("9999999.00")
    assert [each and each["a"] for each in found] == [[one] if nested else one, None, [one] if nested else one]
    assert list(errors) == [1]
    assert "expected a decimal of at most 9 digits" in errors[1]


def test_floats_of_32_bits_are_the_same_in_columns_read_fast_and_one_by_one() -> None:
    schema = SchemaBuilder.struct().field("a", FLOAT32).build()
    start = (message(schema, Struct(schema, a=0.0)) or b"").replace(b"0.0}}", b"")
    messages: list[bytes | None] = [start + b"%s}}" % text.encode() for text in TIES]
    values = [JsonConverter().to_connect_data(TOPIC, each).value["a"] for each in messages]
    assert values == [pa.array([text]).cast(pa.float32())[0].as_py() for text in TIES]
    assert [each["a"] for each in read(schema, messages * 20)] == values * 20  # more than are read one by one
    assert [each["a"] for each in read(schema, messages)] == values


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (FLOAT32, ["-0", "-0.0", "0", "1"]),
        (FLOAT64, ["-0", "-0.0", "0", "1"]),
        (Decimal.schema(-2), ["100", "1", "0.1e1", "1E+2"]),
    ],
    ids=["float32", "float64", "decimal"],
)
def test_numbers_are_the_same_in_columns_read_fast_and_one_by_one(kind: Schema, texts: list[str]) -> None:
    converter = JsonConverter({"decimal.format": "NUMERIC"})
    schema = SchemaBuilder.struct().field("a", kind).build()
    zero: Any = PythonDecimal("0E+2") if kind.name else 0.0
    written = converter.from_connect_data(TOPIC, schema, Struct(schema, a=zero)) or b""
    start = written[: written.index(b'"payload":')]
    for text in texts:
        given = start + b'"payload":{"a":%s}}' % text.encode()
        errors: dict[int, str] = {}
        found = read(schema, [given] * 100, errors)  # more than are read one by one
        try:
            expected = converter.to_connect_data(TOPIC, given).value["a"]
        except DecodeError:
            assert sorted(errors) == list(range(100))
        else:
            assert [str(float(each["a"])) for each in found] == [str(float(expected))] * 100  # -0.0 is not 0.0


def test_a_timestamp_that_spark_cannot_hold_is_an_error() -> None:
    schema = SchemaBuilder.struct().field("a", Timestamp.schema()).build()
    envelope = message(schema, Struct(schema, a=dt.datetime(1970, 1, 1, tzinfo=dt.UTC)))
    errors: dict[int, str] = {}
    most = 2**63 // 1000
    given = [envelope.replace(b'"a":0', b'"a":%d' % each) for each in (most - 1, -most, most, -most - 1)]
    reader = ConnectReader(TOPIC, schema, JsonConverter().options)
    found = reader.read(pa.array(given, pa.binary()), errors).field("a").cast(pa.int64()).to_pylist()
    assert found[:2] == [(most - 1) * 1000, -most * 1000]
    assert sorted(errors) == [2, 3]
    assert "field a: expected a timestamp that 64 bits of microseconds can hold" in errors[2]


def test_a_batch_that_is_too_large_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding_module, "MOST_BYTES", 100)
    messages = [message(POINT, Struct(POINT, x=1))] * 4
    with pytest.raises(BatchTooLargeError) as caught:
        read(POINT, list(messages))
    assert caught.value.row == 2
    assert read(POINT, messages[:1]) == [{"x": 1, "y": None}]
