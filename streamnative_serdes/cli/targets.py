"""The output formats of ``convert``: JSON lines, entries of Pulsar's format, or Kafka's batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, BinaryIO, Final, TypeAlias

from streamnative_serdes._external_ids import IdForm
from streamnative_serdes.converters import DumpWriter, Message, StoredEntry, write_record_batch
from streamnative_serdes.converters.entry import read_entry
from streamnative_serdes.converters.kafka_entries import is_kafka
from streamnative_serdes.converters.metadata import BrokerMetadata
from streamnative_serdes.converters.pulsar_batches import write_batches

from .avro_json import show_moment
from .message_json import show_bytes
from .output import FailureError, json_text

_BATCHES: Final = BrokerMetadata(index=0)  # that there is an index: write_batches takes the offsets of messages
Read: TypeAlias = Callable[[], Iterator[Message]]


@dataclass(frozen=True, slots=True)
class Item:
    """The unit of conversion: an entry, or one of Kafka's batches, which begins at byte ``at`` of its file."""

    stored: StoredEntry
    at: int | None = None  # of batches

    @property
    def place(self) -> str:
        return self.stored.place if self.at is None else f"batch at byte {self.at}"

    @property
    def kafka(self) -> bool:
        """Whether the item has Kafka's format. Raises DecodeError if the bytes are not an entry."""
        return self.at is not None or is_kafka(read_entry(memoryview(self.stored.data), check_crc=False))


class Target(ABC):
    """A format to convert to."""

    __slots__ = ()

    @abstractmethod
    def write(self, item: Item, read: Read, draft: BinaryIO) -> None:
        """Write an item, whose messages ``read`` gives, to ``draft``; if that fails, the target is as before."""

    def finish(self, out: BinaryIO) -> None:  # noqa: B027 - most formats have no end
        """Write the end of the whole result."""


@dataclass(slots=True)
class Lines(Target):
    topic: str | None  # name of the messages' topic, if it is known
    placed: bool  # whether messages lie in the entry that yields them. In transactions, the marker's entry yields them

    def write(self, item: Item, read: Read, draft: BinaryIO) -> None:
        around = _around(self.topic, item.stored if self.placed else _unplaced(item.stored))
        draft.writelines(json_text({**around, **_shown(message)}).encode() + b"\n" for message in read())


@dataclass(slots=True)
class Unchanged(Target):
    begun: bool = False

    def write(self, item: Item, read: Read, draft: BinaryIO) -> None:  # noqa: ARG002 - they are not read
        self.append(draft, [item.stored])

    def append(self, draft: BinaryIO, entries: Iterable[StoredEntry]) -> None:
        writer = DumpWriter(draft, begun=self.begun)
        for entry in entries:
            writer.write(entry)
        self.begun = writer.begun

    def finish(self, out: BinaryIO) -> None:
        DumpWriter(out, begun=self.begun).finish()


@dataclass(slots=True)
class PulsarEntries(Target):
    """A dump of entries of Pulsar's format; those that have it already stay as they are."""

    most: int  # bytes that a batch may have
    placed: bool  # as for :class:`Lines`
    external_ids: IdForm | None = None  # as for KafkaToPulsarConverter
    _dump: Unchanged = field(default_factory=Unchanged)

    def write(self, item: Item, read: Read, draft: BinaryIO) -> None:
        stored, broker, publish_time = item.stored, _BATCHES, 0
        if item.at is None:
            entry = read_entry(memoryview(stored.data))
            if not is_kafka(entry):
                self._dump.append(draft, [stored])
                return
            broker, publish_time = entry.broker, entry.metadata.publish_time
        place = stored if self.placed else _unplaced(stored)
        batches = write_batches(read(), broker, publish_time, self.most, self.external_ids)
        self._dump.append(draft, (replace(place, data=batch) for batch in batches))

    def finish(self, out: BinaryIO) -> None:
        self._dump.finish(out)


@dataclass(slots=True)
class KafkaBatches(Target):
    """Kafka's batches, one for each item with messages; messages without offsets get the next ones."""

    most: int  # bytes that a batch may have
    _partition: int | None = None
    _offset: int = 0

    def write(self, item: Item, read: Read, draft: BinaryIO) -> None:
        if self._partition not in (None, item.stored.partition):
            found = f"{self._partition} and {item.stored.partition}"
            raise FailureError(f"expected one partition for --to kafka, got {found}", hint="add --partition")
        self._partition = item.stored.partition
        place = [self._offset]
        messages = _numbered(read(), place)
        first = next(messages, None)
        if first is not None:
            draft.write(write_record_batch(chain([first], messages), max_size=self.most))
            self._offset = place[0]


def _numbered(messages: Iterator[Message], place: list[int]) -> Iterator[Message]:
    """Messages; one without an offset gets the next one, which is in ``place``."""
    for message in messages:
        numbered = message if message.offset >= 0 else _at(message, place[0])
        place[0] = numbered.offset + 1
        yield numbered


def _at(message: Message, offset: int) -> Message:
    return Message(
        message.value,
        key=message.key,
        headers=message.headers,
        timestamp=message.timestamp,
        offset=offset,
        schema_version=message.schema_version,
    )


def _unplaced(stored: StoredEntry) -> StoredEntry:
    return StoredEntry(stored.data, stored.partition)


def _around(topic: str | None, stored: StoredEntry) -> dict[str, Any]:
    around: dict[str, Any] = {} if topic is None else {"topic": topic}
    if stored.partition >= 0:
        around["partition"] = stored.partition
    return around if stored.ledger < 0 else {**around, "entry": f"{stored.ledger}:{stored.entry}"}


def _shown(message: Message) -> dict[str, Any]:
    shown = {
        "offset": message.offset if message.offset >= 0 else None,
        "timestamp": show_moment(message.timestamp, 3, True) if message.timestamp >= 0 else None,
        "key": show_bytes(message.key),
        "headers": [
            [show_bytes(name.encode("utf-8", "surrogateescape")), show_bytes(value)] for name, value in message.headers
        ],
        "version": message.schema_version,
        "value": show_bytes(message.value),
    }
    if message.producer_id >= 0:
        shown |= {"producer_id": message.producer_id, "transactional": message.transactional}
    return shown
