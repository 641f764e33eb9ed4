"""Defaults of Connect schemas as JSON in Avro schemas, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamnative_serdes._formats.jackson.notation import shortest, to_float
from streamnative_serdes._schema import json_float
from streamnative_serdes.connect.logical import logical_of
from streamnative_serdes.connect.schema import Schema, Type
from streamnative_serdes.connect.struct import Struct
from streamnative_serdes.connect.values import validate
from streamnative_serdes.errors import EncodeError, SchemaError, SerdesError

from .names import is_avro_map, is_union, scrubbed
from .options import AvroOptions


def to_json(schema: Schema, value: Any, options: AvroOptions) -> Any:
    """A default as JSON: bytes are text of code points 0 to 255, and maps that Avro does not have are lists of pairs.

    Raises:
        SchemaError: an Avro map would have None as a key.
    """
    if value is None:
        return None
    logical = logical_of(schema)
    if logical is not None:
        value = logical.from_logical(schema, value)
    match schema.type:
        case Type.BYTES:
            return bytes(value).decode("latin-1")
        case Type.FLOAT32:
            return json_float(float(shortest(to_float(float(value)))))
        case Type.FLOAT64:
            return json_float(float(value))
        case Type.ARRAY:
            return [to_json(schema.values, item, options) for item in value]
        case Type.MAP:
            return _map_json(schema, value, options)
        case Type.STRUCT:
            return _struct_json(schema, value, options)
    return value


def _map_json(schema: Schema, value: Any, options: AvroOptions) -> Any:
    keys, values = schema.keys, schema.values
    if is_avro_map(schema, options):
        if None in value:  # which would become the text "null"
            raise SchemaError("expected a text as the key of a map in a default, got None")
        return {key: to_json(values, item, options) for key, item in value.items()}
    return [[to_json(keys, key, options), to_json(values, item, options)] for key, item in value.items()]


def _struct_json(schema: Schema, value: Any, options: AvroOptions) -> Any:
    fields = schema.fields or ()
    if is_union(schema):
        return next((to_json(kind, value[name], options) for name, _, kind in fields if value[name] is not None), None)
    return {scrubbed(name, options): to_json(kind, value[name], options) for name, _, kind in fields}


# --- whether Avro accepts a default -----------------------------------------------------------------------------------


def fits(node: Any, value: Any, *, whole: bool = True) -> bool:
    """Whether JSON from :func:`to_json` is a valid default of an Avro type by Avro 1.11: of a union, the first branch.

    Text for a number that is not finite is valid only as the ``whole`` default.
    """
    if isinstance(node, list):
        return fits(node[0], value, whole=whole)
    kind = node["type"]
    match kind:
        case "null":
            return value is None
        case "array":
            return isinstance(value, list) and all(fits(node["items"], item, whole=False) for item in value)
        case "map":
            return isinstance(value, dict) and all(fits(node["values"], item, whole=False) for item in value.values())
        case "record":
            return isinstance(value, dict) and all(
                fits(field["type"], value.get(field["name"]), whole=False) for field in node["fields"]
            )
        case "fixed":
            return isinstance(value, str) and len(value) == node["size"]
        case "enum":
            return value in node["symbols"]
        case "float" | "double":
            return isinstance(value, float) or (whole and isinstance(value, str))
    return value is not None


# --- back -------------------------------------------------------------------------------------------------------------


def from_json(schema: Schema, value: Any, options: AvroOptions) -> Any:
    """A default of an Avro schema as a value of the Connect schema; None if the default is not valid, as in Java."""
    try:
        found = _from_json(schema, value, options)
        if found is not None:
            validate(schema, found)
    except (SerdesError, ValueError, TypeError, AttributeError, LookupError, OverflowError):
        return None
    return found


def _from_json(schema: Schema, value: Any, options: AvroOptions) -> Any:
    if value is None:
        if schema.optional or schema.default is not None:
            return None
        raise EncodeError("expected a default other than null")
    if schema.type is Type.BYTES:
        value = value.encode("latin-1")
    logical = logical_of(schema)
    if logical is not None:
        return logical.to_logical(schema, value)
    match schema.type:
        case Type.FLOAT32:
            return to_float(float(value))
        case Type.FLOAT64:
            return float(value)
        case Type.ARRAY:
            return [_from_json(schema.values, item, options) for item in value]
        case Type.MAP:
            return _map_of(schema, value, options)
        case Type.STRUCT:
            return _struct_of(schema, value, options)
    return value


def _map_of(schema: Schema, value: Any, options: AvroOptions) -> Any:
    keys, values = schema.keys, schema.values
    if isinstance(value, Mapping):
        return {key: _from_json(values, item, options) for key, item in value.items()}
    pairs = (pair.values() if isinstance(pair, Mapping) else pair for pair in value)
    return {_from_json(keys, key, options): _from_json(values, item, options) for key, item in pairs}


def _struct_of(schema: Schema, value: Any, options: AvroOptions) -> Any:
    made = Struct(schema)
    if is_union(schema):  # the default of a union is of its first branch
        name, _, kind = (schema.fields or ())[0]
        return made.put(name, _from_json(kind, value, options))
    for name, _, kind in schema.fields or ():
        given = value.get(scrubbed(name, options))
        if given is not None or kind.default is None:
            made.put(name, _from_json(kind, given, options))
    return made
