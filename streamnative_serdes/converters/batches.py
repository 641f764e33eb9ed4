"""Kafka's batches in a buffer, one after the other: RecordBatch (format 2), and message sets (formats 0 and 1).

A RecordBatch, all integers big-endian::

    byte 0   base offset int64 | length int32 | leader epoch int32 | magic int8 = 2 | crc32c uint32 |
    byte 21  attributes int16 | last offset delta int32 | base timestamp int64 | max timestamp int64 |
    byte 43  producer id int64 | producer epoch int16 | base sequence int32 | count int32 | records

Format 0 or 1: offset int64 | size int32 | crc32 uint32 | magic int8 | ... (:mod:`.message_sets`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamnative_serdes.errors import DecodeError

from .compression import KAFKA, decompress
from .message_sets import SET_HEADER, LegacyMessage, read_legacy
from .transactions import committed
from .wire import BatchLimits, RecordReader, crc32c, require_crc

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = _HEADER.size  # 61 bytes
_MAGIC_AT: Final = 16
_CRC_AT, _CRC_FROM = 17, 21
_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x08, 0x10, 0x20
_OVERHEAD: Final = 12  # bytes before what the length counts


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A RecordBatch (format 2); ``records`` are still compressed."""

    offset: int
    attributes: int
    last_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    records: memoryview

    @property
    def codec(self) -> int:
        return self.attributes & 7

    @property
    def last_offset(self) -> int:
        return self.offset + self.last_delta

    @property
    def offsets(self) -> int:
        """The number of offsets that the batch takes, with the offsets of records that compaction has removed."""
        return self.last_delta + 1

    @property
    def control(self) -> bool:
        """Whether the batch holds a transaction's marker, or another record of the brokers, and no messages."""
        return bool(self.attributes & _CONTROL)

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    def messages(self, limits: BatchLimits, first: int | None = None) -> RecordReader:
        """The records; ``first`` is the offset of the first record, in place of the stored offset.

        Raises:
            DecodeError: the records are damaged; also while they are iterated.
        """
        return RecordReader(
            decompress(self.codec, self.records, limits.max_batch_size),
            count=self.count,
            base_offset=self.offset if first is None else first,
            last_delta=self.last_delta,
            base_timestamp=self.base_timestamp,
            append_time=self.max_timestamp if self.attributes & _APPEND_TIME else None,
            producer_id=self.producer_id,
            transactional=self.transactional,
            schema_header=limits.schema_header,
        )

    def markers(self, limits: BatchLimits, first: int | None = None) -> Iterator[tuple[int, bool, int]]:
        """Yield the transactions that a control batch ends: producer id, whether it commits, offset.

        Raises:
            DecodeError: a record is damaged.
        """
        for marker in self.messages(limits, first):
            commits = committed(marker)
            if commits is not None and self.transactional:
                yield self.producer_id, commits, marker.offset


def read_batches(
    buffer: memoryview, limits: BatchLimits, *, in_entry: bool = False
) -> Iterator[tuple[int, RecordBatch | LegacyMessage]]:
    """Yield each batch, after the byte at which it begins.

    Args:
        buffer: the batches.
        limits: of a batch.
        in_entry: whether the batches are from an entry of KoP. With ``entryFormat=mixed_kafka``, KoP stores an
            uncompressed batch of n offsets with a base offset that is n too small: near a topic's beginning below 0.

    Raises:
        DecodeError: a batch is cut off, has a wrong checksum or an impossible number; ``offset`` is the byte.
    """
    start = 0
    while start < len(buffer):
        size = _size(buffer, start)
        batch: RecordBatch | LegacyMessage
        if buffer[start + _MAGIC_AT] == 2:
            batch = _record_batch(buffer[start : start + size], start, limits, in_entry=in_entry)
        else:
            batch = read_legacy(buffer[start : start + size], start, check_crc=limits.check_crc)
        yield start, batch
        start += size


def place_error(error: DecodeError, batch: RecordBatch | LegacyMessage, at: int) -> None:
    """Put the position in the buffer into the error; the batch begins at byte ``at`` of the buffer.

    Positions in compressed records are not changed, and the text says so. The error itself is changed: a new error
    would keep the old error and its frames in memory, with their buffers, until cycles are collected.
    """
    if isinstance(batch, RecordBatch) and batch.codec == 0 and error.offset is not None:
        error.offset += at + HEADER_SIZE
        return
    name = KAFKA[batch.codec]
    where = "" if error.offset is None else f" at byte {error.offset} of the records, which are compressed with {name}"
    error.message, error.offset = f"batch: {error.message}{where}", at


def _size(buffer: memoryview, start: int) -> int:
    left = len(buffer) - start
    if left < _OVERHEAD:
        raise DecodeError(f"batch: expected at least {_OVERHEAD} bytes, got {left}", offset=start)
    (length,) = struct.unpack_from(">i", buffer, start + 8)
    least = SET_HEADER - _OVERHEAD
    if not least <= length <= left - _OVERHEAD:
        raise DecodeError(
            f"batch: expected a length from {least} to {left - _OVERHEAD} bytes, got {length}", offset=start + 8
        )
    return length + _OVERHEAD  # type: ignore[no-any-return] # of struct


def _record_batch(data: memoryview, start: int, limits: BatchLimits, *, in_entry: bool) -> RecordBatch:
    if len(data) < HEADER_SIZE:
        raise DecodeError(f"batch: expected at least {HEADER_SIZE} bytes, got {len(data)}", offset=start)
    base, _, _, _, crc, attributes, last_delta, first, largest, producer, epoch, sequence, count = _HEADER.unpack_from(
        data
    )
    if limits.check_crc:
        require_crc("batch", crc, crc32c(data[_CRC_FROM:]), start + _CRC_AT)
    if in_entry and -(last_delta + 1) <= base < 0:
        base += last_delta + 1
    if last_delta < 0 or base < 0 or base + last_delta >= 2**63:
        raise DecodeError(
            f"batch: expected offsets from 0 to 2**63 - 1, got {base} and {last_delta} more", offset=start
        )
    if not 0 <= count <= last_delta + 1:
        raise DecodeError(f"batch: expected at most {last_delta + 1} records, got the count {count}", offset=start + 57)
    if attributes & 7 > 4:
        raise DecodeError(f"batch: expected a compression codec from 0 to 4, got {attributes & 7}", offset=start + 21)
    records = data[HEADER_SIZE:]
    return RecordBatch(base, attributes, last_delta, first, largest, producer, epoch, sequence, count, records)
