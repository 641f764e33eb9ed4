"""Avro schemas as the broker reads them: parsing by Java's Avro, defaults that fail, and the older JSON format.

Source: Avro 1.11.4, ``Schema.Parser``, ``Schema.isValidDefault``, ``ResolvingGrammarGenerator.encode``; Pulsar's
StructSchemaDataValidator and JsonSchemaCompatibilityCheck; each rule was observed on 4.0.8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from streamnative_serdes._schema import (
    MISSING,
    PRIMITIVES,
    Array,
    AvroType,
    Enum,
    Field,
    Map,
    Record,
    Schema,
    Union,
    is_name,
    parse,
)
from streamnative_serdes._schema.rules import DefaultChecker
from streamnative_serdes.errors import SchemaError

from .java_text import NAMED, as_number, compact, ordered
from .refusals import AVRO_RUNTIME, BrokerError, IncompatibleError, InvalidDataError
from .schema_data import SchemaData

_NUMBERS: Final = ("int", "long", "float", "double")
_PARSE: Final = "org.apache.avro.SchemaParseException"
_JACKSON: Final = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "OBJECT", "ARRAY", "NULL", "ANY")
_GET_ID: Final = "com.fasterxml.jackson.module.jsonSchema.JsonSchema.getId()"
_AVRO_TYPE: Final = "org.apache.avro.AvroTypeException"
_ORDERS: Final = frozenset({"ascending", "descending", "ignore"})
_NO_SYMBOL: Final = (
    'Cannot invoke "java.lang.Integer.intValue()" because the return value of "java.util.Map.get(Object)" is null'
)


class OutsideOfParserError(SchemaError):
    """Java refuses a schema with another exception than the parser's own."""


@lru_cache(maxsize=1024)
def java_parse(text: str) -> Schema:
    """Parse a schema, with no more checks of defaults than Pulsar does.

    Raises:
        SchemaError: Java's Avro does not parse it.
    """
    if text.strip() in PRIMITIVES:  # parse() accepts a type's name
        raise SchemaError("the schema is not JSON")
    schema = parse(text, strict=False)
    for named in schema.names.values():
        parts = named.fields if isinstance(named, Record) else ()
        inner = [part.name for part in parts]
        inner += named.symbols if isinstance(named, Enum) else []
        for name in (named.name.rpartition(".")[2], *inner):  # Java does not check the namespace
            if not is_name(name):
                raise SchemaError(f"Illegal character in: {name}")
        for part in parts:
            _settle(part)
    _refuse_what_only_we_take(json.loads(schema.text))
    return schema


def _settle(part: Field) -> None:
    """Normalize order and default as Java does."""
    if part.order.lower() not in _ORDERS:
        raise OutsideOfParserError(f"No enum constant org.apache.avro.Schema.Field.Order.{part.order.upper()}")
    part.order = part.order.lower()
    if part.type.kind in ("float", "double"):
        try:
            part.default = as_number(part.default)
        except ValueError as error:
            raise OutsideOfParserError(str(error)) from None


def _refuse_what_only_we_take(tree: Any) -> None:
    """Refuse an invalid enum default and aliases other than text, which our lenient parser drops and Java refuses."""
    for node in _types(tree):
        for part in (node, *_fields(node)) if node["type"] in NAMED else ():
            _refuse_aliases(part.get("aliases", []), named=part is node)
        if node["type"] == "enum" and isinstance(node.get("default"), str) and node["default"] not in node["symbols"]:
            raise SchemaError("The Enum Default is not in the enum symbol set")


def _refuse_aliases(aliases: Any, *, named: bool) -> None:
    """Check aliases as Java does: those of types as the names of types, and those of fields not at all."""
    texts = isinstance(aliases, list) and all(isinstance(alias, str) for alias in aliases)
    if not texts or (named and not all(is_name(alias.rpartition(".")[2]) for alias in aliases)):
        raise SchemaError(f"alias not a name: {aliases!r:.80}")


