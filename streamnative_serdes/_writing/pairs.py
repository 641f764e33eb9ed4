"""Writing to KEY_VALUE topics: the pair of schemas, and the writer of each half."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._formats.parts import info_of
from streamnative_serdes._topics.schema_version import Halves, SchemaVersion
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.key_value import INLINE, KeyValue, KeyValueSchema

from .typed import half_of, known_of


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
