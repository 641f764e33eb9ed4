"""Checked by mypy --strict, not run: the types that docs/typed.md names have their documented meaning."""

from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Annotated, assert_type

from streamnative_serdes import KafkaAvroDeserializer
from streamnative_serdes.models import (
    AvroClass,
    AvroField,
    AvroType,
    DecimalMeta,
    Float32,
    Int32,
    TimeMillis,
    TimestampMillis,
)


@dataclass
class Order:
    __avro__ = AvroClass(namespace="com.example", aliases=("Sale",))
    number: Int32
    weight: Float32 | None
    placed: TimestampMillis
    slot: TimeMillis
    price: Annotated[Decimal, DecimalMeta(10, 2)]
    raw: Annotated[bytes, AvroType({"type": "fixed", "name": "Raw", "size": 4})]
    note: Annotated[str, AvroField(name="Note", nullable=False)] = ""


def check(order: Order) -> None:
    assert_type(order.number, int)
    assert_type(order.weight, float | None)
    assert_type(order.placed, datetime)
    assert_type(order.slot, time)
    assert_type(order.price, Decimal)
    assert_type(order.raw, bytes)
    assert_type(order.note, str)


KafkaAvroDeserializer({"schema.registry.url": "http://localhost:8080", "value.type": Order}, Order)
