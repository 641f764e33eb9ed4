"""Hostile log segments only raise DecodeError, make no invalid columns, and take no more memory than is declared."""

from __future__ import annotations

import ast
import gc
import io
import random
import struct
import sys
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

import cramjam
import kafka_batches as kb
import kop_golden as golden
import pyarrow as pa
from child import run_limited
from kafka_batches import Rec
from wire import damaged, varint

from streamnative_serdes.converters import KafkaEntryReader, Message, read_segment, read_segment_batches
from streamnative_serdes.errors import DecodeError

RECORDS = (Rec(golden.A, b"k1", [("h", b"v"), ("n", None)]), Rec(None, b"k2"), Rec(b"value" * 40, None))
SEGMENTS = {
    "plain": (kb.batch(*RECORDS), kb.batch(*RECORDS, base=3), kb.batch(*RECORDS, base=9)),
    "gzip": (kb.batch(*RECORDS, codec=kb.GZIP), kb.batch(*RECORDS, codec=kb.ZSTD, base=3)),
    "format 0": (kb.legacy(RECORDS[2], magic=0), kb.patched(kb.legacy(RECORDS[2], magic=0), 0, ">q", 1)),
    "format 1": (kb.legacy(*RECORDS, magic=1, codec=kb.GZIP), kb.batch(RECORDS[0], base=5)),
    "transactions": (
        kb.batch(*RECORDS, producer_id=1, transactional=True),
        kb.batch(RECORDS[0], base=3),
        kb.marker(1, commits=True, base=4),
    ),
}


MIB = 1 << 20


def messages(data: bytes, **options: Any) -> list[Message]:
    return list(read_segment(io.BytesIO(data), **options))


def columns(data: bytes, **options: Any) -> int:
    """The number of rows, after the columns were validated."""
    count = 0
    for batch in read_segment_batches(io.BytesIO(data), batch_rows=2, **options):
        batch.validate(full=True)
        count += len(batch)
    return count


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("batches", SEGMENTS.values(), ids=SEGMENTS)
def test_a_segment_that_is_cut_off_at_any_byte_is_an_error_or_its_whole_batches(
    batches: tuple[bytes, ...], isolation: str
) -> None:
    whole = b"".join(batches)
    ends = {sum(map(len, batches[:count])): count for count in range(len(batches) + 1)}
    left: list[Any] = []
    for end in range(len(whole) + 1):
        data = whole[:end]
        if end in ends:
            left = messages(b"".join(batches[: ends[end]]), isolation=isolation, partial=True)
        assert messages(data, isolation=isolation, partial=True) == left
        assert columns(data, isolation=isolation, partial=True) == len(left)
        if end not in ends:
            for read in (messages, columns):
                with pytest.raises(DecodeError, match="up to the end of the segment"):
                    read(data, isolation=isolation)


@pytest.mark.parametrize("whole", [b"".join(batches) for batches in SEGMENTS.values()], ids=SEGMENTS)
def test_any_damaged_segment_is_read_or_refused(whole: bytes) -> None:
    """Without checksums, so that every byte reaches the reader; what the columns have is valid."""
    rng = random.Random(7)
    refused = 0
    for number in range(500):
        data = bytes(damaged(whole, rng))
        isolation = "read_committed" if number % 2 else "read_uncommitted"
        for read in (messages, columns):
            try:
                read(data, check_crc=False, isolation=isolation, partial=True)
            except DecodeError:
                refused += 1
    assert 33 < refused < 1000


def test_any_damaged_index_is_read_or_refused(tmp_path: Path) -> None:
    rng = random.Random(7)
    whole = b"".join(struct.pack(">hqqqq", 0, 1, first, first + 2, first + 3) for first in (0, 3, 6))
    for _ in range(300):
        end = rng.choice((len(whole), rng.randrange(len(whole))))
        (tmp_path / "index").write_bytes(damaged(whole, rng)[:end])
        with suppress(DecodeError):
            messages(
                b"".join(SEGMENTS["transactions"]), isolation="read_committed", transaction_indexes=[tmp_path / "index"]
            )


