"""Entries with their places in a topic, as the admin API and dumps have them, and one reader for both formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .converter import read_only
from .entry import read_entry
from .kafka_entries import Isolation, KafkaEntryReader, is_kafka
from .pulsar_entries import PulsarEntryReader
from .transactions import Unknown
from .wire import Message

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry and where it was stored; each number is -1 if it is not known.

    Args:
        data: the entry as :func:`~.entry.read_entry` takes it apart.
        partition: of the topic; -1 also if the topic has no partitions.
        ledger: its number in BookKeeper.
        entry: number in the ledger, from 0.
    """

    data: bytes
    partition: int = -1
    ledger: int = -1
    entry: int = -1

    @property
    def place(self) -> str:
        """Where it was, for messages to people: ``partition 0, entry 12:3``."""
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
        max_batch_size: int = 64 * _MIB,
        max_held: int = 64 * _MIB,
        max_chunked: int = 64 * _MIB,
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
