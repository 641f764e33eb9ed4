"""Conversion of entries, each as a whole or not at all. An unreadable entry is kept, or ends the conversion."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

from streamnative_serdes.converters import DumpWriter, EntryReader, KafkaEntryReader, Message
from streamnative_serdes.converters.kafka_entries import Isolation
from streamnative_serdes.errors import DecodeError, EncodeError, SerdesError

from .failures import FailureError, failure_of
from .output import counted, say
from .targets import Item, Target

_IN_MEMORY: Final = 8 << 20  # bytes of the result for one item; a larger one goes to a temporary file


@dataclass(slots=True)
class EntryReaders:
    """Options for reading entries, and a reader for each partition, since transactions and chunks do not cross them."""

    isolation: Isolation
    max_batch_size: int
    max_held: int
    schema_header: bool
    _entries: dict[int, EntryReader] = field(default_factory=dict, init=False)
    _batches: KafkaEntryReader | None = field(default=None, init=False)

    def messages(self, item: Item) -> Iterator[Message]:
        """The messages of an item, and the records held for a transaction that the item ends."""
        if item.at is not None:
            self._batches = self._batches or self._batch_reader(self.isolation)
            return self._batches.batches(item.stored.data)
        reader = self._entries.get(item.stored.partition)
        if reader is None:
            reader = self._entries[item.stored.partition] = self._entry_reader(self.isolation)
        return reader.entry(item.stored.data)

    def check(self, item: Item) -> None:
        """Read an item of Kafka's format alone. Raises DecodeError if that fails; the readers stay as they are."""
        if item.at is not None:
            found = self._batch_reader("read_uncommitted").batches(item.stored.data)
        elif item.kafka:
            found = self._entry_reader("read_uncommitted").entry(item.stored.data)
        else:
            return
        for _ in found:
            pass

    def left(self) -> Iterator[str]:
        """Lines about messages that were not yielded, because their transaction has not ended or chunks are missing."""
        for partition, reader in sorted(self._entries.items()):
            where = f"partition {partition}: " if partition >= 0 else ""
            yield from (where + text for text in (*self._held(reader), *_unfinished(reader)))
        if self._batches is not None:
            yield from self._held(self._batches)

    def _entry_reader(self, isolation: Isolation) -> EntryReader:
        return EntryReader(
            isolation=isolation,
            max_batch_size=self.max_batch_size,
            max_held=self.max_held,
            max_chunked=self.max_held,
            schema_header=self.schema_header,
        )

    def _batch_reader(self, isolation: Isolation) -> KafkaEntryReader:
        return KafkaEntryReader(
            isolation=isolation,
            max_batch_size=self.max_batch_size,
            max_held=self.max_held,
            schema_header=self.schema_header,
        )

    def _held(self, reader: EntryReader | KafkaEntryReader) -> Iterator[str]:
        if self.isolation != "read_committed":
            return
        unknown = reader.unknown
        if unknown.held:
            began = ", ".join(f"producer {producer} from offset {first}" for producer, first in unknown.open.items())
            yield f"{counted(unknown.held, 'message')} not written, because transactions have not ended: {began}"
        if unknown.may_have_begun_before:
            producers = ", ".join(map(str, sorted(unknown.may_have_begun_before)))
            yield f"transactions may have begun before the first entry: those of producers {producers}"


def _unfinished(reader: EntryReader) -> Iterator[str]:
    if reader.unfinished:
        names = ", ".join(reader.unfinished)
        yield f"{counted(len(reader.unfinished), 'message')} not written, because chunks are missing: {names}"


@dataclass(slots=True)
class Conversion:
    """Converts items, in order.

    Args:
        target: the format.
        reading: how items are read.
        out: gets the result.
        failed: gets entries that cannot be read, as a dump; None ends the conversion with the first one.
    """

    target: Target
    reading: EntryReaders
    out: BinaryIO
    failed: DumpWriter | None
    items: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)

    def add(self, item: Item) -> None:
        """Convert an item and write the result.

        Raises:
            FailureError: the item cannot be read or written, and is not kept. Earlier items have been written.
        """
        self.items += 1
        committed = self.reading.isolation == "read_committed"
        try:
            if committed and self.failed is not None:
                self.reading.check(item)
        except DecodeError as error:
            self._keep(item, error)
            return
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as draft:
            try:
                self.target.write(item, lambda: self.reading.messages(item), cast("BinaryIO", draft))
            except (DecodeError, EncodeError) as error:
                # A reader that follows transactions has consumed a part of the item, and cannot undo that.
                self._keep(item, error, possible=not committed)
                return
            draft.seek(0)
            shutil.copyfileobj(draft, self.out)

    def finish(self) -> None:
        """End the result, and report on stderr the messages that were not written."""
        self.target.finish(self.out)
        if self.failed is not None:
            self.failed.finish()
        for text in self.reading.left():
            say(f"Warning: {text}", err=True)

    def _keep(self, item: Item, error: SerdesError, *, possible: bool = True) -> None:
        if self.failed is None or not possible:
            raise _failure(item, error, "--failed FILE keeps what cannot be read, and goes on" if possible else None)
        self.failed.write(item.stored)
        self.failures += 1
        say(f"{item.place or f'entry {self.items}'}: {error}", err=True)


def _failure(item: Item, error: SerdesError, hint: str | None) -> FailureError:
    failure = failure_of(error)
    parts = failure.more()
    where = f"{item.place}: " if item.place else ""
    found = FailureError(f"{where}{failure}", failure.code, **{**parts, "hint": parts.get("hint") or hint})
    found.__cause__ = error
    return found
