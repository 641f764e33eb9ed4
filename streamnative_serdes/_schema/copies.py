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
from .tree import AvroType, Field, Fixed, Primitive, Record, TreeCopy, Union

ONLY_FIELD: Final = "value"


def only_branch(node: Union) -> int | None:
    """The only branch besides null, whose values need no name; None if there are more."""
    found = [number for number, branch in enumerate(node.branches) if branch.kind != "null"]
    return found[0] if len(found) == 1 else None


def branch_number(record: str) -> int:
    """The branch that the name of a record in the copy stands for."""
    return int(record.rpartition("_")[2])


def told_apart(schema: Schema) -> Schema:
    """The copy of ``schema``. Its ``text`` is that of ``schema``.

    Defaults and logical types are left out: they do not matter for decoding.
    """
    return Schema(schema.text, _ToldApart().of(schema.root))


class _ToldApart(TreeCopy):
    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def of(self, node: AvroType) -> AvroType:
        match node:
            case Primitive():
                return Primitive(node.kind)
            case Fixed():
                return Fixed(node.name, node.size)
        return super().of(node)

    def union(self, node: Union) -> AvroType:
        if only_branch(node) is not None:
            return super().union(node)
        return Union(tuple(self._branch(number, branch) for number, branch in enumerate(node.branches)))

    def _branch(self, number: int, branch: AvroType) -> AvroType:
        if branch.kind == "null":
            return branch
        self._count += 1
        name = f" {self._count}_{number}"  # no type of a schema has a name with a blank
        return Record(name, (Field(ONLY_FIELD, self.of(branch)),))

    def field(self, part: Field) -> Field:
        return Field(part.name, self.of(part.type))


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
