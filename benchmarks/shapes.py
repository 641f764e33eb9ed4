"""The shapes that are measured: a schema and some records of it, identical in every run."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

RECORDS = 16  # different records, so that no library profits from one message; few enough to stay in the CPU's cache
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Shape:
    """``name`` is for the command line, ``title`` for tables. ``records`` have the values that reading returns.

    ``reader`` is a reader's schema with one field promoted, one dropped and one added.
    """

    name: str
    title: str
    schema: dict[str, Any]
    reader: dict[str, Any]
    records: tuple[dict[str, Any], ...]

    @property
    def text(self) -> str:
        """The schema as JSON."""
        return json.dumps(self.schema)


class Source(random.Random):
    """Random values, by Avro type."""

    def a_long(self) -> int:
        return self.randrange(1 << 40)

    def a_int(self) -> int:
        return self.randrange(-10_000, 10_000)

    def a_double(self) -> float:
        return self.uniform(-1e6, 1e6)

    def a_float(self) -> float:
        return self.randrange(1 << 16) / 256  # exact in 32 bits

    def a_boolean(self) -> bool:
        return self.random() < 0.5

    def a_string(self, least: int = 5, most: int = 24) -> str:
        return "".join(self.choices(string.ascii_letters + " ", k=self.randint(least, most)))

    def a_timestamp(self) -> datetime:
        return EPOCH + timedelta(milliseconds=self.randrange(10**11))

    def a_date(self) -> date:
        return self.a_timestamp().date()

    def a_decimal(self) -> Decimal:
        return Decimal(self.randrange(1, 10**7)).scaleb(-2)

    def a_uuid(self) -> UUID:
        return UUID(int=self.getrandbits(128), version=4)

    def nullable(self, make: Callable[[], Any]) -> Any:
        """None in one of four cases."""
        return None if self.random() < 0.25 else make()


def record(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def evolved(schema: dict[str, Any], *, drop: str | None = None, **changed: Any) -> dict[str, Any]:
    """Return ``schema`` without the field ``drop``, with the types in ``changed``, and with a new field at the end."""
    fields = {field["name"]: field["type"] for field in schema["fields"] if field["name"] != drop}
    reader = record(schema["name"], **{**fields, **changed})
    reader["fields"].append({"name": "added", "type": "string", "default": "none"})
    return reader


def enum(name: str, *symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": symbols}


def logical(base: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


TIMESTAMP = logical("long", "timestamp-millis")
KINDS = ("CREATED", "CHANGED", "SHIPPED", "RETURNED")

TINY = record("Tiny", id="long", name="string", active="boolean")
TINY_READER = evolved(TINY, drop="active", id="double")

FLAT = record(
    "Flat", id="long", user="string", url="string", kind=enum("Kind", *KINDS), price="double", ratio="float",
    count="int", active="boolean", at=TIMESTAMP, referrer=["null", "string"],
)  # fmt: skip
FLAT_READER = evolved(FLAT, drop="url", count="long")

ADDRESS = record("Address", city="string", zip=["null", "string"], floor=["null", "int"])
PRICE = logical("bytes", "decimal", precision=9, scale=2)
ITEM = record("Item", sku="string", quantity="int", price=PRICE, note=["null", "string"])
ITEM_READER = record("Item", sku="string", quantity="long", price=PRICE)  # note is dropped
NESTED = record(
    "Order", id=logical("string", "uuid"), at=TIMESTAMP, due=logical("int", "date"), state=enum("State", *KINDS),
    address=ADDRESS, items={"type": "array", "items": ITEM}, attributes={"type": "map", "values": "string"},
    discount=["null", "double"], tags={"type": "array", "items": "string"},
)  # fmt: skip
NESTED_READER = evolved(NESTED, drop="due", items={"type": "array", "items": ITEM_READER})

# 100 fields of six types in turn; the last 30 are nullable.
TYPES = ("long", "string", "double", "int", "boolean", "float")
COLUMNS = {f"field_{number:02}": TYPES[number % len(TYPES)] for number in range(100)}
WIDE = record("Wide", **{name: kind if name < "field_70" else ["null", kind] for name, kind in COLUMNS.items()})

WIDE_READER = evolved(WIDE, drop="field_04", field_03="long")

TEXT = record("Text", text="string")
TEXT_READER = evolved(TEXT)  # there is nothing to promote or to drop


def tiny(s: Source) -> dict[str, Any]:
    return {"id": s.a_long(), "name": s.a_string(), "active": s.a_boolean()}


def flat(s: Source) -> dict[str, Any]:
    return {
        "id": s.a_long(), "user": s.a_string(), "url": s.a_string(), "kind": s.choice(KINDS), "price": s.a_double(),
        "ratio": s.a_float(), "count": s.a_int(), "active": s.a_boolean(), "at": s.a_timestamp(),
        "referrer": s.nullable(s.a_string),
    }  # fmt: skip


def nested(s: Source) -> dict[str, Any]:
    return {
        "id": s.a_uuid(), "at": s.a_timestamp(), "due": s.a_date(), "state": s.choice(KINDS),
        "address": {"city": s.a_string(), "zip": s.nullable(s.a_string), "floor": s.nullable(s.a_int)},
        "items": [item(s) for _ in range(5)],
        "attributes": {key: s.a_string() for key in ("channel", "campaign", "device")},
        "discount": s.nullable(s.a_double), "tags": [s.a_string() for _ in range(3)],
    }  # fmt: skip


def item(s: Source) -> dict[str, Any]:
    return {"sku": s.a_string(), "quantity": s.a_int(), "price": s.a_decimal(), "note": s.nullable(s.a_string)}


def wide(s: Source) -> dict[str, Any]:
    values = {name: getattr(s, f"a_{kind}") for name, kind in COLUMNS.items()}
    return {name: make() if name < "field_70" else s.nullable(make) for name, make in values.items()}


def shape(
    name: str, title: str, schema: dict[str, Any], reader: dict[str, Any], make: Callable[[Source], dict[str, Any]]
) -> Shape:
    source = Source(42)
    return Shape(name, title, schema, reader, tuple(make(source) for _ in range(RECORDS)))


SHAPES = (
    shape("tiny", "3 fields", TINY, TINY_READER, tiny),
    shape("flat", "10 fields", FLAT, FLAT_READER, flat),
    shape("nested", "nested", NESTED, NESTED_READER, nested),
    shape("wide", "100 fields", WIDE, WIDE_READER, wide),
    shape("text", "10 KB string", TEXT, TEXT_READER, lambda s: {"text": s.a_string(10_240, 10_240)}),
)
TITLES = {each.name: each.title for each in SHAPES}
