"""Decoding for people: a message's value as JSON, with its framing and the version of the schema that read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from streamnative_serdes import KafkaAvroDeserializer, header
from streamnative_serdes._call_path import LATEST
from streamnative_serdes._config import (
    CONFLUENT,
    CONFLUENT_HEADER,
    DESERIALIZER_OPTIONS,
    CodecArguments,
    codec_arguments,
    schema_limits,
)
from streamnative_serdes._lifecycle import policy_of
from streamnative_serdes._reading.attempts import Attempt
from streamnative_serdes._reading.framings import schema_id_header
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._schema import Schema
from streamnative_serdes._topics.schema_version import Compiled, SchemaVersion
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaNotFoundError
from streamnative_serdes.key_value import INLINE

from .avro_json import JsonWriter
from .options import Connection
from .typed_json import TypedJson, json_of, split, within

_FRAMED, _BARE = "snip42", "headerless"
NO_KEY: Final = object()  # in the place of a message's key, or of what it holds
# How data must look for avro_json, and that each message is shown by the schema it was written with.
_RAW: Final = {
    "avro.logical.types": False,
    "return.record.name": True,
    "use.latest.version": False,
    "reader.schema.policy": None,
    "reader.schema.incompatible": None,
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A message's value and how it was read."""

    framing: str | None  # ``snip42``, ``headerless``, ``confluent`` or ``confluent-header``; None for a tombstone
    version: int | None  # of the schema that read it; None for a tombstone, and for a schema of the second registry
    value: Any  # JSON
    header_version: int | None = None  # the version that the header names, if another schema has read the message
    halves: str | None = None  # of KEY_VALUE topics: how they are stored
    key: Any = NO_KEY  # of KEY_VALUE topics: JSON
    schema: int | str | None = None  # of the second registry: its id, or its GUID as text

    def members(self) -> dict[str, Any]:
        named = {"header_version": self.header_version, "schema_id": self.schema}
        more = {name: number for name, number in named.items() if number is not None}
        return {"framing": self.framing, "version": self.version, **more, "value": self.value}

    def around(self, place: dict[str, Any]) -> dict[str, Any]:
        """The members of a line that say where the message is. The key is data if the topic's schema has one."""
        if self.halves is None:
            return place
        rest = {name: part for name, part in place.items() if name != "key"}
        if self.halves == INLINE and place.get("key") is not None:
            rest["message_key"] = place["key"]
        return rest if self.key is NO_KEY else {**rest, "key": self.key}

    @property
    def alone(self) -> Any:
        """The content of the message's value; with the encoding INLINE, both halves."""
        if self.halves != INLINE or self.key is NO_KEY:
            return self.value
        return {"key": self.key, "value": self.value}


def apparent(data: bytes | None) -> dict[str, Any]:
    """The apparent framing and version of an unreadable message, as members of a line."""
    version = None if data is None else header.read(data)
    return {"framing": None if version is None else _FRAMED, "version": version}


class _NotingPolicy(ReadPolicy):
    """Notes the attempt that read a message, if the message's header did not decide."""

    fallback: tuple[int, Attempt] | None = None

    def warn(self, topic: str, in_header: int, why: str, used: int, attempt: Attempt) -> None:
        self.fallback = used, attempt
        super().warn(topic, in_header, why, used, attempt)


class _Deserializer(KafkaAvroDeserializer):
    POLICY = _NotingPolicy


