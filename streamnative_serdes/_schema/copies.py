"""Copies of a schema for decoding: with branches of unions told apart, and with null as a type of each value.

Decoded data does not show its branch of a union: 5 may be an int or a long. In the copy of :func:`told_apart`, each
branch of such a union is a record with one field, :data:`ONLY_FIELD`, whose name ends with the number of the branch;
the bytes are the same. A codec with the option ``return.record.name`` returns this name. JSON leaves out fields,
whatever their schema says: hence :func:`nullable`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .parser import Schema
from .tree import Array, AvroType, Enum, Field, Fixed, Map, Primitive, Record, TreeCopy, Union

ONLY_FIELD: Final = "value"


def only_branch(node: Union) -> int | None:
    """The only branch besides null, whose values need no name; None if there are more."""
    found = [number for number, branch in enumerate(node.branches) if branch.kind != "null"]
    return found[0] if len(found) == 1 else None


def branch_number(record: str) -> int:
    """The branch that the name of a record in the copy stands for."""
    return int(record.rpartition("_")[2])


def told_apart(schema: Schema) -> Schema:
    """The copy of ``schema``. Named types get new names, so that they do not clash with the branches' names.

    Defaults and logical types are left out: they do not matter for decoding. Its ``text`` is that of ``schema``.
    """
    return Schema(schema.text, _Copy().of(schema.root))


class _Copy:
    def __init__(self) -> None:
        self._named: dict[int, AvroType] = {}
        self._count = 0

    def of(self, node: AvroType) -> AvroType:
        if isinstance(node, Primitive):
            return Primitive(node.kind)
        if isinstance(node, Array):
            return Array(self.of(node.items))
        if isinstance(node, Map):
            return Map(self.of(node.values))
        if isinstance(node, Union):
            return self._union(node)
        return self._named.get(id(node)) or self._new(node)

    def _new(self, node: Record | Enum | Fixed) -> AvroType:
        self._count += 1
        name = f"Type{self._count}"
        if isinstance(node, Enum):
            made: AvroType = Enum(name, node.symbols)
        elif isinstance(node, Fixed):
            made = Fixed(name, node.size)
        else:
            made = record = Record(name)
            self._named[id(node)] = made  # for the record inside itself
            record.fields = tuple([Field(part.name, self.of(part.type)) for part in node.fields])
        self._named[id(node)] = made
        return made

    def _union(self, node: Union) -> Union:
        if only_branch(node) is not None:
            return Union(tuple([self.of(branch) for branch in node.branches]))
        return Union(tuple([self._branch(number, branch) for number, branch in enumerate(node.branches)]))

    def _branch(self, number: int, branch: AvroType) -> AvroType:
        if branch.kind == "null":
            return Primitive("null")
        self._count += 1
        return Record(f"Branch{self._count}_{number}", (Field(ONLY_FIELD, self.of(branch)),))


def nullable(schema: Schema) -> Schema:
    """``schema`` with null as another type of each field, item and value, and as the default of each field."""
    return Schema(schema.text, _NullableCopy().of(schema.root))


class _NullableCopy(TreeCopy):
    def inner(self, node: AvroType) -> AvroType:
        made = self.of(node)
        branches = made.branches if isinstance(made, Union) else (made,)
        return made if any(branch.kind == "null" for branch in branches) else Union((Primitive("null"), *branches))

    def field(self, part: Field) -> Field:
        return replace(super().field(part), default=None)
