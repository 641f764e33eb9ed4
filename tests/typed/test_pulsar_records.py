"""pulsar.schema.Record: the schema that pulsar-client registers, and objects of it."""

from __future__ import annotations

import enum
import io
import json
from typing import Any

import fastavro
import pytest
import requests
from pulsar.schema import (
    Array,
    AvroSchema,
    Boolean,
    Bytes,
    CustomEnum,
    Double,
    Float,
    Integer,
    Long,
    Map,
    Record,
    String,
)

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.models import schema_of
from streamnative_serdes.testing import LocalRegistry

TOPIC = "records"


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Address(Record):
    city = String()
    lots = Array(Integer())


class User(Record):
    _avro_namespace = "org.example"
    name = String(required=True)
    age = Integer(default=18, required_default=True, required=True)
    big = Long()
    ratio = Float()
    weight = Double()
    flag = Boolean()
    raw = Bytes()
    colour = CustomEnum(Colour)
    again = CustomEnum(Colour)
    address = Address()
    others = Array(Address())
    by_name = Map(Address())
    counts = Map(Integer())


class Sorted(Record):
    _sorted_fields = True
    b = String()
    a = String()


ADA = User(
    name="Ada",
    age=36,
    big=2**40,
    ratio=0.5,
    weight=1.5,
    flag=True,
    raw=b"\x00",
    colour=Colour.GREEN,
    again=Colour.RED,
    address=Address(city="London", lots=[1, 2]),
    others=[Address(city="Paris")],
    by_name={"home": Address(city="Rome")},
    counts={"a": 1},
)


@pytest.mark.parametrize("allow_null", [True, False])
@pytest.mark.parametrize("cls", [Address, User, Sorted])
def test_the_schema_is_pulsar_clients_own(cls: Any, allow_null: bool) -> None:
    assert schema_of(cls, allow_null=allow_null) == AvroSchema(cls)._schema
    assert [field["name"] for field in schema_of(Sorted, allow_null=True)["fields"]] == ["a", "b"]


def test_objects_are_written_as_pulsar_client_writes_them(registry: LocalRegistry) -> None:
    framed = KafkaAvroSerializer({"schema.registry.url": registry.url}).serialize(TOPIC, ADA)
    assert framed is not None
    assert framed[10:] == AvroSchema(User).encode(ADA)


@pytest.mark.parametrize("value", [ADA, User(name="Bob"), Sorted(a="x")], ids=["all", "few", "sorted"])
def test_objects_are_read_as_pulsar_client_reads_them(registry: LocalRegistry, value: Any) -> None:
    conf = {"schema.registry.url": registry.url}
    framed = KafkaAvroSerializer(conf, type(value)).serialize(TOPIC, value)
    assert framed is not None
    found = KafkaAvroDeserializer({**conf, "value.type": type(value)}).deserialize(TOPIC, framed)
    assert type(found) is type(value)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, type(value).schema(), AvroSchema(type(value)).encode_dict(found.__dict__))
    assert out.getvalue() == framed[10:]
    if value is ADA:
        assert found == value


def test_a_record_with_added_fields_reads_old_messages(registry: LocalRegistry) -> None:
    class Lot(Record):
        number = Integer()
        size = Integer(default=3)

    later = type(
        "Address", (Record,), {"lots": Array(Lot()), "city": String(), "zip": String(), "floor": Integer(default=1)}
    )
    earlier = {
        "type": "record",
        "name": "Address",
        "fields": [
            {"name": "city", "type": ["null", "string"]},
            {
                "name": "lots",
                "type": {
                    "type": "array",
                    "items": {"type": "record", "name": "Lot", "fields": [{"name": "number", "type": "int"}]},
                },
            },
        ],
    }
    conf = {"schema.registry.url": registry.url}
    old = KafkaAvroSerializer(conf, earlier).serialize(TOPIC, {"city": "London", "lots": [{"number": 7}]})
    found = KafkaAvroDeserializer({**conf, "value.type": later}).deserialize(TOPIC, old)
    assert found == later(city="London", lots=[Lot(number=7, size=3)], zip=None, floor=1)


class Stumbling(Record):
    """pulsar-client puts null first in unions, even if the default is not null."""

    age = Integer(default=18, required_default=True)


def test_a_record_with_defaults_that_brokers_cannot_handle_is_not_registered(registry: LocalRegistry) -> None:
    conf = {"schema.registry.url": registry.url}
    for serializer in (lambda: KafkaAvroSerializer(conf, Stumbling), lambda: KafkaAvroSerializer(conf)):
        with pytest.raises(
            SchemaError, match="field age: bad default: 18 is not of type null, the first branch of the union"
        ):
            serializer().serialize(TOPIC, Stumbling(age=1))
    payload = {"type": "AVRO", "schema": json.dumps(AvroSchema(Stumbling)._schema), "properties": {}}
    url = f"{registry.url}/admin/v2/schemas/public/default/{TOPIC}/schema"
    assert requests.post(url, json=payload, timeout=10).status_code == 200
    framed = KafkaAvroSerializer({**conf, "auto.register.schemas": False}, Stumbling).serialize(TOPIC, Stumbling(age=1))
    reader = KafkaAvroDeserializer({**conf, "value.type": Stumbling})
    assert reader.deserialize(TOPIC, framed) == Stumbling(age=1)


def test_a_field_named_like_an_argument_of_all_records_cannot_be_read(registry: LocalRegistry) -> None:
    odd = type("Odd", (Record,), {"default": String()})
    with pytest.raises(SchemaError, match="has no keyword for this attribute") as caught:
        KafkaAvroDeserializer({"schema.registry.url": registry.url, "value.type": odd})
    assert caught.value.path == "Odd.default"


def test_a_pulsar_record_cannot_be_nested_in_another_class() -> None:
    import dataclasses

    outer = dataclasses.make_dataclass("Outer", [("address", Address)])
    with pytest.raises(SchemaError, match=r"Address is a pulsar\.schema\.Record, which only another") as caught:
        schema_of(outer, allow_null=True)
    assert caught.value.path == "Outer.address"
