"""The shapes that are measured: a schema and some records of it, identical in every run."""

from __future__ import annotations

import json
import random
import string
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

RECORDS = 16  # different records, so that no library profits from one message; few enough to stay in the CPU's cache
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
Schema = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """``name`` is for the command line, ``title`` for tables. ``records`` have the values that reading returns.

    ``reader`` is a reader's schema with one field promoted, one dropped and one added.
    """

    name: str
    title: str
    schema: Schema
    reader: Schema
    records: tuple[dict[str, Any], ...]

    @property
    def text(self) -> str:
        """The schema as JSON."""
        return json.dumps(self.schema)


class Source(random.Random):
    """Random values, by Avro type."""

    def of(self, kind: Any) -> Any:
        """A value of a schema; None in one of four cases, if it may be null."""
        if isinstance(kind, list):
            return None if self.random() < 0.25 else self.of(kind[1])
        if isinstance(kind, str):
            return getattr(self, f"a_{kind}")()
        if "logicalType" in kind:
            return getattr(self, f"a_{kind['logicalType'].partition('-')[0]}")()
        return getattr(self, f"a_{kind['type']}")(kind)

    def a_record(self, kind: Schema) -> dict[str, Any]:
        return {field["name"]: self.of(field["type"]) for field in kind["fields"]}

    def a_enum(self, kind: Schema) -> str:
        return str(self.choice(kind["symbols"]))

    def a_array(self, kind: Schema) -> list[Any]:
        return [self.of(kind["items"]) for _ in range(3 if kind["items"] == "string" else 5)]

    def a_map(self, kind: Schema) -> dict[str, Any]:
        return {key: self.of(kind["values"]) for key in ("channel", "campaign", "device")}

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


def record(name: str, /, **fields: Any) -> Schema:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


def evolved(schema: Schema, *, drop: str | None = None, **changed: Any) -> Schema:
    """Return ``schema`` without the field ``drop``, with the types in ``changed``, and with a new field at the end."""
    fields = {field["name"]: field["type"] for field in schema["fields"] if field["name"] != drop}
    reader = record(schema["name"], **{**fields, **changed})
    reader["fields"].append({"name": "added", "type": "string", "default": "none"})
    return reader


def enum(name: str, *symbols: str) -> Schema:
    return {"type": "enum", "name": name, "symbols": symbols}


def array(items: Any) -> Schema:
    return {"type": "array", "items": items}


def logical(base: str, name: str, **more: int) -> Schema:
    return {"type": base, "logicalType": name, **more}


TIMESTAMP, DATE = logical("long", "timestamp-millis"), logical("int", "date")
PRICE = logical("bytes", "decimal", precision=9, scale=2)
KINDS = ("CREATED", "CHANGED", "SHIPPED", "RETURNED")
TINY = record("Tiny", id="long", name="string", active="boolean")
FLAT = record(
    "Flat", id="long", user="string", url="string", kind=enum("Kind", *KINDS), price="double", ratio="float",
    count="int", active="boolean", at=TIMESTAMP, referrer=["null", "string"],
)  # fmt: skip
ADDRESS = record("Address", city="string", zip=["null", "string"], floor=["null", "int"])
ITEM = record("Item", sku="string", quantity="int", price=PRICE, note=["null", "string"])
ITEM_READER = record("Item", sku="string", quantity="long", price=PRICE)  # note is dropped
NESTED = record(
    "Order", id=logical("string", "uuid"), at=TIMESTAMP, due=DATE, state=enum("State", *KINDS), address=ADDRESS,
    items=array(ITEM), attributes={"type": "map", "values": "string"}, discount=["null", "double"],
    tags=array("string"),
)  # fmt: skip
# 100 fields of six types in turn; the last 30 are nullable.
TYPES = ("long", "string", "double", "int", "boolean", "float")
COLUMNS = {f"field_{number:02}": TYPES[number % len(TYPES)] for number in range(100)}
WIDE = record("Wide", **{name: kind if name < "field_70" else ["null", kind] for name, kind in COLUMNS.items()})
TEXT = record("Text", text="string")  # there is nothing to promote or to drop


def shape(name: str, title: str, schema: Schema, reader: Schema) -> Shape:
    source = Source(42)
    make = (lambda: {"text": source.a_string(10_240, 10_240)}) if schema is TEXT else (lambda: source.a_record(schema))
    return Shape(name, title, schema, reader, tuple(make() for _ in range(RECORDS)))


SHAPES = (
    shape("tiny", "3 fields", TINY, evolved(TINY, drop="active", id="double")),
    shape("flat", "10 fields", FLAT, evolved(FLAT, drop="url", count="long")),
    shape("nested", "nested", NESTED, evolved(NESTED, drop="due", items=array(ITEM_READER))),
    shape("wide", "100 fields", WIDE, evolved(WIDE, drop="field_04", field_03="long")),
    shape("text", "10 KB string", TEXT, evolved(TEXT)),
)
BY_NAME = {each.name: each for each in SHAPES}
TITLES = {each.name: each.title for each in SHAPES}
