"""Connect's data becomes Avro and comes back, over random schemas; losses are those of docs/connect-avro.md."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from connect_strategies import data, filled, filled_schema
from hypothesis import HealthCheck, assume, given, settings

from streamnative_serdes import _schema as avro
from streamnative_serdes.codec import Codec
from streamnative_serdes.connect import STRING, Date, Decimal, Schema, SchemaBuilder, Struct, Time, Timestamp, Type
from streamnative_serdes.connect.avro.options import AvroOptions
from streamnative_serdes.connect.avro.reading import has_connects_logical_types, reader_of, with_branches
from streamnative_serdes.connect.avro.to_schema import avro_schema
from streamnative_serdes.connect.avro.writing import converter_of, datum_of, is_direct
from streamnative_serdes.connect.schema import same_value
from streamnative_serdes.errors import SchemaError

OPTIONS = {
    "as Confluent's": AvroOptions(),
    "enums": AvroOptions(enhanced_schema_support=True),
    "sum types": AvroOptions(generalized_sum_type_support=True),
}
options = pytest.mark.parametrize("chosen", OPTIONS.values(), ids=OPTIONS)

few = settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def written(schema: Schema, value: Any, made: AvroOptions) -> tuple[avro.Schema, bytes]:
    try:
        translated = avro_schema(schema, made)
    except SchemaError as error:
        assume("two different types" not in error.message and "different defaults" not in error.message)
        raise
    parsed = avro.parse(translated.text, strict=translated.exact, to_register=True)
    codec = Codec(parsed, avro_logical_types=False)
    return parsed, codec.encode(datum_of(schema, converter_of(schema, made, translated), value))


@options
@few
@given(pair=data())
def test_data_comes_back_with_its_schema_and_with_defaults_filled_in(
    chosen: AvroOptions, pair: tuple[Schema, Any]
) -> None:
    schema, value = pair
    parsed, message = written(schema, value, chosen)
    codec = Codec(with_branches(parsed), avro_logical_types=False, return_record_name=True)
    found = reader_of(parsed, codec.decode, chosen, schema.version if isinstance(schema.version, int) else None)(
        message
    )
    assert found.schema == filled_schema(schema, nulls=True)
    assert same_value(found.value, filled(schema, value, nulls=True))
    assert written(*found, chosen)[1] == message  # type: ignore[arg-type]


@few
@given(pair=data(struct=True, depth=2))
def test_structs_that_go_to_the_codec_as_they_are_become_the_same_bytes(pair: tuple[Schema, Any]) -> None:
    """And what the codec makes of logical types is what Connect makes of them."""
    schema, value = pair
    made = AvroOptions()
    assume(value is not None and is_direct(schema, made))
    parsed, message = written(schema, value, made)
    assume(avro_schema(schema, made).filled)
    codec = Codec(parsed)
    try:
        direct = codec.encode(value)
    except ValueError:
        return  # a date that Python does not have, or a decimal with more digits than its precision
    assert direct == message
    if has_connects_logical_types(parsed):
        raw = Codec(parsed, avro_logical_types=False).decode
        quick, slow = reader_of(parsed, raw, made, None, codec.decode), reader_of(parsed, raw, made, None)
        assert same_value(quick(message).value, slow(message).value)


FIXED = Schema(Type.BYTES, name="n.Id", parameters={"connect.fixed.size": "4"})
FIXED_DECIMAL = Decimal.schema(2, parameters={"connect.fixed.size": "4", "connect.decimal.precision": "9"})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (FIXED, b"\0\xff12"),
        (FIXED_DECIMAL, PythonDecimal("-0.01")),
        (FIXED_DECIMAL, PythonDecimal("1234567.89")),
        (SchemaBuilder.array(FIXED).build(), [b"1234", b"5678"]),
        (SchemaBuilder.array(FIXED_DECIMAL).build(), [PythonDecimal("1.00"), PythonDecimal("100.00")]),
        (SchemaBuilder.array(Date.schema(optional=True)).build(), [dt.date(1969, 12, 31), None, dt.date.max]),
        (SchemaBuilder.map(STRING, Decimal.schema(2)).build(), {"a": PythonDecimal("-1.50")}),
    ],
    ids=str,
)
def test_fixed_types_and_lists_of_dates_and_decimals_go_to_the_codec_as_they_are(kind: Schema, value: Any) -> None:
    schema = SchemaBuilder.struct("R").field("x", kind).build()
    assert is_direct(schema, AvroOptions())
    parsed, message = written(schema, Struct(schema, x=value), AvroOptions())
    assert Codec(parsed).encode(Struct(schema, x=value)) == message


@pytest.mark.parametrize("kind", [Schema(Type.INT8), Schema(Type.INT16), Time.schema(), Timestamp.schema()], ids=repr)
def test_lists_that_the_codec_would_not_check_do_not_go_to_it_as_they_are(kind: Schema) -> None:
    schema = SchemaBuilder.struct("R").field("x", SchemaBuilder.array(kind)).build()
    assert not is_direct(schema, AvroOptions())
