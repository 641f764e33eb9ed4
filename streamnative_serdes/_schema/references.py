"""Schemas made of parts of others: a schema with the schemas that it references, and a record with some of its fields.

Pulsar's registry does not support references. Each named type is written out where it is first used, and referred to by
its full name after that, however many references lead to it, and wherever it was defined before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError

from .parser import PRIMITIVES, without_comments
from .rules import MAX_DEPTH
from .tree import qualified

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_BUILT_IN: Final = _NAMED | PRIMITIVES | {"array", "map"}
_MOST_FETCHED: Final = 1_000  # schemas that one schema refers to, directly or not


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A reference to the type ``name``, which version ``version`` of ``subject`` defines; versions start at 1."""

    name: str
    subject: str
    version: int

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "subject": self.subject, "version": self.version}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        return cls(given["name"], given["subject"], given["version"])


class Referring(Protocol):
    """A schema and its references, which may be None; so are the schema classes of Confluent's client."""

    @property
    def schema_str(self) -> str: ...
    @property
    def references(self) -> Sequence[SchemaReference] | None: ...


def self_contained(schema: Referring, fetch: Callable[[SchemaReference], Referring], size: int | None = None) -> str:
    """The text of ``schema`` with its references resolved; unchanged if it has none.

    Args:
        schema: an Avro schema.
        fetch: returns the Avro schema that a reference leads to; called once per subject and version.
        size: characters that all schemas together may have; then they are also at most 1,000. None sets no limit.

    Raises:
        SchemaError: references form a cycle, one name has two definitions, a referenced schema does not define the
            reference's name, or the schemas are too large together.
    """
    if not schema.references:
        return schema.schema_str
    try:
        library = _Library()
        _gather(schema, fetch if size is None else _bounded(schema, fetch, size), library, {}, ())
        root = library.add(_json(schema.schema_str), "the schema")
        return json.dumps(library.unfold(root, "", set()))
    except RecursionError:
        raise NestedTooDeeplyError from None


def _bounded(
    schema: Referring, fetch: Callable[[SchemaReference], Referring], most: int
) -> Callable[[SchemaReference], Referring]:
    fetched, size = 0, len(schema.schema_str)

    def bounded(reference: SchemaReference) -> Referring:
        nonlocal fetched, size
        found = fetch(reference)
        fetched, size = fetched + 1, size + len(found.schema_str)
        if fetched > _MOST_FETCHED or size > most:
            raise SchemaError(
                f"with the schemas that it refers to, the schema is larger than {most} characters, or these are more "
                f"than {_MOST_FETCHED}",
                hint="max.schema.size limits the first",
            )
        return found

    return bounded


def projected(text: str, names: Sequence[str]) -> str:
    """A record's schema with the fields ``names``, in this order, for a reader that does not need the other fields.

    Avro's resolution skips fields that the reader's schema lacks, so they are not decoded. A type that is defined in an
    omitted field is defined where it is first used.

    Args:
        text: the JSON of a record's schema.
        names: names of its fields.

    Raises:
        SchemaError: the schema is not a record's, or has no such field.
    """
    library = _Library()
    tree = json.loads(text)
    if not isinstance(tree, dict) or tree.get("type") not in ("record", "error"):
        raise SchemaError("expected the schema of a record: only records have fields to choose from")
    root = library.add(tree, "the schema")
    library.choose(root, names)
    return json.dumps(library.unfold(root, "", set()))


def _gather(
    schema: Referring,
    fetch: Callable[[SchemaReference], Referring],
    library: _Library,
    met: dict[tuple[str, int], Any],
    path: tuple[tuple[str, int], ...],
) -> None:
    """Add the schemas that ``schema`` references to ``library``, dependencies first; ``path`` leads to ``schema``."""
    for reference in schema.references or ():
        key = reference.subject, reference.version
        if key in path:
            cycle = " -> ".join(f"{subject} {version}" for subject, version in (*path, key))
            raise SchemaError(f"the references form a cycle: {cycle}")
        if len(path) >= MAX_DEPTH:  # else fetch() meets Python's recursion limit inside a request
            raise SchemaError(f"the references lead through more than {MAX_DEPTH} schemas, one after the other")
        if key not in met:
            referred = fetch(reference)
            _gather(referred, fetch, library, met, (*path, key))
            met[key] = library.add(_json(referred.schema_str), f"{key[0]} version {key[1]}")
        library.call(reference, met[key])


