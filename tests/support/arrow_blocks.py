"""Messages that are read in blocks, compared with the same messages in batches of their own, which never are."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from streamnative_serdes._arrow import rows_in_blocks
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.errors import DecodeError

WHY = "why"  # the error column
BLOCK = 64  # rows
LEAST = 8  # rows of a block

protects_memory = pytest.mark.skipif(sys.platform != "linux", reason="protects a page of memory by Linux's mprotect")


class Alone:
    """What the last codec reads of messages in batches of their own: most batches of a test have the same messages."""

    columns: ColumnCodec | None = None
    read: ClassVar[dict[Any, Any]] = {}

    @classmethod
    def of(cls, columns: ColumnCodec, message: Any) -> Any:
        if cls.columns is not columns:
            cls.columns, cls.read = columns, {}
        if message not in cls.read:
            cls.read[message] = columns.decode(pa.array([message], pa.binary()), error_column=WHY)
        return cls.read[message]


def one_by_one(columns: ColumnCodec, messages: list[Any]) -> Any:
    """The rows of batches of one message each, as one batch with an error column."""
    alone = [Alone.of(columns, message) for message in messages]
    return pa.Table.from_batches(alone).combine_chunks().to_batches()[0]


def agree(columns: ColumnCodec, messages: list[Any], data: Any = None) -> Any:
    """Check that a batch of the messages has the rows of batches of one each; returns it, with its error column.

    ``data`` are the messages in another form than an array.
    """
    data = pa.array(messages, pa.binary()) if data is None else data
    batch = columns.decode(data, error_column=WHY)
    batch.validate(full=True)  # which counts the nulls too
    expected = one_by_one(columns, messages)
    if not same(batch, expected):
        row = next(i for i in range(len(messages)) if not same(batch.slice(i, 1), expected.slice(i, 1)))
        assert batch.slice(row, 1).to_pylist() == expected.slice(row, 1).to_pylist(), f"row {row}: {messages[row]!r}"
    assert batch.num_rows == len(messages)
    return batch


def in_blocks(columns: ColumnCodec, data: Any) -> int:
    """How many rows of the messages are read in blocks."""
    before = rows_in_blocks()
    columns.decode(data if isinstance(data, pa.Array) else pa.array(data, pa.binary()), error_column=WHY)
    return rows_in_blocks() - before


def same(one: Any, other: Any) -> bool:
    """Whether two batches are equal, also where they have a NaN."""
    return bool(one.equals(other)) or repr(one.to_pylist()) == repr(other.to_pylist())


def same_buffers(columns: ColumnCodec, messages: list[Any]) -> None:
    """Check that blocks write the bytes that rows write: also those of nulls, and the bits behind the last row."""
    blocks, rows = (
        [column.buffers() for column in columns.decode(pa.array(messages, kind)).columns]
        for kind in (pa.binary(), pa.binary_view())  # views are not in one buffer, so they are read one by one
    )
    for some, others in zip(blocks, rows, strict=True):
        assert [each and each.to_pybytes() for each in some] == [each and each.to_pybytes() for each in others]


def refusal(columns: ColumnCodec, data: Any) -> tuple[Any, ...]:
    """What is said of the first message that cannot be read: row, path, offset, and text without the row."""
    with pytest.raises(DecodeError) as caught:
        columns.decode(data)
    error = caught.value
    return error.row, error.path, error.offset, str(error).partition(f"row {error.row}")[2]


def before_protected_memory(messages: list[bytes]) -> Any:
    """An array of these messages whose bytes end where memory begins that cannot be read."""
    data = b"".join(messages)
    size = -(-len(data) // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, size + mmap.PAGESIZE)
    pages[size - len(data) : size] = data
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + size), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    offsets = pa.array([0, *itertools.accumulate(map(len, messages))], pa.int32())
    body = pa.foreign_buffer(start + size - len(data), len(data), base=pages)
    return pa.Array.from_buffers(pa.binary(), len(messages), [None, offsets.buffers()[1], body])
