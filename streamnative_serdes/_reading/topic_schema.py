"""TopicSchema: a schema version of a topic, of any of Pulsar's types, and the readers of the messages written by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final, Literal, Self, TypeAlias

from streamnative_serdes import _call_path, header
from streamnative_serdes import _config as config
from streamnative_serdes._formats import Format
from streamnative_serdes._schema import Limits
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.schema_version import Compiled, SchemaVersion, known_from
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError
from streamnative_serdes.key_value import SEPARATED, KeyValue
from streamnative_serdes.schema_registry import SchemaInfo, TopicName, require_version

Read: TypeAlias = Callable[[bytes], Any]

# Types whose messages may have a schema version header. The messages of all others begin with their data.
FRAMED: Final = frozenset({"AVRO", "KEY_VALUE"})


class _UnreadKey:
    """The type of UNREAD_KEY, its only instance."""

    def __repr__(self) -> str:
        return "UNREAD_KEY"

    def __reduce__(self) -> str:
        return "UNREAD_KEY"


_UnreadKey.__name__ = "UNREAD_KEY"  # errors that say what they got name its type
UNREAD_KEY: Final = _UnreadKey()
"""Stands for the key of a KEY_VALUE message with encoding SEPARATED where the message's key was not passed."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Makes readers of messages, by the options of one deserializer."""

    framed: config.CodecArguments  # options of codecs for messages with a header
    whole: config.CodecArguments  # the same for other messages, of which every byte has to be used
    limits: Limits  # how large a schema may be

    @classmethod
    def by(cls, conf: Mapping[str, Any]) -> Self:
        """The readers by checked options."""
        whole = config.codec_arguments({**conf, "ignore.trailing.bytes": False})
        return cls(config.codec_arguments(conf), whole, config.schema_limits(conf))

    def format(self, known: SchemaVersion) -> Format:
        """Raises: SchemaError: messages of this type cannot be read."""
        return known.format(self.whole, self.limits)

    def of(self, known: SchemaVersion, *, whole: bool) -> Read:
        """The reader of values, or, with the encoding INLINE, of keys and values.

        Raises:
            SchemaError: messages of this type cannot be read, or the schema is not valid.
        """
        options = self.whole if whole else self.framed
        if known.avro is not None:
            return known.avro.codec(options).decode
        if known.halves is None:
            return known.format(options, self.limits).decode
        if known.halves.encoding == SEPARATED:
            return partial(_separated, self.of(known.halves.value, whole=whole))
        key, value = (self._half(half, options) for half in (known.halves.key, known.halves.value))
        pair = _call_path.Pair(key, value, KeyValue)
        return partial(_inline, _call_path.Bound(known.topic, 0, known.version, None, None, pair=pair))

    def _half(self, known: SchemaVersion, options: config.CodecArguments) -> _call_path.Half:
        if known.avro is not None:
            return _call_path.Half(known.avro.codec(options))
        return _call_path.Half(None, None, known.format(options, self.limits).decode)


def _separated(read: Read, data: bytes) -> KeyValue:
    return KeyValue(UNREAD_KEY, read(data))


def _inline(bound: _call_path.Bound, data: bytes) -> Any:
    return _call_path.read_by(bound, data, 0)


Part: TypeAlias = Literal["key", "value"]


