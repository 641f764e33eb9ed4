"""Parses schema JSON into a tree with resolved names: strictly for users' schemas, leniently for a registry's.

Source: Avro specification 1.12, "Schema Declaration", "Names", "Logical Types".
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from streamnative_serdes._paths import joined
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError

from .doubts import Doubts
from .rules import LOGICAL_BASES, DefaultChecker, Limits, is_name, logical_fault, refuse_endless
from .tree import (
    MISSING,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Logical,
    Map,
    Named,
    Primitive,
    Record,
    Union,
    canonical,
    comparable,
    name_of,
    qualified,
)

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_COMPLEX: Final = frozenset({"array", "map", "record", "error", "enum", "fixed"})
_DEFAULT_LIMITS: Final = Limits()
# A text or comment that is not closed matches up to the end, so that the time is linear.
_TEXT_OR_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|/\*.*?(?:\*/|\Z)|//[^\r\n]*', re.DOTALL)


@dataclass(slots=True, eq=False)
class Schema:
    """A parsed schema.

    Args:
        text: as JSON, without comments.
        root: its tree.
        names: its named types by full name.
        unsized: a datum is the data of root ``bytes`` without its length, all of what follows the framing.
        fault: why it is refused unless a registry holds it; None for a valid schema, and for one that a registry holds.
    """

    text: str
    root: AvroType
    names: dict[str, Named] = field(default_factory=dict)
    unsized: bool = False
    fault: SchemaError | None = None

    def same_as(self, other: Schema) -> bool:
        """Whether Pulsar's registry treats both as the same schema (see :func:`comparable`)."""
        try:
            return self.text == other.text or comparable(self.root) == comparable(other.root)
        except RecursionError:
            raise NestedTooDeeplyError("the schemas are nested too deeply to be compared") from None

    def in_confluents_framing(self) -> Schema:
        """This schema for data behind Confluent's framing: its serializers leave out the length of root ``bytes``."""
        return replace(self, unsized=True) if self.root.kind == "bytes" else self

    def __reduce__(self) -> tuple[Callable[[str, bool], Schema], tuple[str, bool]]:
        return _parsed_again, (self.text, self.unsized)

    def canonical_form(self) -> str:
        """Parsing Canonical Form (Avro specification, "Transforming into Parsing Canonical Form")."""
        return canonical(self.root)


def _parsed_again(text: str, unsized: bool) -> Schema:
    # What was parsed once parses again: a registry's schema, which may have faults, and one beyond the usual limits.
    schema = parse(text, strict=False, limits=Limits(size=len(text), names=1_000_000, depth=1_000))
    return schema.in_confluents_framing() if unsized else schema


