"""Schema equality as Pulsar's registry defines it."""

from __future__ import annotations

import json
from typing import Any

from .tree import MISSING, Array, AvroType, Enum, Field, Fixed, Map, Record, Union


def comparable(root: AvroType) -> str:
    """Return JSON text that is equal for two schemas if Pulsar's registry treats them as the same schema.

    As Java Avro's ``Schema.equals`` (observed on a live broker): full names, types, defaults, order and custom
    properties count; white space, ``doc``, aliases and an enum's default do not.
    """
    return json.dumps(_comparable(root, set()), sort_keys=True)


def _comparable(node: AvroType, seen: set[str]) -> Any:
    if isinstance(node, Union):
        return [_comparable(branch, seen) for branch in node.branches]
    if isinstance(node, Record | Enum | Fixed):
        if node.name in seen:
            return node.name
        seen.add(node.name)
        form: dict[str, Any] = {"type": node.kind, "name": node.name, "props": dict(node.props)}
        if isinstance(node, Enum):
            form["symbols"] = list(node.symbols)
        elif isinstance(node, Fixed):
            form["size"] = node.size
        else:
            form["fields"] = [_comparable_field(part, seen) for part in node.fields]
        return form
    if isinstance(node, Array):
        return {"type": "array", "items": _comparable(node.items, seen), "props": dict(node.props)}
    if isinstance(node, Map):
        return {"type": "map", "values": _comparable(node.values, seen), "props": dict(node.props)}
    return {"type": node.kind, "props": dict(node.props)}


def _comparable_field(part: Field, seen: set[str]) -> dict[str, Any]:
    form = {"name": part.name, "type": _comparable(part.type, seen), "order": part.order, "props": dict(part.props)}
    if part.default is not MISSING:
        form["default"] = part.default
    return form
