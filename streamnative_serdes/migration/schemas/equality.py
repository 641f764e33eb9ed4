"""Equality of schemas as in Pulsar's registry, and names of schemas for people."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from streamnative_serdes._schema import comparable, parse
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

RESUME: Final = "what was registered is in the state file: run this again, and it continues there"


@lru_cache(maxsize=4096)
def key(text: str) -> str:
    """Text that is equal for two Avro schemas if Pulsar's registry treats them as the same."""
    try:
        return comparable(parse(text, strict=False).root)
    except SchemaError:
        return text


def key_of(info: SchemaInfo) -> str:
    """As :func:`key`; a schema of another type than AVRO equals no Avro schema."""
    return key(info.text) if info.type == "AVRO" else f"{info.type}: {info.text}"


def name_in(info: SchemaInfo) -> str:
    """The full name of the record in a schema, or the type of another schema."""
    if info.type != "AVRO":
        return info.type
    try:
        root = parse(info.text, strict=False).root
    except SchemaError:
        return "not readable"
    return str(getattr(root, "name", "") or root.kind)


def joined(*hints: str | None) -> str:
    """All hints as a single text."""
    return "; ".join(hint for hint in hints if hint)
