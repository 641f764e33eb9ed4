"""Kafka's batches as other libraries write them, with faults and features that those do not write."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy
from aiokafka.record.legacy_records import _LegacyRecordBatchBuilderPy
from kop_entries import crc32c, kafka_entry, varint

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
TRANSACTIONAL, CONTROL, APPEND_TIME = 0x10, 0x20, 0x08
_NOW: Final = 1_600_000_000_000


class Rec(NamedTuple):
    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int = _NOW


def batch(*records: Rec, codec: int = NONE, producer_id: int = -1, transactional: bool = False, base: int = 0) -> bytes:
    """A RecordBatch by aiokafka's builder."""
    builder = _DefaultRecordBatchBuilderPy(
        2, codec, transactional, producer_id, *(0, 0) if producer_id >= 0 else (-1, -1), 1 << 30
    )
    for number, record in enumerate(records):
        assert builder.append(number, record.timestamp, record.key, record.value, list(record.headers))
    data = bytes(builder.build())
    assert data[22] & 7 == codec, "the builder does not compress what does not become smaller"
    return struct.pack(">q", base) + data[8:]


def legacy(*records: Rec, magic: int, codec: int = NONE) -> bytes:
    """A message set by aiokafka's builder."""
    builder = _LegacyRecordBatchBuilderPy(magic, codec, 1 << 30)
    for number, record in enumerate(records):
        assert builder.append(number, record.timestamp, record.key, record.value)
    data = bytes(builder.build())
    assert data[17] & 7 == codec
    return data


def wrapper(inside: bytes, *, magic: int = 1, codec: int = GZIP, offset: int = 0) -> bytes:
    """A message of format 0 or 1 whose value is said to be a compressed message set."""
    body = struct.pack(">bbq" if magic else ">bb", magic, codec, *(0,) * magic)
    body += struct.pack(">ii", -1, len(inside)) + inside
    return sealed(struct.pack(">qiI", offset, len(body) + 4, 0) + body)


def patched(data: bytes, at: int, form: str, *numbers: Any) -> bytes:
    """The batch with other numbers at a byte, and the checksum that fits them."""
    changed = bytearray(data)
    struct.pack_into(form, changed, at, *numbers)
    return sealed(changed)


def with_records(data: bytes, records: bytes, attributes: int = 0) -> bytes:
    """The batch with other bytes in the place of its records, length and checksum included."""
    changed = bytearray(data[:61]) + records
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    struct.pack_into(">h", changed, 21, attributes)
    return sealed(changed)


def sealed(data: bytes | bytearray) -> bytes:
    changed = bytearray(data)
    if changed[16] == 2:
        struct.pack_into(">I", changed, 17, crc32c(bytes(changed[21:])))
    else:
        struct.pack_into(">I", changed, 12, zlib.crc32(changed[16:]))
    return bytes(changed)


def marker(producer_id: int, *, commits: bool, base: int = 0) -> bytes:
    """The control batch that ends a transaction."""
    record = Rec(struct.pack(">hi", 0, 0), struct.pack(">hh", 0, commits))
    plain = batch(record, producer_id=producer_id, transactional=True, base=base)
    return patched(plain, 21, ">h", TRANSACTIONAL | CONTROL)


def entry(*batches: bytes, records: int, index: int | None = None) -> bytes:
    """The batches as KoP stores them with entryFormat=kafka."""
    front = b""
    if index is not None:
        metadata = b"\x10" + varint(index)
        front = b"\x0e\x02" + struct.pack(">i", len(metadata)) + metadata
    return front + kafka_entry(b"".join(batches), records)


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)
