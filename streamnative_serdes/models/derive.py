"""A class becomes an Avro schema: in the shape of Pulsar's Java client, or in Python's own."""

from __future__ import annotations

import datetime
import json
import typing
import uuid
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ..errors import SchemaError
from ..schema import MISSING
from .annotations import AvroClass, AvroField
from .defaults import Defaults, constant, suits
from .hints import Hint, NoneType, members, peel
from .kinds import is_model, model_of
from .model import Attribute, Model, words_of

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
    datetime.timedelta: "Avro's duration counts months and days, which no timedelta has; use an int of microseconds",
    set: "Avro has no sets: use list[T]",
    frozenset: "Avro has no sets: use list[T]",
}


def schema_of(cls: type, *, allow_null: bool) -> dict[str, Any]:
    """The Avro schema of a class, as a dict; docs/typed.md has the tables.

    Args:
        cls: a dataclass, a pydantic model, a typed NamedTuple, an attrs class, or a ``pulsar.schema.Record``, whose
            schema is the one that pulsar-client registers, whatever ``allow_null`` says.
        allow_null: the schema that Pulsar's Java client derives from the like class with ``alwaysAllowNull``: fields by
            name, each ``["null", T]`` with default null. Else fields in their order, only those that may be None are
            nullable, and defaults of the class are defaults of the schema.

    Raises:
        SchemaError: a field's type has no Avro type here; ``path`` names it.
    """
    return _derived(model_of(cls), allow_null, reading=False)


