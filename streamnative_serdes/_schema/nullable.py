"""The copy of a schema in which every value may be null, since JSON leaves out fields, whatever their schema says."""

from __future__ import annotations

from dataclasses import replace

from .parser import Schema
from .tree import Array, AvroType, Map, Primitive, Record, Union


def nullable(schema: Schema) -> Schema:
    """``schema`` with null as another type of each field, item and value, and as the default of each field."""
    return Schema(schema.text, _Copy().of(schema.root))


class _Copy:
    def __init__(self) -> None:
        self._records: dict[int, Record] = {}

    def of(self, node: AvroType) -> AvroType:
        match node:
            case Record():
                return self._record(node)
            case Array():
                return replace(node, items=self._or_null(node.items))
            case Map():
                return replace(node, values=self._or_null(node.values))
            case Union():
                return Union(tuple([self.of(branch) for branch in node.branches]))
        return node

    def _or_null(self, node: AvroType) -> AvroType:
        made = self.of(node)
        branches = made.branches if isinstance(made, Union) else (made,)
        return made if any(branch.kind == "null" for branch in branches) else Union((Primitive("null"), *branches))

    def _record(self, node: Record) -> Record:
        if id(node) not in self._records:
            made = self._records[id(node)] = replace(node, fields=())  # for the record inside itself
            made.fields = tuple([replace(part, type=self._or_null(part.type), default=None) for part in node.fields])
        return self._records[id(node)]
