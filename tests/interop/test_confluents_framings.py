"""Messages of Confluent's own serializer, in both of its framings, and ours for its deserializer, object for object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_stand_in import ConfluentStandIn

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.serialization import MessageField, SerializationContext
from streamnative_serdes.testing import LocalRegistry

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "sku", "type": "string"}, {"name": "price", "type": {
                "type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}}]}}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}  # fmt: skip
ORDERS: list[dict[str, Any]] = [
    {"id": 0, "note": None, "tags": {}, "lines": [], "state": "OPEN", "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)},
    {"id": -1, "note": "x" * 300, "tags": {"a": 1, "b": -2}, "state": "PAID", "at": datetime(1969, 12, 31, tzinfo=UTC),
     "lines": [{"sku": "é", "price": Decimal("12.34")}, {"sku": "", "price": Decimal("-0.01")}]},
]  # fmt: skip
ALL = "snip42,confluent,confluent-header,headerless"


@pytest.fixture
def second() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as registry:
        yield registry


@pytest.fixture
def theirs(second: ConfluentStandIn) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": second.url}) as client:
        yield client


@pytest.fixture
def both(registry: LocalRegistry, second: ConfluentStandIn) -> dict[str, str]:
    return {"schema.registry.url": registry.url, "confluent.schema.registry.url": second.url}


@pytest.mark.parametrize("in_header", [False, True])
def test_what_confluents_serializer_writes_is_read(
    in_header: bool, both: dict[str, str], theirs: SchemaRegistryClient
) -> None:
    options = {"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    serializer = AvroSerializer(theirs, json.dumps(ORDER), conf=options)
    deserializer = KafkaAvroDeserializer({**both, "framings": ALL}, ORDER)
    values, headers = [], []
    for order in ORDERS:
        ctx = SerializationContext("orders", MessageField.VALUE, [])
        value = serializer(order, ctx)
        assert value is not None
        assert value.startswith(b"\0\0\0\0\1") != in_header
        assert deserializer(value, ctx) == order == AvroDeserializer(theirs)(value, ctx)
        values.append(value)
        headers.append(ctx.headers)
    assert deserializer.deserialize_batch("orders", values, headers=headers).to_pylist() == [
        {**order, "tags": list(order["tags"].items())} for order in ORDERS
    ]
    stats = deserializer.stats()
    assert stats["confluent_header" if in_header else "confluent"] == 2 * len(ORDERS)
    assert stats["headerless"] == stats["errors"] == 0


def test_confluents_deserializer_reads_what_ours_writes_in_its_framing(
    both: dict[str, str], theirs: SchemaRegistryClient
) -> None:
    serializer = KafkaAvroSerializer({**both, "framing": "confluent"}, ORDER)
    ctx = SerializationContext("orders", MessageField.VALUE)
    for order in ORDERS:
        value = serializer(order, ctx)
        assert value is not None
        their_value = AvroSerializer(theirs, json.dumps(ORDER))(order, ctx)
        assert their_value is not None
        assert value[5:] == their_value[5:]
        assert AvroDeserializer(theirs)(value, ctx) == order
