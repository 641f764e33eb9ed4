"""Messages as Kafka's and Pulsar's clients return them, one or many: the value with all that is needed to read it.

confluent-kafka has methods where kafka-python and aiokafka have attributes. pulsar-client (3.13) does not show all of a
message, and shows some of it in another form than Pulsar's Java client.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from streamnative_serdes._external_ids import schema_id_headers
from streamnative_serdes.errors import ConfigError, DecodeError, RawMessage, SerdesError
from streamnative_serdes.schema_registry import TopicName

from .attempts import ITS_OWN_FAULT

_BYTES = (bytes, bytearray, memoryview)
_PARTS: Final = ("value", "topic", "partition", "offset", "key", "headers")


class Received(NamedTuple):
    """A message."""

    raw: RawMessage  # the message as it was received
    # the key as bytes, if the topic's keys have a schema; None without a key, or if only the value was given
    key: Any = None
    version: int | None = None  # the schema version in Pulsar's metadata, or None
    bare: bool = False  # whether only the value was given, as bytes

    @property
    def topic(self) -> Any:
        """The topic of ``raw``. Readers of messages refuse None."""
        return self.raw.topic


def received(message: Any, topic: str | None) -> Received:
    """Take a message apart.

    Args:
        message: a message's value as bytes, or None, or a message of confluent-kafka, kafka-python, aiokafka or
            pulsar-client.
        topic: the message's topic; None takes the topic that the message names.

    Raises:
        DecodeError: ``message`` is something else.
    """
    if message is None or isinstance(message, _BYTES):
        return Received(RawMessage(message, topic), bare=True)
    try:
        parts = [getattr(message, name) for name in _PARTS]
    except AttributeError:
        if hasattr(message, "topic_name") and hasattr(message, "schema_version"):
            return _of_pulsar(message, topic)
        raise DecodeError(f"expected bytes or a client's message, got {type(message).__name__}", topic=topic) from None
    value, own_topic, *others = (part() if callable(part) else part for part in parts)
    raw = RawMessage(value, own_topic if topic is None else topic, *others)
    return Received(raw, raw.key)


def _error_of(message: Any) -> Any:
    """The error that the client reports in a message's place; None if it is a message."""
    error = getattr(message, "error", None)
    return error() if callable(error) else None


def _is_end(reported: Any) -> bool:
    """Whether this error of the client only says that a partition ends."""
    name = getattr(reported, "name", None)
    return callable(name) and name() == "_PARTITION_EOF"


def _of_pulsar(message: PulsarMessage, topic: str | None) -> Received:
    named = topic_with_schemas(message.topic_name()) if topic is None else topic
    raw = RawMessage(message.data(), named, key=key_of(message))
    try:
        raw = replace(raw, data=data_of(message))
        raw = replace(raw, headers=headers_of(message))
    except DecodeError as error:
        error.raw = raw
        raise error.at(topic=raw.topic) from None
    return Received(raw, _separate_key(message), schema_version_of(message))


def _separate_key(message: PulsarMessage) -> bytes | None:
    """The key as KEY_VALUE topics with encoding SEPARATED have it: in base64, unless a producer set it as text."""
    try:
        return key_of(message, encoded=True)
    except DecodeError:
        return key_of(message)


_VERSION_BYTES: Final = 8  # Pulsar before 2.4 wrote 64 bytes, and these are the first of them
_NO_VERSION: Final = b"\xff" * _VERSION_BYTES


class PulsarMessage(Protocol):
    """The methods in use of ``pulsar.Message``, and of the compiled message inside it."""

    def data(self) -> bytes: ...
    def topic_name(self) -> str: ...
    def properties(self) -> dict[str, str]: ...
    def partition_key(self) -> str: ...
    def ordering_key(self) -> str: ...
    def schema_version(self) -> str: ...
    def producer_name(self) -> str: ...
    def event_timestamp(self) -> int: ...
    def has_null_value(self) -> bool: ...


@lru_cache(maxsize=4096)
def topic_with_schemas(topic: str) -> str:
    """The topic that has the schemas of a partition, or of a topic that is not persistent."""
    return str(TopicName.parse(topic.removeprefix("non-")))


def headers_of(message: PulsarMessage) -> list[tuple[str, bytes]] | None:
    """The message's properties as headers, behind those that the id of a schema of type EXTERNAL makes; None if empty.

    pulsar-client 3.13 does not show the id; a client that does has a method ``schema_id``, as Java's ``getSchemaId``.

    Raises:
        DecodeError: the id is not of the form that Kafka's clients write.
    """
    read = getattr(message, "schema_id", None)
    found = read() if callable(read) else read
    ids = schema_id_headers(bytes(found)) if isinstance(found, _BYTES) else []
    return ids + [(name, value.encode()) for name, value in message.properties().items()] or None