def load(source: object, *, paths: bool = True) -> str:
    """Return the JSON text of ``source``: a dict or list, JSON text, or the path of a ``.avsc`` file.

    Args:
        source: the schema.
        paths: whether text may be a path. A registry's must not be: it would open files of this machine.

    Raises:
        SchemaError: ``source`` is not one of these, or the file cannot be read.
    """
    if isinstance(source, Schema):
        return source.text
    if isinstance(source, (dict, list)):
        try:
            return json.dumps(source, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SchemaError(f"the schema cannot be written as JSON: {error}") from error
    if isinstance(source, os.PathLike) or (paths and isinstance(source, str) and source.endswith(".avsc")):
        try:
            with open(source, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(f"the schema file cannot be read: {error}") from error
    if isinstance(source, str):
        # Accept a bare word as a primitive type; JSON would require quotes.
        return json.dumps(source) if source in PRIMITIVES else source
    raise SchemaError(
        f"a schema is a dict, a list, JSON text or the path of an .avsc file, got {type(source).__name__}"
    )


def parse(
    source: object, *, strict: bool = True, limits: Limits = _DEFAULT_LIMITS, to_register: bool = False
) -> Schema:
    """Parse a schema.

    Args:
        source: see :func:`load`.
        strict: validate everything, as for users' schemas. A registry may hold invalid defaults, names and logical
            types, which Pulsar accepts; without ``strict`` they are an error only when needed, and a bad logical type
            falls back to its base type. With ``strict``, a word that resembles a logical type is a SchemaWarning, and
            text may be a path.
        limits: how large the schema may be.
        to_register: the schema may go to Pulsar's registry, so its defaults have to be valid for brokers: with one
            that only Avro 1.12 allows, the schema can be registered, but then the topic accepts no other schema.

    Raises:
        SchemaError: with the path inside the schema.
    """
    if isinstance(source, Schema):
        return source
    text = load(source, paths=strict)
    if len(text) > limits.size:
        raise SchemaError(f"the schema text has {len(text)} characters, the limit is {limits.size}")
    try:
        tree = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        bare = without_comments(text)
        if bare != text and not strict:
            return parse(bare, strict=False, limits=limits)
        hint = None if bare == text else "remove the comments: Java skips them, but clients in other languages do not"
        raise SchemaError(f"the schema is not JSON: {error or 'nested too deeply'}", hint=hint) from None
    parser = _Parser(strict, limits)
    try:
        root = parser.parse(tree, "", "", 0)
        if strict:
            refuse_endless(parser.names.values())
            parser.check_defaults(DefaultChecker(as_brokers=to_register))
            if parser.doubts is not None:
                parser.doubts.warn()
    except RecursionError:
        raise NestedTooDeeplyError from None
    return Schema(text, root, parser.names)


def parse_given(source: object, *, limits: Limits = _DEFAULT_LIMITS, to_register: bool = False) -> Schema:
    """Parse a user's schema that a registry may hold: an error in the schema becomes its ``fault``, and is not raised.

    Raises:
        SchemaError: the schema cannot be parsed leniently either, so no registry holds it.
    """
    try:
        return parse(source, limits=limits, to_register=to_register)
    except NestedTooDeeplyError:
        raise
    except SchemaError as error:
        try:
            lenient = parse(load(source), strict=False, limits=limits)
        except SchemaError:
            raise error from None
        return replace(lenient, fault=error.with_traceback(None))


def without_comments(text: str) -> str:
    """A registry's schema without its comments, which Java's parser skips. It refuses one at the end, so that stays."""
    end = len(text.rstrip())
    return _TEXT_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' or found.end() >= end else " ", text)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not valid JSON")


class _Parser:
    """One pass over schema JSON; ``names`` are the named types defined so far, by full name."""

    def __init__(self, strict: bool, limits: Limits) -> None:
        self.strict = strict
        self.limits = limits
        self.names: dict[str, Named] = {}
        self.defaults: list[tuple[str, Field]] = []
        self.doubts = Doubts() if strict else None

    def parse(self, tree: Any, namespace: str, path: str, depth: int) -> AvroType:
        if depth > self.limits.depth:
            raise SchemaError(f"the schema is nested deeper than {self.limits.depth} levels", path=path[:200])
        if isinstance(tree, str):
            return self._by_name(tree, namespace, path)
        if isinstance(tree, list):
            return self._union(tree, namespace, path, depth)
        if not isinstance(tree, dict):
            raise SchemaError(f"expected a type, got {tree!r:.80}", path=path)
        kind = tree.get("type")
        if not isinstance(kind, str):
            hint = "write the inner type without the object around it" if isinstance(kind, dict | list) else None
            raise SchemaError(f'expected "type" to name a type, got {kind!r:.80}', path=path, hint=hint)
        if kind in PRIMITIVES:
            return Primitive(kind, self._logical(tree, kind, 0, path), _props(tree))
        if kind in _COMPLEX:
            return self._complex(tree, kind, namespace, path, depth)
        return self._by_name(kind, namespace, path)

    def _complex(self, tree: dict[str, Any], kind: str, namespace: str, path: str, depth: int) -> AvroType:
        if kind == "fixed":
            return self._fixed(tree, namespace, path)
        self._logical(tree, kind, 0, path)  # the other types have no logical types
        if kind == "array":
            items = self.parse(_need(tree, "items", path), namespace, f"{path}[]", depth + 1)
            return Array(items, _props(tree))
        if kind == "map":
            values = self.parse(_need(tree, "values", path), namespace, f"{path}{{}}", depth + 1)
            return Map(values, _props(tree))
        if kind == "enum":
            return self._enum(tree, namespace, path)
        return self._record(tree, namespace, path, depth)

    def _by_name(self, name: str, namespace: str, path: str) -> AvroType:
        if name in PRIMITIVES:
            return Primitive(name)
        found = self.names.get(qualified(name, namespace)) or self.names.get(name)
        if found is None:
            raise SchemaError(f"unknown type {name!r:.120}", path=path, hint="define a named type before its first use")
        if self.doubts is not None:
            self.doubts.reference(name, path)
        return found

    def _union(self, tree: list[Any], namespace: str, path: str, depth: int) -> Union:
        branches = tuple(self.parse(branch, namespace, path, depth + 1) for branch in tree)
        seen: set[str] = set()
        for branch in branches:
            label = name_of(branch)
            if label == "union":
                raise SchemaError("a union may not hold a union", path=path)
            if label in seen:
                raise SchemaError(f"a union may hold {label} only once", path=path)
            seen.add(label)
        if not branches and self.strict:
            raise SchemaError("a union needs at least one branch", path=path)
        return Union(branches)

    def _record(self, tree: dict[str, Any], namespace: str, path: str, depth: int) -> Record:
        name, inner = self._name(tree, namespace, path)
        record = Record(name, (), self._aliases(tree, inner, path), _props(tree), doc=tree.get("doc"))
        self.names[name] = record
        fields: dict[str, Field] = {}
        for entry in _need_list(tree, "fields", path):
            parsed = self._field(entry, inner, path, depth)
            if parsed.name in fields:
                raise SchemaError(f"record {name} has field {parsed.name!r:.80} twice", path=path)
            fields[parsed.name] = parsed
        record.fields = tuple(fields.values())
        return record

    def _field(self, tree: Any, namespace: str, path: str, depth: int) -> Field:
        name = tree.get("name") if isinstance(tree, dict) else None
        if not isinstance(name, str) or not name:
            raise SchemaError(f"expected a field with a name, got {tree!r:.80}", path=path)
        here = joined(path, name)
        if self.strict and not is_name(name):
            raise SchemaError(f"{name!r:.80} is not a valid Avro name", path=here)
        kind = self.parse(_need(tree, "type", here), namespace, here, depth + 1)
        if self.doubts is not None:
            self.doubts.misplaced(tree, here)
        if self.strict and tree.get("order", "ascending") not in ("ascending", "descending", "ignore"):
            raise SchemaError(
                f"expected order to be ascending, descending or ignore, got {tree['order']!r:.80}", path=here
            )
        parsed = Field(
            name,
            kind,
            tree.get("default", MISSING),
            self._alias_names(tree, here),
            str(tree.get("order", "ascending")),
            {key: value for key, value in tree.items() if key not in _FIELD_KEYS},
            tree.get("doc"),
        )
        if parsed.default is not MISSING:
            self.defaults.append((here, parsed))
        return parsed

    def _enum(self, tree: dict[str, Any], namespace: str, path: str) -> Enum:
        name, inner = self._name(tree, namespace, path)
        symbols = _need_list(tree, "symbols", path)
        default = tree.get("default")
        for symbol in symbols:
            if not isinstance(symbol, str) or (self.strict and not is_name(symbol)):
                raise SchemaError(f"{symbol!r:.80} is not a valid symbol for enum {name}", path=path)
        if len(set(symbols)) != len(symbols):
            raise SchemaError(f"enum {name} has a symbol twice", path=path)
        if default is not None and default not in symbols:
            if self.strict:
                raise SchemaError(f"the default {default!r:.80} of enum {name} is not one of its symbols", path=path)
            default = None
        props = _props(tree, "default")
        enum = Enum(name, tuple(symbols), default, self._aliases(tree, inner, path), props, doc=tree.get("doc"))
        self.names[name] = enum
        return enum

    def _fixed(self, tree: dict[str, Any], namespace: str, path: str) -> Fixed:
        name, inner = self._name(tree, namespace, path)
        size = tree.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**31:
            raise SchemaError(f"fixed {name} needs a size in bytes, got {size!r:.80}", path=path)
        logical = self._logical(tree, "fixed", size, path)
        fixed = Fixed(name, size, self._aliases(tree, inner, path), logical, _props(tree), doc=tree.get("doc"))
        self.names[name] = fixed
        return fixed

    def _name(self, tree: dict[str, Any], namespace: str, path: str) -> tuple[str, str]:
        """Return the full name of a definition, and the namespace for the types inside it."""
        name, given = tree.get("name"), tree.get("namespace")
        if not isinstance(name, str) or not name:
            raise SchemaError(f"a {tree['type']} needs a name", path=path)
        if self.strict and not isinstance(given, str | None):
            raise SchemaError(f"expected a namespace as text, got {given!r:.80}", path=path)
        full = qualified(name, given if isinstance(given, str) else namespace)
        if self.strict and not is_name(full.rpartition(".")[2]):
            raise SchemaError(f"{full!r:.120} is not a valid Avro name", path=path)
        if self.doubts is not None:
            self.doubts.namespace(full.rpartition(".")[0], path)
        if full in self.names or full in PRIMITIVES:
            raise SchemaError(f"the name {full!r:.120} is defined twice", path=path)
        if len(self.names) >= self.limits.names:
            raise SchemaError(f"the schema defines more than {self.limits.names} names")
        return full, full.rpartition(".")[0]

    def _aliases(self, tree: dict[str, Any], namespace: str, path: str) -> tuple[str, ...]:
        names = self._alias_names(tree, path)
        for name in names if self.strict else ():
            if not is_name(name.rpartition(".")[2]):
                raise SchemaError(f"alias {name!r:.120} is not a valid Avro name", path=path)
        return tuple(qualified(name, namespace) for name in names)

    def _alias_names(self, tree: dict[str, Any], path: str) -> tuple[str, ...]:
        aliases = tree.get("aliases", [])
        names = tuple(name for name in aliases if isinstance(name, str)) if isinstance(aliases, list) else ()
        if self.strict and not (isinstance(aliases, list) and len(names) == len(aliases)):
            raise SchemaError(f"expected aliases to be a list of names, got {aliases!r:.80}", path=path)
        return names

    def _logical(self, tree: dict[str, Any], base: str, size: int, path: str) -> Logical | None:
        name = tree.get("logicalType")
        if not isinstance(name, str) or name not in LOGICAL_BASES:
            if self.doubts is not None:
                self.doubts.unknown(tree, base, path)
            return None  # the specification: an unknown logical type is ignored
        fault = logical_fault(name, base, size, tree)
        if fault is None:
            return Logical(name, tree.get("precision", 0), tree.get("scale", 0)) if name == "decimal" else Logical(name)
        if self.strict:
            raise SchemaError(f"logical type {name}: {fault}", path=path)
        return None

    def check_defaults(self, checker: DefaultChecker) -> None:
        for path, parsed in self.defaults:
            fault = checker.fault(parsed.type, parsed.default)
            if fault:
                raise SchemaError(f"bad default: {fault}", path=path, hint=checker.hint)


_FIELD_KEYS = frozenset({"name", "type", "default", "doc", "aliases", "order"})
# Java's reserved names, which are not custom properties; for an enum, its default is not one either.
SCHEMA_KEYS: Final = frozenset(
    {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
)


def _props(tree: dict[str, Any], *own: str) -> dict[str, Any]:
    """Return what Java Avro treats as custom properties, including logicalType, precision and scale."""
    return {key: value for key, value in tree.items() if key not in SCHEMA_KEYS and key not in own}


def _need(tree: dict[str, Any], key: str, path: str) -> Any:
    if key not in tree:
        raise SchemaError(f'"{key}" is missing', path=path)
    return tree[key]


def _need_list(tree: dict[str, Any], key: str, path: str) -> list[Any]:
    value = _need(tree, key, path)
    if not isinstance(value, list):
        raise SchemaError(f'expected "{key}" to be a list, got {type(value).__name__}', path=path)
    return value
