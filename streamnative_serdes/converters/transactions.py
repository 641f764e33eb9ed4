"""Records of open transactions, held until a marker, or a transaction index, says whether they are committed.

An entry of a transaction index (``.txnindex``), which has the aborted transactions of a segment, big-endian::

    version int16 = 0 | producer id int64 | first offset int64 | offset of the marker int64 | last stable offset int64

Source: Kafka's ``storage/internals/log/AbortedTxn.java`` and ``TransactionIndex.java``.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from streamnative_serdes.errors import DecodeError

from .wire import Message

_T = TypeVar("_T", bound="Holdable")

_ABORT, _COMMIT = 0, 1
_OBJECT: Final = 200  # bytes that a held message takes beside its data, about


@dataclass(frozen=True, slots=True)
class Unknown:
    """Open questions about transactions, for a reader that saw only a part of a topic.

    Args:
        open: producer ids of transactions without a marker yet, and the offset of the first record seen of each. Their
            records, and all records after the first of them, are held.
        held: how many messages, or batches of a segment, are held.
        markers: producer ids and offsets of markers without any record: the transaction was empty, or all of its
            records lie before the first entry that was read.
        may_have_begun_before: producer ids whose first transaction here may have begun before the first entry that was
            read. The returned records of this transaction are committed, but earlier ones may be missing.
    """

    open: dict[int, int]
    held: int
    markers: tuple[tuple[int, int], ...]
    may_have_begun_before: frozenset[int]


class Holdable(Protocol):
    """A message, or a batch of messages of one producer."""

    @property
    def offset(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def transactional(self) -> bool: ...


@dataclass(slots=True)
class _Transaction:
    first: int  # offset
    committed: bool | None = None


def message_size(message: Message) -> int:
    """The bytes that a held message counts: its data, 200 for the message, and 200 for each header."""
    headers = sum(len(name) + len(value or b"") + _OBJECT for name, value in message.headers)
    return len(message.value or b"") + len(message.key or b"") + headers + _OBJECT


@dataclass(slots=True)
class HeldTransactions(Generic[_T]):
    """Passes messages on in the order of their offsets, as a Kafka consumer with ``read_committed`` gets them.

    All records behind the first record of an open transaction wait too, as at a broker (last stable offset).

    Args:
        most: bytes that may be held.
        size_of: bytes that a message or batch counts.
        keep: makes a copy of a message or batch that can be held; None holds the original.
        aborted: transactions whose messages need not be held, since they are dropped anyway.
    """

    most: int
    size_of: Callable[[_T], int]
    keep: Callable[[_T], _T] | None = None
    aborted: AbortedTransactions = field(default_factory=lambda: AbortedTransactions((), 0))
    size: int = 0
    first_offset: int | None = None
    _queue: deque[tuple[_T, _Transaction | None]] = field(default_factory=deque)
    _open: dict[int, _Transaction] = field(default_factory=dict)
    _first_of: dict[int, int] = field(default_factory=dict)  # producer id -> offset of its first record here
    _markers: list[tuple[int, int]] = field(default_factory=list)

    def take(self, message: _T) -> Iterator[_T]:
        """Yield the message at once, or hold it. Raises DecodeError: more than ``most`` bytes would be held."""
        self._begin(message.offset)
        if message.transactional and self.aborted.has(message.producer_id, message.offset):
            return
        transaction = self._of(message) if message.transactional else None
        if transaction is None and not self._queue:
            yield message
            return
        self._hold(message, transaction)

    def end(self, producer_id: int, committed: bool, offset: int) -> Iterator[_T]:
        """End a producer's transaction, and yield the messages that need not wait any longer."""
        self._begin(offset)
        transaction = self._open.pop(producer_id, None)
        if transaction is None:
            if committed or not self.aborted.has(producer_id, offset):
                self._markers.append((producer_id, offset))
            return
        transaction.committed = committed
        yield from self._decided()

    @property
    def unknown(self) -> Unknown:
        cut = self._first_of if self.first_offset else {}
        return Unknown(
            {producer: transaction.first for producer, transaction in self._open.items()},
            len(self._queue),
            tuple(self._markers),
            frozenset(cut),
        )

    def _begin(self, offset: int) -> None:
        if self.first_offset is None:
            self.first_offset = offset

    def _of(self, message: _T) -> _Transaction:
        self._first_of.setdefault(message.producer_id, message.offset)
        return self._open.setdefault(message.producer_id, _Transaction(message.offset))

    def _hold(self, message: _T, transaction: _Transaction | None) -> None:
        size = self.size + self.size_of(message)
        if size > self.most:
            producers = ", ".join(f"{producer} from offset {each.first}" for producer, each in self._open.items())
            raise DecodeError(
                f"offset {message.offset}: expected the end of the open transactions (producer {producers}) within "
                f"{self.most} bytes, got {size}",
                hint="max_held allows more, and isolation='read_uncommitted' holds nothing",
            )
        self.size = size
        self._queue.append((self.keep(message) if self.keep else message, transaction))

    def _decided(self) -> Iterator[_T]:
        while self._queue:
            message, transaction = self._queue[0]
            if transaction is not None and transaction.committed is None:
                return
            self._queue.popleft()
            self.size -= self.size_of(message)
            if transaction is None or transaction.committed:
                yield message


