"""Schema compatibility as the broker decides it: Java Avro's SchemaValidator, and the strategies built on it.

The broker runs ``SchemaValidatorBuilder`` over ``ResolvingGrammarGenerator``. What that refuses is decided by Java's
``org.apache.avro.Resolver`` and ``Symbol.hasErrors``, whose rules are kept here with their departures from the
specification: a record may be renamed, an enum may lose symbols, named types compare by their short name, and a
union may meet a record of another name if its fields fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..schema import MISSING, Array, AvroType, Enum, Field, Fixed, Map, Record, Schema, Union

# Strategy -> (the new schema must read the old ones, the old ones must read the new schema).
DIRECTIONS: Final[Mapping[str, tuple[bool, bool]]] = {
    "BACKWARD": (True, False),
    "FORWARD": (False, True),
    "FULL": (True, True),
    "BACKWARD_TRANSITIVE": (True, False),
    "FORWARD_TRANSITIVE": (False, True),
    "FULL_TRANSITIVE": (True, True),
}
STRATEGIES: Final = (*DIRECTIONS, "ALWAYS_COMPATIBLE", "ALWAYS_INCOMPATIBLE", "UNDEFINED")

# Writer's type -> the reader's types that it is promoted to.
_PROMOTIONS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}


class IncompatibleError(Exception):
    """The strategy refuses the new schema; the text is the broker's own."""


class UnresolvableError(Exception):
    """Java Avro fails on these schemas in a way that the broker does not expect: status 500 there."""


def check(strategy: str, new: Schema, existing: Sequence[Schema]) -> None:
    """Check ``new`` against ``existing``, oldest first, of which only transitive strategies look past the last.

    Raises:
        IncompatibleError: the strategy refuses ``new``.
        UnresolvableError: aliases give two fields of a record one name.
    """
    if strategy == "ALWAYS_COMPATIBLE" or not existing:
        return
    if strategy == "ALWAYS_INCOMPATIBLE":
        raise _unreadable(strategy, new, new)
    reads, is_read = DIRECTIONS[strategy]
    for old in reversed(existing if strategy.endswith("_TRANSITIVE") else existing[-1:]):
        if is_read and not can_read(new, old):
            raise _unreadable(strategy, new, old)
        if reads and not can_read(old, new):
            raise _unreadable(strategy, old, new)


def can_read(writer: Schema, reader: Schema) -> bool:
    """Whether Java Avro can read every datum of ``writer`` with ``reader``.

    Raises:
        UnresolvableError: see :func:`check`.
    """
    root = writer.root if writer.same_as(reader) else _Aliases(reader.root).apply(writer.root)
    return not _has_errors(_resolve(root, reader.root, {}), set())


def _unreadable(strategy: str, writer: Schema, reader: Schema) -> IncompatibleError:
    return IncompatibleError(
        f"Error during schema compatibility check with strategy {strategy}: "
        "org.apache.avro.SchemaValidationException: Unable to read schema: \n"
        f"{_pretty(json.loads(writer.text))}\nusing schema:\n{_pretty(json.loads(reader.text))}"
    )


def _pretty(value: Any, level: int = 0) -> str:
    """JSON in the layout of Jackson's default pretty printer, as Java's ``Schema.toString(true)`` has it."""
    rows = []  # filled by loops: a comprehension costs one more frame per level, and there may be 200 levels
    if isinstance(value, dict) and value:
        gap = "\n" + "  " * (level + 1)
        for key, item in value.items():
            rows.append(f"{gap}{json.dumps(key)} : {_pretty(item, level + 1)}")
        return "{" + ",".join(rows) + "\n" + "  " * level + "}"
    if isinstance(value, list) and value:
        for item in value:
            rows.append(_pretty(item, level))  # noqa: PERF401
        return "[ " + ", ".join(rows) + " ]"
    return json.dumps(value, ensure_ascii=False)


@dataclass(slots=True, eq=False)
class _Action:
    """How one pair of types resolves: an error, or the actions of its parts."""

    error: bool = False
    parts: list[_Action] = field(default_factory=list)


_Seen = dict[tuple[int, int], _Action]


def _has_errors(action: _Action, visited: set[int]) -> bool:
    if id(action) in visited:
        return False
    visited.add(id(action))
    return action.error or any(_has_errors(part, visited) for part in action.parts)


def _resolve(writer: AvroType, reader: AvroType, seen: _Seen) -> _Action:
    """One step of ``Resolver.resolve``; both types as they stand after the reader's aliases were applied."""
    if isinstance(writer, Union):
        return _resolve_writer_union(writer, reader, seen)
    if isinstance(reader, Union):
        branch = _matching_branch(writer, reader, seen)
        return _Action(error=True) if branch is None else _Action(parts=[_resolve(writer, branch, seen)])
    if isinstance(writer, Array) and isinstance(reader, Array):
        return _Action(parts=[_resolve(writer.items, reader.items, seen)])
    if isinstance(writer, Map) and isinstance(reader, Map):
        return _Action(parts=[_resolve(writer.values, reader.values, seen)])
    if isinstance(writer, Fixed) and isinstance(reader, Fixed):
        return _Action(error=_short(writer) != _short(reader) or writer.size != reader.size)
    if isinstance(writer, Enum) and isinstance(reader, Enum):
        return _Action(error=_short(writer) != _short(reader))  # a missing symbol is an error only when it is met
    if isinstance(writer, Record) and isinstance(reader, Record):
        return _resolve_records(writer, reader, seen)
    return _Action(error=writer.kind != reader.kind and reader.kind not in _PROMOTIONS.get(writer.kind, ()))


