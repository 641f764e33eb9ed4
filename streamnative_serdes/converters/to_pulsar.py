"""The converter from KoP's entries of Kafka's format to entries that Pulsar's own clients read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamnative_serdes._external_ids import IdForm
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError

from .converter import MessageConverter, read_only
from .entry import read_entry, write_entry
from .kafka_entries import Isolation, KafkaEntryReader, is_kafka
from .metadata import MARKER_TYPE
from .pulsar_batches import write_batches
from .wire import MIB, Buffer, number, text

_MARKER: Final = 21  # TXN_COMMIT of Pulsar's MarkerType; without a transaction's id, brokers only skip it


class KafkaToPulsarConverter(MessageConverter):
    """Converts entries that KoP has stored with ``entryFormat=kafka`` to batches of Pulsar.

    The schema version in front of the values goes into the metadata, and the header is taken off, so that Pulsar's
    clients with a schema read them. All other fields are as KoP's own PulsarEntryFormatter writes them.

    Args:
        isolation: only ``read_uncommitted``. One entry does not say how its transaction ends; read entries in order
            with :class:`KafkaEntryReader` for that.
        max_batch_size: bytes of a batch, before and after.
        schema_header: False leaves the header in front of the values, and sets no schema version.
        check_crc: whether checksums are compared.
        external_ids: for topics of type EXTERNAL: ``4.2`` takes the ids in the headers ``__value_schema_id`` and
            ``__key_schema_id`` off the messages and into the metadata, as Pulsar's client 4.2 writes them; ``4.1`` does
            it as that client. Beside an id, a schema version stays in front of the value.

    Raises:
        ConfigError: an argument has an impossible value.
    """

    def __init__(
        self,
        *,
        isolation: Isolation = "read_uncommitted",
        max_batch_size: int = 64 * MIB,
        schema_header: bool = True,
        check_crc: bool = True,
        external_ids: IdForm | None = None,
    ) -> None:
        if external_ids not in (None, "4.2", "4.1"):
            raise ConfigError(f"external_ids: expected '4.2', '4.1' or None, got {external_ids!r:.40}")
        self._external_ids = external_ids
        if isolation == "read_committed":
            raise ConfigError(
                "isolation: a converter sees one entry, which does not say whether its transaction is committed",
                hint="KafkaEntryReader(isolation='read_committed') reads entries in order",
            )
        self._reader = KafkaEntryReader(
            isolation=isolation, max_batch_size=max_batch_size, schema_header=schema_header, check_crc=check_crc
        )

    def accept(self, buffer: memoryview) -> bool:
        """Whether the buffer is an entry of Kafka's format; its checksum and payload are not looked at."""
        try:
            return is_kafka(read_entry(buffer, check_crc=False))
        except DecodeError:
            return False

    def convert(self, buffer: memoryview) -> Buffer:
        """The entry as one batch of Pulsar.

        An entry without messages, such as the marker of a transaction, becomes a marker of Pulsar, which
        brokers send to no consumer.

        Raises:
            DecodeError: the entry is damaged.
            EncodeError: the values have several schema versions, but a batch has only one; or there are gaps between
                their offsets; or the batch is too large.
        """
        converted = self.entries(buffer)
        first = next(converted, None)
        if next(converted, None) is not None:
            raise EncodeError(
                "expected values of one schema version or id, and offsets without gaps, since a batch has its version "
                "and its last offset once",
                hint="entries() returns several entries; with schema_header=False, values keep their headers",
            )
        return self._marker(buffer) if first is None else first

    def entries(self, buffer: Buffer) -> Iterator[bytes]:
        """Yield the entry as batches of Pulsar, in order, each with values of one version and id; none for a marker.

        Another batch also begins after a gap between offsets, if the broker's metadata have the offset of the last one.

        Raises:
            DecodeError: the entry is damaged.
            EncodeError: a batch would be too large.
        """
        view = read_only(buffer)
        entry = read_entry(view, check_crc=False)  # entry() below compares the checksum
        publish_time, most = entry.metadata.publish_time, self._reader.limits.max_batch_size
        yield from write_batches(self._reader.entry(view), entry.broker, publish_time, most, self._external_ids)

    def _marker(self, buffer: memoryview) -> bytes:
        """The result for an entry without messages: a marker, which brokers send to nobody; batches are not empty."""
        entry = self._reader.kafka_entry(buffer)
        metadata = text(1, b"") + number(2, 0) + number(3, entry.metadata.publish_time) + number(MARKER_TYPE, _MARKER)
        return write_entry(metadata, b"", entry.broker)
