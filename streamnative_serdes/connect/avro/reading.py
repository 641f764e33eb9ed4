"""Data of the Avro codec, without logical types, as Connect values: functions made once per schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from streamnative_serdes import _schema as avro
from streamnative_serdes.connect.containers import as_decoded, listed, paired
from streamnative_serdes.connect.logical import logical_of
from streamnative_serdes.connect.schema import Schema, Type
from streamnative_serdes.connect.struct import Struct
from streamnative_serdes.connect.values import SchemaAndValue
from streamnative_serdes.errors import DecodeError

from . import names
from .anything import from_anything
from .from_schema import connect_schema
from .options import AvroOptions

Convert: TypeAlias = Callable[[Any], Any]

_CONNECTS: Final = frozenset({"date", "time-millis", "timestamp-millis", "decimal"})
_BRANCH = "connect.branch"  # namespace of the records that stand for the branches of unions


# --- which branch of a union a datum is -------------------------------------------------------------------------------


def with_branches(schema: avro.Schema) -> avro.Schema:
    """The schema with a record of one field around each branch of unions that become structs.

    A record takes no bytes of its own, so this schema reads the same bytes; but the data names the branch.
    """
    if any(isinstance(node, avro.Union) and not _is_optional(node) for node in avro.all_types(schema.root)):
        return avro.Schema(schema.text, _WithBranches().of(schema.root))
    return schema


def _is_optional(node: avro.Union) -> bool:
    """Whether a type is a union of null and one other type, which is an optional schema in Connect."""
    return len(node.branches) == 2 and any(branch.kind == "null" for branch in node.branches)


class _WithBranches(avro.TreeCopy):
    def __init__(self) -> None:
        super().__init__()
        self._unions = 0

    def field(self, part: avro.Field) -> avro.Field:
        return replace(super().field(part), default=_wrapped_default(part.type, part.default))

    def union(self, node: avro.Union) -> avro.AvroType:
        if _is_optional(node):
            return super().union(node)
        self._unions += 1
        prefix = f"{_BRANCH}.u{self._unions}_"
        return avro.Union(
            tuple(
                branch
                if branch.kind == "null"
                else avro.Record(f"{prefix}{at}", (avro.Field(avro.ONLY_FIELD, self.of(branch)),))
                for at, branch in enumerate(node.branches)
            )
        )


def _wrapped_default(node: avro.AvroType, value: Any) -> Any:
    """A default for the type with branches; a default that does not fit is an error only at its use."""
    if value is avro.MISSING or value is None:
        return value
    match node:
        case avro.Union():
            first = _wrapped_default(node.branches[0], value)
            return first if _is_optional(node) else {avro.ONLY_FIELD: first}
        case avro.Array() if isinstance(value, list):
            return [_wrapped_default(node.items, item) for item in value]
        case avro.Map() if isinstance(value, dict):
            return {key: _wrapped_default(node.values, item) for key, item in value.items()}
        case avro.Record() if isinstance(value, dict):
            types = {part.name: part.type for part in node.fields}
            return {key: _wrapped_default(types[key], item) for key, item in value.items() if key in types}
    return value


# --- conversion -------------------------------------------------------------------------------------------------------


def reader_of(
    schema: avro.Schema,
    decode: Callable[[bytes], Any],
    options: AvroOptions,
    version: int | None,
    logical: Callable[[bytes], Any] | None = None,
) -> Callable[[bytes], SchemaAndValue]:
    """The function that reads messages.

    Args:
        schema: the schema of the data, without :func:`with_branches`.
        decode: decodes bytes to data, without logical types, with the names of records in unions.
        options: of the converter.
        version: of the schema in the registry.
        logical: as ``decode``, with logical types, if the codec's are Connect's. It is tried first, since it is far
            faster, but fails for dates that Python does not have.

    Raises:
        SchemaError: the schema has no Connect schema.
    """
    made = connect_schema(schema, options, version)
    if made is None:
        return lambda data: SchemaAndValue(None, from_anything(_plain(decode(data))))
    convert = converter_of(made, schema.root)
    quick = None if logical is None else converter_of(made, schema.root, logical=False)

    def read(data: bytes) -> SchemaAndValue:
        if quick is not None:
            try:
                return SchemaAndValue(made, quick(logical(data)))  # type: ignore[misc]
            except DecodeError:
                pass  # said below, if it is an error
        return SchemaAndValue(made, convert(decode(data)))

    return read


def has_connects_logical_types(schema: avro.Schema) -> bool:
    """Whether the schema has logical types, and all of them are Connect's, so the codec's values are Connect's too."""
    logical = (getattr(node, "logical", None) for node in avro.all_types(schema.root))
    found = {each.name for each in logical if each is not None}
    return bool(found) and found <= _CONNECTS


