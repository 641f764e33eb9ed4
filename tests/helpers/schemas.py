"""Avro schemas in few words, for tables of tests."""

from __future__ import annotations

from typing import Any

Json = Any


def record(name: str, *fields: Any, **more: Any) -> Json:
    """Fields are (name, type) or (name, type, default)."""
    parts = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return {"type": "record", "name": name, "fields": parts, **more}


def enum(name: str, *symbols: str) -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def fixed(name: str, size: int, **more: Any) -> Json:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def mapping(values: Json) -> Json:
    return {"type": "map", "values": values}


def logical(base: str, name: str, **more: Any) -> Json:
    return {"type": base, "logicalType": name, **more}
