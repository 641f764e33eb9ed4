"""Schemas of any type to write by, alone or as the pair of a KEY_VALUE topic: their registered forms and encoders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._avro_engine import engine_of
from streamnative_serdes._config import schema_limits
from streamnative_serdes._formats import Format, protobuf_native_text
from streamnative_serdes._formats.parts import info_of
from streamnative_serdes._schema import Schema, Shapes, parse, parse_given
from streamnative_serdes._topics.schema_version import Halves, SchemaVersion
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.key_value import INLINE, KeyValue, KeyValueSchema, TypedSchema
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


@dataclass(frozen=True, slots=True)
class WrittenPair:
    """The writers of the messages of a KEY_VALUE topic."""

    known: SchemaVersion
    key: _call_path.Half
    value: _call_path.Half

    @property
    def encoding(self) -> str:
        assert self.known.halves is not None
        return self.known.halves.encoding


def given_pair(schema: KeyValueSchema, conf: dict[str, Any]) -> WrittenPair:
    """The pair of schemas that a serializer was given."""
    key, value = known_of(schema.key, conf), known_of(schema.value, conf)
    halves, fault = Halves(schema.encoding, key, value), key.fault or value.fault
    known = SchemaVersion(info_of(schema.encoding, key.info, value.info), halves=halves, fault=fault)
    return WrittenPair(
        known,
        half_of(key, conf, _class(schema.key.schema)),
        half_of(value, conf, _class(schema.value.schema)),
    )


def topics_pair(known: SchemaVersion, conf: dict[str, Any], cls: type | None, *, is_key: bool) -> WrittenPair:
    """The pair of schemas that a topic has; objects of ``cls`` are written too."""
    halves = known.halves
    assert halves is not None
    of_key, of_value = (cls, None) if is_key else (None, cls)
    return WrittenPair(known, half_of(halves.key, conf, of_key), half_of(halves.value, conf, of_value))


def _class(schema: object) -> type | None:
    return schema if isinstance(schema, type) else None


def bound_pair(
    topic: str,
    key: type | None,
    pair: WrittenPair,
    version: int,
    conf: dict[str, Any],
    *,
    is_key: bool,
    lifetime: float = math.inf,
) -> _call_path.Bound:
    """The bound writer of values, or of keys if ``is_key``.

    Raises:
        ConfigError: the topic has no keys besides its values.
        EncodeError: ``key`` is KeyValue, for both halves in one value, but the halves are stored separately.
    """
    inline = pair.encoding == INLINE
    if is_key and inline:
        raise refuse_inline_key(topic)
    if not inline and key is not None and issubclass(key, KeyValue):
        raise refuse_both_halves(topic, version)
    half = pair.key if is_key else pair.value
    if key is tuple and not inline:
        half = _alone(half, "key" if is_key else "value", "value" if is_key else "key")
    if is_key and half.codec is not None:
        return _call_path.Bound(topic, key, version, b"", half.codec, lifetime)
    framed = not is_key and conf["key.value.framing"] == config.VALUE
    both = _call_path.Pair(pair.key if inline else None, half, KeyValue)
    return _call_path.Bound(topic, key, version, header.pack(version) if framed else b"", None, lifetime, both)


def codec_of_values(bound: _call_path.Bound) -> Codec:
    """The codec of the values of a topic that is not of type KEY_VALUE, also if keys are written with the values."""
    codec = bound.codec if bound.pair is None else bound.pair.value.codec
    assert codec is not None
    return codec


def _alone(half: _call_path.Half, this: str, other: str) -> _call_path.Half:
    """The writer of tuples as data of one half, with a hint in errors if a tuple may have been meant as both halves."""
    encode = half.encode if half.codec is None else half.codec.encode
    decode = half.decode if half.codec is None else half.codec.decode
    assert encode is not None

    def write(obj: Any) -> bytes:
        try:
            return encode(obj)
        except EncodeError as error:
            if len(obj) == 2 and not error.path:
                place = "the key goes to a serializer with is_key=True" if other == "key" else "the value has its own"
                error.hint = f"the topic's encoding is SEPARATED: give the {this} alone; {place}"
            raise

    return _call_path.Half(None, write, decode)


def refuse_both_halves(topic: str, version: int) -> EncodeError:
    """The error of writing a KeyValue as one half, since a record whose fields all have defaults would take it."""
    return EncodeError(
        "expected a key or a value, got a KeyValue",
        topic=topic,
        version=version,
        hint="the topic's encoding is SEPARATED: the key's serializer takes keys, and the value's takes values",
    )


def refuse_inline_key(topic: str) -> ConfigError:
    return ConfigError(
        "the topic's keys are part of its values: its encoding is INLINE",
        topic=topic,
        hint="pass KeyValue(key, value) as the value, and produce without a key",
    )
