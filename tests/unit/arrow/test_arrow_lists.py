"""Lists of messages: short ones are copied into one buffer, others are read where they are; both give the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from streamnative_serdes import Codec, DecodeError  # noqa: E402 - requires pyarrow
from streamnative_serdes._arrow import Values  # noqa: E402
from streamnative_serdes.arrow import ColumnCodec  # noqa: E402

MEAN = 1024  # bytes up to which messages are copied
SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "text", "type": "string"}]}'


class Bytes(bytes):
    """A subclass, which may have methods of its own."""


@pytest.fixture(scope="module")
def columns() -> ColumnCodec:
    return ColumnCodec(SCHEMA)


def message(size: int, mark: str = "x") -> bytes:
    """A message of exactly so many bytes."""
    for length in (size - 1, size - 2, size - 3):
        data = Codec(SCHEMA).encode({"text": mark * length})
        if len(data) == size:
            return data
    raise AssertionError(size)


def texts(columns: ColumnCodec, data: Any) -> list[str | None]:
    found: list[str | None] = columns.decode(data).column("text").to_pylist()
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "sizes", [(MEAN, MEAN), (MEAN + 1, MEAN), (1, 2 * MEAN), (5, 20), (MEAN, MEAN + 1), (3 * MEAN, 1)]
)
def test_messages_around_the_mean_size(columns: ColumnCodec, count: int, sizes: tuple[int, int]) -> None:
    data = [message(sizes[number % 2], chr(ord("a") + number % 26)) for number in range(count)]
    expected = columns.decode(pa.array(data)).column("text").to_pylist()
    assert texts(columns, data) == texts(columns, tuple(data)) == expected


@pytest.mark.parametrize("large", [0, 300 * MEAN])
@pytest.mark.parametrize("nulls", [(0,), (7,), (8,), (15,), (0, 1, 2, 3, 4, 5, 6, 7), tuple(range(16))])
def test_nulls_in_each_place(columns: ColumnCodec, large: int, nulls: tuple[int, ...]) -> None:
    data: list[bytes | None] = [
        None if row in nulls else message(row + 2, "abcdefghijklmnop"[row]) for row in range(16)
    ]
    expected = [None if row in nulls else "abcdefghijklmnop"[row] * (row + 1) for row in range(16)]
    if large:
        data.append(message(large))
    assert texts(columns, data)[:16] == expected


@pytest.mark.parametrize("other", [Bytes, bytearray, memoryview])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_other_kinds_of_bytes_among_bytes(columns: ColumnCodec, other: Any, place: int) -> None:
    data: list[Any] = [message(5, mark) for mark in "abc"]
    data[place] = other(data[place])
    data.append(None)
    assert texts(columns, data) == ["aaaa", "bbbb", "cccc", None]


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("odd", [1.5, 7, object()])
def test_anything_else_is_an_error(columns: ColumnCodec, place: int, odd: Any) -> None:
    data: list[Any] = [message(5), None, message(5)]
    data[place] = odd
    with pytest.raises(TypeError, match=f"expected messages as bytes or None, got {type(odd).__name__}"):
        columns.decode(data)


@pytest.mark.parametrize("data", [[], (), [b""], [b"", b""], [None], [None, None]])
def test_lists_without_bytes(data: Any) -> None:
    nothing = ColumnCodec({"type": "record", "name": "Nothing", "fields": []})
    assert nothing.decode(data).num_rows == len(data)


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_last_message_that_is_cut_off_is_an_error(columns: ColumnCodec, cut: int) -> None:
    good = message(6)
    with pytest.raises(DecodeError) as caught:
        columns.decode([good, good, good[:-cut]])
    assert caught.value.row == 2
    assert texts(columns, [good, good]) == ["xxxxx", "xxxxx"]


def test_a_message_does_not_run_into_the_next_one(columns: ColumnCodec) -> None:
    good = message(6)
    with pytest.raises(DecodeError) as caught:
        columns.decode([good, good[:-1], good])
    assert caught.value.row == 1


def test_a_list_may_change_while_it_is_read(columns: ColumnCodec) -> None:
    data = [message(20, mark) for mark in "abcdefgh"] * 2_000
    ending = threading.Event()

    def change() -> None:
        while not ending.is_set():
            data.append(data.pop(0))
            data.sort()

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(200):
            assert set(texts(columns, data)) <= {mark * 19 for mark in "abcdefgh"}
    finally:
        ending.set()
        other.join(30)


def test_a_kept_block_that_is_smaller_than_a_message_is_not_written_beyond_its_end() -> None:
    """A block of 32 MB and more is kept for the next batch, even if that expects up to a third more bytes."""
    Values([b"a" * 1_000] * 33_000)  # freed at once, and kept
    large = b"x" * 44_000_000
    assert len(Values([large, *[b""] * 49_999])) == 50_000
