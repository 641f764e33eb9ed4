"""Entries with their places in a topic, from the admin API and dumps, and dumps: files of entries.

A dump has entries of topics, one after the other, each with its place and its size::

    byte 0   "entries" | version of this format uint8 = 1
    then, for each entry:
    byte 0   partition int32 | ledger int64 | entry int64 | size int32 | entry

All integers are big-endian; a partition, ledger or entry that is not known is -1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from streamnative_serdes.errors import DecodeError, EncodeError

from .converter import read_only
from .entry import read_entry
from .kafka_entries import Isolation, KafkaEntryReader, is_kafka
from .pulsar_entries import PulsarEntryReader
from .transactions import Unknown
from .wire import MIB, Buffer, Message, check_sizes


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry and its place; each number is -1 if unknown.

    Args:
        data: the entry as :func:`~.entry.read_entry` takes it apart.
        partition: of the topic; -1 also if the topic has no partitions.
        ledger: the ledger's number in BookKeeper.
        entry: number in the ledger, from 0.
    """

    data: bytes
    partition: int = -1
    ledger: int = -1
    entry: int = -1

    @property
    def place(self) -> str:
        """The entry's place, for messages to people: ``partition 0, entry 12:3``."""
        parts = [f"partition {self.partition}"] if self.partition >= 0 else []
        parts += [f"entry {self.ledger}:{self.entry}"] if self.ledger >= 0 else []
        return ", ".join(parts)


class EntryReader:
    """Reads the messages of entries of both formats, Kafka's and Pulsar's, of one partition in order.

    Args:
        isolation: for entries of Kafka's format, as in :class:`KafkaEntryReader`.
        max_batch_size: bytes of a batch or payload after decompression.
        max_held: bytes that ``read_committed`` may hold.
        max_chunked: bytes of chunks whose message is not yet whole.
        schema_header: whether a schema version header is taken off the values of Kafka's format.
        check_crc: whether checksums are compared.

    With ``read_committed``, entries of Pulsar's format do not wait for an open transaction of Kafka's.

    Raises:
        ConfigError: an argument has an impossible value.
    """

    def __init__(
        self,
        *,
        isolation: Isolation = "read_uncommitted",
        max_batch_size: int = 64 * MIB,
        max_held: int = 64 * MIB,
        max_chunked: int = 64 * MIB,
        schema_header: bool = True,
        check_crc: bool = True,
    ) -> None:
        self._kafka = KafkaEntryReader(
            isolation=isolation,
            max_batch_size=max_batch_size,
            max_held=max_held,
            schema_header=schema_header,
            check_crc=check_crc,
        )
        self._pulsar = PulsarEntryReader(max_batch_size=max_batch_size, max_chunked=max_chunked, check_crc=check_crc)

    @property
    def unknown(self) -> Unknown:
        """As :attr:`KafkaEntryReader.unknown`."""
        return self._kafka.unknown

    @property
    def unfinished(self) -> dict[str, int]:
        """As :attr:`PulsarEntryReader.unfinished`."""
        return self._pulsar.unfinished

    def entry(self, buffer: Buffer) -> Iterator[Message]:
        """Yield the messages of an entry.

        Raises:
            DecodeError: the entry is damaged, encrypted, or a chunk that follows the wrong one.
        """
        kafka = is_kafka(read_entry(read_only(buffer), check_crc=False))
        yield from (self._kafka if kafka else self._pulsar).entry(buffer)


MAGIC: Final = b"entries\x01"
_FRONT: Final = struct.Struct(">iqqi")
_BATCH: Final = struct.Struct(">qi")  # a batch of Kafka: base offset, length of the rest


