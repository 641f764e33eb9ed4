"""The converter from Pulsar's messages to Kafka's records, and the writing of RecordBatch (format 2)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from streamnative_serdes.errors import DecodeError, EncodeError

from .batches import HEADER_SIZE
from .converter import MessageConverter, read_only
from .entry import read_entry
from .kafka_entries import is_kafka
from .pulsar_batches import write_headers
from .pulsar_entries import PulsarEntryReader
from .wire import MIB, Buffer, Message, check_sizes, crc32c, framed, zigzag

_COVERED = struct.Struct(">hiqqqhii")  # what the checksum covers, before the records
_FRONT = struct.Struct(">qiibI")


def write_record_batch(messages: Iterable[Message], *, max_size: int = 64 * MIB, leader_epoch: int = -1) -> bytes:
    """One RecordBatch (format 2), uncompressed, of messages in the order of their offsets.

    Values get the schema version header. Messages without offsets are numbered from 0.

    Raises:
        EncodeError: there is no message, offsets do not increase, or the batch would be larger than ``max_size`` bytes.
    """
    batch = _Batch(leader_epoch)
    for message in messages:
        batch.add(message)
        if HEADER_SIZE + len(batch.records) > max_size:
            raise EncodeError(f"offset {batch.last}: expected a batch of at most {max_size} bytes, got more")
    return batch.encoded()


@dataclass(slots=True)
class _Batch:
    """A RecordBatch that is being written."""

    leader_epoch: int
    base: int = 0
    last: int = -1
    count: int = 0
    first_timestamp: int = -1
    largest_timestamp: int = -(2**63)
    records: bytearray = field(default_factory=bytearray)

    def add(self, message: Message) -> None:
        offset = self.last + 1 if message.offset < 0 else message.offset
        if self.count == 0:
            self.base, self.first_timestamp = offset, message.timestamp
        elif not self.last < offset < self.base + 2**31:
            raise EncodeError(f"expected an offset after {self.last}, got {offset}")
        body = _record(message, message.timestamp - self.first_timestamp, offset - self.base)
        self.records += zigzag(len(body)) + body
        self.last, self.count = offset, self.count + 1
        self.largest_timestamp = max(self.largest_timestamp, message.timestamp)

    def encoded(self) -> bytes:
        if not self.count:
            raise EncodeError("expected at least one message: Kafka's clients write no empty batch")
        times = (self.first_timestamp, self.largest_timestamp)
        covered = _COVERED.pack(0, self.last - self.base, *times, -1, -1, -1, self.count) + self.records
        length = HEADER_SIZE - 12 + len(self.records)
        return _FRONT.pack(self.base, length, self.leader_epoch, 2, crc32c(memoryview(covered))) + covered


def _record(message: Message, delta: int, number: int) -> bytes:
    value, key = framed(message), message.key
    return b"".join(
        (
            b"\0",  # attributes
            zigzag((delta + 2**63) % 2**64 - 2**63),
            zigzag(number),
            zigzag(-1 if key is None else len(key)),
            key or b"",
            zigzag(-1 if value is None else len(value)),
            value or b"",
            write_headers(message.headers),
        )
    )


class PulsarToKafkaConverter(MessageConverter):
    """Converts an entry of Pulsar's own format to a Kafka RecordBatch.

    The schema version in the metadata becomes our header in front of each value. A chunk is refused: put chunks
    together with :class:`PulsarEntryReader`, and write the messages with :func:`write_record_batch`.

    Args:
        max_batch_size: bytes of a batch, before and after.
        check_crc: whether checksums are compared.
    """

    def __init__(self, *, max_batch_size: int = 64 * MIB, check_crc: bool = True) -> None:
        self._most, self._check_crc = max_batch_size, check_crc
        check_sizes(max_batch_size=max_batch_size)

    def accept(self, buffer: memoryview) -> bool:
        """Whether the buffer is an entry, and not of Kafka's format."""
        try:
            return not is_kafka(read_entry(buffer, check_crc=False))
        except DecodeError:
            return False

    def convert(self, buffer: memoryview) -> Buffer:
        """The messages as one RecordBatch.

        Raises:
            DecodeError: the entry is damaged, encrypted or a chunk.
            EncodeError: the entry has no message for consumers, or the batch would be too large.
        """
        entry = read_entry(read_only(buffer), check_crc=self._check_crc)
        if entry.metadata.chunks > 1:
            raise DecodeError(
                f"expected a whole message, got chunk {entry.metadata.chunk_id} of {entry.metadata.chunks}",
                hint="PulsarEntryReader puts chunks together",
            )
        reader = PulsarEntryReader(max_batch_size=self._most, check_crc=False)
        return write_record_batch(reader.entry(buffer), max_size=self._most)
