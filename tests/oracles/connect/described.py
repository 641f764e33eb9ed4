"""Schemas and values of streamnative_serdes.connect as ConnectOracle.java describes them, and back."""

from __future__ import annotations

import base64
import decimal
import json
import struct
from typing import Any

from streamnative_serdes.connect import Date, Decimal, Field, Schema, Struct, Time, Timestamp, Type
from streamnative_serdes.connect.logical import logical_of

_DAY_MILLIS = 86_400_000


def described(schema: Schema | None) -> Any:
    """Of a schema; the version must be an int."""
    if schema is None:
        return None
    shown: dict[str, Any] = {"type": schema.type.name}
    if schema.optional:
        shown["optional"] = True
    if schema.default is not None:
        shown["default"] = described_value(schema, schema.default)
    for name in ("name", "version", "doc"):
        if getattr(schema, name) is not None:
            shown[name] = getattr(schema, name)
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    if schema.key_schema is not None:
        shown["key"] = described(schema.key_schema)
    if schema.value_schema is not None:
        shown["value"] = described(schema.value_schema)
    if schema.fields is not None:
        shown["fields"] = [[name, described(kind)] for name, _, kind in schema.fields]
    return shown


def described_value(schema: Schema | None, value: Any) -> Any:
    """Of a value of the schema, or of data without one, where ints are INT32 or INT64 by their size."""
    if value is None:
        return None
    if schema is None:
        return _schemaless(value)
    if (logical := logical_of(schema)) is not None:
        return _logical(schema, logical, value)
    match schema.type:
        case Type.ARRAY:
            return {"ARRAY": [described_value(schema.value_schema, item) for item in value]}
        case Type.MAP:
            pairs = (
                (described_value(schema.key_schema, k), described_value(schema.value_schema, v))
                for k, v in value.items()
            )
            return {"MAP": [list(pair) for pair in pairs]}
        case Type.STRUCT:
            fields = schema.fields or ()
            return {"STRUCT": [name in value and described_value(kind, value.get(name)) for name, _, kind in fields]}
        case Type.BOOLEAN:
            return {"BOOLEAN": "true" if value else "false"}
        case Type.FLOAT32:
            return {"FLOAT32": f"{struct.unpack('>I', struct.pack('>f', value))[0]:x}"}
        case Type.FLOAT64:
            return {"FLOAT64": f"{struct.unpack('>Q', struct.pack('>d', value))[0]:x}"}
        case Type.BYTES:
            return {"BYTES": base64.b64encode(value).decode()}
    return {schema.type.name: str(value)}


def _logical(schema: Schema, logical: Any, value: Any) -> Any:
    if logical is Decimal:
        scale = Decimal.scale(schema)
        return {"DECIMAL": f"{Decimal.unscaled(scale, value)} {scale}"}
    stored = logical.from_logical(schema, value)
    return {"DATE": str(stored * _DAY_MILLIS if logical is Date else stored)}


def _schemaless(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return {"MAP": [[_schemaless(key), _schemaless(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return {"ARRAY": [_schemaless(item) for item in value]}
    kinds = {bool: Type.BOOLEAN, float: Type.FLOAT64, str: Type.STRING, bytes: Type.BYTES}
    kind = kinds.get(type(value)) or (Type.INT32 if -(2**31) <= value < 2**31 else Type.INT64)
    return described_value(Schema(kind), value)


def comparable(shown: Any) -> Any:
    """A description without what does not count: the order of maps, and whether a field is null or not set."""
    if isinstance(shown, list):
        return [comparable(item) for item in shown]
    if not isinstance(shown, dict):
        return shown
    found = {key: comparable(item) for key, item in shown.items()}
    if shown.keys() == {"STRUCT"}:
        found["STRUCT"] = [item or None for item in found["STRUCT"]]
    if shown.keys() == {"MAP"}:
        found["MAP"] = sorted(found["MAP"], key=json.dumps)
    return found


def schema_of(shown: Any) -> Schema | None:
    """The schema that is described."""
    if shown is None:
        return None
    fields = [Field(name, at, schema_of(kind)) for at, (name, kind) in enumerate(shown.get("fields", ()))]
    made = Schema(
        Type[shown["type"]],
        shown.get("optional", False),
        None,
        shown.get("name"),
        shown.get("version"),
        shown.get("doc"),
        shown.get("parameters"),
        tuple(fields) if shown["type"] == "STRUCT" else None,
        schema_of(shown.get("key")),
        schema_of(shown.get("value")),
    )
    return made if "default" not in shown else made.replaced(default=value_of(made, shown["default"]))


def value_of(schema: Schema | None, shown: Any) -> Any:
    """The value that is described."""
    if shown is None:
        return None
    ((kind, content),) = shown.items()
    key, item = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
    match kind:
        case "ARRAY":
            return [value_of(item, each) for each in content]
        case "MAP":
            return {value_of(key, name): value_of(item, each) for name, each in content}
        case "STRUCT":
            assert schema is not None
            fields = zip(schema.fields or (), content, strict=True)
            return Struct(schema, {field.name: value_of(field.schema, each) for field, each in fields if each})
        case "DECIMAL":
            unscaled, scale = map(int, content.split())
            return decimal.Decimal(unscaled).scaleb(-scale)
        case "DATE":
            return _moment(schema, int(content))
    return _plain(kind, content)


def _moment(schema: Schema | None, millis: int) -> Any:
    assert schema is not None
    assert logical_of(schema) in (Date, Time, Timestamp)
    return logical_of(schema).to_logical(schema, millis // _DAY_MILLIS if schema.name == Date.LOGICAL_NAME else millis)


def _plain(kind: str, content: Any) -> Any:
    match kind:
        case "STRING":
            return content
        case "BOOLEAN":
            return content == "true"
        case "BYTES":
            return base64.b64decode(content)
        case "FLOAT32":
            return struct.unpack(">f", int(content, 16).to_bytes(4))[0]
        case "FLOAT64":
            return struct.unpack(">d", int(content, 16).to_bytes(8))[0]
    return int(content)


def without_lost_defaults(shown: Any) -> Any:
    """A described schema without the defaults that AvroData writes and then ignores when it reads them.

    Those that hold a map with keys other than text, or a struct with an optional field that is set.
    """
    if isinstance(shown, list):
        return [without_lost_defaults(item) for item in shown]
    if not isinstance(shown, dict) or "type" not in shown:
        return shown
    kept = {
        key: without_lost_defaults(item) if key in ("key", "value", "fields") else item for key, item in shown.items()
    }
    if "default" in kept and _is_lost(shown):
        del kept["default"]
    return kept


def _is_lost(shown: Any) -> bool:
    match shown["type"]:
        case "ARRAY":
            return _is_lost(shown["value"]) or shown["value"].get("optional", False)
        case "MAP":
            key = shown["key"]
            text = key["type"] == "STRING" and not key.get("optional")
            return not text or _is_lost(shown["value"]) or shown["value"].get("optional", False)
        case "STRUCT":
            return any(_is_lost(kind) or kind.get("optional", False) for _, kind in shown["fields"])
    return False
