"""Schemas of any type to write by: what is registered of a TypedSchema, and what encodes its data."""

from __future__ import annotations

from typing import Any

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._config import schema_limits
from streamnative_serdes._schema import Schema, Shapes, parse
from streamnative_serdes._topics.known import Compiled, Known
from streamnative_serdes.codec import Codec
from streamnative_serdes.key_value import TypedSchema
from streamnative_serdes.models import is_model, schema_of, shapes_to_write
from streamnative_serdes.schema_registry import SchemaInfo


def codec_of(schema: object, cls: type | None, conf: dict[str, Any]) -> Codec:
    """What writes by an Avro schema, which may be a class's; objects of ``cls`` too."""
    parsed = parsed_of(schema, conf)
    return Codec(parsed, shapes=shapes_of(cls, parsed), **config.codec_arguments(conf))


def parsed_of(schema: object, conf: dict[str, Any]) -> Schema:
    """An Avro schema of a user, which may be a class's."""
    given = schema_of(schema, allow_null=conf["allow.null"]) if isinstance(schema, type) else schema
    return parse(given, limits=schema_limits(conf), to_register=conf["auto.register.schemas"])


def shapes_of(cls: type | None, schema: Schema) -> Shapes | None:
    """How objects of ``cls`` are written; None if no schema can be derived from ``cls``, as from dict."""
    return shapes_to_write(cls, schema) if cls is not None and is_model(cls) else None


def known_of(typed: TypedSchema, conf: dict[str, Any]) -> Known:
    """What is registered.

    Raises:
        SchemaError: the schema is not valid.
    """
    if typed.type == "AVRO":
        parsed = parsed_of(typed.schema, conf)
        return Known(SchemaInfo(0, "AVRO", parsed.text, properties=typed.properties), avro=Compiled(parsed))
    text = parsed_of(typed.schema, conf).text if typed.type == "JSON" else ""
    return Known(SchemaInfo(0, typed.type, text, properties=typed.properties))


def half_of(known: Known, conf: dict[str, Any], cls: type | None = None) -> _call_path.Half:
    """What writes one half of a KEY_VALUE message; objects of ``cls`` too.

    Raises:
        SchemaError: messages of this type cannot be written.
    """
    options = config.codec_arguments(conf)
    if known.avro is not None:
        return _call_path.Half(known.compiled.codec(options, shapes=shapes_of(cls, known.schema)))
    form = known.format(options, schema_limits(conf))
    return _call_path.Half(None, form.encode, form.decode)
