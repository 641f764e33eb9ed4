"""Short constructors for Avro schemas, for tables of cases."""

from __future__ import annotations

from typing import Any

Json = Any


def field(name: str, kind: Json = "int", **more: Json) -> Json:
    return {"name": name, "type": kind, **more}


def record(*fields: Json, name: str = "R", **more: Json) -> Json:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def enum(*symbols: str, name: str = "E", **more: Json) -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "F", **more: Json) -> Json:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def mapping(values: Json) -> Json:
    return {"type": "map", "values": values}


def logical(base: str, name: str, **more: Json) -> Json:
    return {"type": base, "logicalType": name, **more}


A, B, C = field("a"), field("b"), field("c")
A_OR_0, B_OR_0, C_OR_0 = (field(name, default=0) for name in "abc")
EMPTY = record()
ONE, OTHER = record(A), record(B)  # neither can read data of the other
EVOLVED = (record(A), record(A, B_OR_0), record(A, C_OR_0))  # each may follow any other under FULL
