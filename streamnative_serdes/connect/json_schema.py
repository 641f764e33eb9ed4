"""Schemas in JSON, as Kafka's JsonConverter writes them into each message: ``{"type": "struct", "fields": [...]}``."""

from __future__ import annotations

from typing import Any, Final

from streamnative_serdes._formats.faults import described
from streamnative_serdes._formats.jackson.notation import quoted
from streamnative_serdes.errors import DecodeError, SchemaError

from .builder import SchemaBuilder
from .json_values import Form, reader, writer
from .schema import Schema, Type

_NAMES: Final = {kind: kind.value for kind in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES: Final = {name: kind for kind, name in _NAMES.items()}


def to_json(schema: Schema, form: Form) -> str:
    """The JSON text of a schema, with the members in Java's order."""
    return f"{{{','.join(_members(schema, form))}}}"


def _members(schema: Schema, form: Form) -> list[str]:
    members = [f'"type":"{_NAMES[schema.type]}"']
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        members.append(f'"items":{to_json(schema.value_schema, form)}')
    elif schema.type is Type.MAP and schema.key_schema is not None and schema.value_schema is not None:
        members.append(f'"keys":{to_json(schema.key_schema, form)}')
        members.append(f'"values":{to_json(schema.value_schema, form)}')
    elif schema.type is Type.STRUCT:
        fields = [[*_members(field.schema, form), f'"field":{quoted(field.name)}'] for field in schema.fields or ()]
        inner = ",".join(f"{{{','.join(each)}}}" for each in fields)
        members.append(f'"fields":[{inner}]')
    members.append('"optional":true' if schema.optional else '"optional":false')
    return members + _properties(schema, form)


def _properties(schema: Schema, form: Form) -> list[str]:
    found = []
    if schema.name is not None:
        found.append(f'"name":{quoted(schema.name)}')
    if schema.version is not None:
        found.append(f'"version":{quoted(schema.version) if isinstance(schema.version, str) else schema.version}')
    if schema.doc is not None:
        found.append(f'"doc":{quoted(schema.doc)}')
    if schema.parameters is not None:
        inner = ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in schema.parameters.items())
        found.append(f'"parameters":{{{inner}}}')
    if schema.default is not None:
        found.append(f'"default":{writer(schema, form)(schema.default)}')
    return found


def from_json(node: Any, form: Form) -> Schema:
    """The schema of parsed JSON.

    Raises:
        DecodeError: it is not such a schema; ``path`` names the place in the JSON.
    """
    try:
        return _read(node, form)
    except SchemaError as error:
        raise DecodeError(error.message, path=error.path, hint=error.hint) from None


def _read(node: Any, form: Form) -> Schema:
    if type(node) is not dict:
        raise DecodeError(f"expected a schema, a JSON object, got {described(node)}")
    kind = _TYPES.get(node["type"]) if type(node.get("type")) is str else None
    if kind is None:
        raise DecodeError(f"expected one of {', '.join(_TYPES)}, got {described(node.get('type'))}", path="type")
    builder = _builder(kind, node, form)
    if _member(node, "optional", bool, "true or false"):
        builder.optional()
    for name, method in (("name", builder.name), ("doc", builder.doc)):
        if (text := _member(node, name, str, "a string")) is not None:
            method(text)
    if (version := _version(node)) is not None:
        builder.version(version)
    if (parameters := _member(node, "parameters", dict, "an object")) is not None:
        builder.parameters(parameters)
    return _with_default(builder.build(), node, form)


def _builder(kind: Type, node: dict[str, Any], form: Form) -> SchemaBuilder:
    if kind is Type.ARRAY:
        return SchemaBuilder.array(_inner(node, "items", form))
    if kind is Type.MAP:
        return SchemaBuilder.map(_inner(node, "keys", form), _inner(node, "values", form))
    builder = SchemaBuilder(kind)
    if kind is Type.STRUCT:
        fields = node.get("fields")
        if type(fields) is not list:
            raise DecodeError(f"expected an array, got {described(fields)}", path="fields")
        for at, field in enumerate(fields):
            _add_field(builder, field, f"fields[{at}]", form)
    return builder


def _add_field(builder: SchemaBuilder, field: Any, path: str, form: Form) -> None:
    try:
        schema = _read(field, form)
        if type(field.get("field")) is not str:
            raise DecodeError(f"expected a string, got {described(field.get('field'))}", path="field")
        builder.field(field["field"], schema)
    except (DecodeError, SchemaError) as error:
        error.inside(path)
        raise


def _inner(node: dict[str, Any], name: str, form: Form) -> Schema:
    try:
        return _read(node.get(name), form)
    except (DecodeError, SchemaError) as error:
        error.inside(name)
        raise


def _member(node: dict[str, Any], name: str, kind: type, expected: str) -> Any:
    value = node.get(name)
    if value is not None and type(value) is not kind:
        raise DecodeError(f"expected {expected}, got {described(value)}", path=name)
    return value


def _version(node: dict[str, Any]) -> int | str | None:
    value = node.get("version")
    if value is not None and type(value) not in (int, str):
        raise DecodeError(f"expected an integer or a string, got {described(value)}", path="version")
    found: int | str | None = value
    return found


def _with_default(schema: Schema, node: dict[str, Any], form: Form) -> Schema:
    if "default" not in node or (node["default"] is None and schema.optional):
        return schema
    try:
        return schema.replaced(default=reader(schema, form)(node["default"]))
    except DecodeError as error:
        error.inside("default")
        raise
