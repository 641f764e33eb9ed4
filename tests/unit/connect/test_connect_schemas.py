"""Connect's schemas: the builder, equality, versions, defaults, logical types and enums."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest

from streamnative_serdes.connect import (
    BOOLEAN,
    INT8,
    INT32,
    OPTIONAL_STRING,
    STRING,
    Date,
    Decimal,
    Enum,
    JsonConverter,
    Schema,
    SchemaBuilder,
    SchemaProjector,
    Struct,
    Time,
    Timestamp,
    Type,
    newer,
    validate,
)
from streamnative_serdes.errors import EncodeError, SchemaError


def sample() -> SchemaBuilder:
    return SchemaBuilder.struct("sample", namespace="org.apache.kafka", version=2)


def test_the_example_of_the_document_is_built_by_one_chain() -> None:
    schema = (
        sample()
        .field("bool_field", SchemaBuilder.boolean().optional())
        .field("int_field", SchemaBuilder.int32().optional().default(0))
        .field("int64_field", SchemaBuilder.int64().required())
        .field("string_field", SchemaBuilder.string().default("default-string-value"))
        .field("list_field", SchemaBuilder.array(INT32).required())
        .field("map_field", SchemaBuilder.map(INT32, STRING))
        .build()
    )
    assert (schema.name, schema.namespace, schema.version) == ("org.apache.kafka.sample", "org.apache.kafka", 2)
    assert [field.name for field in schema.fields or ()] == [
        "bool_field",
        "int_field",
        "int64_field",
        "string_field",
        "list_field",
        "map_field",
    ]
    value = Struct(schema, int64_field=1, list_field=[1, 2], map_field={1: "one"})
    value.validate()
    assert value["bool_field"] is None  # optional without a default: nullable
    assert value["int_field"] == 0  # optional with a default: not nullable
    assert value["string_field"] == "default-string-value"


def test_a_field_takes_optional_and_default_in_place_of_the_schemas_own() -> None:
    schema = sample().field("a", INT32, default=5).field("b", SchemaBuilder.int32(), optional=True).build()
    assert [(kind.optional, kind.default) for _, _, kind in schema.fields or ()] == [(False, 5), (True, None)]
    assert (INT32.optional, INT32.default) == (False, None)


@pytest.mark.parametrize("first", ["optional", "required"])
@pytest.mark.parametrize("method", ["optional", "required"])
def test_optional_is_set_once(first: str, method: str) -> None:
    builder = getattr(SchemaBuilder.int8(), first)()
    with pytest.raises(SchemaError, match="the optional of this builder is already set"):
        getattr(builder, method)()


@pytest.mark.parametrize(
    ("name", "value"), [("name", "a"), ("namespace", "a"), ("version", 1), ("doc", "a"), ("default", 1)]
)
def test_each_property_is_set_once(name: str, value: Any) -> None:
    builder = SchemaBuilder.int8()
    getattr(builder, name)(value)
    with pytest.raises(SchemaError, match=f"the {name} of this builder is already set"):
        getattr(builder, name)(value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sample().field("a", INT8).field("a", INT8), "expected a name that no other field has, got 'a'"),
        (lambda: sample().field("", INT8), "expected a name that no other field has, got ''"),
        (lambda: sample().field(1, INT8), "expected a name that no other field has, got 1"),  # type: ignore[arg-type]
        (lambda: SchemaBuilder.int8().field("a", INT8), "field a: expected a struct to add a field to, got int8"),
        (lambda: sample().field("a", "int8"), "field a: expected a Schema or a SchemaBuilder, got 'int8'"),  # type: ignore[arg-type]
        (lambda: SchemaBuilder.map(SchemaBuilder.array(INT8), INT8), "map keys of a primitive type, got array"),
        (lambda: SchemaBuilder(Type.MAP).build(), "map: the schema of its values is missing"),
        (lambda: SchemaBuilder("array").build(), "array: the schema of its values is missing"),
        (lambda: SchemaBuilder("int"), "expected one of int8, int16"),
        (lambda: SchemaBuilder.int8().default(None), "expected a default other than None"),
        (lambda: SchemaBuilder.int8().parameter("a", 1), "expected texts as parameters"),  # type: ignore[arg-type]
        (lambda: SchemaBuilder.int8().version(True).build(), "expected an int or a text as the version, got True"),
        (lambda: SchemaBuilder.int8().doc(1).build(), "expected a text as the doc, got 1"),  # type: ignore[arg-type]
        (lambda: SchemaBuilder.struct(namespace="a").build(), "expected a name in the namespace 'a', got none"),
        (lambda: SchemaBuilder.string().name(Date.LOGICAL_NAME).build(), "expected the type int32, got string"),
    ],
)  # fmt: skip
def test_an_invalid_schema_is_refused_when_it_is_built(build: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        build()
    assert message in str(caught.value)


@pytest.mark.parametrize("scale", [None, "x", "2147483648", "1" * 5000])
def test_a_decimal_needs_a_scale_of_32_bits(scale: str | None) -> None:
    builder = SchemaBuilder.bytes().name(Decimal.LOGICAL_NAME)
    if scale is not None:
        builder.parameter("scale", scale)
    with pytest.raises(SchemaError, match="expected an int of 32 bits as the parameter scale"):
        builder.build()


def test_an_invalid_default_is_refused_with_its_path() -> None:
    inner = SchemaBuilder.struct().field("x", INT8).build()
    with pytest.raises(SchemaError, match="the default does not fit: expected int8") as caught:
        sample().field(
            "a", SchemaBuilder.array(inner), default=[Struct(inner, x=1), Struct.of_checked(inner, {"x": 300})]
        )
    assert caught.value.path == "a[1].x"


# Cases that went wrong in Java


def test_a_record_has_a_default_of_its_own_schema() -> None:
    plain = SchemaBuilder.struct("point").field("x", INT32).build()
    schema = plain.replaced(default=Struct(plain, x=1))
    outer = sample().field("point", schema).build()
    assert Struct(outer)["point"]["x"] == 1
    Struct(outer, point=Struct(plain, x=2)).validate()


@pytest.mark.parametrize("text", ["1.5", "1.500", "1", "0", "1E+2"])
def test_a_decimal_of_another_scale_is_refused_by_structs_builders_and_lists(text: str) -> None:
    price, value = Decimal.schema(2), PythonDecimal(text)
    refused = pytest.raises((EncodeError, SchemaError), match="a decimal of scale 2, got Decimal")
    with refused as caught:
        Struct(sample().field("price", price).build(), price=value)
    assert caught.value.path == "price"
    assert caught.value.hint == 'value.quantize(Decimal("1e-2")) has that scale'
    for refuse in (
        lambda: sample().field("price", price, default=value),
        lambda: Decimal.schema(2, default=value),
        lambda: SchemaBuilder.bytes().name(Decimal.LOGICAL_NAME).parameter("scale", "2").default(value).build(),
        lambda: validate(SchemaBuilder.array(price).build(), [value]),
        lambda: validate(SchemaBuilder.map(STRING, price).build(), {"a": value}),
        lambda: Decimal.from_logical(price, value),
    ):
        with pytest.raises((EncodeError, SchemaError), match="a decimal of scale 2, got Decimal"):
            refuse()
    quantized = value.quantize(PythonDecimal("1e-2"))
    assert Struct(sample().field("price", price).build(), price=quantized)["price"] == value


def test_an_optional_enum_takes_none_and_its_symbols_only() -> None:
    schema = Enum.schema("Suit", ["SPADES", "HEARTS"], optional=True)
    assert Enum.symbols(schema) == {"SPADES": 0, "HEARTS": 1}
    validate(schema, None)
    validate(schema, "HEARTS")
    with pytest.raises(EncodeError, match="expected a symbol of Suit: SPADES, HEARTS, got 'CLUBS'"):
        validate(schema, "CLUBS")


def test_enums_of_confluent_and_debezium_are_known_by_their_parameters() -> None:
    avro = {"io.confluent.connect.avro.Enum": "Suit", "io.confluent.connect.avro.Enum.B": "1",
            "io.confluent.connect.avro.Enum.A": "0"}  # fmt: skip
    assert Enum.symbols(Schema(Type.STRING, parameters=avro)) == {"A": 0, "B": 1}
    numbers = {"B": "2147483647", "C": "2147483648"}  # the largest, and none
    largest = avro | {f"io.confluent.connect.avro.Enum.{symbol}": number for symbol, number in numbers.items()}
    assert Enum.symbols(Schema(Type.STRING, parameters=largest)) == {"A": 0, "C": 2, "B": 2**31 - 1}
    older = {"io.confluent.connect.avro.Enum": "Suit", "io.confluent.connect.avro.Enum.B": "B"}
    assert Enum.symbols(Schema(Type.STRING, parameters=older)) == {"B": 0}
    debezium = Schema(Type.STRING, name="io.debezium.data.Enum", parameters={"allowed": "a,b"})
    assert Enum.symbols(debezium) == {"a": 0, "b": 1}
    validate(debezium, "")  # MySQL's invalid value
    assert Enum.symbols(STRING) is None


# Equality, versions


def test_schemas_are_equal_if_all_their_properties_are() -> None:
    def made(**changes: Any) -> Schema:
        return sample().field("a", INT8).build().replaced(**{"doc": "doc", "parameters": {"a": "b"}} | changes)

    assert made() == made()
    assert hash(made()) == hash(made())
    others = {
        "optional": True,
        "name": "other",
        "version": "2",
        "doc": None,
        "parameters": {"a": "c"},
        "fields": (),
        "default": Struct(made(), a=1),
    }
    for name, value in others.items():
        assert made(**{name: value}) != made(), name
    assert SchemaBuilder.map(INT8, INT8).build() != SchemaBuilder.map(INT8, INT32).build()
    assert SchemaBuilder.map(INT8, INT8).build() != SchemaBuilder.map(INT32, INT8).build()
    assert INT8 != Schema(Type.INT16)
    assert INT8 != "int8"


def test_defaults_are_compared_as_in_java() -> None:
    def of(value: float) -> Schema:
        return SchemaBuilder.float64().default(value).build()

    assert of(float("nan")) == of(float("nan"))
    assert of(0.0) != of(-0.0)
    assert of(1.0) != of(2.0)


def test_a_schema_cannot_be_changed() -> None:
    schema = SchemaBuilder.int8().parameter("a", "b").build()
    for name in ("type", "optional", "default", "name", "version", "doc", "parameters", "fields"):
        with pytest.raises(AttributeError):
            setattr(schema, name, None)
    with pytest.raises(TypeError):
        schema.parameters["a"] = "c"  # type: ignore[index]


INNER = SchemaBuilder.struct("Inner").field("items", SchemaBuilder.array(INT32)).build()
CHANGEABLE: list[tuple[Schema, Any, Callable[[Any], object]]] = [
    (SchemaBuilder.array(INT32).build(), [1], lambda value: value.append(2)),
    (
        SchemaBuilder.map(STRING, SchemaBuilder.array(INT32).build()).build(),
        {"a": [1]},
        lambda value: value["a"].append(2),
    ),
    (INNER, Struct(INNER, items=[1]), lambda value: value["items"].append(2)),
]


@pytest.mark.parametrize(("schema", "default", "change"), CHANGEABLE, ids=["array", "map", "struct"])
def test_who_changes_a_default_changes_no_schema_and_no_other_value(
    schema: Schema, default: Any, change: Callable[[Any], object]
) -> None:
    before = copy.deepcopy(default)
    made = SchemaBuilder.struct("S").field("f", schema.replaced(default=default)).build()
    change(default)
    lacking = SchemaBuilder.struct("S").build()
    converter = JsonConverter()
    written = json.loads(converter.from_connect_data("t", made, Struct(made)) or b"")
    message = json.dumps(written | {"payload": {}}).encode()
    for read in (
        lambda: made.field("f").schema.default,
        lambda: Struct(made)["f"],
        lambda: SchemaProjector.project(lacking, Struct(lacking), made)["f"],
        lambda: converter.to_connect_data("t", message).value["f"],
    ):
        assert read() == before
        change(read())
        assert read() == before
    assert copy.deepcopy(made) is made


def test_a_schema_can_be_pickled() -> None:
    schema = sample().field("a", Decimal.schema(2)).field("b", OPTIONAL_STRING).build().replaced(parameters={"x": "y"})
    hash(schema)
    validate(schema, Struct(schema, a=PythonDecimal("1.00")))
    assert pickle.loads(pickle.dumps(schema)) == schema
    value = Struct(schema, a=PythonDecimal("1.00"))
    assert pickle.loads(pickle.dumps(value)) == value


def test_versions_are_ordered_as_ints_or_as_texts() -> None:
    def of(version: Any) -> Schema:
        return Schema(Type.INT8, version=version)

    assert newer(of(10), of(9))
    assert not newer(of(9), of(9))
    assert newer(of("9"), of("10"))  # lexicographic
    assert newer(of(1), of(None))
    assert not newer(of(None), of(1))
    with pytest.raises(SchemaError, match="both ints or both texts, got 1 and '1'"):
        newer(of(1), of("1"))


# Logical types at their edges


@pytest.mark.parametrize(
    ("schema", "value", "stored"),
    [
        (Date.schema(), dt.date(1970, 1, 1), 0),
        (Date.schema(), dt.date.min, -719162),
        (Date.schema(), dt.date.max, 2932896),
        (Date.schema(), 2932897, 2932897),
        (Date.schema(), -(2**31), -(2**31)),
        (Time.schema(), dt.time(23, 59, 59, 999000), 86_399_999),
        (Time.schema(), 86_400_000, 86_400_000),
        (Timestamp.schema(), dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC), -1),
        (Timestamp.schema(), dt.datetime.max.replace(microsecond=999000, tzinfo=dt.UTC), 253402300799999),
        (Timestamp.schema(), dt.datetime.min.replace(tzinfo=dt.UTC), -62135596800000),
        (Timestamp.schema(), 253402300800000, 253402300800000),
        (Timestamp.schema(), -(2**63), -(2**63)),
        (Decimal.schema(2), PythonDecimal("1.50"), b"\x00\x96"),
        (Decimal.schema(0), PythonDecimal(-128), b"\x80"),
        (Decimal.schema(0), PythonDecimal(128), b"\x00\x80"),
        (Decimal.schema(-2), PythonDecimal("3E+2"), b"\x03"),
        (Decimal.schema(2), PythonDecimal("0.00"), b"\x00"),
    ],
)
def test_logical_values_are_stored_as_in_java_and_come_back(schema: Schema, value: Any, stored: Any) -> None:
    kinds: dict[Any, Any] = {each.LOGICAL_NAME: each for each in (Date, Time, Timestamp, Decimal)}
    kind = kinds[schema.name]
    validate(schema, value)
    assert kind.from_logical(schema, value) == stored
    assert kind.to_logical(schema, stored) == value


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Date.schema(), 0, "expected a datetime.date"),
        (Date.schema(), dt.datetime(2020, 1, 1), "expected a datetime.date"),
        (Date.schema(), 2**31, "expected a datetime.date"),
        (Time.schema(), dt.time(1, tzinfo=dt.UTC), "without a time zone"),
        (Time.schema(), dt.time(0, 0, 0, 1), "a time of whole milliseconds"),
        (Time.schema(), 5, "expected a datetime.time"),
        (Timestamp.schema(), dt.datetime(2020, 1, 1), "expected a datetime with a time zone, got one without"),
        (Timestamp.schema(), dt.datetime(2020, 1, 1, 0, 0, 0, 1, dt.UTC), "a datetime of whole milliseconds"),
        (Timestamp.schema(), 0, "expected a datetime.datetime"),
        (Timestamp.schema(), 2**63, "expected a datetime.datetime"),
        (Decimal.schema(2), 1.5, "expected a finite decimal.Decimal"),
        (Decimal.schema(2), PythonDecimal("NaN"), "expected a finite decimal.Decimal"),
        (Decimal.schema(2), PythonDecimal("0.001"), "a decimal of scale 2"),
        (Decimal.schema(2), PythonDecimal("1e999999999"), "a decimal of scale 2"),
    ],
)
def test_values_that_a_logical_type_cannot_hold_are_refused(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        validate(schema, value)


def test_a_timestamp_of_pandas_has_no_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp(1_709_209_815_123_000_001, unit="ns", tz="UTC")
    validate(Timestamp.schema(), stamp.floor("us"))
    with pytest.raises(EncodeError, match="a datetime of whole milliseconds"):
        validate(Timestamp.schema(), stamp)


def test_a_boolean_is_no_int_and_an_int_no_boolean() -> None:
    with pytest.raises(EncodeError, match="expected int32"):
        validate(INT32, True)
    with pytest.raises(EncodeError, match="expected boolean"):
        validate(BOOLEAN, 1)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        (Type.INT8, -(2**7), 2**7 - 1),
        (Type.INT16, -(2**15), 2**15 - 1),
        (Type.INT32, -(2**31), 2**31 - 1),
        (Type.INT64, -(2**63), 2**63 - 1),
        (Type.FLOAT32, -(2**24), 2**24),
        (Type.FLOAT64, -(2**53), 2**53),
    ],
)
def test_ints_are_taken_from_the_least_to_the_most_of_the_type(kind: Type, least: int, most: int) -> None:
    schema = Schema(kind)
    for value in (least, most):
        validate(schema, value)
    for value in (least - 1, most + 1):
        with pytest.raises(EncodeError, match=f"expected {kind.value}"):
            validate(schema, value)


def test_a_float_of_32_bits_is_finite_or_infinite_but_not_too_large() -> None:
    schema = Schema(Type.FLOAT32)
    for value in (3.4028234663852886e38, float("inf"), float("nan"), -1e-50):
        validate(schema, value)
    with pytest.raises(EncodeError, match="a float of 32 bits"):
        validate(schema, 3.4028235677973366e38)
