"""Change events of Debezium's own Envelope classes, through both converters and into columns."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from connect import JavaConnect
from connect.described import comparable, described, described_value, schema_of, value_of

from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes.connect import (
    INT32,
    OPTIONAL_STRING,
    AvroConverter,
    Date,
    Decimal,
    JsonConverter,
    Schema,
    SchemaAndValue,
    SchemaBuilder,
    Struct,
    Type,
)
from streamnative_serdes.testing import LocalRegistry

ROW = (
    SchemaBuilder.struct("shop.public.customers.Value")
    .field("id", INT32)
    .field("name", OPTIONAL_STRING)
    .field("credit", Decimal.schema(2, parameters={"connect.decimal.precision": "10"}))  # as Debezium makes them
    .field("since", Date.schema(optional=True))
    .field("seen", Schema(Type.INT64, True, name="io.debezium.time.MicroTimestamp", version=1))
    .optional()
    .build()
)
BEFORE = Struct(
    ROW, id=1, name="Ada", credit=PythonDecimal("10.50"), since=dt.date(2020, 2, 29), seen=1_700_000_000_000_001
)
AFTER = Struct(ROW, id=1, credit=PythonDecimal("-0.01"))


@pytest.fixture(scope="module")
def events(java_connect: JavaConnect) -> list[SchemaAndValue]:
    shown = java_connect.debezium(described(ROW), described_value(ROW, BEFORE), described_value(ROW, AFTER))
    found = []
    for schema, value in shown:
        made = schema_of(schema)
        found.append(SchemaAndValue(made, value_of(made, value)))
    return found


def test_events_have_the_rows_before_and_after(events: list[SchemaAndValue]) -> None:
    shown = [(event.value["op"], event.value["before"], event.value["after"]) for event in events]
    assert shown == [("r", None, BEFORE), ("c", None, BEFORE), ("u", BEFORE, AFTER), ("d", AFTER, None)]
    assert all(event.value["source"]["table"] == "customers" for event in events)


def test_events_in_json_are_read_and_written_as_java_does(
    java_connect: JavaConnect, events: list[SchemaAndValue]
) -> None:
    converter = JsonConverter()
    for schema, value in events:
        message = java_connect.to_json(described(schema), described_value(schema, value))
        found = converter.to_connect_data("shop.public.customers", message)
        assert found.schema == schema
        assert found.value["after"] == value["after"]
        ours = converter.from_connect_data("shop.public.customers", schema, value)
        assert ours is not None
        assert message is not None
        assert json.loads(ours) == json.loads(message)


def test_events_in_avro_have_the_schema_and_the_bytes_of_java(
    java_connect: JavaConnect, events: list[SchemaAndValue], registry: LocalRegistry
) -> None:
    conf = {"schema.registry.url": registry.url}
    converter = AvroConverter(conf)
    for schema, value in events:
        text, body = java_connect.to_avro(described(schema), described_value(schema, value))
        message = converter.from_connect_data("shop.public.customers", schema, value)
        assert message is not None
        assert message[10:] == body
        found = converter.to_connect_data("shop.public.customers", message)
        assert found.schema == schema
        assert found.value["after"] == value["after"]
        assert comparable(described_value(*found)) == comparable(java_connect.from_avro(text, body)[1])


def test_events_in_avro_become_columns_by_one_call(events: list[SchemaAndValue], registry: LocalRegistry) -> None:
    pytest.importorskip("pyarrow")
    conf = {"schema.registry.url": registry.url}
    converter = AvroConverter(conf)
    messages = [converter.from_connect_data("shop.public.customers", *event) for event in events]
    rows: list[dict[str, Any]] = (
        KafkaAvroDeserializer(conf).deserialize_batch("shop.public.customers", messages).to_pylist()
    )
    assert [row["op"] for row in rows] == ["r", "c", "u", "d"]
    assert rows[2]["before"]["since"] == dt.date(2020, 2, 29)
    assert rows[2]["after"]["credit"] == PythonDecimal("-0.01")
    assert rows[3]["after"] is None
