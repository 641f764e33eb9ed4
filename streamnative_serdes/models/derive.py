"""Derives the Avro schema of a class: like Pulsar's Java client, or following the Python declarations."""

from __future__ import annotations

import datetime
import json
import typing
import uuid
from collections.abc import Iterable
from enum import Enum
from typing import Any

from streamnative_serdes._schema import MISSING, PRIMITIVES, qualified
from streamnative_serdes.errors import SchemaError

from .defaults import Defaults, constant, suits
from .kinds import is_model, model_of
from .model import Attribute, Model, words_of
from .type_hints import AvroClass, AvroField, NoneType, TypeHint, members, peel

_LEAVES: dict[Any, Any] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    datetime.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    datetime.date: {"type": "int", "logicalType": "date"},
    datetime.time: {"type": "long", "logicalType": "time-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
}
_HINTS = {
    datetime.timedelta: "Avro's duration counts months and days, which a timedelta lacks; use an int of microseconds",
    set: "Avro has no sets: use list[T]",
    frozenset: "Avro has no sets: use list[T]",
}


def schema_of(cls: type, *, allow_null: bool) -> dict[str, Any]:
    """Return the Avro schema of a class, as a dict; docs/typed.md has the tables.

    Args:
        cls: a dataclass, a pydantic model, a typed NamedTuple, an attrs class, or a ``pulsar.schema.Record``, whose
            schema is the one that pulsar-client registers, whatever ``allow_null`` says.
        allow_null: derive the schema that Pulsar's Java client derives from a similar class with ``alwaysAllowNull``:
            fields sorted by name, each ``["null", T]`` with default null. Otherwise fields keep their order, only
            those that may be None are nullable, and the class's defaults become the schema's.

    Raises:
        SchemaError: a field's type has no Avro type; ``path`` names the field.
    """
    return _derived(model_of(cls), allow_null, reading=False)


def reading_schema_of(cls: type, *, allow_null: bool) -> dict[str, Any]:
    """Return the reader's schema of a class: as :func:`schema_of`, but the class's defaults fill in missing fields.

    A field whose default is not constant has no default in the schema, so a writer must have it. Fields that the
    constructor does not accept are left out.

    Raises:
        SchemaError: as :func:`schema_of`.
    """
    return _derived(model_of(cls), allow_null, reading=True)


def _derived(model: Model, allow_null: bool, reading: bool) -> dict[str, Any]:
    if model.schema is not None:
        own: dict[str, Any] = model.schema()
        return _with_null_defaults(own) if reading else own
    deriver = _Deriver(model.words.namespace or "", allow_null, reading)
    derived: dict[str, Any] = deriver.record(model, "", model.cls.__name__)
    return derived