def committed(marker: Message) -> bool | None:
    """Whether a control record commits (True) or aborts (False); None for a record of another kind.

    Raises:
        DecodeError: the record's key is too short.
    """
    key = marker.key or b""
    if len(key) < 4:
        raise DecodeError(f"control record at offset {marker.offset}: expected a key of 4 bytes, got {len(key)}")
    _, kind = struct.unpack_from(">hh", key)
    return kind == _COMMIT if kind in (_ABORT, _COMMIT) else None


_ENTRY: Final = struct.Struct(">hqqqq")
_COST: Final = 400  # bytes that an entry takes in memory at most
_NAMED_BY_OFFSET: Final = re.compile(r"\d{20}")


class AbortedTransactions:
    """The aborted transactions of transaction indexes.

    Args:
        paths: the paths of the indexes, in the order of their segments.
        most: bytes of memory that the transactions may take, at 400 for each.

    Raises:
        DecodeError: an index is damaged, of another version, or has too many transactions.
        OSError: an index cannot be read.
    """

    def __init__(self, paths: Iterable[Path], most: int) -> None:
        self._ranges: dict[int, tuple[array[int], array[int]]] = {}  # producer id -> first and last offsets
        left = most // _COST
        for path in paths:
            left -= self._read(path, left)

    def has(self, producer_id: int, offset: int) -> bool:
        """Whether the offset lies in an aborted transaction of the producer, from the first record to the marker."""
        firsts, lasts = self._ranges.get(producer_id, ((), ()))
        number = bisect_left(lasts, offset)
        return number < len(lasts) and firsts[number] <= offset

    def _read(self, path: Path, most: int) -> int:
        size = path.stat().st_size
        if size % _ENTRY.size:
            raise DecodeError(f"{path}: expected entries of {_ENTRY.size} bytes each, got {size} bytes")
        if size // _ENTRY.size > most:
            raise DecodeError(
                f"{path}: expected at most {most} aborted transactions, got {size // _ENTRY.size}",
                hint="max_held allows more",
            )
        data = path.read_bytes()[: most * _ENTRY.size]
        for number, (version, producer, first, last, _) in enumerate(_ENTRY.iter_unpack(data)):
            if version != 0:
                raise DecodeError(f"{path}: expected version 0, got {version}", offset=number * _ENTRY.size)
            firsts, lasts = self._ranges.setdefault(producer, (array("q"), array("q")))
            least = lasts[-1] + 1 if lasts else 0
            if not least <= first <= last:
                raise DecodeError(
                    f"{path}: producer {producer}: expected a transaction from offset {least} on that ends later, got "
                    f"one from {first} to {last}",
                    offset=number * _ENTRY.size,
                )
            firsts.append(first)
            lasts.append(last)
        return size // _ENTRY.size


def indexes_beside(segment: Path) -> list[Path]:
    """The transaction indexes of a segment and of later segments beside it; an index without entries has no file.

    A transaction with records in this segment may be aborted in a later segment, and is then in the later index.
    """
    own = segment.with_suffix(".txnindex")
    if _NAMED_BY_OFFSET.fullmatch(segment.stem):
        found = segment.parent.glob("*.txnindex")
        return sorted(path for path in found if _NAMED_BY_OFFSET.fullmatch(path.stem) and path.name >= own.name)
    return [own] if own.is_file() else []