@pytest.mark.promise("no-lying-lengths")
@pytest.mark.parametrize("length", [-(2**31), -1, 0, 13, 2**31 - 1])
def test_a_batch_with_a_lying_length_is_refused_without_memory_for_it(length: int) -> None:
    data = kb.batch(*RECORDS, base=1)
    lying = data[:8] + struct.pack(">i", length) + data[12:]
    for read in (messages, columns):
        with pytest.raises(DecodeError, match=f"got {length + 12 if length > 13 else length}") as caught:
            read(data + struct.pack(">q", 4) + lying[8:])
        assert caught.value.offset == len(data) + 8


@pytest.mark.promise("no-lying-lengths")
@pytest.mark.parametrize("count", [-1, 4, 2**31 - 1])
def test_a_batch_with_a_lying_count_is_refused(count: int) -> None:
    data = kb.patched(kb.batch(*RECORDS), 57, ">i", count)
    for read in (messages, columns):
        with pytest.raises(DecodeError, match=f"got the count {count}"):
            read(data)
    fewer = kb.patched(kb.batch(*RECORDS), 57, ">i", 2)
    batches = read_segment_batches(io.BytesIO(fewer))
    assert len(next(batches)) == 2
    with pytest.raises(DecodeError, match="expected the end after 2 records"):
        next(batches)


@pytest.mark.parametrize("at", range(0, 200, 7))
def test_records_that_are_cut_off_leave_whole_rows_in_the_columns(at: int) -> None:
    whole = kb.batch(*RECORDS)
    data = kb.with_records(whole, whole[61 : len(whole) - 1 - at])
    batches = read_segment_batches(io.BytesIO(data))
    first = next(batches)
    first.validate(full=True)
    assert first["key"].to_pylist() == [b"k1", b"k2"]
    with pytest.raises(DecodeError, match="record 2: "):
        next(batches)


def record(value: bytes, headers: int = 0) -> bytes:
    """A record without a key, and with so many headers of two bytes: no name, no value."""
    inside = b"\0\0\0\1" + varint(len(value)) + value + varint(headers) + b"\0\1" * headers
    return varint(len(inside)) + inside


def batch_of(records: bytes, count: int, *, codec: int = kb.NONE, base: int = 0) -> bytes:
    """A batch whose records all have the first offset; its checksum is not right."""
    covered = struct.pack(">hiqqqhii", codec, count - 1, 0, 0, -1, -1, -1, count) + records
    return struct.pack(">qiibI", base, len(covered) + 9, 0, 2, 0) + covered


def with_headers(count: int) -> bytes:
    return kb.sealed(batch_of(record(b"", count), 1))


def test_a_record_has_at_most_a_hundred_thousand_headers() -> None:
    (message,) = messages(with_headers(100_000))
    assert message.headers == (("", None),) * 100_000
    assert columns(with_headers(100_000)) == 1
    for read in (messages, columns):
        with pytest.raises(DecodeError, match="expected a count of headers from 0 to 100000, got 100001"):
            read(with_headers(100_001))


def test_what_expands_beyond_the_maximum_is_refused_in_columns_too() -> None:
    data = kb.with_records(kb.batch(Rec(b"x")), kb.gzipped(bytes(1 << 22)), attributes=kb.GZIP)
    with pytest.raises(DecodeError, match="expected at most 1048576 bytes after decompression, got more"):
        columns(data, max_batch_size=1 << 20)


