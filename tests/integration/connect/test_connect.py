"""AvroConverter on a real Pulsar: its registry takes the schemas, and our SerDes and Pulsar's client read the topic."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from pulsar.schema import BytesSchema
from pulsar_topic import PulsarTopic

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.connect import (
    INT8,
    INT32,
    INT64,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    AvroConverter,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
    Type,
)
from streamnative_serdes.errors import IncompatibleSchemaError

pytestmark = pytest.mark.usefixtures("nothing_is_known")

LINE = SchemaBuilder.struct("shop.Line").field("item", STRING).field("count", INT8).build()
UNION = (
    SchemaBuilder.struct("io.confluent.connect.avro.Union")
    .field("int", OPTIONAL_INT32)
    .field("string", OPTIONAL_STRING)
)
ORDER = (
    SchemaBuilder.struct("shop.Order", version=2, doc="an order")
    .field("id", INT64)
    .field("note", OPTIONAL_STRING.replaced(default="none"))
    .field("price", Decimal.schema(2))
    .field("far", Decimal.schema(-3, optional=True))  # brokers accept what Avro does not
    .field("at", Timestamp.schema())
    .field("day", Date.schema(default=dt.date(1970, 1, 2)))
    .field("lines", SchemaBuilder.array(LINE).build())
    .field("counts", SchemaBuilder.map(INT32, LINE).build())
    .field("either", UNION.build())
    .build()
)
GIVEN = Struct(
    ORDER,
    id=7,
    price=PythonDecimal("9.99"),
    far=PythonDecimal("5E+3"),
    at=dt.datetime(2026, 11, 24, tzinfo=dt.UTC),
    lines=[Struct(LINE, item="a", count=127)],
    counts={-1: Struct(LINE, item="b", count=-128)},
    either=Struct(UNION.build(), string="x"),
)


def test_a_topic_written_by_the_converter_is_read_by_our_deserializer_and_the_other_way_round(
    pulsar_topic: PulsarTopic,
) -> None:
    converter = AvroConverter(pulsar_topic.conf)
    message = converter.from_connect_data(pulsar_topic.name, ORDER, GIVEN)
    assert message is not None
    pulsar_topic.send(BytesSchema(), message)
    ((stored, _),) = pulsar_topic.raw()
    plain = KafkaAvroDeserializer(pulsar_topic.conf).deserialize(pulsar_topic.name, stored)
    assert (plain["id"], plain["note"], plain["price"]) == (7, "none", PythonDecimal("9.99"))
    assert plain["counts"] == [{"key": -1, "value": {"item": "b", "count": -128}}]
    again = KafkaAvroSerializer(pulsar_topic.conf).serialize(pulsar_topic.name, plain)
    assert again == message
    found = AvroConverter(pulsar_topic.conf).to_connect_data(pulsar_topic.name, again)
    assert found.schema == ORDER
    assert found.value == Struct(ORDER, GIVEN, note="none", day=dt.date(1970, 1, 2))


def test_schemas_evolve_and_the_policy_for_the_readers_schema_holds(pulsar_topic: PulsarTopic) -> None:
    kinds = [SchemaBuilder.struct("R").field("a", INT32)]
    kinds.append(SchemaBuilder.struct("R").field("a", INT32).field("b", OPTIONAL_STRING, default="new"))
    older, newer = (kind.build() for kind in kinds)
    writer = AvroConverter(pulsar_topic.conf)
    messages = [writer.from_connect_data(pulsar_topic.name, kind, Struct(kind, a=1)) for kind in (older, newer)]
    other = SchemaBuilder.struct("R").field("a", STRING).build()
    with pytest.raises(IncompatibleSchemaError):
        writer.from_connect_data(pulsar_topic.name, other, Struct(other, a="x"))
    reader = AvroConverter({**pulsar_topic.conf, "reader.schema.policy": "latest"})
    found = [reader.to_connect_data(pulsar_topic.name, message) for message in messages]
    assert [(dict(each.value), each.schema.version) for each in found] == [({"a": 1, "b": "new"}, 1)] * 2  # type: ignore[union-attr]


def test_an_optional_row_is_written_and_deleted(pulsar_topic: PulsarTopic) -> None:
    """As Debezium's ExtractNewRecordState makes them."""
    row = SchemaBuilder.struct("shop.Row").field("id", INT64).field("name", STRING).optional().build()
    converter = AvroConverter(pulsar_topic.conf)
    message = converter.from_connect_data(pulsar_topic.name, row, Struct(row, id=1, name="Ada"))
    assert dict(converter.to_connect_data(pulsar_topic.name, message).value) == {"id": 1, "name": "Ada"}
    assert converter.from_connect_data(pulsar_topic.name, row, None) is None


CORNERS: list[tuple[str, Schema | None, Any]] = [
    ("without-schema", None, {"a": [1, None, "x"]}),
    (
        "struct-default",
        SchemaBuilder.struct("R").field("s", LINE.replaced(default=Struct(LINE, item="a", count=1))).build(),
        {},
    ),
    (
        "namespace-of-java-only",
        SchemaBuilder.struct("my-server.1.Value")
        .field("s", LINE.replaced(default=Struct(LINE, item="a", count=1)))
        .build(),
        {},
    ),
    ("text", Schema(Type.STRING), "x"),
    ("map", SchemaBuilder.map(INT32, STRING).build(), {1: "x"}),
]


@pytest.mark.filterwarnings("ignore:the namespace .* is refused by Avro 1.12")
@pytest.mark.parametrize(("name", "schema", "value"), CORNERS, ids=[corner[0] for corner in CORNERS])
def test_what_pulsars_registry_takes_comes_back(
    pulsar_topic: PulsarTopic, name: str, schema: Schema | None, value: Any
) -> None:
    converter = AvroConverter(pulsar_topic.conf)
    given = Struct(schema) if schema is not None and schema.type is Type.STRUCT else value
    message = converter.from_connect_data(pulsar_topic.name, schema, given)
    found = converter.to_connect_data(pulsar_topic.name, message)
    if schema is None or schema.type is not Type.STRUCT:
        assert found.value == value
    else:
        assert dict(found.value["s"]) == {"item": "a", "count": 1}
