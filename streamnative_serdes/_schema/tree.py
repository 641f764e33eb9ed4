"""The nodes of a parsed schema, one class per Avro type, and when Pulsar's registry takes two schemas for one.

Source: Avro specification 1.12, "Schema Declaration". A name used inside its own definition refers back to it, so the
tree of a recursive schema has cycles. ``doc`` is what the schema has, which need not be text in a registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias


class Missing:
    """Marks a field without a default (None is a default: JSON null)."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical type that is valid for its base type; precision and scale are in decimal digits."""

    name: str
    precision: int = 0
    scale: int = 0


@dataclass(slots=True, eq=False)
class Primitive:
    """null, boolean, int, long, float, double, bytes or string."""

    kind: str
    logical: Logical | None = None
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Array:
    items: AvroType
    props: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "array"


@dataclass(slots=True, eq=False)
class Map:
    values: AvroType
    props: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "map"


@dataclass(slots=True, eq=False)
class Union:
    branches: tuple[AvroType, ...]
    kind: str = "union"


@dataclass(slots=True, eq=False)
class Fixed:
    """``size`` bytes."""

    name: str
    size: int
    aliases: tuple[str, ...] = ()
    logical: Logical | None = None
    props: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "fixed"
    doc: object = None


@dataclass(slots=True, eq=False)
class Enum:
    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "enum"
    doc: object = None


@dataclass(slots=True, eq=False)
class Field:
    """One field of a record; ``default`` is the JSON value from the schema, or MISSING."""

    name: str
    type: AvroType
    default: Any = MISSING
    aliases: tuple[str, ...] = ()
    order: str = "ascending"
    props: Mapping[str, Any] = field(default_factory=dict)
    doc: object = None


@dataclass(slots=True, eq=False, repr=False)
class Record:
    name: str
    fields: tuple[Field, ...] = ()
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "record"
    doc: object = None

    def __repr__(self) -> str:
        # Without field types: nested records would double the text with each level.
        return f"Record(name={self.name!r}, fields={[part.name for part in self.fields]!r})"


Named: TypeAlias = Record | Enum | Fixed
AvroType: TypeAlias = Primitive | Array | Map | Union | Record | Enum | Fixed


def last_name(named: Named) -> str:
    """The name without its namespace."""
    return named.name.rpartition(".")[2]


def name_of(node: AvroType) -> str:
    """The full name of a named type, and the kind of any other, as the branches of a union are told apart."""
    return node.name if isinstance(node, Named) else node.kind


def children(node: AvroType) -> tuple[AvroType, ...]:
    """The types directly inside this one."""
    match node:
        case Record():
            return tuple(part.type for part in node.fields)
        case Array():
            return (node.items,)
        case Map():
            return (node.values,)
    return node.branches if isinstance(node, Union) else ()


def all_types(root: AvroType) -> Iterator[AvroType]:
    """The type, and all types inside it, each once."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += children(node)


class TreeCopy:
    """Copies a tree; subclasses change it. A record is copied once, since it may contain itself."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}

    def of(self, node: AvroType) -> AvroType:
        match node:
            case Array():
                return replace(node, items=self.inner(node.items))
            case Map():
                return replace(node, values=self.inner(node.values))
            case Union():
                return self.union(node)
            case Record():
                if id(node) not in self._records:
                    made = self._records[id(node)] = replace(node, fields=())
                    made.fields = tuple(map(self.field, node.fields))
                return self._records[id(node)]
        return node

    def inner(self, node: AvroType) -> AvroType:
        """The type of a field, an item or a value."""
        return self.of(node)

    def union(self, node: Union) -> AvroType:
        return Union(tuple(map(self.of, node.branches)))

    def field(self, part: Field) -> Field:
        return replace(part, type=self.inner(part.type))


def qualified(name: str, namespace: str) -> str:
    """The full name of ``name`` inside ``namespace``; one with a dot is a full name, and ``.Name`` has no namespace."""
    own, dot, last = name.rpartition(".")
    space = own if dot else namespace
    return f"{space}.{last}" if space else last


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


def canonical(root: AvroType) -> str:
    """Return Parsing Canonical Form (Avro specification, "Transforming into Parsing Canonical Form")."""
    return json.dumps(_canonical(root, set()), separators=(",", ":"), ensure_ascii=False)


def _canonical(node: AvroType, seen: set[str]) -> Any:
    match node:
        case Union():
            return [_canonical(branch, seen) for branch in node.branches]
        case Array():
            return {"type": "array", "items": _canonical(node.items, seen)}
        case Map():
            return {"type": "map", "values": _canonical(node.values, seen)}
        case Primitive():
            return node.kind
    if node.name in seen:
        return node.name
    seen.add(node.name)
    form: dict[str, Any] = {"name": node.name, "type": node.kind}
    if isinstance(node, Record):
        form["fields"] = [{"name": part.name, "type": _canonical(part.type, seen)} for part in node.fields]
    elif isinstance(node, Enum):
        form["symbols"] = node.symbols
    else:
        form["size"] = node.size
    return form
