"""The files of log segments, read in blocks of whole batches, and the batches of a segment."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from streamnative_serdes.errors import DecodeError

from .batches import HEADER_SIZE, RecordBatch, place_error
from .message_sets import SET_HEADER, LegacyMessage
from .wire import BatchLimits, Message, RecordColumns

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

logger = logging.getLogger(__name__)

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
    def producer_id(self) -> int:
        return self.batch.producer_id

    @property
    def transactional(self) -> bool:
        return self.batch.transactional

    def messages(self, limits: BatchLimits) -> Iterator[Message]:
        """Yield the messages. Raises DecodeError: a message is damaged."""
        with self._placing():
            yield from self.batch.messages(limits)

    def fill(self, columns: RecordColumns, limits: BatchLimits) -> Iterator[None]:
        """Append the records to columns, and yield whenever those are full, to have them taken.

        Raises:
            DecodeError: a record is damaged, or has values that columns cannot hold.
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
        """As :meth:`RecordBatch.markers`."""
        with self._placing():
            yield from self.batch.markers(limits)  # type: ignore[union-attr] # only a RecordBatch is one of control

    def kept(self) -> SegmentBatch:
        """A copy that does not refer to the block of the file."""
        batch = self.batch
        if isinstance(batch, RecordBatch):
            return replace(self, batch=replace(batch, records=memoryview(bytes(batch.records))))
        return replace(self, batch=replace(batch, key=_copy(batch.key), value=_copy(batch.value)))

    def size_held(self) -> int:
        """Bytes that the batch takes while it is held."""
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


BLOCK: Final = 1 << 20  # bytes that are read at a time; more for a larger batch
_FRONT: Final = struct.Struct(">qi")  # offset, and the bytes that follow


class Readable(Protocol):
    """An open file of bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


Source: TypeAlias = str | os.PathLike[str] | Readable


def name_of(source: Source) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else str(getattr(source, "name", "segment"))


def path_of(source: Source) -> Path | None:
    return Path(source) if isinstance(source, str | os.PathLike) else None


def blocks(source: Source, max_batch_size: int, *, partial: bool) -> Iterator[tuple[int, memoryview]]:
    """Yield the byte where each run of whole batches begins, and the run. A tail of zeros ends the segment.

    A run can be read until the next one is asked for, since that takes its memory. The options are those of
    :class:`~.segments.SegmentOptions`.

    Raises:
        DecodeError: a batch has an impossible length, or is cut off; ``offset`` is the byte of the file.
        OSError: the file cannot be read.
    """
    with in_file(name_of(source)), _opened(source) as file:
        block, start, rest, need = bytearray(BLOCK), 0, b"", 0
        while True:
            data = _read(file, rest, block if need <= BLOCK else bytearray(need))
            if len(data) == len(rest):
                break
            whole, need = _whole(data, start, max_batch_size + HEADER_SIZE)
            if need == 0:
                _require_zeros(file, data[whole:], start + whole)
            rest = b"" if need == 0 else bytes(data[whole:])
            if whole:
                run = [data[:whole]]
                del data  # it may be large, and is not needed while the next is read
                yield start, run.pop()
            if need == 0:
                return
            start += whole
        if rest:
            _cut_off(name_of(source), start, len(rest), need, partial)


@contextmanager
def in_file(name: str, start: int = 0) -> Iterator[None]:
    """Put the file's name into a DecodeError, whose position counts from byte ``start`` of the file."""
    try:
        yield
    except DecodeError as error:
        error.message = f"{name}: {error.message}"
        error.offset = None if error.offset is None else start + error.offset
        raise


def _opened(source: Source) -> AbstractContextManager[Readable]:
    if isinstance(source, str | os.PathLike):
        return open(source, "rb", buffering=0)
    return nullcontext(source)


def _read(file: Readable, rest: bytes, block: bytearray) -> memoryview:
    """``rest`` and the following bytes of the file, as many as the block can hold."""
    view, filled = memoryview(block), len(rest)
    view[:filled] = rest
    while filled < len(view):
        count = file.readinto(view[filled:])
        if not count:
            break
        filled += count
    return view[:filled].toreadonly()


def _whole(data: memoryview, start: int, most: int) -> tuple[int, int]:
    """The size of all whole batches in bytes, and the size of the next batch: 0 if zeros are in its place."""
    end = 0
    while len(data) - end >= _FRONT.size:
        offset, length = _FRONT.unpack_from(data, end)
        if offset == length == 0:
            return end, 0
        if length < SET_HEADER - _FRONT.size:
            raise DecodeError(
                f"batch: expected a length from {SET_HEADER - _FRONT.size} bytes, got {length}", offset=start + end + 8
            )
        if length + _FRONT.size > most:
            raise DecodeError(
                f"batch: expected at most {most} bytes, got {length + _FRONT.size}",
                offset=start + end + 8,
                hint="max_batch_size allows larger batches",
            )
        if length + _FRONT.size > len(data) - end:
            return end, length + _FRONT.size
        end += length + _FRONT.size
    return end, _FRONT.size


def _require_zeros(file: Readable, data: memoryview, start: int) -> None:
    """Read to the end of a file that a broker has allocated in advance (``log.preallocate``)."""
    while data:
        left = bytes(data).lstrip(b"\0")
        if left:
            at = start + len(data) - len(left)
            raise DecodeError("batch: expected zeros to the end of the segment, got other bytes", offset=at)
        start += len(data)
        data = _read(file, b"", bytearray(BLOCK))


def _cut_off(name: str, start: int, got: int, need: int, partial: bool) -> None:
    if not partial:
        raise DecodeError(
            f"batch: expected {need} bytes, got {got} up to the end of the segment",
            offset=start,
            hint="partial=True leaves out such a batch, at which a broker may still be writing",
        )
    logger.warning("%s: left out %d bytes at the end, from byte %d on: a batch that is cut off", name, got, start)