def test_a_buffer_that_changes_while_it_is_read_makes_no_invalid_columns() -> None:
    """An open file may write into the block of the reader; here the batch changes between two calls."""
    from streamnative_serdes.converters.wire import RecordColumns, RecordReader

    whole = bytearray(kb.batch(*[Rec(b"v", b"k", [("name", b"x" * 20)])] * 3)[61:])
    reader = RecordReader(whole, count=3, base_offset=0, last_delta=2, base_timestamp=0)
    built = RecordColumns(None, None, rows=1, size=1000)
    assert not reader.fill(built)  # the second record has been checked, and waits
    built.take()
    whole[:] = b"\xff" * len(whole)
    with pytest.raises(DecodeError):
        reader.fill(built)
    pa.record_batch(_Capsules(built.take())).validate(full=True)


@pytest.mark.parametrize("read", [messages, columns, lambda data: list(KafkaEntryReader().batches(data))])
@pytest.mark.parametrize("kind", ["damaged", "bomb"])
def test_the_buffers_of_a_refused_batch_are_free_as_soon_as_its_error_is(read: Any, kind: str) -> None:
    """A cycle through the error would keep them until Python collects cycles, and large batches would add up."""
    whole = kb.batch(Rec(b"x" * 100))
    records = kb.gzipped(bytes(65 << 20)) if kind == "bomb" else kb.gzipped(b"x")
    data = kb.with_records(whole, records, attributes=kb.GZIP)
    gc.disable()
    try:
        try:
            read(data)
            pytest.fail("it was read")
        except DecodeError as error:
            refused = weakref.ref(error)
        # Other threads of the process may leave cycles of their own, so their number says nothing.
        assert refused() is None
    finally:
        gc.enable()


class _Capsules:
    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def large_segments() -> Iterator[tuple[str, Iterable[bytes], int]]:
    """Name, content, and the number of messages before an error, or in all, of segments for batches of 32 MiB."""
    one = record(random.Random(7).randbytes(30 * MIB))
    many = record(b"") * 1_000_000
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([packed.compress(bytes(MIB)) for _ in range(128)]) + packed.flush()
    usual = record(bytes(100)) * 9_000
    yield "many batches", (batch_of(usual, 9_000, base=number * 9_000) for number in range(40)), 360_000
    yield "large records", (batch_of(one, 1, base=number) for number in range(2)), 2
    yield "a large compressed record", [batch_of(bytes(cramjam.zstd.compress(one)), 1, codec=kb.ZSTD)], 1
    yield "many compressed records", [batch_of(kb.gzipped(many), 1_000_000, codec=kb.GZIP)], 1_000_000
    yield "a bomb", [batch_of(bomb, 1, codec=kb.GZIP)], 0
    yield "headers", [batch_of(record(b"", 15 * MIB), 1)], 0
    yield "a lying length", [struct.pack(">qi", 0, 2**31 - 1), bytes(100)], 0
    yield "zeros", (bytes(MIB) for _ in range(80)), 0


@pytest.mark.not_sanitized(reason="the sanitizers need memory of their own")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_memory_is_bounded_by_the_declared_maximum(tmp_path: Path) -> None:
    """64 MiB and twice the declared maximum, as columns and then as messages."""
    expected = {}
    for name, parts, count in large_segments():
        expected[name] = count
        with (tmp_path / name).open("wb") as file:
            file.writelines(parts)
    said = run_limited(
        f"""
        import cramjam, google_crc32c, pyarrow, streamnative_serdes.arrow
        from pathlib import Path
        from streamnative_serdes.converters import read_segment, read_segment_batches
        def count(read, name):
            found = 0
            try:
                for part in read(Path({str(tmp_path)!r}) / name, max_batch_size=32 << 20, check_crc=False):
                    found += len(part) if read is read_segment_batches else 1
            except DecodeError:
                pass
            return found
        before = peak()
        for read in (read_segment_batches, read_segment):
            print({{name: count(read, name) for name in {list(expected)!r}}})
            print(peak() - before)
        """
    )
    print(said)
    columns, peak, messages, second_peak = said.splitlines()
    assert [ast.literal_eval(found) for found in (columns, messages)] == [expected] * 2
    assert 32 <= int(peak) <= int(second_peak) <= 64 + 2 * 32