class _Library:
    """Named types by full name, each in flat form: inner named types are replaced by their full names."""

    def __init__(self) -> None:
        self._types: dict[str, tuple[dict[str, Any], str]] = {}
        self._also: dict[str, str] = {}  # a reference's name -> the full name of its type

    def add(self, tree: Any, source: str) -> Any:
        """Store the named types of ``tree``, and return its flat form. ``source`` is for error messages."""
        own: set[str] = set()
        _collect(tree, "", own)
        return self._flat(tree, "", own, source)

    def call(self, reference: SchemaReference, root: Any) -> None:
        """Bind a reference's name to ``root``, the referenced schema, unless a type with this name exists."""
        if reference.name in self._types:
            return
        if not isinstance(root, str) or root not in self._types:
            raise SchemaError(
                f"{reference.subject} version {reference.version} does not define {reference.name!r:.120}, "
                "although the reference names it"
            )
        self._also[reference.name] = root

    def choose(self, record: str, names: Sequence[str]) -> None:
        """Leave a record these fields only. Raises SchemaError if it has no such field."""
        flat, source = self._types[record]
        fields = {field["name"]: field for field in flat["fields"]}
        for name in names:
            if name not in fields:
                raise SchemaError(f"the record has no field {name!r:.80}", hint=did_you_mean(name, fields))
        self._types[record] = {**flat, "fields": [fields[name] for name in names]}, source

    def unfold(self, tree: Any, namespace: str, seen: set[str]) -> Any:
        """``tree`` with each known type written out at its first use; ``seen`` has the types already written."""
        if isinstance(tree, list):
            return [self.unfold(branch, namespace, seen) for branch in tree]
        if isinstance(tree, str):
            return self._mention(tree, namespace, seen)
        return {key: self.unfold(tree[key], namespace, seen) if key in _inner(tree) else tree[key] for key in tree}

    def _mention(self, name: str, namespace: str, seen: set[str]) -> Any:
        if name not in self._types:
            return name
        if name in seen:
            if "." not in name and namespace and f"{namespace}.{name}" in self._types:
                raise SchemaError(f"{name!r:.120} has no namespace and is ambiguous with {namespace}.{name}")
            return name
        seen.add(name)
        inner, _, local = name.rpartition(".")
        rest = self._types[name][0]
        flat = {"type": rest["type"], "name": local, "namespace": inner, **rest}
        if inner == namespace:
            del flat["namespace"]
        if "fields" in flat:
            flat["fields"] = [{**one, "type": self.unfold(one["type"], inner, seen)} for one in flat["fields"]]
        return flat

    def _flat(self, tree: Any, namespace: str, own: set[str], source: str) -> Any:
        if isinstance(tree, list):
            return [self._flat(branch, namespace, own, source) for branch in tree]
        if isinstance(tree, str):
            return self._full(tree, namespace, own)
        if not isinstance(tree, dict):
            raise SchemaError(f"expected a type in {source}, got {tree!r:.80}")
        kind = _kind(tree)
        if kind and kind not in _BUILT_IN:
            # {"type": "Name"} refers to a type; Java does not treat it as a definition
            return self._full(kind, namespace, own)
        if kind not in _NAMED:
            inner = _inner(tree)
            return {key: self._flat(tree[key], namespace, own, source) if key in inner else tree[key] for key in tree}
        name = _full_name(tree, namespace)
        inside = name.rpartition(".")[0]
        flat = {key: value for key, value in tree.items() if key not in ("name", "namespace")}
        if "fields" in tree:
            flat["fields"] = [{**one, "type": self._flat(one["type"], inside, own, source)} for one in _fields(tree)]
        return self._keep(name, flat, source)

    def _keep(self, name: str, flat: dict[str, Any], source: str) -> str:
        before, where = self._types.setdefault(name, (flat, source))
        if before != flat:
            raise SchemaError(f"{name!r:.120} has different definitions in {where} and in {source}")
        return name

    def _full(self, name: str, namespace: str, own: set[str]) -> str:
        """The full name of ``name`` inside ``namespace``: a type of the same schema, or of a referenced one."""
        if name in PRIMITIVES:
            return name
        for candidate in (qualified(name, namespace), name):
            if candidate in own or candidate in self._types:
                return candidate
            if candidate in self._also:
                return self._also[candidate]
        return name


def _collect(tree: Any, namespace: str, names: set[str]) -> None:
    """Collect the full names of all types in ``tree`` first, since a recursive type is used inside its definition."""
    if isinstance(tree, list):
        for branch in tree:
            _collect(branch, namespace, names)
    if not isinstance(tree, dict):
        return
    if _kind(tree) in _NAMED:
        full = _full_name(tree, namespace)
        names.add(full)
        for one in _fields(tree):
            _collect(one["type"], full.rpartition(".")[0], names)
    for key in _inner(tree):
        _collect(tree[key], namespace, names)


def _kind(tree: dict[str, Any]) -> str:
    kind = tree.get("type")
    return kind if isinstance(kind, str) else ""


def _inner(tree: dict[str, Any]) -> tuple[str, ...]:
    """The keys of an unnamed type whose values are types."""
    kind = _kind(tree)
    key = {"array": "items", "map": "values"}.get(kind, "" if kind in _NAMED else "type")
    return (key,) if key in tree else ()


def _full_name(tree: dict[str, Any], namespace: str) -> str:
    name = tree.get("name")
    if not isinstance(name, str) or not name:
        raise SchemaError(f"expected a name for the {tree['type']}, got {name!r:.80}")
    return qualified(name, tree.get("namespace", namespace))


def _fields(tree: dict[str, Any]) -> list[dict[str, Any]]:
    fields = tree.get("fields", [])
    if not isinstance(fields, list) or not all(isinstance(one, dict) and "type" in one for one in fields):
        raise SchemaError(f"record {tree.get('name')!r:.120}: expected a list of fields, each with a type")
    return fields


def _json(text: str) -> Any:
    if text in PRIMITIVES:
        return text
    try:
        return json.loads(without_comments(text))
    except (AttributeError, TypeError, ValueError) as error:
        raise SchemaError(f"the schema is not JSON: {error}") from None
