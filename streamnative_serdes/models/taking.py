"""Whether an Avro type takes JSON as a default: a reader takes the first branch of a union that does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamnative_serdes._schema import PRIMITIVES, DefaultChecker, Primitive


def takes(kind: Any, value: Any, named: Sequence[dict[str, Any]]) -> bool:
    """Whether a value of the schema ``kind`` is read from the JSON ``value``.

    Args:
        kind: the schema.
        value: JSON.
        named: the records and enums that the schema may refer to. What is not known of them counts as taking it.
    """
    if isinstance(kind, list):
        return any(takes(branch, value, named) for branch in kind)
    base = kind if isinstance(kind, str) else kind["type"]
    match base:
        case "array":
            return isinstance(value, list) and all(takes(kind["items"], item, named) for item in value)
        case "map":
            return isinstance(value, dict) and all(takes(kind["values"], item, named) for item in value.values())
        case "enum":
            return value in kind["symbols"]
        case "fixed":
            return isinstance(value, str) and len(value) == kind["size"]
        case "record":
            return isinstance(value, dict) and all(_field_takes(field, value, named) for field in kind["fields"])
    if base in PRIMITIVES:
        return DefaultChecker().fault(Primitive(base), value) is None
    known = [one for one in named if one["name"] == base.rpartition(".")[2]] if isinstance(base, str) else [base]
    return not known or any(takes(one, value, named) for one in known)


def _field_takes(field: dict[str, Any], value: dict[str, Any], named: Sequence[dict[str, Any]]) -> bool:
    name = field["name"]
    return takes(field["type"], value[name], named) if name in value else "default" in field