def schema_version_of(message: PulsarMessage) -> int | None:
    """Return the schema version in Pulsar's metadata, or None if the message has no version, as from Kafka producers.

    The client's ``schema_version()`` decodes its eight bytes as UTF-8, and so fails from version 128 on. The version -1
    of topics of type EXTERNAL (PIP-420) counts as missing.
    """
    data = _bytes_of(message.schema_version)[:_VERSION_BYTES]
    return int.from_bytes(data) if data and data != _NO_VERSION else None


def key_of(message: PulsarMessage, *, encoded: bool = False) -> bytes | None:
    """Return the key of a message, like ``getKeyBytes()`` in Java; None if the key is missing or empty.

    KoP writes the key of a Kafka message twice: as base64 into ``partition_key``, and unchanged into ``ordering_key``.
    So a ``partition_key`` that is the base64 of the ``ordering_key`` is decoded, and any other is returned as it is, in
    UTF-8.

    Args:
        message: as the client returns it.
        encoded: whether all keys of the topic are base64, as those that Java's producers set with ``keyBytes()``, and
            those of KEY_VALUE topics with encoding SEPARATED. The client does not show the difference, and these
            messages have no ``ordering_key``.

    Raises:
        DecodeError: with ``encoded``, the key is not base64.
    """
    key = _bytes_of(message.partition_key)
    ordering = _bytes_of(message.ordering_key)
    if not key:
        return None
    if ordering and base64.b64encode(ordering) == key:
        return ordering
    if not encoded:
        return key
    try:
        return base64.b64decode(key, validate=True)
    except binascii.Error as error:
        raise DecodeError(f"expected a key in base64, got {key!r:.80}: {error}", topic=message.topic_name()) from None


def is_tombstone(message: PulsarMessage) -> bool:
    """Return whether a message has null for a value, whichever producer sent it; an empty value is not null."""
    return message.has_null_value()


def data_of(message: PulsarMessage) -> bytes | None:
    """The value of a message; None for a tombstone.

    Raises:
        DecodeError: the client did not get the value: it makes a message without producer and time of an entry in
            Kafka's format. Pulsar's producers have names, and KoP's other entries have the times of Kafka's messages.
    """
    if is_tombstone(message):
        return None
    data = message.data()
    if not data and not message.producer_name() and not message.event_timestamp():
        raise DecodeError(
            "pulsar-client got the message without its bytes: it is stored in Kafka's format",
            topic=message.topic_name() or None,
            hint="KoP with entryFormat=kafka stores all messages in this format: read the topic with a Kafka client",
        )
    return data


def _bytes_of(read: Callable[[], str]) -> bytes:
    """The bytes that the client decodes as UTF-8; if decoding fails, the client's error has these bytes."""
    try:
        return read().encode()
    except UnicodeDecodeError as error:
        return error.object


OnError: TypeAlias = Literal["raise", "skip"] | Callable[[SerdesError], Any]


def read_many(
    read: Callable[[Received], Any], topic: str | None, messages: Iterable[Any], on_error: OnError
) -> Iterator[Any]:
    """As :meth:`KafkaAvroDeserializer.deserialize_many`; ``read`` reads one message."""
    if on_error not in ("raise", "skip") and not callable(on_error):
        raise ConfigError(f"on_error: expected 'raise', 'skip' or a function of the error, got {on_error!r:.40}")
    return _read_all(read, topic, messages, on_error)


def _read_all(
    read: Callable[[Received], Any], topic: str | None, messages: Iterable[Any], on_error: OnError
) -> Iterator[Any]:
    for message in messages:
        try:
            datum = read_one(read, topic, message)
        except SerdesError as error:
            reported = _error_of(message)
            if _is_end(reported):
                continue
            its_own = reported is None and error.raw is not None and isinstance(error, ITS_OWN_FAULT)
            if on_error == "raise" or not its_own:
                raise
            if on_error == "skip":
                continue
            datum = on_error(error)
        yield datum


def read_one(read: Callable[[Received], Any], topic: str | None, message: Any) -> Any:
    """Read bytes or a client's message; errors of a message have it in ``raw``."""
    taken = received(message, topic)
    try:
        reported = _error_of(message)
        if reported is not None:
            raise DecodeError(f"the client reports an error in place of a message: {reported}", topic=taken.raw.topic)
        return read(taken)
    except SerdesError as error:
        error.raw = taken.raw
        raise