class DumpWriter:
    """Writes entries to a dump.

    Args:
        file: for bytes. The beginning of a dump is written with the first entry, or when the dump is finished.
        begun: whether the file has the beginning already.
    """

    def __init__(self, file: BinaryIO, *, begun: bool = False) -> None:
        self._file, self.begun = file, begun

    def write(self, entry: StoredEntry) -> None:
        """Append an entry.

        Raises:
            EncodeError: the entry has 2**31 bytes or more.
        """
        if len(entry.data) >= 2**31:
            raise EncodeError(f"expected an entry of fewer than 2**31 bytes, got {len(entry.data)}")
        self.finish()
        self._file.write(_FRONT.pack(entry.partition, entry.ledger, entry.entry, len(entry.data)))
        self._file.write(entry.data)

    def finish(self) -> None:
        """Write the beginning of the dump, if there were no entries."""
        if not self.begun:
            self._file.write(MAGIC)
            self.begun = True


def read_dump(file: BinaryIO, *, max_entry_size: int = 64 * MIB) -> Iterator[StoredEntry]:
    """Yield the entries of a dump. Only one entry at a time is in memory.

    Args:
        file: of bytes; it need not be seekable.
        max_entry_size: bytes that an entry may have.

    Raises:
        ConfigError: ``max_entry_size`` is impossible.
        DecodeError: the file is no dump, is cut off, or has an entry that is too large; ``offset`` is the byte.
    """
    check_sizes(max_entry_size=max_entry_size)
    magic = _read(file, len(MAGIC))
    if magic != MAGIC:
        raise DecodeError(
            f"expected a dump of entries, which begins with {MAGIC!r}, got {magic!r}",
            offset=0,
            hint="is the file one entry, or Kafka's batches? The command convert has --input-format for them",
        )
    place = len(MAGIC)
    while front := _read(file, _FRONT.size):
        if len(front) < _FRONT.size:
            raise DecodeError(f"dump: expected {_FRONT.size} bytes before an entry, got {len(front)}", offset=place)
        partition, ledger, number, size = _FRONT.unpack(front)
        if not 0 <= size <= max_entry_size or min(partition, ledger, number) < -1:
            raise DecodeError(
                f"dump: expected places from -1 and an entry of 0 to {max_entry_size} bytes, "
                f"got {partition}, {ledger}:{number} and {size}",
                offset=place,
            )
        yield StoredEntry(_whole(file, size, place + _FRONT.size, "dump: entry"), partition, ledger, number)
        place += _FRONT.size + size


def read_batches_one_by_one(file: BinaryIO, *, max_size: int = 64 * MIB) -> Iterator[tuple[int, bytes]]:
    """Yield the position and bytes of each of Kafka's batches in a file. Only one batch at a time is in memory.

    Raises:
        ConfigError: ``max_size`` is impossible.
        DecodeError: a batch is cut off, or is too large; ``offset`` is the byte.
    """
    check_sizes(max_size=max_size)
    place = 0
    while front := _read(file, _BATCH.size):
        length = _BATCH.unpack(front)[1] if len(front) == _BATCH.size else -1
        if not 0 <= length <= max_size - _BATCH.size:
            raise DecodeError(
                f"batch: expected {_BATCH.size} bytes with a length from 0 to {max_size - _BATCH.size}, "
                f"got {len(front)} bytes with the length {length}",
                offset=place,
            )
        yield place, front + _whole(file, length, place + _BATCH.size, "batch")
        place += _BATCH.size + length


def read_one(file: BinaryIO, *, max_size: int = 64 * MIB) -> bytes:
    """The bytes of a file that is one entry.

    Raises:
        ConfigError: ``max_size`` is impossible.
        DecodeError: the file is larger than ``max_size``.
    """
    check_sizes(max_size=max_size)
    data = _read(file, max_size + 1)
    if len(data) > max_size:
        raise DecodeError(f"expected a file of one entry, of at most {max_size} bytes, got more")
    return data


def _whole(file: BinaryIO, size: int, place: int, name: str) -> bytes:
    data = _read(file, size)
    if len(data) < size:
        raise DecodeError(f"{name}: expected {size} bytes, got {len(data)}", offset=place)
    return data


def _read(file: BinaryIO, size: int) -> bytes:
    """Read ``size`` bytes, fewer only at the end of the file; a single read of a pipe may return fewer."""
    parts, left = [], size
    # In parts, so that a size that lies allocates nothing.
    while left and (part := file.read(min(left, MIB))):
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
