"""Kafka's message sets, formats 0 and 1, which clients before Kafka 0.11 wrote.

A message, all integers big-endian::

    byte 0   offset int64 | size int32 | crc32 uint32 | magic int8 | attributes int8 |
    byte 18  timestamp int64, in format 1 only | key: int32 size, bytes | value: int32 size, bytes

The value of a compressed message is a message set. In format 1 its offsets count from 0, and the wrapper has the offset
of the last one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from streamnative_serdes import header
from streamnative_serdes.errors import DecodeError

from .compression import LZ4, decompress
from .wire import BatchLimits, Message, require_crc

SET_HEADER: Final = 26  # bytes of the smallest message: format 0, key and value null
_CODEC, _APPEND_TIME = 0x07, 0x08
_START: Final = struct.Struct(">qiIbb")
_MOST_CODEC: Final = (3, 3)  # zstd came with format 2


@dataclass(frozen=True, slots=True)
class LegacyMessage:
    """A message of format 0 or 1; ``value`` is a compressed message set if ``codec`` is not 0."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None

    control: ClassVar[bool] = False
    transactional: ClassVar[bool] = False
    producer_id: ClassVar[int] = -1

    @property
    def codec(self) -> int:
        return self.attributes & _CODEC

    @property
    def last_offset(self) -> int:
        return self.offset

    @property
    def timestamp_kind(self) -> int:
        """The type of the timestamp: -1 none, 0 CreateTime, 1 LogAppendTime."""
        return self.attributes >> 3 & 1 if self.magic else -1

    def messages(self, limits: BatchLimits, first: int | None = None) -> Iterator[Message]:
        """Yield the message, or the messages inside, with offsets from ``first`` on or, by default, the stored offsets.

        Raises:
            DecodeError: the set inside is damaged, or compressed again.
        """
        if self.codec == 0:
            yield self._message(self.offset if first is None else first, self.timestamp, limits)
            return
        if self.value is None:
            raise DecodeError("message set: expected compressed messages, got null")
        broken = self.magic == 0 and self.codec == LZ4
        data = decompress(self.codec, self.value, limits.max_batch_size, broken_lz4=broken)
        # Some clients leave 0 in the wrapper for the broker to change.
        shift = max(0, self.offset - _last_offset(data)) if self.magic == 1 else 0
        for number, (start, size) in enumerate(_inside(data)):
            message = self._plain(data[start : start + size], start, limits)
            offset = message.offset + shift if first is None else first + number
            timestamp = self.timestamp if self.attributes & _APPEND_TIME else message.timestamp
            yield message._message(offset, timestamp, limits)  # noqa: SLF001 # of this class

    def _plain(self, data: memoryview, start: int, limits: BatchLimits) -> LegacyMessage:
        message = read_legacy(data, start, check_crc=limits.check_crc)
        if message.codec or message.magic != self.magic:
            got = "one that is compressed again" if message.codec else f"one of format {message.magic}"
            raise DecodeError(f"message set: expected plain messages of format {self.magic}, got {got}", offset=start)
        return message

    def _message(self, offset: int, timestamp: int, limits: BatchLimits) -> Message:
        if not 0 <= offset < 2**63:
            raise DecodeError(f"message set: expected offsets from 0 to 2**63 - 1, got {offset}")
        value = None if self.value is None else bytes(self.value)
        version = header.read(value) if limits.schema_header and value is not None else None
        if version is not None and value is not None:
            value = value[header.SIZE :]
        key = None if self.key is None else bytes(self.key)
        return Message(value, key=key, timestamp=timestamp, offset=offset, schema_version=version)


def read_legacy(data: memoryview, start: int, *, check_crc: bool = True) -> LegacyMessage:
    """A message from exactly its bytes, which begin at byte ``start`` of a buffer.

    Raises:
        DecodeError: the checksum is wrong, or a number is impossible.
    """
    offset, _, crc, magic, attributes = _START.unpack_from(data)
    if magic not in (0, 1):
        raise DecodeError(f"batch: expected the magic 0, 1 or 2, got {magic}", offset=start + 16)
    if check_crc:
        require_crc("message", crc, zlib.crc32(data[16:]), start + 12)
    if offset < 0:
        raise DecodeError(f"message: expected an offset from 0, got {offset}", offset=start)
    codec = attributes & _CODEC
    if codec > _MOST_CODEC[magic]:
        raise DecodeError(f"message: expected a compression codec from 0 to 3, got {codec}", offset=start + 17)
    timestamp, place = -1, 18
    if magic == 1:
        if len(data) < 26:
            raise DecodeError(f"message: expected a timestamp of 8 bytes, got {len(data) - 18}", offset=start + 18)
        (timestamp,) = struct.unpack_from(">q", data, 18)
        place = 26
    key, place = _data(data, place, start, "key")
    value, place = _data(data, place, start, "value")
    if place != len(data):
        raise DecodeError(f"message: expected its end, got {len(data) - place} more bytes", offset=start + place)
    return LegacyMessage(offset, magic, attributes, timestamp, key, value)


def _data(data: memoryview, place: int, start: int, name: str) -> tuple[memoryview | None, int]:
    left = len(data) - place - 4
    if left < 0:
        raise DecodeError(f"message: expected the size of the {name}, got the end", offset=start + place)
    (size,) = struct.unpack_from(">i", data, place)
    if size == -1:
        return None, place + 4
    if not 0 <= size <= left:
        raise DecodeError(f"message: expected a {name} of -1 to {left} bytes, got {size}", offset=start + place)
    return data[place + 4 : place + 4 + size], place + 4 + size


def _inside(data: memoryview) -> Iterator[tuple[int, int]]:
    """The position and size of each message in a set, in bytes."""
    start = 0
    while start < len(data):
        left = len(data) - start - 12
        size: int = struct.unpack_from(">i", data, start + 8)[0] if left >= 0 else -1
        if not SET_HEADER - 12 <= size <= left:
            least = SET_HEADER - 12
            raise DecodeError(f"message set: expected a message of {least} to {left} bytes, got {size}", offset=start)
        yield start, size + 12
        start += size + 12


def _last_offset(data: memoryview) -> int:
    """The offset of the last message of a set; 0 for an empty set."""
    last = 0
    for start, _ in _inside(data):
        (last,) = struct.unpack_from(">q", data, start)
    return last
