"""Connect schemas as Avro schemas, by Confluent's conventions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from streamnative_serdes._paths import joined
from streamnative_serdes._schema import is_name
from streamnative_serdes._schema.rules import logical_fault
from streamnative_serdes.connect.logical import Date, Decimal, Time, Timestamp
from streamnative_serdes.connect.schema import Schema, Type
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError

from . import names
from .anything import ANYTHING
from .defaults import fits, to_json
from .options import AvroOptions

PLAIN: Final[Mapping[Type, str]] = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
LOGICAL: Final[Mapping[str, str]] = {
    Date.LOGICAL_NAME: "date",
    Time.LOGICAL_NAME: "time-millis",
    Timestamp.LOGICAL_NAME: "timestamp-millis",
}
_NULL: Final = {"type": "null"}
Node = Any  # an Avro type: a dict with "type" and the properties, or a list of them, a union


class Translated(NamedTuple):
    """An Avro schema.

    Args:
        text: as JSON.
        exact: whether the schema is valid in strict Avro: no decimal has a scale that Avro does not allow.
        filled: whether each default is also the default of an Avro field.
        branches: for each schema that stands for a union, the names of the branches by field.
    """

    text: str
    exact: bool = True
    filled: bool = True
    branches: Mapping[Schema, tuple[str, ...]] = MappingProxyType({})


def avro_schema(schema: Schema | None, options: AvroOptions) -> Translated:
    """The Avro schema of a Connect schema; None is data without a schema.

    Raises:
        SchemaError: a name is not valid in Avro, or stands for two types; ``path`` names the field.
    """
    if schema is None:
        return Translated(ANYTHING)
    try:
        writer = SchemaWriter(options)
        root = writer.node(schema, "")
        writer.settle()
        text = json.dumps(_rendered(root, set()), allow_nan=False)
        return Translated(text, writer.exact, writer.filled, writer.branches)
    except RecursionError:
        raise NestedTooDeeplyError from None


class SchemaWriter:
    """One translation. Nodes hold each other, so that a type used twice is one node, until they are rendered."""

    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self._made: dict[Schema, Node] = {}  # required schemas
        self._defined: dict[str, tuple[Node, str]] = {}  # named types, with the path of the first use
        self._anonymous = 0
        self._entries = 0
        self._unsettled: dict[str, list[tuple[Any, bool, str]]] = {}  # defaults of each use of a named type
        self.exact = self.filled = True
        self.branches: dict[Schema, tuple[str, ...]] = {}

    def node(self, schema: Schema, path: str, *, in_field: bool = False) -> Node:
        """The Avro type of a schema. ``in_field``: the schema belongs to a field, and the field has the default."""
        if names.is_union(schema):
            return self._union(schema, path)
        if schema.optional and schema.type is Type.STRUCT:
            return [_NULL, self.node(schema.replaced(optional=False), path, in_field=False)]
        required = schema.replaced(optional=False) if schema.optional else schema
        found = self._made.get(required)
        if found is None:
            found = self._made[required] = self._defined_once(self._base(required, path), path)
        self._note_default(found, required, path, in_field=in_field)
        if not schema.optional:
            return found
        return [found, _NULL] if schema.default is not None else [_NULL, found]

    def _base(self, schema: Schema, path: str) -> Node:
        match schema.type:
            case Type.ARRAY:
                base = {"type": "array", "items": self.node(schema.values, f"{path}[]")}
            case Type.MAP:
                base = self._map(schema, path)
            case Type.STRUCT:
                base = self._record(schema, path)
            case Type.STRING if (name := names.enum_name(schema, self.options)) is not None:
                base = self._enum(schema, name, path)
            case Type.BYTES if (size := _size(schema, path)) is not None:
                base = {"type": "fixed", **self._named(schema, path), "size": size}
            case _:
                base = {"type": PLAIN[schema.type]}
        return base | self._properties(schema)

    # Types

    def _record(self, schema: Schema, path: str) -> dict[str, Any]:
        doc = names.ONLY_RECORD_DOC if self.options.discard_type_doc_default else names.RECORD_DOC
        base = {"type": "record", **self._named(schema, path), **_doc((schema.parameters or {}).get(doc))}
        fields: dict[str, Any] = {}
        for name, _, kind in schema.fields or ():
            here = joined(path, name)
            avro_name = names.scrubbed(name, self.options)
            _require_name(avro_name, here)
            if avro_name in fields:
                raise SchemaError(f"two fields have the Avro name {avro_name!r:.80}", path=here)
            doc_text = (schema.parameters or {}).get(f"{names.FIELD_DOC}{name}")
            fields[avro_name] = self._field(avro_name, kind, doc_text, here)
        return {**base, "fields": list(fields.values())}

    def _field(self, name: str, schema: Schema, doc: str | None, path: str) -> dict[str, Any]:
        node = self.node(schema, path, in_field=True)
        text = schema.doc if self.options.discard_type_doc_default else doc
        field = {"name": name, "type": node, **_doc(text)}
        if schema.default is not None:
            default = to_json(schema, schema.default, self.options)
            if fits(node, default):
                field["default"] = _widened(schema, default)
            else:  # left out, as in Java
                self.filled = False
                self._note_left_out(node, path)
        elif schema.optional:
            field["default"] = None
        return field

    def _map(self, schema: Schema, path: str) -> dict[str, Any]:
        keys, values = schema.keys, schema.values
        if names.is_avro_map(schema, self.options):
            return {"type": "map", "values": self.node(values, f"{path}{{}}")}
        fields = [
            self._field(names.KEY, keys, None, joined(path, names.KEY)),
            self._field(names.VALUE, values, None, joined(path, names.VALUE)),
        ]
        return {"type": "array", "items": self._entry(schema, fields, path)}

    def _entry(self, schema: Schema, fields: list[Any], path: str) -> Node:
        """The record of a map's entry. Java calls all unnamed entries MapEntry, and fails if they differ."""
        if schema.name is not None:
            entry = {"type": "record", **self._named(schema, path), "fields": fields}
            return self._defined_once(entry | {names.INTERNAL_TYPE_PROP: names.MAP_ENTRY}, path)
        full = f"{names.NAMESPACE}.{names.MAP_ENTRY}"
        plain: dict[str, Any] = {"type": "record", "name": full, "fields": fields}
        first, _ = self._defined.setdefault(full, (plain, path))
        if first == plain:
            return first
        for number in range(2, self._entries + 2):
            known, _ = self._defined[f"{full}{number}"]
            if known["fields"] == fields:
                return known
        self._entries += 1
        name = f"{full}{self._entries + 1}"
        return self._defined_once({**plain, "name": name, names.INTERNAL_TYPE_PROP: names.MAP_ENTRY}, path)

    def _union(self, schema: Schema, path: str) -> list[Node]:
        branches = [_NULL] if schema.optional else []
        for name, _, kind in schema.fields or ():
            node = self.node(kind.replaced(optional=False), joined(path, name))
            branches.extend(node if isinstance(node, list) else [node])
        labels = [branch["name"] if "name" in branch else branch["type"] for branch in branches]
        for at, label in enumerate(labels):
            if label in labels[:at]:
                raise SchemaError(f"two fields of a union are the Avro type {label!r:.80}", path=path)
        if not labels or labels == ["null"]:
            raise SchemaError("a union needs at least one field", path=path)
        self.branches[schema] = tuple(labels[1:] if schema.optional else labels)
        return branches

    def _enum(self, schema: Schema, name: str, path: str) -> dict[str, Any]:
        parameters = schema.parameters or {}
        prefix = f"{names.enum_parameter(self.options)}."
        last = self._name_parts(schema)[1]
        doc, default = parameters.get(f"{names.ENUM_DOC}{last}"), parameters.get(f"{names.ENUM_DEFAULT}{last}")
        if self.options.discard_type_doc_default:
            doc, default = parameters.get(names.ONLY_ENUM_DOC), None
        symbols = [key[len(prefix) :] for key in parameters if key.startswith(prefix)]
        for symbol in symbols:
            if not is_name(symbol):
                raise SchemaError(f"expected symbols that are Avro names, got {symbol!r:.80}", path=path)
        base = {"type": "enum", **self._given_name(name, path), **_doc(doc), "symbols": symbols}
        return base if default is None else {**base, "default": default}

    # Names

    def _named(self, schema: Schema, path: str) -> dict[str, Any]:
        namespace, name = self._name_parts(schema)
        return self._given_name(f"{namespace}.{name}" if namespace else name, path)

    def _given_name(self, full: str, path: str) -> dict[str, Any]:
        """A schema's name, checked as in Java: only the last part has to be valid, as in ``my-server.shop.Value``."""
        _require_name(full.rpartition(".")[2], path)
        return {"name": full}

    def _name_parts(self, schema: Schema) -> tuple[str, str]:
        if schema.name is not None:
            return names.split_name(schema.name, self.options)
        self._anonymous += 1
        return names.NAMESPACE, names.DEFAULT_NAME + (str(self._anonymous) if self._anonymous > 1 else "")

    def _defined_once(self, node: Node, path: str) -> Node:
        """The type with this name: the first definition, if ``node`` differs only in its default."""
        if "name" not in node:
            return node
        first, where = self._defined.setdefault(node["name"], (node, path))
        if first is not node and _without_default(first) != _without_default(node):
            raise SchemaError(
                f"two different types have the name {node['name']!r:.120}",
                path=path,
                hint=f"the other one is {where!r:.120}; give them different names, or the same doc, version, "
                "parameters and fields"
                if where
                else "the other one is the schema as a whole; give them different names",
            )
        return first

    def _note_default(self, node: Node, schema: Schema, path: str, *, in_field: bool) -> None:
        if "name" in node and self.options.meta_data:
            default = self._default_property(schema)
            self._unsettled.setdefault(node["name"], []).append((default, in_field, path))

    def _note_left_out(self, node: Node, path: str) -> None:
        """Note that the Avro field has no default, so a default of its named type cannot move to the field."""
        kind = node[0] if isinstance(node, list) else node
        uses = self._unsettled.get(kind.get("name"), [])
        uses[:] = [(default, in_field and where != path, where) for default, in_field, where in uses]

    def settle(self) -> None:
        """Leave defaults to the fields if uses of a named type have different defaults: Avro defines the type once.

        Raises:
            SchemaError: one of these defaults is not the default of an Avro field.
        """
        for name, uses in self._unsettled.items():
            if all(use[0] == uses[0][0] for use in uses):
                continue
            for default, in_field, path in uses:
                if default and not in_field:
                    raise SchemaError(
                        f"the type {name!r:.120} is used with different defaults, which Avro allows for fields only",
                        path=path,
                        hint="give the types different names",
                    )
            self._defined[name][0].pop(names.DEFAULT_PROP, None)

    # Properties

    def _properties(self, schema: Schema) -> dict[str, Any]:
        found = self._connect_properties(schema) if self.options.meta_data else {}
        if schema.name == Decimal.LOGICAL_NAME:
            found |= _decimal(schema)
            self.exact = self.exact and most_digits(schema) is not None
        elif schema.name is not None and schema.name in LOGICAL:
            found["logicalType"] = LOGICAL[schema.name]
        parameters = schema.parameters or {}
        return found | {key: text for key, text in parameters.items() if key.startswith(names.AVRO_PROPS)}

    def _connect_properties(self, schema: Schema) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if schema.doc is not None:
            found[names.DOC_PROP] = schema.doc
        if schema.version is not None:
            found[names.VERSION_PROP] = schema.version
        parameters = dict(schema.parameters or {})
        if not self.options.discard_type_doc_default:
            parameters.pop(names.FIELD_DEFAULT, None)
        if parameters:
            found[names.PARAMETERS_PROP] = parameters
        found |= self._default_property(schema)
        if schema.name is not None:
            found[names.NAME_PROP] = schema.name
        if schema.type in (Type.INT8, Type.INT16):
            found[names.TYPE_PROP] = schema.type.value
        return found

    def _default_property(self, schema: Schema) -> dict[str, Any]:
        of_field = names.FIELD_DEFAULT in (schema.parameters or {}) and not self.options.discard_type_doc_default
        if schema.default is None or of_field:
            return {}
        return {names.DEFAULT_PROP: to_json(schema, schema.default, self.options)}