def reading_schema_of(cls: type, *, allow_null: bool) -> dict[str, Any]:
    """The schema to read a class as: that of :func:`schema_of`, but defaults of the class fill in what a writer lacks.

    A field whose default is no constant has none here: a writer must have it. Neither is a field that the constructor
    does not take.

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
    """A Record's schema, whose optional fields have no default: a reader takes null for those that a writer lacks."""
    if isinstance(schema, list):
        return [_with_null_defaults(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _with_null_defaults(schema[key]) for key in ("type", "items", "values") if key in schema}
    fields = {"fields": [_with_null_defaults(field) for field in schema["fields"]]} if "fields" in schema else {}
    optional = "name" in schema and isinstance(schema["type"], list) and schema["type"][0] == "null"
    return ({"default": None} if optional else {}) | schema | inner | fields


class _Deriver:
    """One walk over a class and the classes in its fields; a named type is written out where it is met first."""

    def __init__(self, namespace: str, allow_null: bool, reading: bool) -> None:
        self.namespace = namespace  # of classes that name none
        self.allow_null = allow_null
        self.reading = reading
        self.named: dict[str, object] = {}  # full name -> the class, or the text of its Avro type
        self.defaults = Defaults()

    # Named types

    def record(self, model: Model, around: str, path: str) -> Any:
        """A record's definition, or its name where it was defined before. ``around`` is the enclosing namespace."""
        if model.schema is not None:
            raise SchemaError(
                f"{model.cls.__name__} is a Record of pulsar-client, whose fields are Records too", path=path
            )
        reference, head, space = self._head("record", model.cls, model.words, around, path)
        if reference is not None:
            return reference
        schema = {**head, "fields": []}
        taken = [one for one in self._attributes(model) if one.keyword or not self.reading or model.build != "call"]
        self.defaults.define(model.cls, schema, {one.field: one.name for one in taken})
        for attribute in taken:
            schema["fields"].append(self._field(attribute, space, f"{path}.{attribute.name}"))
        return _with_aliases(schema, model.words.aliases)

    def _attributes(self, model: Model) -> Iterable[Attribute]:
        return model.by_name() if self.allow_null else model.attributes

    def enum(self, cls: type[Enum], around: str, path: str) -> Any:
        words = words_of(cls)
        reference, head, _ = self._head("enum", cls, words, around, path)
        if reference is not None:
            return reference
        schema = {**head, "symbols": [member.name for member in cls]}
        self.defaults.define(cls, schema, {})
        return _with_aliases(schema, words.aliases)

    def _head(
        self, kind: str, cls: type, words: AvroClass, around: str, path: str
    ) -> tuple[str | None, dict[str, Any], str]:
        """The reference to a type that is defined already, else how its definition begins; and its namespace."""
        name = words.name or cls.__name__
        space = self.namespace if words.namespace is None else words.namespace
        full = _full(name, space)
        known = full in self.named
        if self.named.setdefault(full, cls) is not cls:
            raise SchemaError(f"two classes are named {full}", path=path, hint="AvroClass(name=...) gives another name")
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
            others.sort(key=lambda hint: suits(default, hint))  # Avro wants the default's branch first
        types = [self._type(hint, around, path) for hint in others]
        field: dict[str, Any] = {"name": attribute.field, "type": _union(types, nullable, default)}
        if words.doc is not None:
            field["doc"] = words.doc
        if default is not MISSING:
            field |= self._json_default(default, types, path)
        elif nullable and not (self.reading and attribute.is_optional):
            field["default"] = None
        return _with_aliases(field, words.aliases)

    def _json_default(self, default: Any, types: list[Any], path: str) -> dict[str, Any]:
        try:
            return {"default": self.defaults.json(default, types[0] if types else "null", path)}
        except SchemaError:
            if self.reading:  # where it is needed, that will be said
                return {}
            raise

    def _default(self, attribute: Attribute) -> Any:
        """The default of the class as the schema shall have it, or MISSING."""
        if not attribute.is_optional or (self.allow_null and not self.reading):
            return MISSING
        return constant(attribute)

    # Types

    def _type(self, hint: Hint, around: str, path: str) -> Any:
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
            raise SchemaError("AvroField says something of a field, and this is an item of one", path=path)
        types = [self._type(one, around, path) for one in hints if one.bare is not NoneType]
        return _union(types, len(types) < len(hints), MISSING)

    def _array(self, items: Any) -> Any:
        # A custom property, which Java's client writes, and by which Pulsar's registry tells schemas apart.
        mark = {"java-class": "java.util.List"} if self.allow_null else {}
        return {"type": "array", "items": items, **mark}

    def _leaf(self, bare: Any, path: str) -> Any:
        if bare is bytes and self.allow_null:
            return {"type": "bytes", "java-class": "[B"}
        try:
            return _LEAVES[bare]
        except (KeyError, TypeError):  # no class, and perhaps nothing to look up by
            raise SchemaError(f"no Avro type is known for {bare!r:.120}", path=path, hint=_hint(bare)) from None

    def _given(self, text: str, around: str, path: str) -> Any:
        """An Avro type that a hint names; one that has a name is written out once."""
        schema = json.loads(text)
        if not isinstance(schema, dict) or "name" not in schema:
            return schema
        full = schema["name"] if "." in schema["name"] else _full(schema["name"], schema.get("namespace", ""))
        known = full in self.named
        if self.named.setdefault(full, text) != text:
            raise SchemaError(f"two types are named {full}", path=path)
        if known:
            return _reference(full, around, path)
        return schema if "." in schema["name"] or not around else {"namespace": "", **schema}


def _union(types: list[Any], nullable: bool, default: Any) -> Any:
    if not types:
        return "null"
    types = [one for at, one in enumerate(types) if one not in types[:at]]  # of a Literal and str, say
    if not nullable:
        return types[0] if len(types) == 1 else types
    return ["null", *types] if default is None or default is MISSING else [types[0], "null", *types[1:]]


def _full(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace else name


def _reference(full: str, around: str, path: str) -> str:
    """How a type that is defined already is named inside of the namespace ``around``."""
    space, _, name = full.rpartition(".")
    if around and not space:
        raise SchemaError(f"{name} has no namespace, so a type of {around} cannot name it again", path=path)
    return name if space == around else full


def _with_aliases(schema: dict[str, Any], aliases: tuple[str, ...]) -> dict[str, Any]:
    return {**schema, "aliases": list(aliases)} if aliases else schema


def _hint(bare: Any) -> str:
    if getattr(bare, "__name__", "") == "Decimal":
        return "say its digits: Annotated[Decimal, DecimalMeta(precision=10, scale=2)]"
    if typing.get_args(bare) and is_model(typing.get_origin(bare)):
        return "a generic class has no schema; use a subclass of it that says the types of its fields anew"
    origin = typing.get_origin(bare) or bare
    return next((text for kind, text in _HINTS.items() if origin is kind), "give the serializer a schema instead")
