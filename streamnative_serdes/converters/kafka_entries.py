"""Kafka's batches, bare or in the entries that KoP stores with ``entryFormat=kafka``, become messages."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from streamnative_serdes.errors import ConfigError, DecodeError

from .batches import RecordBatch, place_error, read_batches
from .compression import decompress_pulsar
from .converter import read_only
from .entry import Entry, read_entry
from .message_sets import LegacyMessage
from .transactions import HeldTransactions, Unknown, message_size
from .wire import MIB, BatchLimits, Buffer, Message, check_sizes

FORMAT: Final = b"entry.format"
KAFKA_FORMAT: Final = b"kafka"
Isolation: TypeAlias = Literal["read_uncommitted", "read_committed"]
Batch: TypeAlias = RecordBatch | LegacyMessage


class KafkaEntryReader:
    """Reads the messages of entries, or of Kafka's own batches.

    Args:
        isolation: ``read_uncommitted`` returns each record as it comes. ``read_committed`` holds the records of open
            transactions until their marker, and drops the records of aborted transactions; the order is that of the
            offsets, so a reader reads a single partition, in order.
        max_batch_size: bytes that one batch may have after decompression.
        max_held: bytes that ``read_committed`` may hold.
        schema_header: whether a schema version header (SNIP 42) is taken off the values and becomes
            ``message.schema_version``.
        check_crc: whether the checksums of entries and batches are compared.

    Raises:
        ConfigError: an argument has an impossible value.
    """

    def __init__(
        self,
        *,
        isolation: Isolation = "read_uncommitted",
        max_batch_size: int = 64 * MIB,
        max_held: int = 64 * MIB,
        schema_header: bool = True,
        check_crc: bool = True,
    ) -> None:
        check_options(isolation, max_batch_size=max_batch_size, max_held=max_held)
        self.limits = BatchLimits(max_batch_size, schema_header, check_crc)
        self._held = HeldTransactions(max_held, message_size) if isolation == "read_committed" else None

    @property
    def unknown(self) -> Unknown:
        """The gaps in the knowledge of ``read_committed`` about the transactions of the entries that were read.

        Raises:
            ConfigError: the reader is ``read_uncommitted``, and does not follow transactions.
        """
        if self._held is None:
            raise ConfigError("with isolation='read_uncommitted', the reader does not follow transactions")
        return self._held.unknown

    def entry(self, buffer: Buffer) -> Iterator[Message]:
        """Yield the messages of an entry as KoP stores it with ``entryFormat=kafka``.

        Raises:
            DecodeError: the entry has another format or is damaged; ``offset`` is the byte. Messages before a damaged
                one have been yielded.
        """
        entry = self.kafka_entry(buffer)
        batches = _batches_in(entry, self.limits)
        yield from self._messages_of(batches, entry.start, _first_offset(entry, self.limits))

    def batches(self, buffer: Buffer) -> Iterator[Message]:
        """Yield the messages of Kafka's batches that follow each other, as in a log segment or a fetch response.

        Raises:
            DecodeError: a batch is damaged; ``offset`` is the byte. Messages before it have been yielded.
        """
        yield from self._messages_of(read_batches(read_only(buffer), self.limits), 0, None)

    def kafka_entry(self, buffer: Buffer) -> Entry:
        """An entry of Kafka's format, taken apart; its payload is decompressed if a Pulsar producer has compressed it.

        Raises:
            DecodeError: the entry has another format or is damaged.
        """
        entry = read_entry(read_only(buffer), check_crc=self.limits.check_crc)
        if not is_kafka(entry):
            got = (entry.metadata.property(FORMAT) or b"nothing").decode(errors="replace")
            raise DecodeError(
                f"expected an entry whose property {FORMAT.decode()} is kafka, got {got!r:.40}",
                hint="PulsarEntryReader reads entries of Pulsar's own format",
            )
        if entry.metadata.encrypted:
            raise DecodeError("expected a payload in plain text, got an encrypted one")
        size = entry.metadata.uncompressed_size
        entry.payload = decompress_pulsar(entry.metadata.compression, entry.payload, size, self.limits.max_batch_size)
        return entry

    def _messages_of(self, batches: Iterator[tuple[int, Batch]], start: int, first: int | None) -> Iterator[Message]:
        for at, batch in batches:
            try:
                count = yield from self._messages(batch, first)
            except DecodeError as error:
                place_error(error, batch, start + at)
                raise
            if first is not None:
                first += count

    def _messages(self, batch: Batch, first: int | None) -> Generator[Message, None, int]:
        """Yield a batch's messages, as the isolation demands; returns how many offsets it takes."""
        count, held = 0, self._held
        if isinstance(batch, LegacyMessage) or (held and not batch.control):
            for message in batch.messages(self.limits, first):
                count += 1
                yield from held.take(message) if held else (message,)
        elif not batch.control:
            yield from batch.messages(self.limits, first)
        elif held:
            for ended in batch.markers(self.limits, first):
                yield from held.end(*ended)
        return count if isinstance(batch, LegacyMessage) else batch.offsets


def check_options(isolation: str, **sizes: int) -> None:
    """Raise ConfigError if an isolation or a number of bytes is impossible."""
    if isolation not in ("read_uncommitted", "read_committed"):
        raise ConfigError(f"isolation: expected read_uncommitted or read_committed, got {isolation!r}")
    check_sizes(**sizes)


def is_kafka(entry: Entry) -> bool:
    """Whether KoP has stored the entry with ``entryFormat=kafka`` (or ``mixed_kafka``)."""
    return entry.metadata.property(FORMAT) == KAFKA_FORMAT


def _first_offset(entry: Entry, limits: BatchLimits) -> int | None:
    """The offset of the entry's first record; None if the broker has not added the index of the last one.

    The batches themselves have the offsets that the producer gave them, from 0.
    """
    declared, taken = entry.metadata.messages or 1, _offsets_in(entry, limits)
    if taken is None:
        taken = declared  # the metadata count what is inside compressed messages of formats 0 and 1
    elif taken < max(declared, 1):
        raise DecodeError(
            f"expected batches of {declared} offsets, as the metadata say, got {taken}", offset=entry.start
        )
    if entry.broker.index is None:
        return None
    first = entry.broker.index - taken + 1
    if first < 0 or taken < 1:
        raise DecodeError(
            f"expected the index of the last of {taken} offsets, at least {taken - 1}, got {entry.broker.index}"
        )
    return first


def _offsets_in(entry: Entry, limits: BatchLimits) -> int | None:
    """The number of offsets that the batches take; None if a batch of format 0 or 1 does not tell the number."""
    taken = 0
    for _, batch in _batches_in(entry, replace(limits, check_crc=False)):
        if isinstance(batch, LegacyMessage):
            return None
        taken += batch.offsets
    return taken


def _batches_in(entry: Entry, limits: BatchLimits) -> Iterator[tuple[int, Batch]]:
    """The entry's batches; positions in errors count from the entry's first byte, not from the payload's."""
    try:
        yield from read_batches(entry.payload, limits, in_entry=True)
    except DecodeError as error:
        if error.offset is not None:
            error.offset += entry.start
        raise
