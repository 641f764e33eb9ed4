"""The metadata of Pulsar's entries: the fields of its protocol buffers that conversions need.

They are read with a scanner of our own (:func:`~.wire.fields_of`), not with the package ``protobuf``: generated classes
are bound to one major version of that package, which Spark's and other clients' pins decide; they check no bound that
the scanner does not check; and their errors say no position. Unknown fields are kept, because the bytes are.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from streamnative_serdes.errors import DecodeError

from .wire import fields_of

NUM_MESSAGES, MARKER_TYPE, SCHEMA_ID = 11, 20, 32
_NUMBER, _BYTES = int, bytes
_M = TypeVar("_M", "BrokerMetadata", "Metadata")


@dataclass(slots=True)
class BrokerMetadata:
    """BrokerEntryMetadata: metadata that the broker adds to an entry.

    Args:
        timestamp: the time of arrival at the broker, in milliseconds; None if the broker does not add the time.
        index: offset of the entry's last message; None if the broker does not add the index.
    """

    timestamp: int | None = None
    index: int | None = None


@dataclass(slots=True)
class Metadata:
    """MessageMetadata, or a batch's SingleMessageMetadata: the fields that conversions need.

    Args:
        raw: all fields, as they were stored.
        properties: names and values, as stored.
        partition_key: as stored; base64 if ``base64_key``.
        messages: the number of messages in the batch; None if the entry is one message without a batch.
        encrypted: whether the payload is encrypted.
        schema_id: the bytes of the field ``schema_id`` (PIP-420); b"" if the message has no such field.
        null_key: of a KeyValue with the encoding SEPARATED: whether its key is null.
        payload_size: of one message in a batch, in bytes; so is ``compacted_out``.
        uuid: of a message in chunks; ``chunks`` are their number, ``chunk_id`` is this one's.
        marker: a broker's own message, which no consumer gets; None for all others.
    """

    raw: bytes = b""
    properties: list[tuple[bytes, bytes]] = field(default_factory=list)
    publish_time: int = 0
    partition_key: bytes | None = None
    ordering_key: bytes | None = None
    base64_key: bool = False
    event_time: int = 0
    null_value: bool = False
    null_key: bool = False
    compression: int = 0
    uncompressed_size: int = 0
    messages: int | None = None
    encrypted: bool = False
    schema_version: bytes = b""
    schema_id: bytes = b""
    payload_size: int = 0
    compacted_out: bool = False
    uuid: str = ""
    chunks: int = 0
    chunk_id: int = 0
    chunked_size: int = 0
    marker: int | None = None

    def property(self, name: bytes) -> bytes | None:
        """The last value of a property, as Pulsar's clients take it; None if it is missing."""
        return next((value for key, value in reversed(self.properties) if key == name), None)


# Field number -> (attribute, wire type). The numbers are those of Pulsar's PulsarApi.proto.
_OF_MESSAGE: Final[dict[int, tuple[str, type]]] = {
    3: ("publish_time", _NUMBER),
    4: ("properties", _BYTES),
    6: ("partition_key", _BYTES),
    8: ("compression", _NUMBER),
    9: ("uncompressed_size", _NUMBER),
    11: ("messages", _NUMBER),
    12: ("event_time", _NUMBER),
    13: ("encrypted", _BYTES),
    16: ("schema_version", _BYTES),
    17: ("base64_key", _NUMBER),
    18: ("ordering_key", _BYTES),
    20: ("marker", _NUMBER),
    25: ("null_value", _NUMBER),
    26: ("uuid", _BYTES),
    27: ("chunks", _NUMBER),
    28: ("chunked_size", _NUMBER),
    29: ("chunk_id", _NUMBER),
    30: ("null_key", _NUMBER),
    SCHEMA_ID: ("schema_id", _BYTES),
}
_OF_SINGLE: Final[dict[int, tuple[str, type]]] = {
    1: ("properties", _BYTES),
    2: ("partition_key", _BYTES),
    3: ("payload_size", _NUMBER),
    4: ("compacted_out", _NUMBER),
    5: ("event_time", _NUMBER),
    6: ("base64_key", _NUMBER),
    7: ("ordering_key", _BYTES),
    9: ("null_value", _NUMBER),
    10: ("null_key", _NUMBER),
}
_OF_BROKER: Final[dict[int, tuple[str, type]]] = {1: ("timestamp", _NUMBER), 2: ("index", _NUMBER)}
_FLAGS: Final = frozenset({"base64_key", "null_value", "null_key", "compacted_out", "encrypted"})
_INT32: Final = frozenset({"messages", "payload_size", "chunks", "chunk_id", "chunked_size", "marker", "compression"})


def read_metadata(data: bytes) -> Metadata:
    """MessageMetadata from its bytes. Raises DecodeError: they are no such protocol buffer."""
    return _read(data, Metadata(raw=data), _OF_MESSAGE, "MessageMetadata")


def read_single(data: bytes) -> Metadata:
    """SingleMessageMetadata from its bytes. Raises DecodeError: they are no such protocol buffer."""
    return _read(data, Metadata(raw=data), _OF_SINGLE, "SingleMessageMetadata")


def read_broker_metadata(data: bytes) -> BrokerMetadata:
    """BrokerEntryMetadata from its bytes. Raises DecodeError: they are no such protocol buffer."""
    found = _read(data, BrokerMetadata(), _OF_BROKER, "BrokerEntryMetadata")
    if found.index is not None and found.index >= 2**62:
        raise DecodeError(f"BrokerEntryMetadata: expected an index below 2**62, got {found.index}")
    return found


def without(data: bytes, numbers: Collection[int]) -> bytes:
    """A protocol buffer without these fields; the other fields keep their bytes and order."""
    return b"".join(data[start:end] for number, _, start, end in fields_of(data) if number not in numbers)


def _read(data: bytes, metadata: _M, known: dict[int, tuple[str, type]], name: str) -> _M:
    for number, value, start, _ in _fields(name, data):
        if number not in known:
            continue
        attribute, kind = known[number]
        _require(value, kind, name, number, start)
        if attribute == "properties" and isinstance(metadata, Metadata):
            metadata.properties.append(_property(value, name, start))
        else:
            setattr(metadata, attribute, _converted(attribute, value))
    return metadata


def _converted(attribute: str, value: Any) -> Any:
    if attribute in _FLAGS:
        return bool(value) or attribute == "encrypted"
    if attribute in _INT32:
        return (value + 2**31) % 2**32 - 2**31
    return value.decode("utf-8", "surrogateescape") if attribute == "uuid" else value


def _property(data: bytes, name: str, start: int) -> tuple[bytes, bytes]:
    key = value = b""
    for number, part, _, _ in _fields(f"{name}: property", data):
        if number in (1, 2):
            _require(part, _BYTES, f"{name}: property", number, start)
            key, value = (part, value) if number == 1 else (key, part)
    return key, value


def _require(value: Any, kind: type, name: str, number: int, start: int) -> None:
    if not isinstance(value, kind):
        expected = "a number" if kind is _NUMBER else "bytes"
        raise DecodeError(f"{name}: field {number}: expected {expected}, got {value!r:.40}", offset=start)


def _fields(name: str, data: bytes) -> list[tuple[int, Any, int, int]]:
    """The fields of a protocol buffer; errors begin with ``name``."""
    try:
        return fields_of(data)
    except DecodeError as error:
        raise DecodeError(f"{name}: {error.message}", offset=error.offset) from None
