"""Avro schemas as Connect schemas, by Confluent's conventions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from streamnative_serdes import _schema as avro
from streamnative_serdes._paths import joined
from streamnative_serdes.connect.logical import LOGICAL as BASES
from streamnative_serdes.connect.logical import Decimal, require_base
from streamnative_serdes.connect.schema import Field, Schema, Type
from streamnative_serdes.errors import NestedTooDeeplyError, SchemaError

from . import names
from .anything import ANYTHING
from .defaults import from_json
from .options import AvroOptions
from .to_schema import LOGICAL, PLAIN

_TYPES: Final[Mapping[str, Type]] = {name: kind for kind, name in PLAIN.items()}  # for int, that is INT32
_SMALL: Final[Mapping[str, Type]] = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL: Final = {(PLAIN[BASES[name][0]], word): name for name, word in LOGICAL.items()}
_ANYTHING: Final = avro.parse(ANYTHING)
_MOST_TYPES: Final = 50_000


def connect_schema(schema: avro.Schema, options: AvroOptions, version: int | None = None) -> Schema | None:
    """The Connect schema of an Avro schema; None if the Avro schema is for data without a schema.

    Args:
        schema: the schema in the registry.
        options: of the converter.
        version: of the schema in the registry; the outermost Connect schema has it, unless Avro has another.

    Raises:
        SchemaError: the schema is recursive, is null alone, or has properties `connect.*` that contradict the type;
            ``path`` names the field.
    """
    if schema.same_as(_ANYTHING):
        return None
    try:
        return SchemaReader(options).schema(schema.root, "", version=version)
    except RecursionError:
        raise NestedTooDeeplyError from None


class SchemaReader:
    """One translation."""

    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self._open: set[str] = set()  # records around the current type
        self._unions = 0
        self._left = _MOST_TYPES

    def schema(
        self,
        node: avro.AvroType,
        path: str,
        *,
        optional: bool = False,
        default: Any = avro.MISSING,
        doc: str | None = None,
        version: int | None = None,
    ) -> Schema:
        """The Connect schema of a type; ``default`` and ``doc`` are the Avro field's, ``version`` the registry's."""
        self._count(path)
        if isinstance(node, avro.Union):
            branches = [branch for branch in node.branches if branch.kind != "null"]
            if len(node.branches) == 2 and len(branches) == 1:
                # Java has the default from the type alone; the two are one, except where old versions wrote base64.
                of_field = default if node.branches[0] is branches[0] and _has_default(branches[0]) else avro.MISSING
                return self.schema(branches[0], path, optional=True, default=of_field, doc=doc)
            made = self._union(node, path)
        else:
            made = self._type(node, path)
        props: Mapping[str, Any] = {} if isinstance(node, avro.Union) else node.props
        made = self._annotated(made, node, props, path, doc, version)
        made = self._with_default(made, props, default)
        return made.replaced(optional=True) if optional or made.optional else made

    def _count(self, path: str) -> None:
        """Count and limit schemas: a named type is written out wherever used, so a small schema can become huge."""
        self._left -= 1
        if self._left < 0:
            raise SchemaError(
                f"expected at most {_MOST_TYPES} types when each use of a name is counted, got more",
                path=path[:200] or None,
                hint="read the topic with KafkaAvroDeserializer",
            )

    # Types

    def _type(self, node: avro.AvroType, path: str) -> Schema:
        match node:
            case avro.Record():
                return self._record(node, path)
            case avro.Array():
                return self._array(node, path)
            case avro.Map():
                return Schema(
                    Type.MAP, key_schema=Schema(Type.STRING), value_schema=self.schema(node.values, f"{path}{{}}")
                )
            case avro.Enum():
                return self._enum(node)
            case avro.Fixed():
                made = self._bytes(node.props, path)
                return made.replaced(parameters={**(made.parameters or {}), names.FIXED_SIZE: str(node.size)})
        assert isinstance(node, avro.Primitive)
        if node.kind == "bytes":
            return self._bytes(node.props, path)
        if node.kind == "null":
            raise SchemaError("null alone has no Connect schema", path=path)
        return self._plain(node, path)

    def _plain(self, node: avro.Primitive, path: str) -> Schema:
        logical = node.props.get("logicalType")
        name = _LOGICAL.get((node.kind, logical)) if isinstance(logical, str) else None
        if name is not None:
            return Schema(_TYPES[node.kind], name=name, version=1)
        small = node.props.get(names.TYPE_PROP)
        if node.kind != "int" or small is None or logical is not None:
            return Schema(_TYPES[node.kind])
        if not isinstance(small, str) or small not in _SMALL:
            raise SchemaError(f"expected {names.TYPE_PROP} to be int8 or int16, got {small!r:.80}", path=path)
        return Schema(_SMALL[small])

    def _bytes(self, props: Mapping[str, Any], path: str) -> Schema:
        if props.get("logicalType") != "decimal":
            return Schema(Type.BYTES)
        scale, precision = props.get("scale"), props.get("precision")
        parameters = {Decimal.SCALE: str(scale if type(scale) is int else 0)}
        if precision is not None and type(precision) is not int:
            raise SchemaError(f"expected the precision of a decimal as an int, got {precision!r:.80}", path=path)
        if precision is not None and precision != names.DEFAULT_PRECISION:
            parameters[names.PRECISION] = str(precision)
        return Schema(Type.BYTES, name=Decimal.LOGICAL_NAME, version=1, parameters=parameters)

    def _array(self, node: avro.Array, path: str) -> Schema:
        entry = node.items
        if not isinstance(entry, avro.Record) or not _is_entry(entry):
            return Schema(Type.ARRAY, value_schema=self.schema(entry, f"{path}[]"))
        fields = {field.name: field.type for field in entry.fields}
        if fields.keys() != {names.KEY, names.VALUE}:
            raise SchemaError(
                f"expected entries of a map with the fields key and value, got {list(fields)!r:.120}", path=path
            )
        with self._inside(entry, path):
            key = self.schema(fields[names.KEY], joined(path, names.KEY))
            value = self.schema(fields[names.VALUE], joined(path, names.VALUE))
        if not key.type.is_primitive:
            raise SchemaError(f"expected map keys of a primitive type, got {key.type.value}", path=path)
        return Schema(Type.MAP, key_schema=key, value_schema=value)

    def _record(self, node: avro.Record, path: str) -> Schema:
        parameters: dict[str, str] = {}
        keep = self.options.meta_data and not self.options.discard_type_doc_default
        if keep and isinstance(node.doc, str):
            parameters[names.RECORD_DOC] = node.doc
        fields = []
        with self._inside(node, path):
            for at, field in enumerate(node.fields):
                doc = _text(field.doc)
                if keep and doc is not None:
                    parameters[f"{names.FIELD_DOC}{field.name}"] = doc
                kind = self.schema(field.type, joined(path, field.name), default=field.default, doc=doc)
                fields.append(Field(field.name, at, kind))
        return Schema(Type.STRUCT, fields=tuple(fields), parameters=parameters or None)

    @contextmanager
    def _inside(self, node: avro.Record, path: str) -> Iterator[None]:
        if node.name in self._open:
            raise SchemaError(
                f"the record {node.name!r:.120} contains itself, which Connect's schemas cannot do here",
                path=path,
                hint="read the topic with KafkaAvroDeserializer",
            )
        self._open.add(node.name)
        yield
        self._open.discard(node.name)

    def _enum(self, node: avro.Enum) -> Schema:
        doc, last = _text(node.doc), avro.last_name(node)
        parameters: dict[str, str] = {}
        if self.options.meta_data and doc is not None:
            only = self.options.discard_type_doc_default
            parameters[names.ONLY_ENUM_DOC if only else f"{names.ENUM_DOC}{last}"] = doc
        if self.options.meta_data and not self.options.discard_type_doc_default and node.default is not None:
            parameters[f"{names.ENUM_DEFAULT}{last}"] = node.default
        name = names.enum_parameter(self.options)
        parameters[name] = node.name
        for at, symbol in enumerate(node.symbols):
            parameters[f"{name}.{symbol}"] = str(at) if self.options.generalized_sum_type_support else symbol
        return Schema(Type.STRING, parameters=parameters)

    def _union(self, node: avro.Union, path: str) -> Schema:
        name, parameters = names.UNION, None
        if self.options.generalized_sum_type_support:
            name = f"{names.ANY_UNION_NAME}{self._unions}"
            self._unions += 1
            parameters = {names.ANY_UNION: name}
        fields: dict[str, Field] = {}
        for at, branch in enumerate(node.branches):
            if branch.kind == "null":
                continue
            full = branch.name if isinstance(branch, avro.Named) else None
            called = names.branch_field(at, branch.kind, full, self.options)
            if called in fields:
                raise SchemaError(
                    f"two branches of the union are called {called!r:.80}",
                    path=path,
                    hint="enhanced.avro.schema.support=true calls them by their full names",
                )
            fields[called] = Field(called, len(fields), self.schema(branch, joined(path, called), optional=True))
        optional = any(branch.kind == "null" for branch in node.branches)
        return Schema(Type.STRUCT, optional, None, name, None, None, parameters, tuple(fields.values()))

    # What the types are annotated with

    def _annotated(
        self,
        made: Schema,
        node: avro.AvroType,
        props: Mapping[str, Any],
        path: str,
        doc: str | None,
        version: int | None,
    ) -> Schema:
        annotated = made.replaced(
            doc=self._doc_of(node, props, doc),
            version=self._version_of(made, props, path, version),
            parameters=self._parameters_of(made, node, props, path) or None,
            name=self._name_of(made, node, props, path),
        )
        try:
            require_base(annotated)  # its name may have come from a property
        except SchemaError as error:
            raise error.inside(path) from None
        return annotated

    def _doc_of(self, node: avro.AvroType, props: Mapping[str, Any], doc: str | None) -> str | None:
        of_type = _text(props.get(names.DOC_PROP))
        if not self.options.discard_type_doc_default:
            return of_type if self.options.meta_data else None
        if doc is not None:
            return doc
        return (_text(node.doc) if isinstance(node, avro.Named) else None) or of_type

    def _version_of(self, made: Schema, props: Mapping[str, Any], path: str, version: int | None) -> int | str | None:
        given = props.get(names.VERSION_PROP, version)
        if given is None or (isinstance(given, int) and given < 0):
            return made.version
        if isinstance(given, bool) or not isinstance(given, (int, str)):
            raise SchemaError(f"expected {names.VERSION_PROP} as an int or a text, got {given!r:.80}", path=path)
        if made.version is not None and names.VERSION_PROP not in props:
            return made.version  # that of a logical type
        if made.version is not None and made.version != given:
            raise SchemaError(
                f"expected the version {made.version} of {made.name}, got {names.VERSION_PROP} {given!r:.80}",
                path=path,
            )
        return given

    def _parameters_of(self, made: Schema, node: avro.AvroType, props: Mapping[str, Any], path: str) -> dict[str, str]:
        found = dict(made.parameters or {})
        doc = _text(node.doc) if isinstance(node, avro.Named) else None
        if self.options.discard_type_doc_default and self.options.meta_data and doc is not None:
            found[names.ONLY_RECORD_DOC] = doc
        given = props.get(names.PARAMETERS_PROP)
        if self.options.meta_data and given is not None:
            if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
                raise SchemaError(
                    f"expected {names.PARAMETERS_PROP} to be an object of texts, got {given!r:.120}", path=path
                )
            found |= given
        for key, value in props.items():
            if key.startswith(names.AVRO_PROPS):
                found[key] = value if isinstance(value, str) else json.dumps(value)
        return found

    def _name_of(self, made: Schema, node: avro.AvroType, props: Mapping[str, Any], path: str) -> str | None:
        given = props.get(names.NAME_PROP)
        if given is not None and not isinstance(given, str):
            raise SchemaError(f"expected {names.NAME_PROP} as text, got {given!r:.80}", path=path)
        if given is None and isinstance(node, avro.Named) and made.name is None:
            given = node.name
        if given is None or given.startswith(names.FULL_DEFAULT_NAME):
            return made.name
        if made.name is not None and given != made.name:
            raise SchemaError(
                f"expected {names.NAME_PROP} {made.name} for this logical type, got {given!r:.80}", path=path
            )
        return given

    def _with_default(self, made: Schema, props: Mapping[str, Any], default: Any) -> Schema:
        of_type = props.get(names.DEFAULT_PROP)
        if default is avro.MISSING or default is None:
            default = of_type
        elif not self.options.discard_type_doc_default and self.options.meta_data and of_type is None:
            made = made.replaced(parameters={**(made.parameters or {}), names.FIELD_DEFAULT: "true"})
        if default is None:
            return made
        return made.replaced(default=from_json(made, default, self.options))


def _is_entry(record: avro.Record) -> bool:
    full = f"{names.NAMESPACE}.{names.MAP_ENTRY}"
    return record.name == full or record.props.get(names.INTERNAL_TYPE_PROP) == names.MAP_ENTRY


def _has_default(node: avro.AvroType) -> bool:
    return not isinstance(node, avro.Union) and names.DEFAULT_PROP in node.props


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
