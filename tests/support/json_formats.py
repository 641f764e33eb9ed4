"""Formats of JSON topics for tests: of a schema, of a record with one field, and the text of that field."""

from __future__ import annotations

import json
from typing import Any

from streamnative_serdes._formats import JsonFormat, format_of
from streamnative_serdes._schema import Limits
from streamnative_serdes.schema_registry import SchemaInfo

OF_JAVA = {"__alwaysAllowNull": "true", "__jsr310ConversionEnabled": "false"}


def of(schema: Any, properties: dict[str, str] | None = None, **options: Any) -> JsonFormat:
    info = SchemaInfo(0, "JSON", json.dumps(schema), 0, properties or {})
    made = format_of(info, Limits(), {**options})  # type: ignore[typeddict-item]
    assert isinstance(made, JsonFormat)
    return made


def record(*fields: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    parts = [field if isinstance(field, dict) else {"name": field[0], "type": field[1]} for field in fields]
    return {"type": "record", "name": name, "fields": parts, **more}


def one(type: Any, **more: Any) -> JsonFormat:
    """The format of a record with one field, ``x``."""
    return of(record({"name": "x", "type": type, **more}))


def read(type: Any, text: str, **options: Any) -> Any:
    return of(record(("x", type)), **options).decode(f'{{"x":{text}}}'.encode())["x"]


def shown(type: Any, value: Any, properties: dict[str, str] | None = None, **options: Any) -> str:
    text = of(record(("x", type)), properties, **options).encode({"x": value}).decode()
    assert text.startswith('{"x":')
    return text[5:-1]


def on(base: str, logical: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": logical, **more}


def nullable(type: Any) -> list[Any]:
    return ["null", type]