class TopicSchema:
    """One version of a topic's schema, of any of Pulsar's types. It reads the messages that were written by it.

    :class:`KafkaAutoConsumeDeserializer` makes such objects. They never change, so threads may share them. They can be
    pickled; a copy reads messages, and does not ask the registry for other versions.
    """

    def __init__(
        self, known: SchemaVersion, readers: Readers, binding: Binding | None, part: Part | None = None
    ) -> None:
        self._whole, self._readers, self._binding, self._part = known, readers, binding, part
        self._known = known if part is None else known.half(part)
        self._reads: dict[bool, Read] = {}

    # What it is

    @property
    def topic(self) -> str:
        return self._whole.topic

    @property
    def type(self) -> str:
        """Pulsar's SchemaType, such as ``AVRO`` or ``INT32``."""
        return self._known.type

    @property
    def version(self) -> int:
        return self._known.version

    @property
    def info(self) -> SchemaInfo:
        """The registry's entry: type, version, text, time of registration and properties."""
        return self._known.info

    @cached_property
    def native(self) -> Any:
        """The schema as its own library has it, parsed once; do not change it.

        For AVRO and JSON it is the parsed JSON of an Avro schema; for PROTOBUF_NATIVE a protobuf ``Descriptor``; for
        KEY_VALUE a :class:`KeyValue` of the native schemas of key and value; for other types None.

        Raises:
            SchemaError: messages of this type cannot be read.
        """
        if self.key is not None and self.value is not None:
            return KeyValue(self.key.native, self.value.native)
        if self._known.avro is not None:
            return json.loads(self._known.schema.text)
        try:
            return self._readers.format(self._known).native
        except SchemaError as error:
            raise error.at(topic=self.topic, version=self.version) from None

    @property
    def encoding(self) -> str | None:
        """``INLINE`` or ``SEPARATED`` for KEY_VALUE; None for other types."""
        return None if self._known.halves is None else self._known.halves.encoding

    @cached_property
    def key(self) -> TopicSchema | None:
        """The schema of the keys for KEY_VALUE; None for other types."""
        return self._half("key")

    @cached_property
    def value(self) -> TopicSchema | None:
        """The schema of the values for KEY_VALUE; None for other types."""
        return self._half("value")

    def _half(self, part: Part) -> TopicSchema | None:
        if self._known.halves is None:
            return None
        return TopicSchema(self._whole, self._readers, self._binding, part)

    def __repr__(self) -> str:
        return f"TopicSchema({self.topic!r}, {self.type}, version {self.version})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicSchema):
            return NotImplemented
        return (self.topic, self.info, self._part) == (other.topic, other.info, other._part)

    def __hash__(self) -> int:
        return hash((self.topic, self.version, self._part))

    def __reduce__(self) -> tuple[Callable[..., TopicSchema], tuple[Any, ...]]:
        unsized = self._known.avro is not None and self._known.avro.schema.unsized
        return _unpickled, (self.topic, self._whole.info, self._readers, self._part, unsized)

    # Reading

    def at_version(self, version: int) -> TopicSchema:
        """Return another version of the topic's schema.

        Raises:
            SchemaNotFoundError: the topic has no such version.
            SchemaError: the schema is not valid.
            SchemaRegistryError: the registry cannot be asked.
            ConfigError: this is a copy from a pickle, or ``version`` is not an int.
        """
        require_version(version, self.topic)
        if self._binding is None:
            raise ConfigError(
                "a schema from a pickle does not ask the registry",
                topic=self.topic,
                hint="call schema(topic, version) of a KafkaAutoConsumeDeserializer",
            )
        return TopicSchema(self._binding.version(self.topic, version), self._readers, self._binding, self._part)

    def decode(self, data: bytes | None, key: Any = UNREAD_KEY) -> Any:
        """Return the data of a message that was written by this version; None for None.

        Args:
            data: the message's value, with or without the header of this version.
            key: the message's key as bytes, or None; only used for KEY_VALUE with the encoding SEPARATED.

        Raises:
            DecodeError: the message was not written by this version.
            SchemaError: messages of this type cannot be read.
        """
        try:
            found = None if data is None else self._decoded(_bytes(data))
        except (DecodeError, SchemaError) as error:
            raise error.at(topic=self.topic, version=self.version) from None
        return found if key is UNREAD_KEY else self.with_key(found, key)

    def _decoded(self, data: bytes) -> Any:
        if self._part is not None or self.type not in FRAMED or header.read(data) != self.version:
            return self.reader(whole=True)(data)
        try:
            return self.reader(whole=False)(data[header.SIZE :])
        except DecodeError as error:
            try:
                return self.reader(whole=True)(data)  # Avro may begin like a header
            except DecodeError:
                error.offset = None if error.offset is None else error.offset + header.SIZE
                raise error from None

    def reader(self, *, whole: bool) -> Read:
        """The reader of values, or, with the encoding INLINE, of keys and values; always the same function.

        ``whole``: every byte has to be used; without it, the options decide.

        Raises:
            SchemaError: messages of this type cannot be read.
        """
        found = self._reads.get(whole)
        return found or self._reads.setdefault(whole, self._readers.of(self._known, whole=whole))

    def with_key(self, found: Any, key: Any) -> Any:
        """Return the data of a message, with its key if keys have a schema: KEY_VALUE with encoding SEPARATED.

        Args:
            found: the data of the message's value.
            key: the message's key as bytes, or None.

        Raises:
            DecodeError: the key does not fit its schema.
        """
        if self.encoding != SEPARATED:
            return found
        return KeyValue(self._read_key(key), None if found is None else found.value)

    def _read_key(self, key: Any) -> Any:
        assert self.key is not None
        try:
            return None if key is None else self.key.reader(whole=True)(_bytes(key))
        except DecodeError as error:
            raise error.at(topic=self.topic, version=self.version).inside("key") from None


def _bytes(data: object) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DecodeError(f"expected bytes, bytearray or memoryview, got {type(data).__name__}")
    return bytes(data)


def _unpickled(topic: str, info: SchemaInfo, readers: Readers, part: Part | None, unsized: bool = False) -> TopicSchema:
    known = known_from(TopicName.parse(topic), info, readers.limits)
    if unsized:  # of the second registry: bytes at the root have no length
        known = replace(known, avro=Compiled.of(info.text, readers.limits, confluent=True))
    return TopicSchema(known, readers, None, part)
