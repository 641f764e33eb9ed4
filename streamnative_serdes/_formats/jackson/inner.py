"""The schema by which objects are checked before they become JSON: the same, except where Java's lacks fields."""

from __future__ import annotations

from dataclasses import replace

from streamnative_serdes._schema import Array, AvroType, Logical, Map, Primitive, Record, Schema, Union

from .java_classes import DATES


def inner_schema(schema: Schema) -> Schema:
    """The schema with a timestamp in place of java.util.Date, a record without fields; else the schema itself."""
    if not any(name in schema.names for name in DATES):
        return schema
    return Schema(schema.text, _Copy().of(schema.root))


class _Copy:
    def __init__(self) -> None:
        self._records: dict[int, Record] = {}

    def of(self, node: AvroType) -> AvroType:
        if isinstance(node, Record):
            return self._record(node)
        if isinstance(node, Array):
            return replace(node, items=self.of(node.items))
        if isinstance(node, Map):
            return replace(node, values=self.of(node.values))
        return Union(tuple([self.of(branch) for branch in node.branches])) if isinstance(node, Union) else node

    def _record(self, node: Record) -> AvroType:
        if node.name in DATES:
            return Primitive("long", Logical("timestamp-millis"), {"java-class": node.name})
        if id(node) not in self._records:
            made = self._records[id(node)] = replace(node, fields=())  # for the record inside itself
            made.fields = tuple([replace(part, type=self.of(part.type)) for part in node.fields])
        return self._records[id(node)]
