"""The schema of bare keys, which no registry has: equal keys have to be equal bytes."""

from __future__ import annotations

from typing import Any

from streamnative_serdes._lifecycle import key_schema
from streamnative_serdes._schema import AvroType, Map, Record, Schema, children
from streamnative_serdes.errors import ConfigError, SchemaError
from streamnative_serdes.key_value import KeyValueSchema


def schema_to_write(conf: dict[str, Any], given: object, *, is_key: bool) -> Schema | None:
    """The schema of bare keys; None if a serializer is not to write any.

    Args:
        conf: checked options.
        given: the schema that the serializer was given.
        is_key: whether it writes keys alone.

    Raises:
        ConfigError: ``given`` says how keys are written, too.
        SchemaError: the schema is not valid, or has a map.
    """
    schema = key_schema(conf)
    if schema is None:
        return None
    if isinstance(given, KeyValueSchema) or (is_key and given is not None):
        raise ConfigError(
            "cannot use both key.schema and a schema that says how keys are written",
            hint="key.schema is for bare keys, a KeyValueSchema is for topics of type KEY_VALUE",
        )
    path = _path_of_map(schema.root, "", set())
    if path is not None:
        raise SchemaError(
            "key.schema has a map, whose entries have no order, so equal keys could be different bytes",
            path=path,
            hint="take an array of records, in an order of your own",
        )
    return schema


def _path_of_map(node: AvroType, path: str, seen: set[int]) -> str | None:
    """Return the path of the first map in the schema; None without a map. ``seen`` ends recursive records."""
    if isinstance(node, Map):
        return path
    if id(node) in seen:
        return None
    seen.add(id(node))
    names = [part.name for part in node.fields] if isinstance(node, Record) else [""] * len(children(node))
    inner = (
        _path_of_map(child, ".".join(filter(None, (path, name))), seen)
        for name, child in zip(names, children(node), strict=True)
    )
    return next((found for found in inner if found is not None), None)
