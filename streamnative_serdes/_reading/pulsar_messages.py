"""What pulsar-client (3.13) does not show of a message, or shows in another form than Pulsar's Java client."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol

from streamnative_serdes.errors import DecodeError
from streamnative_serdes.schema_registry import TopicName

_VERSION_BYTES: Final = 8  # Pulsar before 2.4 wrote 64 bytes, and these are the first of them


class PulsarMessage(Protocol):
    """What is used of ``pulsar.Message``, and of the compiled message inside it."""

    def data(self) -> bytes: ...
    def topic_name(self) -> str: ...
    def properties(self) -> dict[str, str]: ...
    def partition_key(self) -> str: ...
    def ordering_key(self) -> str: ...
    def schema_version(self) -> str: ...
    def producer_name(self) -> str: ...
    def has_null_value(self) -> bool: ...


@lru_cache(maxsize=4096)
def topic_with_schemas(topic: str) -> str:
    """The topic that has the schemas of a partition, or of a topic that is not persistent."""
    return str(TopicName.parse(topic.removeprefix("non-")))


def schema_version_of(message: PulsarMessage) -> int | None:
    """Return the schema version in Pulsar's metadata, or None if it has no version, as for Kafka producers.

    The client's ``schema_version()`` decodes its eight bytes as UTF-8, and so fails from version 128 on.
    """
    data = _bytes_of(message.schema_version)
    return int.from_bytes(data[:_VERSION_BYTES]) if data else None


def key_of(message: PulsarMessage, *, encoded: bool = False) -> bytes | None:
    """Return the key of a message, like ``getKeyBytes()`` in Java; None if it has none or an empty one.

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


def _bytes_of(read: Callable[[], str]) -> bytes:
    """The bytes of what the client decodes as UTF-8; if that fails, its error has them."""
    try:
        return read().encode()
    except UnicodeDecodeError as error:
        return error.object
