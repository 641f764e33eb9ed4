"""Schemas of any type to write by: the registered form of a TypedSchema, and the encoders of its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._avro_engine import engine_of
from streamnative_serdes._config import schema_limits
from streamnative_serdes._formats import Format, protobuf_native_text
from streamnative_serdes._schema import Schema, Shapes, parse, parse_given
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes.codec import Codec
from streamnative_serdes.key_value import TypedSchema
from streamnative_serdes.models import is_model, schema_of, shapes_to_write
from streamnative_serdes.schema_registry import SchemaInfo


def codec_of(schema: object, cls: type | None, conf: dict[str, Any]) -> Codec:
    """The codec that writes by an Avro schema, which may be a class's; objects of ``cls`` too."""
    parsed = parsed_of(schema, conf)
    return Codec(parsed, shapes=shapes_of(cls, parsed), **config.codec_arguments(conf))


def parsed_of(schema: object, conf: dict[str, Any]) -> Schema:
    """A user's Avro schema: that of a class, or a given schema; a given schema with a fault may be in the registry."""
    limits, to_register = schema_limits(conf), conf["auto.register.schemas"]
    if isinstance(schema, type):
        text = schema_of(schema, allow_null=conf["allow.null"])
        parsed = parse(text, limits=limits, to_register=to_register)
    else:
        parsed = parse_given(schema, limits=limits, to_register=to_register)
    return parsed.in_confluents_framing() if conf.get("framing") == config.CONFLUENT else parsed


def shapes_of(cls: type | None, schema: Schema) -> Shapes | None:
    """How objects of ``cls`` are written; None if no schema can be derived from ``cls``, as from dict."""
    return shapes_to_write(cls, schema) if cls is not None and is_model(cls) else None


def known_of(typed: TypedSchema, conf: dict[str, Any]) -> SchemaVersion:
    """The schema version to register.

    Raises:
        SchemaError: the schema is not valid.
        ConfigError: a library that the type needs is not installed.
    """
    if typed.type == "AVRO":
        return SchemaVersion.of_schema(parsed_of(typed.schema, conf), typed.properties)
    text, fault = "", None
    if typed.type == "JSON":
        parsed = parsed_of(typed.schema, conf)
        text, fault = parsed.text, parsed.fault
    elif typed.type == "PROTOBUF_NATIVE":
        text = protobuf_native_text(typed.schema)
    return SchemaVersion(SchemaInfo(0, typed.type, text, properties=typed.properties), fault=fault)


def half_of(known: SchemaVersion, conf: dict[str, Any], cls: type | None = None) -> _call_path.Half:
    """The writer of one half of a KEY_VALUE message, or of a message of another type; objects of ``cls`` too."""
    options = config.codec_arguments(conf)
    if known.avro is not None:
        return engine_of(conf).half(known.compiled.codec(options, shapes=shapes_of(cls, known.schema)))
    form = known.format(options, schema_limits(conf))
    if known.type == "JSON" and known.info.text and cls is not None and is_model(cls):
        return _call_path.Half(None, _plain_first(form, known.info.text, cls, conf), form.decode)
    return _call_path.Half(None, form.encode, form.decode)


def _plain_first(form: Format, text: str, cls: type, conf: dict[str, Any]) -> Callable[[Any], bytes]:
    """The encoder of objects of a class, which are first converted to the plain data that the format knows."""
    schema, options = parse(text, strict=False, limits=schema_limits(conf)), config.codec_arguments(conf)
    written = Codec(schema, shapes=shapes_of(cls, schema), **options)
    options["return_record_name"] = True  # the branch of a union that was written
    plain = Codec(schema, **options)
    return lambda obj: form.encode(plain.decode(written.encode(obj)))
