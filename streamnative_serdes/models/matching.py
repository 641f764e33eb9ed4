"""Matches classes to a schema: finds the class for each record and enum, and the attribute for each field."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streamnative_serdes._schema import (
    Array,
    AvroType,
    Enum,
    EnumShape,
    Fixed,
    Map,
    Primitive,
    Record,
    RecordShape,
    Schema,
    Shape,
    Union,
    last_name,
    qualified,
    shapes,
)
from streamnative_serdes.errors import SchemaError

from . import building
from .kinds import is_model, model_of
from .model import Attribute, Build, Model, words_of
from .type_hints import NoneType, TypeHint, members, peel

_READ_AS: dict[str, type] = {
    "null": NoneType, "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes,
    "string": str, "fixed": bytes,
    "date": datetime.date, "time-millis": datetime.time, "time-micros": datetime.time,
    "timestamp-millis": datetime.datetime, "timestamp-micros": datetime.datetime,
    "local-timestamp-millis": datetime.datetime, "local-timestamp-micros": datetime.datetime,
    "decimal": decimal.Decimal, "big-decimal": decimal.Decimal, "uuid": uuid.UUID, "duration": tuple,
}  # fmt: skip


class _Held(enum.IntEnum):
    """How an object holds a decoded value."""

    CONVERTED = 0  # the class may convert it
    STORED = 1
    VALID = 2  # stored, although the class would validate it: it has to be of exactly the right type


def shapes_to_read(cls: type, schema: Schema, *, validate: bool = False) -> dict[str, Shape]:
    """Return the shapes to read ``schema`` as objects of ``cls`` and of the classes in its fields.

    Args:
        cls: the class of records, or of those in a union.
        schema: the reader's schema.
        validate: let pydantic validate values whose types prove that they are valid, too.

    Raises:
        SchemaError: data of the schema cannot be read as objects of ``cls``; ``path`` names the attribute.
    """
    if not validate:
        with contextlib.suppress(SchemaError):  # of values that pydantic has to convert; or of all, and then again
            return _Matcher(reading=True, unvalidated=True).matched(cls, schema)
    return _Matcher(reading=True).matched(cls, schema)


@functools.lru_cache(maxsize=256)  # the same schema must give the same shapes, since codecs are cached by them
def shapes_to_write(cls: type, schema: Schema) -> dict[str, Shape]:
    """Return the shapes to write objects of ``cls`` with ``schema``.

    Classes without a matching record are left to the codec, and so are classes whose hints cannot be resolved: a
    dataclass is then written by its attributes' names.
    """
    return _Matcher(reading=False).matched(cls, schema)


@functools.lru_cache(maxsize=1024)
def attributes_by_field(cls: type, fields: shapes.FieldNames) -> dict[str, str] | None:
    """Return the attribute for each field of a record, and for each other attribute's own name.

    None: the codec finds the values itself, since the attributes have the names of the fields, or the class is one of
    mappings or sequences; or no schema can be derived from ``cls``.
    """
    known = dataclasses.is_dataclass(cls) or issubclass(cls, tuple)
    try:
        model = model_of(cls)
    except SchemaError:
        return None
    if not known and issubclass(cls, Mapping | Sequence):
        return None
    taken = _taken(model, list(fields))
    names = {one.field: one.name for one in model.attributes if one not in taken.values()}
    names |= {field: one.name for field, one in taken.items()}
    if known:  # the codec also finds properties
        own = {one.name for one in model.attributes}
        names |= {field: field for field in fields if field not in names and field not in own}
    return None if known and all(field == name for field, name in names.items()) else names


shapes.attributes_by_field = attributes_by_field


class _Matcher:
    """One parallel pass over a class and a schema; ``found`` are the shapes by full name."""

    def __init__(self, *, reading: bool, unvalidated: bool = False) -> None:
        self.reading, self.unvalidated = reading, unvalidated
        self.found: dict[str, Shape] = {}

    def matched(self, cls: type, schema: Schema) -> dict[str, Shape]:
        hint = TypeHint(cls)
        if self.reading and not isinstance(schema.root, Record | Union):
            raise SchemaError(f"{cls.__name__} needs a record, but the schema is of type {schema.root.kind}")
        self.match([hint], schema.root, cls.__name__, _Held.STORED)
        return self.found

    def match(self, hints: list[TypeHint], node: AvroType, path: str, held: _Held) -> None:
        """Match the members of a union, ``hints``, to ``node``."""
        branches = [
            branch for branch in (node.branches if isinstance(node, Union) else (node,)) if branch.kind != "null"
        ]
        if any(hint.bare in (Any, object) for hint in hints):
            return
        if held < _Held.VALID and any(hint.avro_type is not None for hint in hints):
            return
        for branch in branches:
            if isinstance(branch, Record):
                self._record(hints, branch, path, alone=_alone(branches, Record))
            elif isinstance(branch, Enum):
                self._enum(hints, branch, path, held, alone=_alone(branches, Enum))
            elif isinstance(branch, Array | Map):
                self._container(hints, branch, path, held)
            elif held and not isinstance(branch, Union):
                self._leaf(hints, branch, path, held)

    # Named types

    def _record(self, hints: list[TypeHint], node: Record, path: str, *, alone: bool) -> None:
        classes = [hint.bare for hint in hints if is_model(hint.bare)]
        if not classes:
            if not any(hint.value is not None or hint.bare is dict for hint in hints):
                self._refuse(f"expected {_shown(hints)}, but the schema has record {node.name}", path)
            return
        cls = _chosen(classes, node, alone=alone)
        if cls is None:
            self._refuse(f"record {node.name} does not match {_shown(hints)}", path)
        elif node.name not in self.found:
            self._class(cls, node, path)
        elif self.found[node.name].cls is not cls:
            self._refuse(f"record {node.name} is already matched to {self.found[node.name].cls.__name__}", path)

    def _class(self, cls: type, node: Record, path: str) -> None:
        try:
            model = model_of(cls)
        except SchemaError:
            if self.reading:
                raise
        else:
            self._attributes(model, node, path)

    def _attributes(self, model: Model, node: Record, path: str) -> None:
        taken = _taken(model, [field.name for field in node.fields])
        build = self._build(model, taken)
        if self.reading:
            self._expect_all(model, node, taken, path)
            if build == "call":
                self._expect_call(model.cls, taken, path)
        called = self.reading and build == "call"
        names = {field: (one.keyword or one.name) if called else one.name for field, one in taken.items()}
        if build == "model":
            order = [one.name for one in model.attributes]
            names = dict(sorted(names.items(), key=lambda item: order.index(item[1])))
        missing = () if called else (one for one in model.attributes if one not in taken.values())
        defaults = {one.name: one.maker() for one in missing}
        required = frozenset(one.name for one in taken.values() if not _accepts_none(members(peel(one.hint))))
        self.found[node.name] = RecordShape(model.cls, names, build, defaults, required)
        stored = _Held.VALID if build == "model" else _Held.STORED
        held = stored if self.reading and build != "call" else _Held.CONVERTED
        for field in node.fields:
            if field.name in taken:
                hints = list(members(peel(taken[field.name].hint)))
                self.match(hints, field.type, f"{path}.{taken[field.name].name}", held)

    def _build(self, model: Model, taken: Mapping[str, Attribute]) -> Build:
        """How objects are created: a model is called if it has to validate, to find defaults or to look for aliases.

        It is written from its ``__dict__`` in any case.
        """
        if not self.reading and building.keeps_dict(model.cls, [one.name for one in taken.values()]):
            return "model"
        if model.build != "model":
            return model.build
        whole = len(taken) == len(model.attributes) and all(one.keyword == one.name for one in taken.values())
        return "model" if self.unvalidated and whole else "call"

    def _expect_all(self, model: Model, node: Record, taken: Mapping[str, Attribute], path: str) -> None:
        """Check that every field has an attribute, and every attribute without a default has a field."""
        for field in node.fields:
            if field.name not in taken:
                self._refuse(f"{model.cls.__name__} has no attribute for the schema's field {field.name}", path)
        for one in model.attributes:
            if one not in taken.values() and not one.is_optional:
                self._refuse("the attribute has no default, and the schema has no such field", f"{path}.{one.name}")

    def _expect_call(self, cls: type, taken: Mapping[str, Attribute], path: str) -> None:
        """Check that the constructor accepts these attributes and requires no others."""
        for one in taken.values():
            if one.keyword is None:
                self._refuse(
                    f"the constructor of {cls.__name__} has no keyword for this attribute, or several keywords",
                    f"{path}.{one.name}",
                )
        if hasattr(cls, "__pydantic_validator__"):  # its signature has only aliases
            return
        try:
            signature = inspect.signature(cls)
        except ValueError:  # no signature available
            return
        try:
            signature.bind(**{one.keyword: None for one in taken.values() if one.keyword is not None})
        except TypeError as error:
            self._refuse(f"the constructor of {cls.__name__} does not accept the schema's fields: {error}", path)

    def _enum(self, hints: list[TypeHint], node: Enum, path: str, held: _Held, *, alone: bool) -> None:
        cls = _chosen([hint.bare for hint in hints if hint.is_enum], node, alone=alone)
        if cls is None:
            if held:
                self._leaf(hints, Primitive("string"), path, held)
            return
        members_of = {one.value: one for one in cls if isinstance(one.value, str)} | dict(cls.__members__)
        lacking = [symbol for symbol in node.symbols if symbol not in members_of]
        if lacking:
            self._refuse(f"{cls.__name__} has no member {', '.join(lacking[:5])}", path)
        by_symbol = {symbol: members_of[symbol] for symbol in node.symbols if symbol in members_of}
        known = self.found.setdefault(node.name, EnumShape(cls, by_symbol))
        if known.cls is not cls:
            self._refuse(f"enum {node.name} is already matched to {known.cls.__name__}", path)

    # Other types

    def _container(self, hints: list[TypeHint], node: Array | Map, path: str, held: _Held) -> None:
        is_array = isinstance(node, Array)
        like = [hint for hint in hints if (hint.item if is_array else hint.value) is not None]
        if not like:
            if held and not any(hint.bare is (list if is_array else dict) for hint in hints):
                self._refuse(f"expected {_shown(hints)}, the schema has {_an(node.kind)}", path)
            return
        if held and all(hint.is_tuple for hint in like):
            self._refuse(
                f"expected {_shown(hints)}, but the schema's array is read as a list",
                path,
                "use list[T], or a class that converts it, as pydantic's models do",
            )
        inner = list(members(peel(like[0].item if isinstance(node, Array) else like[0].value)))
        items = node.items if isinstance(node, Array) else node.values
        if held is _Held.VALID and _allows_null(items) and not _accepts_none(inner):
            self._refuse(f"expected {_shown(inner)}, but the schema allows null", path)
        self.match(inner, items, path, held)

    def _leaf(self, hints: list[TypeHint], node: Primitive | Fixed, path: str, held: _Held) -> None:
        found = _python(node)
        if not any(hint.bare is found if held is _Held.VALID else _takes(hint, found) for hint in hints):
            self._refuse(f"expected {_shown(hints)}, but the schema's {node.kind} is read as {found.__name__}", path)

    def _refuse(self, message: str, path: str, hint: str | None = None) -> None:
        if self.reading:
            raise SchemaError(message, path=path, hint=hint)


def _taken(model: Model, names: list[str]) -> dict[str, Attribute]:
    """Return the attributes by field: the attribute with the field's name, or else an attribute with this alias.

    An attribute belongs to one field: its aliases count only if the record has no field of the attribute's own name.
    """
    taken = {one.field: one for one in model.attributes if one.field in names}
    for one in reversed(model.attributes):  # of two with one alias the last wins, as in schema resolution
        if one.field not in taken:
            found = next((alias for alias in one.words.aliases if alias in names and alias not in taken), None)
            if found is not None:
                taken[found] = one
    return {name: taken[name] for name in names if name in taken}


def _allows_null(node: AvroType) -> bool:
    return isinstance(node, Union) and any(branch.kind == "null" for branch in node.branches)


def _accepts_none(hints: Iterable[TypeHint]) -> bool:
    return any(hint.bare in (NoneType, Any, object) for hint in hints)


def _alone(branches: list[AvroType], kind: type) -> bool:
    return sum(isinstance(branch, kind) for branch in branches) == 1


def _chosen(classes: list[Any], node: Record | Enum, *, alone: bool) -> Any:
    """Return the class with the type's name; or the only class, if there is one class and one such type."""
    names = [(words_of(cls).name or cls.__name__, words_of(cls).namespace, cls) for cls in classes]
    for name, namespace, cls in names:
        if namespace is not None and node.name == qualified(name, namespace):
            return cls
    for name, _, cls in names:
        if name == last_name(node):
            return cls
    return classes[0] if alone and len(classes) == 1 else None


def _python(node: Primitive | Fixed) -> type:
    """Return the Python type that the codec reads for ``node``."""
    logical = node.logical.name if node.logical is not None else ""
    return _READ_AS.get(logical, _READ_AS[node.kind])


def _takes(hint: TypeHint, found: type) -> bool:
    if hint.is_literal:
        return found is str
    return isinstance(hint.bare, type) and (issubclass(found, hint.bare) or (hint.bare is float and found is int))


def _shown(hints: list[TypeHint]) -> str:
    return " | ".join(getattr(hint.bare, "__name__", None) or str(hint.bare) for hint in hints)[:120]


def _an(kind: str) -> str:
    return f"an {kind}" if kind == "array" else f"a {kind}"
