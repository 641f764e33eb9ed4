"""Values of messages as JSON and back, by the schemas of their topic: decoding for people, framing for ``produce``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from streamnative_serdes import KafkaAvroDeserializer, KafkaAvroSerializer, header
from streamnative_serdes import _config as config
from streamnative_serdes._call_path import LATEST, policy_of
from streamnative_serdes._config import (
    DESERIALIZER_OPTIONS,
    REGISTRY_OPTIONS,
    SERIALIZER_OPTIONS,
    CodecArguments,
    codec_arguments,
    parse,
    schema_limits,
)
from streamnative_serdes._reading.attempts import Attempt
from streamnative_serdes._reading.framings import ForeignId
from streamnative_serdes._reading.policy import ReadPolicy
from streamnative_serdes._schema import Limits, Schema, parse_given
from streamnative_serdes._topics.schema_version import Compiled, SchemaVersion, holds, known_from
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError, SchemaNotFoundError
from streamnative_serdes.key_value import INLINE

from .avro_json import reader_of, writer_of
from .message_json import ABSENT, RAW, Line, TypedJson, join, json_of, split, within
from .options import Connection

_FRAMED, _BARE = "snip42", "headerless"
NO_KEY: Final = object()  # in the place of a message's key, or of what it holds
# How data must look for avro_json, and that each message is shown by the schema it was written with.
_RAW_READING: Final = {
    "avro.logical.types": False,
    "return.record.name": True,
    "use.latest.version": False,
    "reader.schema.policy": None,
    "reader.schema.incompatible": None,
}
# How avro_json gives data. Fields that the schema does not have are errors: they would be lost.
_RAW_WRITING: Final = {"avro.logical.types": False, "validate.strict.allow.default": True}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A message's value and how it was read."""

    framing: str | None  # as the option ``framings`` names it; None for a tombstone
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
        conf = connection.options_of(DESERIALIZER_OPTIONS, **_RAW_READING)
        self._deserializer = _Deserializer(conf, schema)
        self._policy: _NotingPolicy = policy_of(self._deserializer)
        self._options: CodecArguments = codec_arguments(self._policy.conf)
        self._version = version
        self._writers: dict[str, Callable[[bytes], Any]] = {}  # by the text of the schema
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
        if known.halves is not None:
            return self._decode_pair(topic, known, data, key)
        if data is None:
            return Decoded(None, None, None)
        known = self._chosen(topic, known)
        return Decoded(_BARE, known.version, self._show(known, None, data))

    def _other_type(self, topic: str) -> SchemaVersion | None:
        binding = self._policy.binding
        if binding.kind(topic) == "AVRO":
            return None
        try:
            known, _ = binding.latest(topic)
        except SchemaNotFoundError:
            return None
        return known if known.avro is None and not known.outside else None

    def _chosen(self, topic: str, latest: SchemaVersion) -> SchemaVersion:
        return latest if self._version is None else self._policy.binding.version(topic, self._version)

    def _decode_pair(self, topic: str, latest: SchemaVersion, data: bytes | None, key: Any) -> Decoded:
        assert latest.halves is not None
        encoding = latest.halves.encoding
        if data is None:
            if encoding == INLINE or key is NO_KEY:
                return Decoded(None, None, None, None, encoding)
            shown = self._show(self._chosen(topic, latest), "key", key)
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
        shown = key if key is NO_KEY else self._show(known, "key", key)
        framing = _FRAMED if offset else _BARE
        return Decoded(framing, version, self._show(known, "value", half), other, halves.encoding, shown)

    def _show(self, known: SchemaVersion, half: str | None, data: bytes | None) -> Any:
        """Data of a schema, or of one of its halves, as JSON; such data have no header."""
        form = known if half is None else getattr(known.halves, half)
        if form not in self._shown:
            self._shown[form] = json_of(form, self._options, schema_limits(self._policy.conf))
        try:
            return within(half, self._shown[form].show, data)
        except DecodeError as error:
            raise error.at(topic=known.topic, version=known.version) from None

    def _how(self, topic: str, data: bytes) -> tuple[int, int, int | None]:
        """The version that read a message, the offset of its data, and the version in its header if different."""
        in_header = header.read(data)
        if self._policy.fallback is not None:
            version, offset = self._policy.fallback[0], self._policy.fallback[1].offset
        elif in_header is not None:
            version, offset = in_header, header.SIZE
        elif self._version is not None:
            version, offset = self._version, 0
        else:
            known, _ = self._policy.known(topic, LATEST)
            assert known is not None  # the message was read by it
            version, offset = known.version, 0
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
        if self._policy.reading is None:
            shown = self._writer(self._policy.binding.version(topic, version).schema)(data[offset:])
        else:
            shown = self._written_again(self._policy.reading.target.schema, datum)
        return Decoded(_FRAMED if offset else _BARE, version, shown, other)

    def _signed(self) -> int:
        """How many messages a schema of another registry has read so far."""
        counts = self._deserializer.stats()
        return sum(counts.get(name, 0) for name in ("confluent", "confluent_header", "other_framings"))

    def _decoded_by_sign(self, data: bytes, headers: Any, datum: Any) -> Decoded:
        sign = self._policy.signs.named_in(headers) or self._policy.signs.named_by(data)
        assert sign is not None
        framing, which = sign
        known = self._policy.registry_of(which).known(which)
        assert known is not None  # the message was read by it
        reading = self._policy.reading
        # Written again, since bytes at the root have a length everywhere but in Confluent's framings.
        plain = Compiled.of(known.schema.text, schema_limits(self._policy.conf)).schema
        schema = plain if reading is None else reading.target.schema
        shown = self._written_again(schema, datum)
        named = str(UUID(bytes=which)) if isinstance(which, bytes) else which
        if isinstance(named, ForeignId):
            named = named.value
        return Decoded(framing, None, shown, schema=named)

    def _written_again(self, schema: Schema, datum: Any) -> Any:
        return self._writer(schema)(Codec(schema, **self._options).encode(datum))

    def _writer(self, schema: Schema) -> Callable[[bytes], Any]:
        if schema.text not in self._writers:
            self._writers[schema.text] = writer_of(schema, self._options)
        return self._writers[schema.text]