def _with_null_defaults(schema: Any) -> Any:
    """Return a pulsar-client Record's schema with null defaults for optional fields, so that a writer may lack them."""
    if isinstance(schema, list):
        return [_with_null_defaults(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _with_null_defaults(schema[key]) for key in ("type", "items", "values") if key in schema}
    fields = {"fields": [_with_null_defaults(field) for field in schema["fields"]]} if "fields" in schema else {}
    optional = "name" in schema and isinstance(schema["type"], list) and schema["type"][0] == "null"
    return ({"default": None} if optional else {}) | schema | inner | fields


class _Deriver:
    """One pass over a class and the classes in its fields; a named type is defined where it first occurs."""

    def __init__(self, namespace: str, allow_null: bool, reading: bool) -> None:
        self.namespace = namespace  # for classes that declare none
        self.allow_null = allow_null
        self.reading = reading
        self.named: dict[str, object] = {}  # full name -> the class, or the text of its Avro type
        self.defaults = Defaults(reading=reading)

    # Named types

    def record(self, model: Model, around: str, path: str) -> Any:
        """Return a record's definition, or its name if it was defined before. ``around``: the enclosing namespace."""
        if model.schema is not None:
            raise SchemaError(
                f"{model.cls.__name__} is a pulsar.schema.Record, which only another pulsar.schema.Record can contain",
                path=path,
            )
        reference, head, space = self._head("record", model.cls, model.words, around, path)
        if reference is not None:
            return reference
        schema = {**head, "fields": []}
        taken = [one for one in self._attributes(model) if one.keyword or not self.reading or model.build != "call"]
        self.defaults.define(model.cls, qualified(head["name"], space), schema, {one.field: one.name for one in taken})
        for attribute in taken:
            schema["fields"].append(self._field(attribute, space, f"{path}.{attribute.name}"))
        return _with_aliases(schema, model.words.aliases)

    def _attributes(self, model: Model) -> Iterable[Attribute]:
        return model.by_name() if self.allow_null else model.attributes

    def enum(self, cls: type[Enum], around: str, path: str) -> Any:
        words = words_of(cls)
        reference, head, space = self._head("enum", cls, words, around, path)
        if reference is not None:
            return reference
        schema = {**head, "symbols": [member.name for member in cls]}
        self.defaults.define(cls, qualified(head["name"], space), schema, {})
        return _with_aliases(schema, words.aliases)

    def _head(
        self, kind: str, cls: type, words: AvroClass, around: str, path: str
    ) -> tuple[str | None, dict[str, Any], str]:
        """Return (the name of a type already defined, or the start of its definition; its namespace)."""
        name = words.name or cls.__name__
        space = self.namespace if words.namespace is None else words.namespace
        full = qualified(name, space)
        known = full in self.named
        if self.named.setdefault(full, cls) is not cls:
            raise SchemaError(
                f"two classes are named {full}", path=path, hint="set another name with AvroClass(name=...)"
            )
        if known:
            return _reference(full, around, path), {}, space
        head = {"type": kind, "name": name}
        if space != around:
            head["namespace"] = space
        if words.doc is not None:
            head["doc"] = words.doc
        return None, head, space

    # Fields

    def _field(self, attribute: Attribute, around: str, path: str) -> dict[str, Any]:
        words = attribute.words
        hints = list(members(peel(attribute.hint)))
        default = self._default(attribute)
        others = [hint for hint in hints if hint.bare is not NoneType]
        if words.nullable is None:
            nullable = self.allow_null or len(others) < len(hints) or default is None
        else:
            nullable = words.nullable
        if default is not None and default is not MISSING:
            others.sort(key=lambda hint: suits(default, hint))  # Avro requires the default's branch to come first
        types = [self._type(hint, around, path) for hint in others]
        field: dict[str, Any] = {"name": attribute.field, "type": _union(types, nullable, default, around, path)}
        if words.doc is not None:
            field["doc"] = words.doc
        if default is not MISSING:
            field["default"] = self.defaults.json(default, types[0] if types else "null", around, path)
        elif nullable and not (self.reading and attribute.is_optional):
            field["default"] = None
        return _with_aliases(field, words.aliases)

    def _default(self, attribute: Attribute) -> Any:
        """Return the class's default for the schema, or MISSING."""
        if not attribute.is_optional or (self.allow_null and not self.reading):
            return MISSING
        return constant(attribute)

    # Types

    def _type(self, hint: TypeHint, around: str, path: str) -> Any:
        if hint.avro_type is not None:
            return self._given(hint.avro_type.text, around, path)
        if hint.item is not None:
            return self._array(self._item(hint.item, around, path))
        if hint.value is not None:
            return {"type": "map", "values": self._item(hint.value, around, path)}
        if hint.is_literal:
            return "string"
        if hint.is_enum:
            return self.enum(hint.bare, around, path)
        if is_model(hint.bare):
            return self.record(model_of(hint.bare), around, path)
        digits = hint.digits()
        if digits is not None:
            return {
                "type": "bytes", "logicalType": "decimal", "precision": digits.precision, "scale": digits.scale,
            }  # fmt: skip
        return self._leaf(hint.bare, path)

    def _item(self, hint: Any, around: str, path: str) -> Any:
        hints = list(members(peel(hint)))
        if any(one.note(AvroField) for one in hints):
            raise SchemaError("AvroField applies to a field, not to the items inside it", path=path)
        types = [self._type(one, around, path) for one in hints if one.bare is not NoneType]
        return _union(types, len(types) < len(hints), MISSING, around, path)

    def _array(self, items: Any) -> Any:
        # A custom property that Java's client writes. Pulsar's registry compares it, so it must be the same.
        mark = {"java-class": "java.util.List"} if self.allow_null else {}
        return {"type": "array", "items": items, **mark}

    def _leaf(self, bare: Any, path: str) -> Any:
        if bare is bytes and self.allow_null:
            return {"type": "bytes", "java-class": "[B"}
        try:
            return _LEAVES[bare]
        except (KeyError, TypeError):  # not a known class, or not hashable
            raise SchemaError(f"no Avro type is known for {bare!r:.120}", path=path, hint=_hint(bare)) from None

    def _given(self, text: str, around: str, path: str) -> Any:
        """Return the Avro type that a hint declares; a named type is defined once."""
        schema = json.loads(text)
        if not isinstance(schema, dict) or "name" not in schema:
            return schema
        full = qualified(schema["name"], schema.get("namespace", ""))
        known = full in self.named
        if self.named.setdefault(full, text) != text:
            raise SchemaError(f"two types are named {full}", path=path)
        if known:
            return _reference(full, around, path)
        return schema if "." in schema["name"] or not around else {"namespace": "", **schema}


def _union(types: list[Any], nullable: bool, default: Any, around: str, path: str) -> Any:
    if not types:
        return "null"
    types = [one for at, one in enumerate(types) if one not in types[:at]]  # a Literal and str, say
    labels = [_label(one, around) for one in types]
    twice = next((label for at, label in enumerate(labels) if label in labels[:at]), None)
    if twice is not None:
        raise SchemaError(
            f"a union may hold {twice} only once", path=path, hint="two of the hint's types have the same type in Avro"
        )
    if not nullable:
        return types[0] if len(types) == 1 else types
    return ["null", *types] if default is None or default is MISSING else [types[0], "null", *types[1:]]


def _label(one: Any, around: str) -> str:
    """The name of a branch in its union: the full name, or the base type of a type without a name."""
    if isinstance(one, dict):
        return qualified(one["name"], one.get("namespace", around)) if "name" in one else str(one["type"])
    return "union" if isinstance(one, list) else one if one in PRIMITIVES else qualified(one, around)


def _reference(full: str, around: str, path: str) -> str:
    """Return the name by which to refer to a defined type inside the namespace ``around``."""
    space, _, name = full.rpartition(".")
    if around and not space:
        raise SchemaError(f"{name} has no namespace, so a type in namespace {around} cannot refer to it", path=path)
    return name if space == around else full


def _with_aliases(schema: dict[str, Any], aliases: tuple[str, ...]) -> dict[str, Any]:
    return {**schema, "aliases": list(aliases)} if aliases else schema


def _hint(bare: Any) -> str:
    if getattr(bare, "__name__", "") == "Decimal":
        return "declare its digits: Annotated[Decimal, DecimalMeta(precision=10, scale=2)]"
    if typing.get_args(bare) and is_model(typing.get_origin(bare)):
        return "a generic class has no schema; use a subclass that declares the types of its fields"
    origin = typing.get_origin(bare) or bare
    return next((text for kind, text in _HINTS.items() if origin is kind), "pass the serializer a schema instead")
