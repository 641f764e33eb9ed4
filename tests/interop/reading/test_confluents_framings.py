"""Messages of Confluent's own serializer, in both of its framings, and ours for its deserializer, object for object."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_stand_in import ConfluentStandIn

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, compat
from streamnative_serdes.compat import avro as compat_avro
from streamnative_serdes.errors import DecodeError
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


# Confluent's serializers write a value of a schema whose root is `bytes` without its length.

RAW = [b"\x04\x68\x69", b"\x00", b"", b"\x03\x04" + bytes(7), b"x" * 100_000]
BYTES_ROOTS = ['"bytes"', '{"type": "bytes"}', '{"type": "bytes", "doc": "x"}']


@pytest.mark.parametrize("schema", BYTES_ROOTS)
@pytest.mark.parametrize("in_header", [False, True])
def test_bytes_at_the_root_that_confluents_serializer_writes_are_read(
    in_header: bool, schema: str, both: dict[str, str], theirs: SchemaRegistryClient
) -> None:
    serializer = AvroSerializer(
        theirs, schema, conf={"schema.id.serializer": header_schema_id_serializer} if in_header else {}
    )
    deserializer = KafkaAvroDeserializer({**both, "framings": "snip42,confluent,confluent-header"})
    values, headers = [], []
    for raw in RAW:
        ctx = SerializationContext("raw", MessageField.VALUE, [])
        value = serializer(raw, ctx)
        assert value is not None
        assert value.endswith(raw)
        assert len(value) == len(raw) + (0 if in_header else 5)
        assert deserializer(value, ctx) == raw
        assert deserializer(bytearray(value), ctx) == raw
        if len(value) > 5:  # theirs refuses fewer, whatever their framing is
            assert AvroDeserializer(theirs)(value, ctx) == raw
        values.append(value)
        headers.append(ctx.headers)
    for framings in (ALL, "snip42,confluent,confluent-header"):
        reader = KafkaAvroDeserializer({**both, "framings": framings}, "bytes")
        assert reader.deserialize_batch("raw", values, headers=headers)["value"].to_pylist() == RAW
    assert deserializer.stats()["errors"] == 0


def test_bytes_at_the_root_are_written_as_confluents_serializer_writes_them(
    both: dict[str, str], theirs: SchemaRegistryClient
) -> None:
    serializer = KafkaAvroSerializer({**both, "framing": "confluent"}, "bytes")
    ctx = SerializationContext("raw", MessageField.VALUE)
    values = [serializer(raw, ctx) for raw in RAW]
    assert [value and value[5:] for value in values] == RAW
    assert RAW == [(AvroSerializer(theirs, '"bytes"')(raw, ctx) or b"")[5:] for raw in RAW]
    assert [AvroDeserializer(theirs)(value, ctx) for value in values if len(value or b"") > 5] == [r for r in RAW if r]
    columns = pa.record_batch({"value": pa.array(RAW, pa.binary())})
    assert serializer.serialize_batch("raw", columns).to_pylist() == values
    assert pickle.loads(pickle.dumps(serializer))(RAW[0], ctx) == values[0]


def test_confluents_names_read_and_write_bytes_at_the_root_too(
    both: dict[str, str], theirs: SchemaRegistryClient
) -> None:
    ctx = SerializationContext("raw", MessageField.VALUE)
    client = compat.SchemaRegistryClient({"url": both["schema.registry.url"]})
    second = {"confluent.schema.registry.url": both["confluent.schema.registry.url"]}
    value = AvroSerializer(theirs, '"bytes"')(b"\x04hi", ctx)
    deserializer = compat_avro.AvroDeserializer(client, '"bytes"', conf=second)
    assert deserializer(value, ctx) == b"\x04hi"
    serializer = compat_avro.AvroSerializer(client, '"bytes"', conf={**second, "framing": "confluent"})
    assert AvroDeserializer(theirs)(serializer(b"\x04hi", ctx), ctx) == b"\x04hi"


def test_the_length_is_left_out_only_at_the_root_and_only_behind_confluents_framing(
    both: dict[str, str], theirs: SchemaRegistryClient
) -> None:
    ctx = SerializationContext("raw", MessageField.VALUE)
    for schema, datum in (('["null", "bytes"]', b"hi"), ('{"type": "array", "items": "bytes"}', [b"hi", b""])):
        value = AvroSerializer(theirs, schema, conf={"subject.name.strategy": lambda *_, s=schema: f"s{len(s)}"})(
            datum, ctx
        )
        assert KafkaAvroDeserializer({**both, "framings": ALL})(value, ctx) == datum
    serializer = KafkaAvroSerializer({"schema.registry.url": both["schema.registry.url"]}, "bytes")
    assert serializer(b"hi", ctx) == b"\x03\x04" + bytes(8) + b"\x04hi"
    deserializer = KafkaAvroDeserializer({**both, "framings": "snip42,confluent,headerless"})
    confluents = AvroSerializer(theirs, '"bytes"')(b"\x04hi", ctx)
    mixed = [serializer(b"hi", ctx), confluents, b"\x04hi", serializer(b"", ctx)]
    assert [deserializer(value, ctx) for value in mixed] == [b"hi", b"\x04hi", b"hi", b""]
    assert deserializer.deserialize_batch("raw", mixed)["value"].to_pylist() == [b"hi", b"\x04hi", b"hi", b""]


def test_bytes_at_the_root_are_read_as_other_types_too(both: dict[str, str], theirs: SchemaRegistryClient) -> None:
    ctx = SerializationContext("raw", MessageField.VALUE)
    value = AvroSerializer(theirs, '"bytes"')("é".encode(), ctx)
    bad = AvroSerializer(theirs, '"bytes"')(b"\xff\xfe", ctx)
    for schema, expected in (('"string"', "é"), ('["null", "bytes"]', "é".encode())):
        deserializer = KafkaAvroDeserializer({**both, "framings": "snip42,confluent"}, schema)
        assert deserializer(value, ctx) == expected
        assert deserializer.deserialize_batch("raw", [value])["value"].to_pylist() == [expected]
    text = KafkaAvroDeserializer({**both, "framings": "snip42,confluent"}, "string")
    for read in (lambda: text(bad, ctx), lambda: text.deserialize_batch("raw", [value, bad])):
        with pytest.raises(DecodeError, match=r"byte \d+: expected text in UTF-8: .*ff.?.?fe"):
            read()


def test_a_decimal_at_the_root_is_its_bytes_alone(both: dict[str, str], second: ConfluentStandIn) -> None:
    """Java's serializer takes them as bytes, whatever their logical type is; Python's knows no decimal there."""
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    serializer = KafkaAvroSerializer({**both, "framing": "confluent"}, schema)
    ctx = SerializationContext("price", MessageField.VALUE)
    value = serializer(Decimal("-12.34"), ctx)
    assert value == b"\0\0\0\0\1" + (-1234).to_bytes(2, signed=True)
    deserializer = KafkaAvroDeserializer({**both, "framings": "snip42,confluent"}, schema)
    assert deserializer(value, ctx) == Decimal("-12.34")
    assert deserializer.deserialize_batch("price", [value])["value"].to_pylist() == [Decimal("-12.34")]
    for read in (lambda: deserializer(value[:5], ctx), lambda: deserializer.deserialize_batch("price", [value[:5]])):
        with pytest.raises(DecodeError, match=r"byte 5: expected .*decimal"):
            read()