def _resolve_records(writer: Record, reader: Record, seen: _Seen) -> _Action:
    """``Resolver.RecordAdjust``: the names of the records do not count."""
    key = (id(writer), id(reader))
    if key in seen:
        return seen[key]
    action = seen[key] = _Action()  # before its parts, for recursive schemas
    expected = {part.name: part for part in reader.fields}
    for part in writer.fields:
        if part.name in expected:
            action.parts.append(_resolve(part.type, expected[part.name].type, seen))
    written = {part.name for part in writer.fields}
    for part in reader.fields:
        if part.name not in written and part.default is MISSING:
            seen[key] = _Action(error=True)
            return seen[key]
    return action


def _resolve_writer_union(writer: Union, reader: AvroType, seen: _Seen) -> _Action:
    if isinstance(reader, Union) and _equivalent(writer, reader, {}):
        pairs = zip(writer.branches, reader.branches, strict=True)
        return _Action(parts=[_resolve(branch, other, seen) for branch, other in pairs])
    return _Action(parts=[_resolve(branch, reader, seen) for branch in writer.branches])


def _matching_branch(writer: AvroType, reader: Union, seen: _Seen) -> AvroType | None:
    """``ReaderUnion.firstMatchingBranch``: by full name, then a record by its structure, then by promotion."""
    by_structure: AvroType | None = None
    for branch in reader.branches:
        if branch.kind != writer.kind:
            continue
        if not isinstance(branch, Record | Enum | Fixed) or not isinstance(writer, Record | Enum | Fixed):
            return branch
        if branch.name == writer.name:
            return branch
        if isinstance(branch, Record) and isinstance(writer, Record):
            action = _resolve_records(writer, branch, seen)
            fits = not action.error and not any(part.error for part in action.parts)
            if fits and (by_structure is None or _short(branch) == _short(writer)):
                by_structure = branch
    if by_structure is not None:
        return by_structure
    promotions = _PROMOTIONS.get(writer.kind, frozenset())
    return next((branch for branch in reader.branches if branch.kind in promotions), None)


def _equivalent(writer: AvroType, reader: AvroType, seen: dict[tuple[int, int], bool]) -> bool:
    """``Resolver.unionEquiv``: two unions whose branches can be taken pair by pair."""
    if isinstance(writer, Union) and isinstance(reader, Union):
        return len(writer.branches) == len(reader.branches) and all(
            _equivalent(*pair, seen) for pair in zip(writer.branches, reader.branches, strict=True)
        )
    if isinstance(writer, Array) and isinstance(reader, Array):
        return _equivalent(writer.items, reader.items, seen)
    if isinstance(writer, Map) and isinstance(reader, Map):
        return _equivalent(writer.values, reader.values, seen)
    if isinstance(writer, Fixed) and isinstance(reader, Fixed):
        return _short(writer) == _short(reader) and writer.size == reader.size
    if isinstance(writer, Enum) and isinstance(reader, Enum):
        return _short(writer) == _short(reader) and writer.symbols == reader.symbols
    if isinstance(writer, Record) and isinstance(reader, Record):
        return _short(writer) == _short(reader) and _equivalent_fields(writer, reader, seen)
    return writer.kind == reader.kind


def _equivalent_fields(writer: Record, reader: Record, seen: dict[tuple[int, int], bool]) -> bool:
    key = (id(writer), id(reader))
    if key not in seen:
        seen[key] = True  # optimistic, for recursive schemas
        seen[key] = len(writer.fields) == len(reader.fields) and all(
            ours.name == theirs.name and _equivalent(ours.type, theirs.type, seen)
            for ours, theirs in zip(writer.fields, reader.fields, strict=True)
        )
    return seen[key]


def _short(named: Record | Enum | Fixed) -> str:
    return _last(named.name)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


class _Aliases:
    """The aliases of a reader's schema; ``apply`` renames a writer's types and fields by them."""

    def __init__(self, reader: AvroType) -> None:
        self.types: dict[str, str] = {}
        self.fields: dict[str, dict[str, str]] = {}
        self._collect(reader, set())

    def _collect(self, node: AvroType, seen: set[int]) -> None:
        if isinstance(node, Record | Enum | Fixed):
            self.types.update(dict.fromkeys(node.aliases, node.name))
        if isinstance(node, Record) and id(node) not in seen:
            seen.add(id(node))
            for part in node.fields:
                for alias in part.aliases:
                    self.fields.setdefault(node.name, {})[alias] = part.name
                self._collect(part.type, seen)
            if node.name in self.fields:
                self.fields.update(dict.fromkeys(node.aliases, self.fields[node.name]))
        for child in _children(node):
            self._collect(child, seen)

    def apply(self, writer: AvroType) -> AvroType:
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
                renamed.fields = self._rename(renamed.name, node.fields, seen)
            return seen[id(node)]
        return node

    def _rename(self, record: str, fields: Sequence[Field], seen: dict[int, Record]) -> tuple[Field, ...]:
        names = self.fields.get(record, {})
        renamed = [
            replace(part, name=names.get(part.name, part.name), type=self._apply(part.type, seen)) for part in fields
        ]
        if len({part.name for part in renamed}) != len(renamed):
            raise UnresolvableError(f"Duplicate field in record {_last(record)}")
        return tuple(renamed)


def _children(node: AvroType) -> tuple[AvroType, ...]:
    if isinstance(node, Array):
        return (node.items,)
    if isinstance(node, Map):
        return (node.values,)
    return node.branches if isinstance(node, Union) else ()
