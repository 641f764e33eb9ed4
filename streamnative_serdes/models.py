"""Classes as schemas: the Avro schema of a dataclass.

=================  ================================================
Python             Avro
=================  ================================================
bool               boolean
int                long
float              double
str                string
bytes              bytes
datetime           long, timestamp-micros
date               int, date
time               long, time-micros
UUID               string, uuid
list[T]            array of T
dict[str, T]       map of T
Enum               enum of its members' names
a dataclass        record; its own fields, in their order
T | None           union of null and T, default null
=================  ================================================
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import types
import typing
import uuid
from typing import Any

from .errors import SchemaError

_LEAVES: dict[type, Any] = {
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


def schema_of(cls: type, *, allow_null: bool) -> dict[str, Any]:
    """The Avro schema of a dataclass, as a dict.

    Args:
        cls: the dataclass; its name is the record's, its module does not count.
        allow_null: make every field, at every level, ``["null", T]`` with default null, as Pulsar's Java client does
            with ``alwaysAllowNull``. Else only ``T | None`` is a union, and defaults of the class are not taken over.

    Raises:
        SchemaError: a field's type has no Avro type here; ``path`` names it.
    """
    if not is_model(cls):
        raise SchemaError(f"expected a dataclass to derive a schema from, got {cls!r:.80}")
    schema: dict[str, Any] = _Deriver(allow_null).record(cls, cls.__name__)
    return schema


def is_model(cls: object) -> bool:
    """Whether a schema can be derived from ``cls``."""
    return isinstance(cls, type) and dataclasses.is_dataclass(cls)


class _Deriver:
    def __init__(self, allow_null: bool) -> None:
        self.allow_null = allow_null
        self.defined: dict[str, type] = {}  # record and enum names are unique in a schema

    def record(self, cls: type, path: str) -> Any:
        """A record's definition, or its name where it was defined before."""
        if self._seen(cls, path):
            return cls.__name__
        try:
            hints = typing.get_type_hints(cls)
        except (NameError, TypeError) as error:
            raise SchemaError(f"the types of {cls.__name__} cannot be resolved: {error}", path=path) from error
        fields = [self._field(f.name, hints[f.name], f"{path}.{f.name}") for f in dataclasses.fields(cls)]
        return {"type": "record", "name": cls.__name__, "fields": fields}

    def _field(self, name: str, hint: Any, path: str) -> dict[str, Any]:
        inner = _optional(hint)
        if inner is None and not self.allow_null:
            return {"name": name, "type": self._type(hint, path)}
        return {"name": name, "type": ["null", self._type(inner or hint, path)], "default": None}

    def _type(self, hint: Any, path: str) -> Any:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is list and len(arguments) == 1:
            return {"type": "array", "items": self._item(arguments[0], path)}
        if origin is dict and len(arguments) == 2 and arguments[0] is str:
            return {"type": "map", "values": self._item(arguments[1], path)}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum(hint, path)
        if is_model(hint):
            return self.record(hint, path)
        if hint in _LEAVES:
            return _LEAVES[hint]
        raise SchemaError(
            f"no Avro type is known for {hint!r:.120}", path=path, hint="give the serializer a schema instead"
        )

    def _item(self, hint: Any, path: str) -> Any:
        inner = _optional(hint)
        return self._type(hint, path) if inner is None else ["null", self._type(inner, path)]

    def _enum(self, cls: type[enum.Enum], path: str) -> Any:
        if self._seen(cls, path):
            return cls.__name__
        return {"type": "enum", "name": cls.__name__, "symbols": list(cls.__members__)}

    def _seen(self, cls: type, path: str) -> bool:
        """Whether ``cls`` is defined already; from now on it is."""
        seen = cls.__name__ in self.defined
        if self.defined.setdefault(cls.__name__, cls) is not cls:
            raise SchemaError(f"two classes are named {cls.__name__}", path=path)
        return seen


def _optional(hint: Any) -> Any:
    """T of ``T | None``, or None for every other hint."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return None
    others = [argument for argument in typing.get_args(hint) if argument is not type(None)]
    return others[0] if len(others) == 1 and len(typing.get_args(hint)) == 2 else None