def _plain(datum: Any) -> Any:
    """The datum without the names of records in unions."""
    if isinstance(datum, tuple):
        return _plain(datum[1])
    if isinstance(datum, list):
        return [_plain(item) for item in datum]
    return {key: _plain(item) for key, item in datum.items()} if isinstance(datum, dict) else datum


def converter_of(schema: Schema, node: avro.AvroType, *, logical: bool = True) -> Convert:
    """Converts data of ``node``, None included, to values of its Connect schema.

    ``logical``: data lacks logical types, which are to be converted too.
    """
    return _Maker(logical).nullable(schema, node)


def _same(datum: Any) -> Any:
    return datum


def _small(schema: Schema) -> Convert:
    most = 127 if schema.type is Type.INT8 else 32767

    def convert(stored: int) -> int:
        if not -most <= stored + 1 <= most + 1:
            raise DecodeError(f"expected {schema.type.value}, got {stored}")
        return stored

    return convert


def _set(found: dict[str, Any]) -> dict[str, Any]:
    """The fields that are not null."""
    if None in found.values():
        return {name: value for name, value in found.items() if value is not None}
    return found


class _Maker:
    """Makes the functions of one schema."""

    def __init__(self, logical: bool) -> None:
        self._converts_logical = logical

    def nullable(self, schema: Schema, node: avro.AvroType) -> Convert:
        if isinstance(node, avro.Union):
            if not _is_optional(node):
                return self._union(schema, node)
            node = next(branch for branch in node.branches if branch.kind != "null")
            convert = self._required(schema, node)
            return _same if convert is _same else lambda datum: None if datum is None else convert(datum)
        return self._required(schema, node)

    def _required(self, schema: Schema, node: avro.AvroType) -> Convert:
        match node:
            case avro.Record():
                return self._struct(schema, node)
            case avro.Array():
                return self._entries(schema, node) if schema.type is Type.MAP else self._array(schema, node)
            case avro.Map():
                return self._map(schema, node)
        logical = logical_of(schema)
        if logical is not None:
            done = not self._converts_logical and getattr(node, "logical", None) is not None
            return _same if done else lambda stored: as_decoded(logical.to_logical, schema, stored)
        return _small(schema) if schema.type in (Type.INT8, Type.INT16) else _same

    def _struct(self, schema: Schema, node: avro.Record) -> Convert:
        """Turns the codec's dict, which nobody else uses, into a Struct."""
        kinds = zip(node.fields, schema.fields or (), strict=True)
        fields = [(part.name, self.nullable(field.schema, part.type)) for part, field in kinds]
        changed = [(name, field) for name, field in fields if field is not _same]
        of_checked = Struct.of_checked

        def convert(datum: Any) -> Struct:
            found = datum[1] if type(datum) is tuple else datum
            name = ""
            try:
                for name, field in changed:
                    found[name] = field(found[name])
            except DecodeError as error:
                raise error.inside(name) from None
            return of_checked(schema, _set(found))

        return convert

    def _array(self, schema: Schema, node: avro.Array) -> Convert:
        item = self.nullable(schema.values, node.items)
        return _same if item is _same else listed(item)

    def _map(self, schema: Schema, node: avro.Map) -> Convert:
        item = self.nullable(schema.values, node.values)
        pairs = paired(_same, item)
        return _same if item is _same else lambda datum: dict(pairs(datum))

    def _entries(self, schema: Schema, node: avro.Array) -> Convert:
        assert isinstance(node.items, avro.Record)
        types = {field.name: field.type for field in node.items.fields}
        key_of = self.nullable(schema.keys, types[names.KEY])
        value_of = self.nullable(schema.values, types[names.VALUE])

        def convert(datum: Any) -> dict[Any, Any]:
            at = 0
            try:
                found = {}
                for at, entry in enumerate(datum):  # noqa: B007 - for the error
                    found[key_of(entry[names.KEY])] = value_of(entry[names.VALUE])
            except DecodeError as error:
                raise error.inside(f"[{at}]") from None
            return found

        return convert

    def _union(self, schema: Schema, node: avro.Union) -> Convert:
        """A struct with the field of the branch that the record's name gives."""
        branches = [(at, branch) for at, branch in enumerate(node.branches) if branch.kind != "null"]
        fields = {
            at: (field.name, self.nullable(field.schema, branch))
            for (at, branch), field in zip(branches, schema.fields or (), strict=True)
        }

        def convert(datum: Any) -> Struct | None:
            if datum is None:
                return None
            name, field = fields[avro.branch_number(datum[0])]
            try:
                return Struct.of_checked(schema, _set({name: field(datum[1][avro.ONLY_FIELD])}))
            except DecodeError as error:
                raise error.inside(name) from None

        return convert
