"""Schema resolution: whether and how a reader's schema reads data of a writer's schema, with aliases.

Sources: Avro specification 1.12, "Schema Resolution" and "Aliases"; Java's ``Resolver`` and ``Schema.applyAliases``.
Pulsar's clients and brokers follow Java where it differs from the specification:

- records match by their fields, whatever their names;
- a reader's union is searched for the writer's exact type first, then for a record of similar structure, and only then
  for a promotion;
- two unions whose branches are pairwise equivalent are resolved pair by pair;
- a reader's alias renames the writer's type or field wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from streamnative_serdes._paths import joined
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError

from .parser import Schema
from .rules import DefaultChecker
from .tree import (
    MISSING,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Primitive,
    Record,
    Union,
    children,
    last_name,
    name_of,
)


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


MAX_STEPS: Final = 200_000  # pairs of types to resolve: nested unions of records multiply them

# Writer's type -> the reader's types that it can be promoted to.
PROMOTIONS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}


@dataclass(slots=True, eq=False)
class Resolution:
    """The resolution of one pair of types; ``fault`` says why it fails.

    ``writer`` already has the reader's names where aliases apply. ``parts`` are the steps below:

        array, map              one
        record                  one for each of the writer's fields, None if the reader has no such field
        writer's union          one for each branch
        reader's union          one, for the chosen branch, if the writer's type is not a union
    """

    writer: AvroType
    reader: AvroType
    fault: str | None = None
    # Not in repr(): a recursive record would repeat itself with all its parts.
    parts: list[Resolution | None] = field(default_factory=list, repr=False)
    added: list[Field] = field(default_factory=list)  # the reader's fields that are filled in from their defaults
    # A field missing in a recursive record. Java ignores the fault where the record occurs inside itself; we do not.
    late_fault: str | None = None


def resolve(writer: Schema, reader: Schema, *, java: bool = True, logical: bool = True) -> Resolution:
    """Resolve ``writer``'s schema with ``reader``'s.

    Args:
        writer: the writer's schema.
        reader: the reader's schema.
        java: follow Java where it differs from the letter of the specification.
        logical: whether logical types are used.

    Raises:
        SchemaError: nothing that ``writer`` writes can be read; names ``path`` and both types. A mismatch that only
            some data hits, such as one branch of a union, is not an error here but a ``fault`` of that step.
    """
    resolver = Resolver(java=java, logical=logical, defaults=True)
    try:
        renamed = Aliases(reader.root).apply(writer.root)
        root = resolver.resolve(renamed, reader.root)
        found = resolver.certain_fault(root, "", set())
    except DuplicateFieldError as error:
        error.hint = "the reader's aliases rename one of them"
        raise
    except RecursionError:
        raise NestedTooDeeplyError("the schemas are nested too deeply to be resolved") from None
    if found is not None:
        raise SchemaError(found[1], path=found[0], hint="no data of the writer's schema can be read with this schema")
    return root


def _part_names(step: Resolution) -> list[str]:
    if isinstance(step.writer, Record) and isinstance(step.reader, Record):
        return [part.name for part in step.writer.fields]
    return [""] * len(step.parts)


class Resolver:
    """Resolves pairs of types. Each pair of records is resolved only once, since schemas may be recursive.

    With ``logical`` and ``defaults``, a different decimal scale and a bad default are faults; brokers ignore both.
    """

    def __init__(self, *, java: bool, logical: bool, defaults: bool) -> None:
        self.java = java
        self.logical = logical
        self.checker = DefaultChecker() if defaults else None
        self.seen: dict[tuple[int, int], Resolution] = {}
        self.fine: set[int] = set()  # ids of record steps by which some data can be read
        self.alike: dict[tuple[int, int], bool] = {}  # pairs of records -> whether their unions match pair by pair
        self.branches: dict[int, dict[tuple[str, str], AvroType]] = {}  # id of a reader's union -> its branches
        self.steps = 0

    def resolve(self, writer: AvroType, reader: AvroType) -> Resolution:
        self._count_step()
        if isinstance(writer, Union):
            return self._writer_union(writer, reader)
        if isinstance(reader, Union):
            return self._reader_union(writer, reader)
        if isinstance(writer, Array) and isinstance(reader, Array):
            return Resolution(writer, reader, parts=[self.resolve(writer.items, reader.items)])
        if isinstance(writer, Map) and isinstance(reader, Map):
            return Resolution(writer, reader, parts=[self.resolve(writer.values, reader.values)])
        if isinstance(writer, Record) and isinstance(reader, Record):
            return self._records(writer, reader)
        if isinstance(writer, Fixed | Enum) and writer.kind == reader.kind:
            return Resolution(writer, reader, self._named_fault(writer, reader))
        if writer.kind != reader.kind and reader.kind not in PROMOTIONS.get(writer.kind, ()):
            return Resolution(writer, reader, mismatch(writer, reader))
        return Resolution(writer, reader, self._logical_fault(writer, reader))

    def _count_step(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise SchemaError(f"the schemas take more than {MAX_STEPS} steps to resolve")

    def _records(self, writer: Record, reader: Record) -> Resolution:
        self._count_step()
        key = (id(writer), id(reader))
        if key in self.seen:
            return self.seen[key]
        step = self.seen[key] = Resolution(writer, reader)  # stored before its parts, for recursive schemas
        if not self.java and last_name(writer) != last_name(reader):
            step.fault = mismatch(writer, reader)
            return step
        wanted = {part.name: part for part in reader.fields}
        for part in writer.fields:
            expected = wanted.pop(part.name, None)
            step.parts.append(None if expected is None else self.resolve(part.type, expected.type))
        for part in wanted.values():
            fault = self._default_fault(part)
            if fault is not None:
                step.late_fault = f"{mismatch(writer, reader)}: the writer has no field {part.name!r:.80}, {fault}"
                self.seen[key] = Resolution(writer, reader, step.late_fault)
                return self.seen[key]
        step.added.extend(wanted.values())
        return step

    def _default_fault(self, part: Field) -> str | None:
        if part.default is MISSING:
            return "and the reader's has no default"
        fault = self.checker.fault(part.type, part.default) if self.checker else None
        return None if fault is None else f"and the reader's default is bad: {fault}"

    def _writer_union(self, writer: Union, reader: AvroType) -> Resolution:
        if self.java and isinstance(reader, Union) and self._alike(writer, reader):
            pairs = zip(writer.branches, reader.branches, strict=True)
            return Resolution(writer, reader, parts=[self.resolve(branch, other) for branch, other in pairs])
        return Resolution(writer, reader, parts=[self.resolve(branch, reader) for branch in writer.branches])

    def _reader_union(self, writer: AvroType, reader: Union) -> Resolution:
        if self.java:
            branch = self._java_branch(writer, reader)
            chosen = None if branch is None else self.resolve(writer, branch)
        else:
            chosen = self._first_step(writer, reader)
        if chosen is None:
            return Resolution(writer, reader, mismatch(writer, reader))
        return Resolution(writer, reader, parts=[chosen])

    def _java_branch(self, writer: AvroType, reader: Union) -> AvroType | None:
        """As Java's ``ReaderUnion.firstMatchingBranch``: by full name, then records by structure, then by promotion."""
        if id(reader) not in self.branches:
            self.branches[id(reader)] = {(one.kind, name_of(one)): one for one in reversed(reader.branches)}
        exact = self.branches[id(reader)].get((writer.kind, name_of(writer)))
        if exact is not None:
            return exact
        if isinstance(writer, Record):
            return self._like_structure(writer, reader)
        promotions = PROMOTIONS.get(writer.kind, frozenset())
        return next((branch for branch in reader.branches if branch.kind in promotions), None)

    def _like_structure(self, writer: Record, reader: Union) -> AvroType | None:
        """Return the first record whose fields resolve, or the last of these that has the same unqualified name."""
        found: AvroType | None = None
        for branch in reader.branches:
            if not isinstance(branch, Record) or (found is not None and last_name(branch) != last_name(writer)):
                continue
            step = self._records(writer, branch)
            self._count_step(len(step.parts))
            if step.fault is None and not any(part is not None and part.fault for part in step.parts):
                found = branch
        return found

    def _first_step(self, writer: AvroType, reader: Union) -> Resolution | None:
        """As in the specification: the first branch that matches."""
        for branch in reader.branches:
            step = self.resolve(writer, branch)
            if self.certain_fault(step, "", set()) is None:
                return step
        return None

    def certain_fault(self, step: Resolution, path: str, seen: set[int]) -> tuple[str, str] | None:
        """Return (path, reason) of a fault that every datum hits; None if there is none."""
        self._count_step()
        if step.fault is not None:
            return path, step.fault
        if id(step) in seen or id(step) in self.fine or isinstance(step.writer, Array | Map):
            return None  # an array may be empty
        seen.add(id(step))
        faults = [
            self.certain_fault(part, joined(path, name), seen)
            for part, name in zip(step.parts, _part_names(step), strict=False)  # an open record has fewer parts
            if part is not None
        ]
        if isinstance(step.writer, Union):
            return faults[0] if faults and None not in faults else None
        fault = next((fault for fault in faults if fault is not None), None)
        if fault is None and isinstance(step.writer, Record) and len(step.parts) == len(step.writer.fields):
            self.fine.add(id(step))  # the id stays valid, since self.seen keeps the step alive
        return fault

    def _alike(self, writer: Union, reader: Union) -> bool:
        """Compare two types and cache the results: all results after a match, only mismatches after a mismatch."""
        found: dict[tuple[int, int], bool] = {}
        alike = self._equivalent(writer, reader, found)
        self.alike.update(found if alike else {pair: False for pair, same in found.items() if not same})
        return alike

    def _equivalent(self, writer: AvroType, reader: AvroType, seen: dict[tuple[int, int], bool]) -> bool:
        """As Java's ``Resolver.unionEquiv``: whether the branches of two unions can be resolved pair by pair."""
        self._count_step()
        if isinstance(writer, Union) and isinstance(reader, Union):
            return len(writer.branches) == len(reader.branches) and all(
                self._equivalent(*pair, seen) for pair in zip(writer.branches, reader.branches, strict=True)
            )
        if isinstance(writer, Array) and isinstance(reader, Array):
            return self._equivalent(writer.items, reader.items, seen)
        if isinstance(writer, Map) and isinstance(reader, Map):
            return self._equivalent(writer.values, reader.values, seen)
        if isinstance(writer, Fixed) and isinstance(reader, Fixed):
            return last_name(writer) == last_name(reader) and writer.size == reader.size
        if isinstance(writer, Enum) and isinstance(reader, Enum):
            return last_name(writer) == last_name(reader) and writer.symbols == reader.symbols
        if isinstance(writer, Record) and isinstance(reader, Record):
            return last_name(writer) == last_name(reader) and self._equivalent_fields(writer, reader, seen)
        return writer.kind == reader.kind

    def _equivalent_fields(self, writer: Record, reader: Record, seen: dict[tuple[int, int], bool]) -> bool:
        key = (id(writer), id(reader))
        if key in self.alike:
            return self.alike[key]
        if key not in seen:
            seen[key] = True  # optimistic, for recursive schemas
            seen[key] = len(writer.fields) == len(reader.fields) and all(
                ours.name == theirs.name and self._equivalent(ours.type, theirs.type, seen)
                for ours, theirs in zip(writer.fields, reader.fields, strict=True)
            )
        return seen[key]

    def _named_fault(self, writer: Fixed | Enum, reader: AvroType) -> str | None:
        if not isinstance(reader, Fixed | Enum) or last_name(writer) != last_name(reader):
            return mismatch(writer, reader)
        if isinstance(writer, Fixed) and isinstance(reader, Fixed):
            return mismatch(writer, reader) if writer.size != reader.size else self._logical_fault(writer, reader)
        return None

    def _logical_fault(self, writer: AvroType, reader: AvroType) -> str | None:
        """Refuse decimals of a different scale, which Java and the broker would read as wrong numbers."""
        if not self.logical or not isinstance(writer, Primitive | Fixed) or not isinstance(reader, Primitive | Fixed):
            return None
        one, other = writer.logical, reader.logical
        if one is None or other is None or not {one.name, other.name} <= {"decimal", "big-decimal"}:
            return None
        exact = self.java or one.precision == other.precision
        return None if one.name == other.name and one.scale == other.scale and exact else mismatch(writer, reader)


def mismatch(writer: AvroType, reader: AvroType) -> str:
    return f"the writer's {_described(writer)} cannot be read as the reader's {_described(reader)}"


def _described(node: AvroType) -> str:
    if isinstance(node, Union):
        shown = ", ".join(_described(branch) for branch in node.branches[:20])
        return f"union of {shown}" if len(node.branches) <= 20 else f"union of {shown} and more"
    if isinstance(node, Fixed):
        return f"fixed {node.name[:100]} of {node.size} bytes" + _logical_words(node)
    if isinstance(node, Record | Enum):
        return f"{node.kind} {node.name[:100]}"
    return node.kind + (_logical_words(node) if isinstance(node, Primitive) else "")


def _logical_words(node: Primitive | Fixed) -> str:
    if node.logical is None:
        return ""
    digits = f"({node.logical.precision}, {node.logical.scale})" if node.logical.name == "decimal" else ""
    return f" {node.logical.name}{digits}"
