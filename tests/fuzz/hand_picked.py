# ruff: noqa: E501 - one schema per line
"""Schemas that together contain every type, every logical type, and every kind of nesting and recursion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
LOGICAL: dict[str, Any] = {
    **{name: {"type": "int", "logicalType": name} for name in ("date", "time-millis")},
    **{
        name: {"type": "long", "logicalType": name}
        for name in (
            "time-micros",
            "timestamp-millis",
            "timestamp-micros",
            "timestamp-nanos",
            "local-timestamp-millis",
            "local-timestamp-micros",
            "local-timestamp-nanos",
        )
    },
    "uuid": {"type": "string", "logicalType": "uuid"},
    "fixed uuid": {"type": "fixed", "name": "FixedUuid", "size": 16, "logicalType": "uuid"},
    "duration": {"type": "fixed", "name": "Duration", "size": 12, "logicalType": "duration"},
    "decimal": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    "long decimal": {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 40},
    "fixed decimal": {
        "type": "fixed",
        "name": "Money",
        "size": 8,
        "logicalType": "decimal",
        "precision": 18,
        "scale": 4,
    },
    "wide fixed decimal": {
        "type": "fixed",
        "name": "Large",
        "size": 20,
        "logicalType": "decimal",
        "precision": 30,
        "scale": 9,
    },
    "big-decimal": {"type": "bytes", "logicalType": "big-decimal"},
}


def record(name: str, fields: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return a record schema; ``defaults`` by name of field."""
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": key, "type": kind, **({"default": defaults[key]} if key in defaults else {})}
            for key, kind in fields.items()
        ],
    }


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def enum(name: str, symbols: Sequence[str], **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(name: str, size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


LINKED = record("Linked", {"value": "long", "next": ["null", "Linked"]})
TREE = record("Tree", {"name": "string", "children": array("Tree"), "by_name": map_of("Tree")})
JSON_LIKE = record("Json", {"value": ["null", "boolean", "long", "double", "string", array("Json"), map_of("Json")]})
EXPRESSION = record(
    "Expression",
    {
        "term": [
            record("Number", {"value": "double"}),
            record("Sum", {"left": "Expression", "right": "Expression"}),
            record("Call", {"name": enum("Function", ["SIN", "COS"]), "arguments": array("Expression")}),
        ]
    },
)
ORDER = record(
    "Order",
    {
        "id": LOGICAL["uuid"],
        "at": LOGICAL["timestamp-millis"],
        "state": enum("State", ["NEW", "PAID", "SENT"], default="NEW"),
        "customer": record("Customer", {"name": "string", "mail": ["null", "string"], "age": ["null", "int"]}),
        "items": array(record("Item", {"sku": "string", "price": LOGICAL["decimal"], "note": ["null", "string"]})),
        "tags": map_of("string"),
        "discount": ["null", "double"],
    },
    discount=None,
)
NOTHINGS = record(
    "Nothings",
    {"none": "null", "empty": record("Empty", {}), "zero": fixed("Zero", 0), "many": array("Empty"), "more": array("null")},
)  # fmt: skip
WIDE = record("Wide", {f"field_{i}": ["null", "int"] if i % 3 else "string" for i in range(90)})
UNIONS = record(
    "Unions",
    {
        "wide": ["null", "boolean", "int", "long", "float", "double", "bytes", "string"],
        "alone": ["int"],
        "last": ["string", "null"],
        "text": [enum("Colour", ["RED", "GREEN"]), "string", "bytes", fixed("Four", 4), LOGICAL["fixed uuid"]],
        "times": [LOGICAL["date"], LOGICAL["timestamp-micros"], "double"],
        "shapes": [
            record("Circle", {"radius": "double"}),
            record("Square", {"side": "double"}),
            record("Box", {"side": "double", "depth": "double"}, depth=1.0),
            map_of("long"),
        ],
        "numbers": ["null", LOGICAL["decimal"], "double"],
    },
)
NESTED = map_of(array(map_of(array(["null", "int", map_of("bytes")]))))
CALENDAR = record(
    "Calendar", {name.replace("-", "_").replace(" ", "_"): ["null", kind] for name, kind in LOGICAL.items()}
)
NAMED = {
    "type": "record",
    "name": "Outer",
    "namespace": "a.b",
    "fields": [
        {"name": "inner", "type": {"type": "record", "name": "c.Inner", "fields": [{"name": "x", "type": "int"}]}},
        {"name": "again", "type": ["null", "c.Inner", "Outer"]},
    ],
}

HAND_PICKED: dict[str, Any] = {
    **{name: name for name in PRIMITIVES},
    **LOGICAL,
    "fixed": fixed("Nine", 9),
    "enum": enum("Suit", ["SPADES", "HEARTS", "DIAMONDS", "CLUBS"]),
    "optional": ["null", "string"],
    "longs": array("long"),
    "strings by name": map_of("string"),
    "linked": LINKED,
    "tree": TREE,
    "json": JSON_LIKE,
    "expression": EXPRESSION,
    "order": ORDER,
    "nothings": NOTHINGS,
    "wide": WIDE,
    "unions": UNIONS,
    "nested": NESTED,
    "calendar": CALENDAR,
    "named": NAMED,
}
