"""A batch of a log segment: its messages, its records as columns, its transactions' markers; errors say the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from streamnative_serdes.errors import DecodeError

from .batches import RecordBatch, place_error
from .limits import BatchLimits
from .message_sets import LegacyMessage
from .segment_files import in_file
from .transactions import committed
from .wire import Message, RecordColumns

_OBJECT: Final = 1000  # bytes that a held batch takes beside its records


@dataclass(slots=True)
class SegmentBatch:
    """A batch, and the file and byte where it was found."""

    file: str
    at: int
    batch: RecordBatch | LegacyMessage

    @property
    def offset(self) -> int:
        return self.batch.offset

    @property
    def last_offset(self) -> int:
        return self.batch.last_offset

    @property
    def producer_id(self) -> int:
        return self.batch.producer_id

    @property
    def transactional(self) -> bool:
        return self.batch.transactional

    @property
    def control(self) -> bool:
        return self.batch.control

    def messages(self, limits: BatchLimits) -> Iterator[Message]:
        """Yield the messages.

        Raises:
            DecodeError: one is damaged.
        """
        with self._placing():
            yield from self.batch.messages(limits)

    def fill(self, columns: RecordColumns, limits: BatchLimits) -> Iterator[None]:
        """Append the records to columns, and yield whenever those are full, to have them taken.

        Raises:
            DecodeError: a record is damaged, or has what columns cannot hold.
        """
        with self._placing():
            if isinstance(self.batch, RecordBatch):
                records = self.batch.messages(limits)
                while not records.fill(columns):
                    yield
                return
            for message in self.batch.messages(limits):
                while not columns.append(message, self.batch.timestamp_kind):
                    yield

    def markers(self, limits: BatchLimits) -> Iterator[tuple[int, bool, int]]:
        """Yield the transactions that a control batch ends: producer id, whether it commits, offset.

        Raises:
            DecodeError: a record is damaged.
        """
        with self._placing():
            for marker in self.batch.messages(limits):
                commits = committed(marker)
                if commits is not None and self.transactional:
                    yield self.producer_id, commits, marker.offset

    def kept(self) -> SegmentBatch:
        """A copy that does not refer to the block of the file."""
        batch = self.batch
        if isinstance(batch, RecordBatch):
            return replace(self, batch=replace(batch, records=memoryview(bytes(batch.records))))
        return replace(self, batch=replace(batch, key=_copy(batch.key), value=_copy(batch.value)))

    def size_held(self) -> int:
        """Bytes that it takes while it is held."""
        if isinstance(self.batch, RecordBatch):
            return len(self.batch.records) + _OBJECT
        return len(self.batch.key or b"") + len(self.batch.value or b"") + _OBJECT

    @contextmanager
    def _placing(self) -> Iterator[None]:
        with in_file(self.file):
            try:
                yield
            except DecodeError as error:
                place_error(error, self.batch, self.at)
                raise


def _copy(data: memoryview | None) -> memoryview | None:
    return None if data is None else memoryview(bytes(data))
