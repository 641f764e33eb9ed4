"""Classes for the records and enums of any schema, and conversion of their objects to plain values."""

from __future__ import annotations

import dataclasses
import enum
from collections import namedtuple
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

from streamnative_serdes._schema import AvroType, EnumShape, RecordShape, Shape

BUILDS = ("slots", "dict", "tuple", "call")


class Called(SimpleNamespace):
    """A class whose objects can only be created by its ``__init__``."""


def shapes_of(root: AvroType, rng: Random, builds: tuple[str, ...] = BUILDS) -> dict[str, Shape]:
    """Return a shape for each record and enum, with a new class; attributes and fields have different names."""
    return {t.name: _enum(t) if t.kind == "enum" else _record(t, rng.choice(builds)) for t in _named(root, set())}


def _named(schema: Any, seen: set[int]) -> Iterator[Any]:
    if id(schema) in seen:
        return
    seen.add(id(schema))
    if schema.kind in ("record", "enum"):
        yield schema
    parts = {
        "record": lambda: [field.type for field in schema.fields],
        "union": lambda: schema.branches,
        "array": lambda: [schema.items],
        "map": lambda: [schema.values],
    }
    for part in parts.get(schema.kind, list)():
        yield from _named(part, seen)


def _record(schema: Any, build: Any) -> RecordShape:
    attributes = {field.name: f"a{i}" for i, field in enumerate(schema.fields)}
    return RecordShape(_class(list(attributes.values()), build), attributes, build, {})


def _class(names: list[str], build: str) -> type:
    if build == "tuple":
        return namedtuple("Tuple", list(reversed(names)))  # type: ignore[misc]  # its names are not known before
    if build == "call":
        return type("Called", (Called,), {})
    return dataclasses.make_dataclass("Made", [(name, Any) for name in names], slots=build == "slots", eq=False)


def _enum(schema: Any) -> EnumShape:
    members = enum.Enum("Made", [(f"M{i}", object()) for i in range(len(schema.symbols))])  # type: ignore[misc]
    return EnumShape(members, dict(zip(schema.symbols, members, strict=True)))


def plain(value: Any, shapes: dict[str, Shape]) -> Any:
    """Return ``value`` with dicts and text in place of objects."""
    by_class = {shape.cls: shape for shape in shapes.values()}

    def undone(value: Any) -> Any:
        shape = by_class.get(type(value))
        if isinstance(shape, EnumShape):
            return next(symbol for symbol, member in shape.members.items() if member is value)
        if isinstance(shape, RecordShape):
            return {name: undone(getattr(value, attribute)) for name, attribute in shape.attributes.items()}
        if isinstance(value, dict):
            return {key: undone(item) for key, item in value.items()}
        return [undone(item) for item in value] if isinstance(value, list) else value

    return undone(value)