def framer_of(connection: Connection, topic: str, text: str | None, version: int | None, *, dry_run: bool) -> Framer:
    """The framer that turns lines into messages of a topic. Raises SchemaError.

    The Avro schema ``text`` is registered unless ``dry_run``; without it, the topic's schema of this version is used,
    or the topic's latest.
    """
    if text is not None:
        schema = parse_given(text, to_register=True)
        if dry_run and schema.fault is not None:
            with connection.client() as client_:
                if not any(holds(info, schema, Limits()) for info in client_.all_versions(topic)):
                    raise schema.fault
        return AvroFramer(connection, topic, schema, None, text, dry_run=dry_run)
    known, limits = _of_topic(connection, topic, version)
    if known.avro is not None:
        return AvroFramer(connection, topic, known.schema, known.version, None, dry_run=dry_run)
    if known.halves is None:
        return TypedFramer(known, limits)
    conf = parse(SERIALIZER_OPTIONS, connection.options_of(SERIALIZER_OPTIONS), strict=True)
    return PairFramer(known, limits, framed=conf["key.value.framing"] == config.VALUE)


def _of_topic(connection: Connection, topic: str, version: int | None) -> tuple[SchemaVersion, Limits]:
    with connection.client() as client_:
        info = client_.latest(topic) if version is None else client_.by_version(topic, version)
    limits = schema_limits(parse(REGISTRY_OPTIONS, connection.options_of(REGISTRY_OPTIONS), strict=True))
    return known_from(connection.full_name(topic), info, limits), limits


class Framer(ABC):
    """Turns lines into messages of a topic. Raises SchemaError if the schema cannot be used."""

    version: int | None  # of the schema, if it is known
    halves: str | None = None  # of KEY_VALUE topics: how they are stored

    @abstractmethod
    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        """The key and value of a line's message; None for null, a tombstone. In a dry run the value has no header."""

    def close(self) -> None:  # noqa: B027 - most framers have nothing to close
        """Close connections to the registry."""


class AvroFramer(Framer):
    """For topics of type AVRO.

    The schema's ``text`` is given to register the schema; ``version`` is that of a schema of the topic.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        schema: Schema,
        version: int | None,
        text: str | None,
        *,
        dry_run: bool,
    ) -> None:
        self._topic, self.version = topic, version
        self._read = reader_of(schema.root)
        self._serializer: KafkaAvroSerializer | None = None
        self._codec = Codec(schema, **RAW)
        if not dry_run:
            chosen: dict[str, Any] = {}
            if text is None:
                chosen = {"auto.register.schemas": False, "use.latest.version": False, "use.schema.version": version}
            conf = connection.options_of(SERIALIZER_OPTIONS, **_RAW_WRITING, **chosen)
            self._serializer = KafkaAvroSerializer(conf, text)
            self._serializer.warm_up(topic)

    def close(self) -> None:
        if self._serializer is not None:
            self._serializer.close()

    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        return line.key, None if line.value is None else self._message(line.value)

    def _message(self, value: Any) -> bytes:
        datum = self._read(value)
        if self._serializer is None:
            return self._codec.encode(datum)
        message = self._serializer.serialize(self._topic, datum)
        assert message is not None
        self.version = header.read(message)
        return message


class TypedFramer(Framer):
    """For topics of other types."""

    def __init__(self, known: SchemaVersion, limits: Limits) -> None:
        self.version = known.version
        self._known, self._json = known, json_of(known, RAW, limits)

    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        try:
            return line.key, None if line.value is None else self._json.read(line.value)
        except EncodeError as error:
            raise error.at(topic=self._known.topic, version=self.version) from None


class PairFramer(Framer):
    """For topics of type KEY_VALUE, whose lines have a key and a value."""

    def __init__(self, known: SchemaVersion, limits: Limits, *, framed: bool) -> None:
        halves = known.halves
        assert halves is not None
        self._known, self.version, self.halves = known, known.version, halves.encoding
        self._header = header.pack(known.version) if framed else b""
        self._key, self._value = (json_of(half, RAW, limits) for half in (halves.key, halves.value))

    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        """As :meth:`Framer.frame`: a line of encoding INLINE without a key is a tombstone if its value is null."""
        if self.halves == INLINE and line.half is ABSENT and line.value is None:
            return line.key, None
        try:
            key = within("key", self._key.read, None if line.half is ABSENT else line.half)
            value = within("value", self._value.read, line.value)
        except EncodeError as error:
            raise error.at(topic=self._known.topic, version=self.version) from None
        if self.halves == INLINE:
            return line.key, self._header + join(key, value)
        return key, None if value is None else self._header + value
