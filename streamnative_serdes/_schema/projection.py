"""The schema of a record with only some of its fields, for a reader that does not need the other fields.

Avro's resolution skips fields that the reader's schema lacks, so they are not decoded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import SchemaError

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


def projected(text: str, names: Sequence[str]) -> str:
    """The record's schema with the fields ``names``, in this order.

    A type that is defined in an omitted field is defined where it is first used.

    Args:
        text: the JSON of a record's schema.
        names: names of its fields.

    Raises:
        SchemaError: the schema is not a record's, or has no such field.
    """
    tree = json.loads(text)
    if not isinstance(tree, dict) or tree.get("type") not in ("record", "error"):
        raise SchemaError("expected the schema of a record: only records have fields to choose from")
    fields = {field["name"]: field for field in tree["fields"]}
    for name in names:
        if name not in fields:
            raise SchemaError(f"the record has no field {name!r:.80}", hint=did_you_mean(name, fields))
    definitions: dict[str, Any] = {}
    full, space = _full_name(tree, "")
    _collect(tree, "", definitions)
    writer = _Writer(definitions, {full})
    chosen = [fields[name] | {"type": writer.of(fields[name]["type"], space)} for name in names]
    return json.dumps(tree | {"fields": chosen})


def _full_name(tree: dict[str, Any], space: str) -> tuple[str, str]:
    """The full name of a named type, and the namespace inside it."""
    name = tree["name"]
    if "." not in name:
        inside = tree.get("namespace", space) or ""
        return (f"{inside}.{name}" if inside else name), inside
    return name, name.rpartition(".")[0]


def _collect(node: Any, space: str, found: dict[str, Any]) -> None:
    """Put the definition of each named type into ``found``, with its name in full."""
    if isinstance(node, list):
        for each in node:
            _collect(each, space, found)
        return
    if not isinstance(node, dict):
        return
    if node.get("type") in _NAMED:
        full, space = _full_name(node, space)
        found[full] = {**{key: value for key, value in node.items() if key != "namespace"}, "name": full}
        if "." not in full:
            found[full]["namespace"] = ""
    elif isinstance(node.get("type"), (dict, list)):
        _collect(node["type"], space, found)
    for field in node.get("fields", ()):
        _collect(field["type"], space, found)
    for key in ("items", "values"):
        _collect(node.get(key), space, found)


class _Writer:
    """Copies types, and defines each named one where it is first used."""

    def __init__(self, definitions: dict[str, Any], written: set[str]) -> None:
        self._definitions, self._written = definitions, written

    def of(self, node: Any, space: str) -> Any:
        if isinstance(node, str):
            return self._name(node, space)
        if isinstance(node, list):
            return [self.of(each, space) for each in node]
        if node.get("type") in _NAMED:
            return self._define(_full_name(node, space)[0])
        made = dict(node)
        for key in ("items", "values"):
            if key in node:
                made[key] = self.of(node[key], space)
        if isinstance(node.get("type"), (dict, list)):
            made["type"] = self.of(node["type"], space)
        return made

    def _name(self, name: str, space: str) -> Any:
        for full in ((f"{space}.{name}" if space and "." not in name else name), name):
            if full in self._definitions:
                return self._define(full)
        return name  # a primitive type

    def _define(self, full: str) -> Any:
        if full in self._written:
            return full
        self._written.add(full)
        made = dict(self._definitions[full])
        space = full.rpartition(".")[0]
        if "fields" in made:
            made["fields"] = [field | {"type": self.of(field["type"], space)} for field in made["fields"]]
        return made