class MessageDecoder:
    """Decodes messages of topics, one after the other; not for several threads. Raises ConfigError or SchemaError.

    Args:
        connection: with the registry.
        schema: the reader's schema, as text; without it each message is shown by its writer's schema.
        version: of messages without a header; without it they are read by the topic's latest schema.
    """

    def __init__(self, connection: Connection, schema: str | None = None, version: int | None = None) -> None:
        conf = connection.options_of(DESERIALIZER_OPTIONS, **_RAW)
        self._deserializer = _Deserializer(conf, schema)
        self._policy: _NotingPolicy = policy_of(self._deserializer)
        self._options: CodecArguments = codec_arguments(self._policy.conf)
        self._version = version
        self._writers: dict[str, JsonWriter] = {}  # by the text of the schema
        self._shown: dict[SchemaVersion, TypedJson] = {}

    def close(self) -> None:
        self._deserializer.close()

    def decode(self, topic: str, data: bytes | None, key: Any = NO_KEY, headers: Any = None) -> Decoded:
        """Decode a message's value, and its key if it is not NO_KEY and the topic's schema has one."""
        known = self._other_type(topic)
        if known is None:
            return self._decode_avro(topic, data, headers)
        if self._policy.reading is not None:
            raise ConfigError(f"--schema is for topics of type AVRO, and this one is of type {known.type}", topic=topic)
        if known.halves is None:
            return self._decode_other(self._chosen(topic, known), data)
        return self._decode_pair(topic, known, data, key)

    def _other_type(self, topic: str) -> SchemaVersion | None:
        """The topic's latest schema, if it is not of type AVRO."""
        binding = self._policy.binding
        if binding.kind(topic) == "AVRO":
            return None
        try:
            known, _ = binding.latest(topic)
        except SchemaNotFoundError:
            return None
        return known if known.avro is None else None

    def _chosen(self, topic: str, latest: SchemaVersion) -> SchemaVersion:
        return latest if self._version is None else self._policy.binding.version(topic, self._version)

    def _decode_other(self, known: SchemaVersion, data: bytes | None) -> Decoded:
        """JSON, protobuf and primitive types, which have no header."""
        if data is None:
            return Decoded(None, None, None)
        try:
            return Decoded(_BARE, known.version, self._json_of(known).show(data))
        except DecodeError as error:
            raise error.at(topic=known.topic, version=known.version) from None

    def _decode_pair(self, topic: str, latest: SchemaVersion, data: bytes | None, key: Any) -> Decoded:
        assert latest.halves is not None
        encoding = latest.halves.encoding
        if data is None:
            if encoding == INLINE or key is NO_KEY:
                return Decoded(None, None, None, None, encoding)
            shown = self._half(self._chosen(topic, latest), "key", key)
            return Decoded(None, None, None, None, encoding, shown)
        self._policy.fallback = None
        self._deserializer.deserialize(topic, data, self._version)  # by the schema that fits, or it says why none does
        version, offset, other = self._how(topic, data)
        known = self._policy.binding.version(topic, version)
        halves, value = known.halves, data[offset:]
        assert halves is not None
        if halves.encoding == INLINE:
            key, half = split(value)
        else:
            half = value
        shown = key if key is NO_KEY else self._half(known, "key", key)
        framing = _FRAMED if offset else _BARE
        return Decoded(framing, version, self._half(known, "value", half), other, halves.encoding, shown)

    def _half(self, known: SchemaVersion, name: str, data: bytes | None) -> Any:
        assert known.halves is not None
        half = known.halves.key if name == "key" else known.halves.value
        try:
            return within(name, self._json_of(half).show, data)
        except DecodeError as error:
            raise error.at(topic=known.topic, version=known.version) from None

    def _json_of(self, known: SchemaVersion) -> TypedJson:
        found = self._shown.get(known)
        if found is None:
            found = self._shown[known] = json_of(known, self._options, schema_limits(self._policy.conf))
        return found

    def _how(self, topic: str, data: bytes) -> tuple[int, int, int | None]:
        """The version that read a message, the offset of its data, and the version in its header if different."""
        version, offset = self._read_by(topic, data)
        in_header = header.read(data)
        return version, offset, in_header if offset == 0 or in_header != version else None

    def _decode_avro(self, topic: str, data: bytes | None, headers: Any) -> Decoded:
        if data is None:
            return Decoded(None, None, None)
        self._policy.fallback = None
        before = self._signed()
        datum = self._deserializer.deserialize(topic, data, self._version, headers)
        if self._signed() != before:
            return self._decoded_by_sign(data, headers, datum)
        version, offset, other = self._how(topic, data)
        shown = self._as_json(topic, version, data[offset:], datum)
        return Decoded(_FRAMED if offset else _BARE, version, shown, other)

    def _signed(self) -> int:
        """How many messages a schema of the second registry has read so far."""
        if self._policy.confluent is None:
            return 0
        counts = self._deserializer.stats()
        return counts.get("confluent", 0) + counts.get("confluent_header", 0)

    def _decoded_by_sign(self, data: bytes, headers: Any, datum: Any) -> Decoded:
        signs, confluent = self._policy.signs, self._policy.confluent
        assert confluent is not None
        by_header = schema_id_header(headers) if signs.header else None
        which = header.confluent_id(data) if by_header is None else signs.schema_of(signs.header_key(by_header))
        known = None if which is None else confluent.known(which)
        assert which is not None
        assert known is not None  # the message was read by it
        reading = self._policy.reading
        # Written again, since bytes at the root have a length everywhere but in Confluent's framings.
        plain = Compiled.of(known.schema.text, schema_limits(self._policy.conf)).schema
        schema = plain if reading is None else reading.target.schema
        shown = self._writer(schema).write(Codec(schema, **self._options).encode(datum))
        framing = CONFLUENT if by_header is None else CONFLUENT_HEADER
        named = which if isinstance(which, int) else str(UUID(bytes=which))
        return Decoded(framing, None, shown, schema=named)

    def _read_by(self, topic: str, data: bytes) -> tuple[int, int]:
        """The version that read the message, and the offset of its datum."""
        if self._policy.fallback is not None:
            used, attempt = self._policy.fallback
            return used, attempt.offset
        in_header = header.read(data)
        if in_header is not None:
            return in_header, header.SIZE
        if self._version is not None:
            return self._version, 0
        known, _ = self._policy.known(topic, LATEST)
        assert known is not None  # the message was read by it
        return known.version, 0

    def _as_json(self, topic: str, version: int, body: bytes, datum: Any) -> Any:
        reading = self._policy.reading
        if reading is None:
            return self._writer(self._policy.binding.version(topic, version).schema).write(body)
        schema = reading.target.schema
        return self._writer(schema).write(Codec(schema, **self._options).encode(datum))

    def _writer(self, schema: Schema) -> JsonWriter:
        if schema.text not in self._writers:
            self._writers[schema.text] = JsonWriter(schema, self._options)
        return self._writers[schema.text]
