"""Validation rules beyond syntax: names, size limits, logical types, defaults, and records that no datum can fill.

Names are valid as in Java's Avro up to 1.11: letters of all scripts, and any namespace. Source:
``Schema.validateName`` of Avro 1.11.4, which Pulsar 4.0's brokers use. Avro 1.12, which is in Pulsar 4.2, looks at
the parts of namespaces too. The specification has the letters of ASCII alone.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import category

from streamnative_serdes.errors import SchemaError

from .tree import MISSING, Array, AvroType, Enum, Fixed, Map, Named, Record, Union, name_of

_ASCII: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo"})  # Java's Character.isLetter
_LAST: Final = "\uffff"  # Java looks at each half of a surrogate pair, and none is a letter


def is_name(text: str) -> bool:
    """Whether the name of a field or symbol, or the last part of a full name, is valid."""
    if _ASCII.fullmatch(text):
        return True
    return bool(text) and _begins(text[0]) and all(_begins(char) or _is_digit(char) for char in text[1:])


def _begins(char: str) -> bool:
    return char == "_" or (char <= _LAST and category(char) in _LETTERS)


def _is_digit(char: str) -> bool:
    return char <= _LAST and category(char) == "Nd"


def is_namespace(text: str) -> bool:
    """Whether Pulsar 4.2 accepts the text as a namespace: it allows $ in addition to Avro 1.12."""
    return not text or all(is_name(part.replace("$", "_")) for part in text.split("."))


MAX_TEXT: Final = 4 * 1024 * 1024  # characters of schema text
MAX_NAMES: Final = 10_000  # named types in one schema
MAX_DEPTH: Final = 200  # levels of nesting in schema text
MAX_PRECISION: Final = 4_300  # digits of a decimal: CPython's limit for int from text


@dataclass(frozen=True, slots=True)
class Limits:
    """Size limits of a schema: characters of text, named types, levels of nesting."""

    size: int = MAX_TEXT
    names: int = MAX_NAMES
    depth: int = MAX_DEPTH


# JSON has no such numbers, so text stands for them; Java reads and writes the same text.
NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def json_float(value: float) -> float | str:
    """A float for JSON: NaN and the infinities as text."""
    return value if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")


# Logical type -> the base types that it may annotate.
LOGICAL_BASES: Final[Mapping[str, tuple[str, ...]]] = {
    "decimal": ("bytes", "fixed"),
    "big-decimal": ("bytes",),
    "uuid": ("string", "fixed"),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "duration": ("fixed",),
}


def logical_fault(name: str, base: str, size: int, tree: Mapping[str, Any]) -> str | None:
    if base not in LOGICAL_BASES[name]:
        return f"annotates {' or '.join(LOGICAL_BASES[name])}, not {base}"
    if base == "fixed" and name in ("uuid", "duration"):
        needed = 16 if name == "uuid" else 12
        return None if size == needed else f"needs {needed} bytes, the fixed has {size}"
    if name != "decimal":
        return None
    precision, scale = tree.get("precision"), tree.get("scale", 0)
    if type(precision) is not int or not 1 <= precision <= MAX_PRECISION:
        return f"needs a precision from 1 to {MAX_PRECISION}, got {precision!r:.80}"
    if type(scale) is not int or not 0 <= scale <= precision:
        return f"needs a scale from 0 to {precision}, got {scale!r:.80}"
    # One byte holds at most 2.41 digits, so this bounds the power before it is computed.
    if base == "fixed" and (precision > 3 * size or 10**precision > 2 ** (8 * size - 1)):
        return f"precision {precision} does not fit {size} bytes"
    return None


def refuse_endless(types: Iterable[Named]) -> None:
    """Refuse a record that contains itself without a union, array or map in between: no finite datum can match it."""
    done: set[int] = set()
    for start in types:
        stack: list[tuple[AvroType, bool]] = [(start, False)]
        open_: set[int] = set()
        while stack:
            node, leaving = stack.pop()
            if leaving:
                open_.discard(id(node))
                done.add(id(node))
            elif isinstance(node, Record) and id(node) not in done:
                if id(node) in open_:
                    raise SchemaError(f"record {node.name} contains itself without a union, an array or a map between")
                open_.add(id(node))
                stack.append((node, True))
                stack.extend((field_.type, False) for field_ in node.fields)


class DefaultChecker:
    """Validates defaults. They nest and may fall back on other defaults, so steps and depth are bounded.

    Source: Avro specification, "Complex Types", table of field default values; a union's default may match any of its
    branches (1.12).

    Args:
        as_brokers: accept only what Pulsar's brokers accept too; they compare schemas with Java's Avro 1.11 (seen on
            4.0.8) and older. A union's default has to match its first branch, and text for a non-finite number is
            accepted only as the whole default of a field.

    ``hint`` belongs to the last fault found.
    """

    MAX_STEPS = 1_000_000

    def __init__(self, *, as_brokers: bool = False) -> None:
        self.as_brokers = as_brokers
        self.hint: str | None = None
        self.steps = 0

    def fault(self, kind: AvroType, value: Any, depth: int = 0, *, whole: bool = True) -> str | None:
        """Return the fault of the JSON ``value`` as a default of ``kind``, or None.

        ``whole``: it is the whole default of a field, not a part of one.
        """
        self.steps += 1
        if depth > MAX_DEPTH or self.steps > self.MAX_STEPS:
            return "the default contains itself, or the defaults of the schema are too large"
        if isinstance(kind, Union):
            return self._union_fault(kind, value, depth + 1)
        if self.as_brokers and not whole and kind.kind in ("float", "double") and isinstance(value, str):
            return f"{value!r:.80} as text is a valid {kind.kind} only as the whole default of a field"
        if isinstance(kind, Record):
            return self.record_fault(kind, value, depth + 1)
        if isinstance(kind, Array) and isinstance(value, list):
            return self._first_fault(kind.items, value, depth + 1)
        if isinstance(kind, Map) and isinstance(value, dict):
            return self._first_fault(kind.values, value.values(), depth + 1)
        if isinstance(kind, Enum):
            return None if value in kind.symbols else f"{value!r:.80} is not a symbol of enum {kind.name}"
        if isinstance(kind, Fixed):
            fits = isinstance(value, str) and len(value) == kind.size and all(ord(c) < 256 for c in value)
            return None if fits else f"{value!r:.80} is not {kind.size} code points from 0 to 255"
        fits = kind.kind in _PRIMITIVE_DEFAULTS and _PRIMITIVE_DEFAULTS[kind.kind](value)
        return None if fits else f"{value!r:.80} is not of type {kind.kind}"

    def _union_fault(self, kind: Union, value: Any, depth: int) -> str | None:
        for number, branch in enumerate(kind.branches):
            if self.fault(branch, value, depth, whole=False) is None:
                return None if number == 0 or not self.as_brokers else self._not_the_first(kind, number, value)
        return f"{value!r:.80} matches no branch of the union"

    def _not_the_first(self, kind: Union, number: int, value: Any) -> str:
        first, fitting = (name_of(kind.branches[at]) for at in (0, number))
        self.hint = (
            f"put {fitting} first in the union: Pulsar would register this schema, and then refuse every other one"
        )
        return f"{value!r:.80} is not of type {first}, the first branch of the union, but {fitting}"

    def _first_fault(self, kind: AvroType, values: Iterable[Any], depth: int) -> str | None:
        return next((fault for item in values if (fault := self.fault(kind, item, depth, whole=False))), None)

    def record_fault(self, kind: Record, value: Any, depth: int) -> str | None:
        if not isinstance(value, dict):
            return f"{value!r:.80} is not of type record {kind.name}"
        for part in kind.fields:
            given = value.get(part.name, part.default)
            own = part.name not in value
            fault = (
                "the default has no value for this field"
                if given is MISSING
                else self.fault(part.type, given, depth, whole=own)
            )
            if fault:
                return f"{part.name}: {fault}"
        return None


def _floating_default(kind: str, value: Any) -> bool:
    if isinstance(value, str):
        return value in NOT_FINITE
    if type(value) not in (int, float):
        return False
    try:
        struct.pack("<f" if kind == "float" else "<d", value)
    except (OverflowError, struct.error):
        return False
    return True


def _whole_default(value: Any, bits: int) -> bool:
    return type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1


_PRIMITIVE_DEFAULTS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": lambda value: _whole_default(value, 32),
    "long": lambda value: _whole_default(value, 64),
    "float": lambda value: _floating_default("float", value),
    "double": lambda value: _floating_default("double", value),
    "bytes": lambda value: isinstance(value, str) and all(ord(c) < 256 for c in value),
    "string": lambda value: isinstance(value, str),
}
