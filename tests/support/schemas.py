"""Short constructors for Avro schemas, for tables of tests."""

from __future__ import annotations

from typing import Any

Json = Any


def record(name: str, *fields: Any, **more: Any) -> Json:
    """Return a record; fields are (name, type), (name, type, default) or dicts."""
    parts = [f if isinstance(f, dict) else dict(zip(("name", "type", "default"), f, strict=False)) for f in fields]
    return {"type": "record", "name": name, "fields": parts, **more}


def enum(name: str, *symbols: str) -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def fixed(name: str, size: int, **more: Any) -> Json:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def mapping(values: Json) -> Json:
    return {"type": "map", "values": values}


def logical(base: str, name: str, /, **more: Any) -> Json:
    return {"type": base, "logicalType": name, **more}


def doubling(levels: int) -> Json:
    """Return a record with two fields of the next record, and so on: 2 ** levels values in a short text."""
    found = record("R0", ("a", "int"))
    for level in range(1, levels + 1):
        found = record(f"R{level}", ("a", found), ("b", f"R{level - 1}"))
    return found
