"""Aliases: renames a writer's types and fields by the aliases of a reader's schema (Avro specification, "Aliases")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streamnative_serdes.errors import SchemaError

from .tree import Array, AvroType, Enum, Field, Fixed, Map, Named, Record, Union, children


class DuplicateFieldError(SchemaError):
    """Aliases give two fields of a record the same name; the error text is Java's."""


class Aliases:
    """The aliases of one reader's schema. As in Java, a field's aliases apply in the writer's record of its name."""

    def __init__(self, reader: AvroType) -> None:
        self.types: dict[str, str] = {}
        self.fields: dict[str, dict[str, str]] = {}
        self._collect(reader, set())

    def _collect(self, node: AvroType, seen: set[int]) -> None:
        if isinstance(node, Named):
            self.types.update(dict.fromkeys(node.aliases, node.name))
        if not isinstance(node, Record):
            for child in children(node):
                self._collect(child, seen)
        elif id(node) not in seen:
            seen.add(id(node))
            for part in node.fields:
                for alias in part.aliases:
                    self.fields.setdefault(node.name, {})[alias] = part.name
                self._collect(part.type, seen)
            if node.name in self.fields:
                self.fields.update(dict.fromkeys(node.aliases, self.fields[node.name]))

    def apply(self, writer: AvroType) -> AvroType:
        """Return ``writer`` with the reader's names.

        Raises:
            DuplicateFieldError: aliases give two fields of a record the same name.
        """
        return self._apply(writer, {}) if self.types or self.fields else writer

    def _apply(self, node: AvroType, seen: dict[int, Record]) -> AvroType:
        if isinstance(node, Array):
            return replace(node, items=self._apply(node.items, seen))
        if isinstance(node, Map):
            return replace(node, values=self._apply(node.values, seen))
        if isinstance(node, Union):
            return replace(node, branches=tuple(self._apply(branch, seen) for branch in node.branches))
        if isinstance(node, Enum | Fixed):
            return replace(node, name=self.types.get(node.name, node.name))
        if isinstance(node, Record):
            if id(node) not in seen:
                seen[id(node)] = renamed = replace(node, name=self.types.get(node.name, node.name), fields=())
                renamed.fields = self._rename(renamed, node.fields, seen)
            return seen[id(node)]
        return node

    def _rename(self, record: Record, fields: Sequence[Field], seen: dict[int, Record]) -> tuple[Field, ...]:
        names = self.fields.get(record.name, {})
        renamed = [
            replace(part, name=names.get(part.name, part.name), type=self._apply(part.type, seen)) for part in fields
        ]
        seen_at: dict[str, int] = {}
        for position, part in enumerate(renamed):
            if part.name in seen_at:
                found = [
                    f"{part.name} type:{renamed[at].type.kind.upper()} pos:{at}"
                    for at in (position, seen_at[part.name])
                ]
                raise DuplicateFieldError(
                    f"Duplicate field {part.name} in record {record.name}: {' and '.join(found)}."
                )
            seen_at[part.name] = position
        return tuple(renamed)
