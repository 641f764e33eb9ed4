"""Kafka's transaction indexes (``.txnindex``): the aborted transactions whose markers are in a segment.

An entry, all integers big-endian::

    version int16 = 0 | producer id int64 | first offset int64 | offset of the marker int64 | last stable offset int64

Source: Kafka's ``storage/internals/log/AbortedTxn.java`` and ``TransactionIndex.java``.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from streamnative_serdes.errors import DecodeError

_ENTRY: Final = struct.Struct(">hqqqq")
_COST: Final = 400  # bytes that an entry takes in memory at most
_NAMED_BY_OFFSET: Final = re.compile(r"\d{20}")


class AbortedTransactions:
    """What transaction indexes say.

    Args:
        paths: of the indexes, in the order of their segments.
        most: bytes of memory that they may take, at 400 for each transaction.

    Raises:
        DecodeError: an index is damaged, of another version, or has too many transactions.
        OSError: it cannot be read.
    """

    def __init__(self, paths: Iterable[Path], most: int) -> None:
        self._ranges: dict[int, tuple[array[int], array[int]]] = {}  # producer id -> first and last offsets
        left = most // _COST
        for path in paths:
            left -= self._read(path, left)

    def has(self, producer_id: int, offset: int) -> bool:
        """Whether an aborted transaction of the producer covers the offset, from its first record to its marker."""
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
    """The transaction index of a segment, and those of later ones beside it; a missing one had nothing to say.

    A transaction with records in this segment may be aborted in a later one, whose index then has it.
    """
    own = segment.with_suffix(".txnindex")
    if _NAMED_BY_OFFSET.fullmatch(segment.stem):
        found = segment.parent.glob("*.txnindex")
        return sorted(path for path in found if _NAMED_BY_OFFSET.fullmatch(path.stem) and path.name >= own.name)
    return [own] if own.is_file() else []
