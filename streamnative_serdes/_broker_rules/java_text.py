"""Java's ``Schema.toString(true)``: how the broker prints schemas in its error messages.

Source: Avro 1.11.4, ``toJson`` of the subclasses of ``Schema``; Jackson's DefaultPrettyPrinter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from streamnative_serdes._schema import PRIMITIVES, SCHEMA_KEYS, json_float

NAMED: Final = ("record", "error", "enum", "fixed")
_FIELD_KEYS: Final = frozenset({"default", "doc", "name", "order", "type", "aliases"})

# The syntax of Java's Double.valueOf.
_DOUBLE: Final = re.compile(
    r"\s*(?:(?P<decimal>[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"
    r"|(?P<hex>[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+))[fFdD]?\s*",
    re.ASCII,
)
_ESCAPE: Final = re.compile(r"\\u00[0-9a-f]{2}")


def java_text(text: str) -> str:
    """Print ``text``, a valid schema, as Java does."""
    return pretty(ordered(json.loads(text), ""))


def ordered(tree: Any, space: str) -> Any:
    """The same schema with its keys in Java's order, and names as short as the enclosing namespace allows."""
    if isinstance(tree, str):
        return tree if tree in PRIMITIVES else _short(tree, space)
    if isinstance(tree, list):
        return _each(tree, space)
    kind = tree["type"]
    if kind not in PRIMITIVES and kind not in (*NAMED, "array", "map"):
        return _short(kind, space)
    if kind in NAMED:
        return _named(tree, kind, space)
    form = {"type": kind}
    for key in ("items", "values"):
        if kind in ("array", "map") and key in tree:
            form[key] = ordered(tree[key], space)
    form.update(_others(tree, SCHEMA_KEYS))
    return kind if form == {"type": kind} else form


def _each(branches: Iterable[Any], space: str) -> list[Any]:
    forms = []  # a comprehension would add one stack frame per level, and there may be 200 levels
    for branch in branches:
        forms.append(ordered(branch, space))  # noqa: PERF401
    return forms


def _named(tree: Mapping[str, Any], kind: str, space: str) -> dict[str, Any]:
    given = tree.get("namespace")
    inner, dot, name = tree["name"].rpartition(".")
    if not dot:
        inner = given if isinstance(given, str) else space
    form: dict[str, Any] = {"type": kind, "name": name}
    if inner != space:
        form["namespace"] = inner
    if isinstance(tree.get("doc"), str):
        form["doc"] = tree["doc"]
    reserved = SCHEMA_KEYS
    if kind == "fixed":
        form["size"] = tree["size"]
    elif kind == "enum":
        reserved = SCHEMA_KEYS | {"default"}
        form["symbols"] = tree["symbols"]
        if isinstance(tree.get("default"), str):
            form["default"] = tree["default"]
    else:
        form["fields"] = fields = []
        for part in tree["fields"]:
            fields.append(_field(part, inner))  # noqa: PERF401 - as above
    form.update(_others(tree, reserved))
    if tree.get("aliases"):
        form["aliases"] = [_short(alias, inner) for alias in tree["aliases"]]
    return form


def _field(part: Mapping[str, Any], space: str) -> dict[str, Any]:
    form = {"name": part["name"], "type": ordered(part["type"], space)}
    if "doc" in part:
        form["doc"] = part["doc"]
    if "default" in part:
        default = part["default"]
        form["default"] = as_number(default) if form["type"] in ("float", "double") else default
    if part.get("order", "ascending").lower() != "ascending":
        form["order"] = part["order"].lower()
    if part.get("aliases"):
        form["aliases"] = part["aliases"]
    form.update(_others(part, _FIELD_KEYS))
    return form


def _others(tree: Mapping[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in reserved}


def _short(name: str, space: str) -> str:
    own, _, last = name.rpartition(".")
    return last if own in ("", space) else name


def as_number(default: Any) -> Any:
    """The default of a float or double field; Java converts a string to a number.

    Raises:
        ValueError: Java's ``Double.valueOf`` does not accept the string.
    """
    if not isinstance(default, str):
        return default
    found = _DOUBLE.fullmatch(default)
    if found is None:
        raise ValueError(f'For input string: "{default}"')
    return float.fromhex(found["hex"]) if found["hex"] else float(found["decimal"])


def compact(value: Any) -> str:
    """JSON without white space."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_leaf(key)}:{compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return _leaf(value)


def pretty(value: Any, level: int = 0) -> str:
    """JSON in the layout of Jackson's default pretty printer."""
    rows = []  # no comprehensions, as in _each
    if isinstance(value, dict):
        gap = "\n" + "  " * (level + 1)
        for key, item in value.items():
            rows.append(f"{gap}{_leaf(key)} : {pretty(item, level + 1)}")
        return "{" + ",".join(rows) + "\n" + "  " * level + "}" if rows else "{ }"
    if isinstance(value, list):
        for item in value:
            rows.append(pretty(item, level))  # noqa: PERF401
        return "[ " + ", ".join(rows) + " ]" if rows else "[ ]"
    return _leaf(value)


def _leaf(value: Any) -> str:
    """Doubles in the format of ``Double.toString``; infinities and NaN as strings, like Jackson."""
    if not isinstance(value, float):
        text = json.dumps(value, ensure_ascii=False)
        return _ESCAPE.sub(lambda found: found[0][:2] + found[0][2:].upper(), text) if "\\u" in text else text
    if not isfinite(value):
        return f'"{json_float(value)}"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits = "".join(map(str, Decimal(repr(value)).normalize().as_tuple().digits))
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{Decimal(repr(value)).adjusted()}"
