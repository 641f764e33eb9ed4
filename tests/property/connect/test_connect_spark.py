"""Connect's data in Spark, over random schemas: schemas and values come back; JSON becomes columns."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

import pyarrow as pa
from connect_strategies import data, filled, filled_schema, schemas, values
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import types as T

from streamnative_serdes.connect import JsonConverter, Schema
from streamnative_serdes.connect.schema import same_value
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError
from streamnative_serdes.spark.connect import from_row, from_spark_type, to_row, to_spark_type
from streamnative_serdes.spark.connect.columns import column_of, converter
from streamnative_serdes.spark.connect.decoding import ConnectReader

BATCHES = schemas(keys=False).flatmap(
    lambda schema: st.tuples(st.just(schema), st.lists(st.none() | values(schema), max_size=6))
)


@given(schemas(keys=False, struct=True))
def test_a_schema_comes_back_but_for_the_properties_of_the_outermost_struct(schema: Schema) -> None:
    kind = to_spark_type(schema, metadata=True)
    again = T.StructType.fromJson(json.loads(kind.json()))
    found = from_spark_type(again, name=schema.name)
    assert found == filled_schema(schema).replaced(
        optional=False, default=None, version=None, doc=None, parameters=None
    )


@given(schemas(keys=False))
def test_without_metadata_the_types_of_spark_come_back(schema: Schema) -> None:
    kind = to_spark_type(schema)
    assert to_spark_type(from_spark_type(kind)) == kind


@given(data(keys=False))
def test_a_value_comes_back_with_defaults_filled_in(pair: tuple[Schema, Any]) -> None:
    schema, value = filled_schema(pair[0]), pair[1]
    try:
        row = to_row(schema, value)
    except EncodeError as error:
        assert "in the years 1 to 9999" in error.message
        assume(False)
    assert same_value(from_row(schema, row), filled(schema, value))


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@given(batch=BATCHES)
def test_messages_become_the_columns_of_their_values(decimals: str, batch: tuple[Schema, list[Any]]) -> None:
    schema, given_values = batch
    json_converter = JsonConverter({"decimal.format": decimals})
    messages = [
        None if value is None else json_converter.from_connect_data("topic", schema, value) for value in given_values
    ]
    convert = converter(schema)
    try:
        wanted = [convert(json_converter.to_connect_data("topic", message).value) for message in messages]
    except DecodeError as error:
        assert "64 bits of microseconds" in error.message
        assume(False)
    found = ConnectReader("topic", schema, json_converter.options).read(pa.array(messages, pa.binary()), None)
    found.validate(full=True)
    assert found.equals(column_of(schema, wanted))


@given(BATCHES, st.data())
def test_damaged_messages_become_the_same_columns_and_errors_together_and_one_by_one(
    batch: tuple[Schema, list[Any]], draw: st.DataObject
) -> None:
    schema, given_values = batch
    json_converter = JsonConverter()
    messages = [json_converter.from_connect_data("topic", schema, value) for value in given_values if value is not None]
    assume(messages)
    for _ in range(draw.draw(st.integers(1, 2))):
        which = draw.draw(st.integers(0, len(messages) - 1))
        message = bytearray(messages[which] or b"")
        at = draw.draw(st.integers(message.find(b'"payload":'), len(message)))
        message[at : at + draw.draw(st.integers(0, 3))] = draw.draw(
            st.sampled_from([b"", b"0", b'"', b"}", b"}}{{", b',"payload":1', b"null", b" ", b"\n", b"\xff"])
        )
        messages[which] = bytes(message)
    assert_read_alike(ConnectReader("topic", schema, json_converter.options), messages)


# The columns of the rows that are read alone are those of JsonConverter's values, as the test above checks.
def assert_read_alike(reader: ConnectReader, messages: list[bytes | None]) -> None:
    together: dict[int, str] = {}
    failed = []
    found = reader.read(pa.array(messages, pa.binary()), together)
    parts = []
    for row, message in enumerate(messages):
        error: dict[int, str] = {}
        parts.append(reader.read(pa.array([message], pa.binary()), error))
        failed += [row] if error else []
    assert sorted(together) == failed
    assert found.equals(pa.concat_arrays(parts))


def test_a_type_without_a_schema_in_connect_is_refused_by_its_path() -> None:
    kind = T.StructType([T.StructField("a", T.ArrayType(T.StructType([T.StructField("b", T.TimestampNTZType())])))])
    with pytest.raises(SchemaError, match="Connect has no type for timestamp_ntz") as caught:
        from_spark_type(kind)
    assert caught.value.path == "a[].b"
