# ruff: noqa: E501 - a table
"""Changes of schemas: into one that may read the old data, or into one that is accepted only from a registry."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

PROMOTED = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
ADDED: tuple[tuple[Any, Any], ...] = (
    ("int", 7),
    ("string", "new"),
    (["null", "long"], None),
    ({"type": "array", "items": "string"}, ["a", "b"]),
    ({"type": "map", "values": {"type": "array", "items": "int"}}, {"k": [1, 2]}),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "\x01"),
    ({"type": "long", "logicalType": "timestamp-millis"}, 0),
    ("bytes", "\xff\x00"),
    ("int", "a default that does not fit"),
)


def spots(tree: Any, *, types_only: bool) -> list[tuple[Any, Any]]:
    """Yield (container, key) of each part of a schema's JSON, or of each type in it."""
    found, todo = [], [tree]
    while todo:
        box = todo.pop()
        pairs = list(box.items()) if isinstance(box, dict) else list(enumerate(box))
        for key, value in pairs:
            if not types_only or key in ("type", "items", "values") or (isinstance(box, list) and "name" not in value):
                found.append((box, key))
            if isinstance(value, (dict, list)) and not (types_only and key in ("symbols", "default", "aliases")):
                todo.append(value)
    return found


# --- near enough to be a reader's schema ------------------------------------------------------------------------------


def _promote(box: Any, key: Any, rng: Random) -> None:
    if box[key] in PROMOTED if isinstance(box[key], str) else False:
        box[key] = rng.choice(PROMOTED[box[key]])


def _optional(box: Any, key: Any, rng: Random) -> None:
    if not isinstance(box, list) and box[key] != "null" and not isinstance(box[key], list):
        box[key] = rng.choice((["null", box[key]], [box[key], "null"]))


def _one_branch(box: Any, key: Any, rng: Random) -> None:
    if isinstance(box[key], list) and box[key]:
        box[key] = rng.choice(box[key])


def _more_branches(box: Any, key: Any, rng: Random) -> None:
    if isinstance(box[key], list):
        box[key].insert(rng.randrange(len(box[key]) + 1), rng.choice(("null", "string", "double", "bytes")))
        rng.shuffle(box[key])


def _fields(box: Any, key: Any, rng: Random) -> None:
    """Return a record with reordered fields, a field removed, added or renamed."""
    fields = box[key].get("fields") if isinstance(box[key], dict) else None
    if fields is None:
        return
    change = rng.randrange(5)
    if change == 0:
        rng.shuffle(fields)
    elif change == 1 and fields:
        del fields[rng.randrange(len(fields))]
    elif change == 2 and fields:
        part = rng.choice(fields)
        part["name"], part["aliases"] = f"{part['name']}_new", [part["name"]]
    else:
        kind, default = rng.choice(ADDED)
        name = f"added_{rng.randrange(1000)}"
        fields.insert(rng.randrange(len(fields) + 1), {"name": name, "type": kind, "default": default})


def _names(box: Any, key: Any, rng: Random) -> None:
    if isinstance(box[key], dict) and "name" in box[key]:
        box[key]["aliases"] = [box[key]["name"], "Other"] if rng.random() < 0.7 else ["Other"]
        box[key]["name"] += "New"


def _symbols(box: Any, key: Any, rng: Random) -> None:
    symbols = box[key].get("symbols") if isinstance(box[key], dict) else None
    if symbols:
        rng.shuffle(symbols)
        symbols[-1:] = ["ADDED"]
        if rng.random() < 0.7:
            box[key]["default"] = "ADDED"


def _other_leaf(box: Any, key: Any, rng: Random) -> None:
    box[key] = rng.choice(("null", "int", "long", "string", "bytes", "double", "boolean"))


def _marked(box: Any, key: Any, rng: Random) -> None:
    """Mark the type with a property, so that the schemas differ and are resolved, although the type is the same."""
    if isinstance(box[key], dict):
        box[key]["marked"] = 1


NEAR: tuple[Callable[[Any, Any, Random], None], ...] = (
    *(_promote, _promote, _promote, _optional, _one_branch, _more_branches, _marked),
    *(_fields, _fields, _fields, _fields, _names, _symbols, _other_leaf),
)


def reader_of(schema: Any, rng: Random) -> Any:
    """Return the JSON of a schema that may read data of ``schema``; the fewer changes, the more likely."""
    root = {"type": copy.deepcopy(schema)}
    for _ in range(rng.choice((1, 2, 3, 5, 8))):
        try:
            rng.choice(NEAR)(*rng.choice(spots(root, types_only=True)), rng)
        except (TypeError, AttributeError, KeyError):
            continue  # in a damaged schema, any value may be anywhere
    return root["type"]


def same_in_other_words(schema: Any) -> Any:
    """Return the JSON of a schema that differs only by an unknown property, so that resolution gives the same data."""
    schema = copy.deepcopy(schema)
    if isinstance(schema, str):
        return {"type": schema, "marked": 1}
    if isinstance(schema, list):
        return [
            same_in_other_words(branch) if branch == schema[-1] and not isinstance(branch, list) else branch
            for branch in schema
        ]
    return {**schema, "marked": 1}


# --- what a registry might hold ---------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2, 7, 40, 2**31, 2**63, 1.5, "", "x", "null", "string", "int", "bytes", "record", "array", "map", "fixed",
    "enum", "decimal", "uuid", "duration", "big-decimal", "timestamp-micros", "date", "time-millis", [], {}, ["null"], [[]],
    {"type": "int"}, {"type": "fixed", "name": "F", "size": 12}, {"type": "record", "name": "R", "fields": []}, "Linked", "Tree", "\ud800",
)  # fmt: skip
KEYS = ("type", "name", "items", "values", "fields", "symbols", "size", "logicalType", "precision", "scale", "default",
        "namespace", "aliases", "order")  # fmt: skip


def spoilt_schema(schema: Any, rng: Random) -> Any:
    """Return damaged JSON, which lenient parsing may still accept."""
    root = {"type": copy.deepcopy(schema)}
    for _ in range(rng.choice((1, 1, 2, 3))):
        found = spots(root, types_only=False)
        box, key = rng.choice(found)
        change = rng.randrange(5)
        if change == 0:
            box[key] = copy.deepcopy(rng.choice(VALUES))
        elif change == 1:
            other, at = rng.choice(found)
            box[key] = copy.deepcopy(other[at])
        elif change == 2 and box is not root:
            del box[key]
        elif isinstance(box, dict):
            box[rng.choice(KEYS)] = copy.deepcopy(rng.choice(VALUES))
        else:
            box.append(copy.deepcopy(rng.choice(VALUES)))
        if not root:
            break
    return json.loads(json.dumps(root.get("type")))
