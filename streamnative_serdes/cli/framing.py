"""Framing for ``produce``: JSON values to messages of a topic, by a schema of any type."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from streamnative_serdes import KafkaAvroSerializer, header
from streamnative_serdes import _config as config
from streamnative_serdes._config import REGISTRY_OPTIONS, SERIALIZER_OPTIONS, CodecArguments, parse, schema_limits
from streamnative_serdes._schema import Limits, Schema, parse_given
from streamnative_serdes._topics.schema_version import SchemaVersion, holds, known_from
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError, SchemaError
from streamnative_serdes.key_value import INLINE

from .avro_json import reader_of
from .lines import ABSENT, Line
from .options import Connection
from .typed_json import join, json_of, within

# How avro_json gives data. Fields that the schema does not have are errors: they would be lost.
_RAW: Final = {"avro.logical.types": False, "validate.strict.allow.default": True}
_RAW_CODEC: Final[CodecArguments] = {"avro_logical_types": False, "validate_strict_allow_default": True}


def framer_of(connection: Connection, topic: str, text: str | None, version: int | None, *, dry_run: bool) -> AnyFramer:
    """The framer that turns lines into messages of a topic. Raises SchemaError.

    The Avro schema ``text`` is registered unless ``dry_run``; without it, the topic's schema of this version is used,
    or the topic's latest.
    """
    if text is not None:
        schema = parse_given(text, to_register=True)
        if dry_run and schema.fault is not None:
            _refuse_unheld(connection, topic, schema, schema.fault)
        return Framer(connection, topic, schema, None, text, dry_run=dry_run)
    known, limits = _of_topic(connection, topic, version)
    if known.avro is not None:
        return Framer(connection, topic, known.schema, known.version, None, dry_run=dry_run)
    if known.halves is None:
        return TypedFramer(known, limits)
    conf = parse(SERIALIZER_OPTIONS, connection.options_of(SERIALIZER_OPTIONS), strict=True)
    return PairFramer(known, limits, framed=conf["key.value.framing"] == config.VALUE)


def _refuse_unheld(connection: Connection, topic: str, schema: Schema, fault: SchemaError) -> None:
    """Raises SchemaError, the ``fault``, unless the topic has this schema."""
    with connection.client() as client_:
        if not any(holds(info, schema, Limits()) for info in client_.all_versions(topic)):
            raise fault


def _of_topic(connection: Connection, topic: str, version: int | None) -> tuple[SchemaVersion, Limits]:
    with connection.client() as client_:
        info = client_.latest(topic) if version is None else client_.by_version(topic, version)
    limits = schema_limits(parse(REGISTRY_OPTIONS, connection.options_of(REGISTRY_OPTIONS), strict=True))
    return known_from(connection.full_name(topic), info, limits), limits


class Framer:
    """Turns JSON values into messages of a topic of type AVRO. Raises SchemaError if the schema cannot be compiled.

    The schema's ``text`` is given to register the schema; ``version`` is that of a schema of the topic.
    """

    halves: Final = None

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
        self._read = reader_of(schema)
        self._serializer: KafkaAvroSerializer | None = None
        self._codec = Codec(schema, **_RAW_CODEC)
        if not dry_run:
            chosen: dict[str, Any] = {}
            if text is None:
                chosen = {"auto.register.schemas": False, "use.latest.version": False, "use.schema.version": version}
            conf = connection.options_of(SERIALIZER_OPTIONS, **_RAW, **chosen)
            self._serializer = KafkaAvroSerializer(conf, text)
            self._serializer.warm_up(topic)

    def close(self) -> None:
        if self._serializer is not None:
            self._serializer.close()

    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        """The key and value of a line's message; None for null, a tombstone. In a dry run the value has no header."""
        return line.key, None if line.value is None else self._message(line.value)

    def _message(self, value: Any) -> bytes:
        datum = self._read(value)
        if self._serializer is None:
            return self._codec.encode(datum)
        message = self._serializer.serialize(self._topic, datum)
        assert message is not None
        self.version = header.read(message)
        return message


class TypedFramer:
    """Turns JSON values into messages of a topic that is not of type AVRO or KEY_VALUE. Raises SchemaError."""

    halves: Final = None

    def __init__(self, known: SchemaVersion, limits: Limits) -> None:
        self.version: int | None = known.version
        self._known, self._json = known, json_of(known, _RAW_CODEC, limits)

    def close(self) -> None:
        """There is nothing to close."""

    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        try:
            return line.key, None if line.value is None else self._json.read(line.value)
        except EncodeError as error:
            raise error.at(topic=self._known.topic, version=self.version) from None


class PairFramer:
    """Turns lines with a key and a value into messages of a topic of type KEY_VALUE. Raises SchemaError."""

    def __init__(self, known: SchemaVersion, limits: Limits, *, framed: bool) -> None:
        halves = known.halves
        assert halves is not None
        self._known, self.version, self.halves = known, known.version, halves.encoding
        self._header = header.pack(known.version) if framed else b""
        self._key, self._value = (json_of(half, _RAW_CODEC, limits) for half in (halves.key, halves.value))

    def close(self) -> None:
        """There is nothing to close."""

    def frame(self, line: Line) -> tuple[bytes | None, bytes | None]:
        """As :meth:`Framer.frame`; a line of encoding INLINE without a key is a tombstone if its value is null."""
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


AnyFramer: TypeAlias = Framer | TypedFramer | PairFramer