def _types(tree: Any) -> Iterator[dict[str, Any]]:
    """The types that the schema's JSON writes as objects, in document order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            yield node
            kind = node["type"]
            inner = [node[key] for key in ("items", "values") if kind in ("array", "map") and key in node]
            inner += [part["type"] for part in _fields(node)]
            waiting += reversed(inner)


def _fields(node: dict[str, Any]) -> Any:
    """The fields of a record; of other types, ``fields`` means nothing."""
    return node["fields"] if node["type"] in ("record", "error") else ()


def check_defaults(schema: Schema) -> None:
    """Check defaults as Java does when it compares two schemas, though not when it parses one.

    Raises:
        BrokerError: a default does not fit its field.
    """
    if all(_fits(part) for named in schema.names.values() if isinstance(named, Record) for part in named.fields):
        return
    definitions = (node for node in _types(json.loads(schema.text)) if node["type"] in NAMED)
    for named, tree in zip(schema.names.values(), definitions, strict=True):
        for part, field in zip(named.fields, tree["fields"], strict=True) if isinstance(named, Record) else ():
            if not _fits(part):
                kind = compact(ordered(field["type"], ""))
                raise BrokerError(
                    f"Invalid default for field {part.name}: {compact(part.default)} not a {kind}",
                    _AVRO_TYPE,
                )


def _fits(part: Field) -> bool:
    return part.default is MISSING or _is_valid_default(part.type, part.default)


def _is_valid_default(kind: AvroType, value: Any) -> bool:
    """``Schema.isValidDefault``: any string for enum, fixed and bytes; a union by its first branch only."""
    if isinstance(kind, Union):
        if not kind.branches:
            raise BrokerError("Index 0 out of bounds for length 0", "IndexOutOfBoundsException")
        return _is_valid_default(kind.branches[0], value)
    if isinstance(kind, Array):
        return isinstance(value, list) and all(_is_valid_default(kind.items, item) for item in value)
    if isinstance(kind, Map):
        return isinstance(value, dict) and all(_is_valid_default(kind.values, item) for item in value.values())
    if isinstance(kind, Record):
        return isinstance(value, dict) and all(
            given is not MISSING and _is_valid_default(part.type, given)
            for part in kind.fields
            for given in [value.get(part.name, part.default)]
        )
    return _is_valid_leaf(kind.kind, value)


def _is_valid_leaf(kind: str, value: Any) -> bool:
    if kind in ("int", "long"):
        limit = 2 ** (31 if kind == "int" else 63)
        return type(value) is int and -limit <= value < limit
    if kind in ("float", "double"):
        return type(value) in (int, float)
    if kind in ("null", "boolean"):
        return value is None if kind == "null" else isinstance(value, bool)
    return isinstance(value, str)


class NeededDefaults(DefaultChecker):
    """Encodes the defaults that a reader needs, as Java does, and so detects invalid values inside them."""

    def fault(self, kind: AvroType, value: Any, depth: int = 0, *, whole: bool = True) -> None:  # noqa: ARG002
        """As ``ResolvingGrammarGenerator.encode``, which signals faults by exceptions only.

        Raises:
            BrokerError: the default cannot be encoded.
        """
        if isinstance(kind, Union):
            self.fault(kind.branches[0], value, depth)
        elif isinstance(kind, Array):
            for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
                self.fault(kind.items, item, depth)
        elif isinstance(kind, Map):
            if isinstance(value, list) and value:  # Java writes the count, but then finds no keys
                raise BrokerError("java.io.EOFException", AVRO_RUNTIME)
            for item in value.values() if isinstance(value, dict) else ():
                self.fault(kind.values, item, depth)
        elif isinstance(kind, Record):
            self.record_fault(kind, value, depth)
        elif isinstance(kind, Enum):
            if value not in kind.symbols:
                raise BrokerError(_NO_SYMBOL, "NullPointerException")
        else:
            _encode_leaf(kind.kind, value)

    def record_fault(self, kind: Record, value: Any, depth: int) -> None:
        for part in kind.fields:
            given = value.get(part.name, part.default) if isinstance(value, dict) else part.default
            if given is MISSING:
                raise BrokerError(f"No default value for: {part.name}", _AVRO_TYPE)
            self.fault(part.type, given, depth)


def _encode_leaf(kind: str, value: Any) -> None:
    fits, words = {
        "null": (value is None, "Non-null default value for null type"),
        "boolean": (isinstance(value, bool), "Non-boolean default for boolean"),
        **{name: (type(value) in (int, float), f"Non-numeric default value for {name}") for name in _NUMBERS},
    }.get(kind, (isinstance(value, str), f"Non-string default value for {kind}"))
    if not fits:
        raise BrokerError(f"{words}: {compact(value)}", _AVRO_TYPE)


def avro(data: SchemaData) -> Schema:
    """The Avro schema of an AVRO, JSON or PROTOBUF text.

    Raises:
        InvalidDataError: Java's Avro does not parse the text.
        BrokerError: the text is an old JSON schema, in Jackson's format.
    """
    try:
        return java_parse(data.text)
    except OutsideOfParserError:
        raise InvalidDataError(f"Invalid schema definition data for {data.type} schema") from None
    except SchemaError:
        old = jackson_kind(data)
        if old == "no schema":
            raise BrokerError("Schema not yet supported: null", _PARSE) from None
        if old == "array":
            raise BrokerError(f"Array has no items type: {data.text}", _PARSE) from None
        if old:
            raise BrokerError(f"Type not supported: {old}", _PARSE) from None
        raise InvalidDataError(f"Invalid schema definition data for {data.type} schema") from None


def jackson_kind(data: SchemaData) -> str | None:
    """The type of a JSON schema in the format of Jackson's JsonSchema, which Pulsar used before 2.1; None for Avro.

    The text ``null`` is accepted too: "no schema".

    Raises:
        BrokerError: Jackson does not know the type.
    """
    try:
        tree = json.loads(data.text) if data.type == "JSON" else None
    except ValueError:
        return None
    if data.type == "JSON" and tree is None:
        return "no schema"
    kind = tree.get("type") if isinstance(tree, dict) else None
    if not isinstance(kind, str) or is_avro(data):
        return None
    if kind.upper() not in _JACKSON:
        raise BrokerError(
            f"Can not resolve JsonSchema 'type' id of \"{kind}\", not recognized as one of standard values: "
            f"[{', '.join(_JACKSON)}]",
            "IllegalArgumentException",
        )
    return kind


def is_avro(data: SchemaData) -> bool:
    """Whether Java's parser accepts the schema as Avro, or fails with another exception than the parser's own."""
    try:
        java_parse(data.text)
    except OutsideOfParserError:
        return True
    except SchemaError:
        return False
    return True


def check_ids(old: SchemaData, new: SchemaData) -> None:
    """Compare two JSON schemas in Jackson's format, of which the broker looks at the ids alone.

    Raises:
        IncompatibleError: the ids differ.
        BrokerError: the old one has no id, or one is ``null``.
    """
    trees: list[Any] = [json.loads(data.text) for data in (old, new)]
    for name, tree in zip(("fromSchema", "toSchema"), trees, strict=True):
        if tree is None:
            raise BrokerError(f'Cannot invoke "{_GET_ID}" because "{name}" is null', "NullPointerException")
    before, after = (tree.get("id") for tree in trees)
    if before is None:
        raise BrokerError(
            f'Cannot invoke "String.equals(Object)" because the return value of "{_GET_ID}" is null',
            "NullPointerException",
        )
    if before != after:
        raise IncompatibleError(f"Incompatible Schema from {old.text} + to {new.text}")