def _decimal(schema: Schema) -> dict[str, Any]:
    text = (schema.parameters or {}).get(names.PRECISION)
    if text is not None and not (text.isdecimal() and len(text) <= 10):
        raise SchemaError(f"expected digits as the parameter {names.PRECISION}, got {text!r:.80}")
    precision = names.DEFAULT_PRECISION if text is None else int(text)
    return {"logicalType": "decimal", "precision": precision, "scale": Decimal.scale(schema)}


def most_digits(schema: Schema) -> int | None:
    """The precision of a decimal; None if Avro ignores the logical type, because its scale or size does not fit."""
    found, size = _decimal(schema), names.fixed_size(schema)
    fault = logical_fault("decimal", "bytes" if size is None else "fixed", size or 0, found)
    return found["precision"] if fault is None else None


def _widened(schema: Schema, default: Any) -> Any:
    """A default as that of an Avro field: a float32 gets the digits of a double, unlike in the property, as in Java."""
    return schema.default if schema.type is Type.FLOAT32 and isinstance(default, float) else default


def _size(schema: Schema, path: str) -> int | None:
    try:
        return names.fixed_size(schema)
    except SchemaError as error:
        raise error.inside(path) from None


def _doc(text: str | None) -> dict[str, Any]:
    return {} if text is None else {"doc": text}


def _require_name(name: str, path: str) -> None:
    if not is_name(name):
        raise SchemaError(
            f"{name!r:.80} is not a valid Avro name",
            path=path,
            hint="scrub.invalid.names=true replaces what Avro does not allow",
        )


def _without_default(node: Node) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != names.DEFAULT_PROP}


def _rendered(node: Node, seen: set[str]) -> Any:
    """JSON with each named type defined where it is used first."""
    if isinstance(node, list):
        return [_rendered(branch, seen) for branch in node]
    if len(node) == 1:
        return node["type"]
    if "name" not in node:
        return {key: _rendered(value, seen) if key in ("items", "values") else value for key, value in node.items()}
    full = node["name"]
    if full in seen:
        return full
    seen.add(full)
    # A name without a dot would be taken as one in the namespace around it.
    rendered = node if "." in full else {**node, "namespace": ""}
    if "fields" not in node:
        return rendered
    fields = [{**field, "type": _rendered(field["type"], seen)} for field in node["fields"]]
    return {**rendered, "fields": fields}
