"""An entry as a Pulsar broker stores it.

::

    0e02 | int32 size | BrokerEntryMetadata |      where the broker adds it
    0e01 | crc32c of the rest |                    not with KoP's entryFormat=kafka
    int32 size | MessageMetadata | payload

All integers are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from streamnative_serdes.errors import DecodeError

from .metadata import BrokerMetadata, Metadata, read_broker_metadata, read_metadata
from .wire import crc32c, number, require_crc

_T = TypeVar("_T")
_BROKER, _CHECKSUM = b"\x0e\x02", b"\x0e\x01"
_INT: Final = struct.Struct(">i")
_UNSIGNED: Final = struct.Struct(">I")


@dataclass(slots=True)
class Entry:
    """The parts of an entry; ``payload`` is a view of the entry's bytes, from byte ``start`` on."""

    broker: BrokerMetadata
    metadata: Metadata
    payload: memoryview
    start: int


def read_entry(buffer: memoryview, *, check_crc: bool = True) -> Entry:
    """Take an entry apart.

    Raises:
        DecodeError: the entry is cut off, its checksum is wrong, or its metadata are not protocol buffers.
    """
    broker, start = BrokerMetadata(), 0
    if buffer[:2] == _BROKER:
        data, start = _sized(buffer, 2, "BrokerEntryMetadata")
        broker = _placed(read_broker_metadata, data, start)
    if buffer[start : start + 2] == _CHECKSUM:
        start = _checked(buffer, start, check_crc)
    data, start = _sized(buffer, start, "MessageMetadata")
    return Entry(broker, _placed(read_metadata, data, start), buffer[start:], start)


def write_entry(metadata: bytes, payload: bytes, broker: BrokerMetadata | None = None) -> bytes:
    """An entry with a checksum, behind those of the broker's metadata that are known."""
    rest = b"".join((_INT.pack(len(metadata)), metadata, payload))
    return b"".join((_written(broker), _CHECKSUM, _UNSIGNED.pack(crc32c(memoryview(rest))), rest))


def plain_entry(metadata: bytes, payload: bytes, broker: BrokerMetadata | None = None) -> bytes:
    """An entry without a checksum, as KoP stores entries of Kafka's format, whose batches have their own checksums."""
    return b"".join((_written(broker), _INT.pack(len(metadata)), metadata, payload))


def _written(broker: BrokerMetadata | None) -> bytes:
    """BrokerEntryMetadata with magic and size; empty if no metadata are known."""
    added = b""
    if broker is not None and broker.timestamp is not None:
        added += number(1, broker.timestamp)
    if broker is not None and broker.index is not None:
        added += number(2, broker.index)
    return b"".join((_BROKER, _INT.pack(len(added)), added)) if added else b""


def _checked(buffer: memoryview, start: int, check_crc: bool) -> int:
    if len(buffer) < start + 6:
        raise DecodeError(f"checksum: expected 4 bytes, got {len(buffer) - start - 2}", offset=start + 2)
    if check_crc:
        (expected,) = _UNSIGNED.unpack_from(buffer, start + 2)
        require_crc("entry", expected, crc32c(buffer[start + 6 :]), start + 2)
    return start + 6


def _sized(buffer: memoryview, start: int, name: str) -> tuple[bytes, int]:
    """The bytes of a part whose size stands at ``start``, and the position of its end."""
    if len(buffer) < start + 4:
        raise DecodeError(f"{name}: expected its size in 4 bytes, got {len(buffer) - start}", offset=start)
    (size,) = _INT.unpack_from(buffer, start)
    left = len(buffer) - start - 4
    if not 0 <= size <= left:
        raise DecodeError(f"{name}: expected a size from 0 to {left}, got {size}", offset=start)
    return bytes(buffer[start + 4 : start + 4 + size]), start + 4 + size


def _placed(read: Callable[[bytes], _T], data: bytes, end: int) -> _T:
    """The result of ``read`` for the data; positions in errors count from the entry's first byte."""
    try:
        return read(data)
    except DecodeError as error:
        if error.offset is not None:
            error.offset += end - len(data)
        raise
