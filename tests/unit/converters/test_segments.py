"""Files of log segments are read to the messages in them, and to Arrow columns with the same content."""

from __future__ import annotations

import io
import logging
import struct
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiokafka")
pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")
pytest.importorskip("pyarrow")

import kafka_batches as kb
import kop_golden as golden
import pyarrow as pa
from kafka_batches import Rec

from streamnative_serdes.converters import Message, read_segment, read_segment_batches
from streamnative_serdes.converters.segment_files import BLOCK
from streamnative_serdes.errors import ConfigError, DecodeError

NAME = "00000000000000000000.log"
RECORDS = (
    Rec(golden.A, b"k1", [("h", b"v"), ("n", None), ("n", b"\xff\xfe"), ("", b"")]),
    Rec(None, b""),
    Rec(b"", None, (), 0),
    Rec(b"value" * 30, b"\x00\xff", [("é", b"")]),
)


def segment(folder: Path, *batches: bytes, name: str = NAME) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"".join(batches))
    return path


def rows(*sources: Any, **options: Any) -> list[dict[str, Any]]:
    found = []
    for batch in read_segment_batches(*sources, **options):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


def row(message: Message, **known: Any) -> dict[str, Any]:
    """What the columns have of a message of a record batch; ``known`` replaces some of it."""
    stamp = None if message.timestamp == -1 else pa.scalar(message.timestamp * 1000, pa.timestamp("us", "UTC")).as_py()
    return {
        "key": message.key,
        "value": message.value,
        "topic": None,
        "partition": None,
        "offset": message.offset,
        "timestamp": stamp,
        "timestampType": 0,
        "headers": [{"key": name, "value": value} for name, value in message.headers],
        **known,
    }


def offsets(*sources: Any, **options: Any) -> list[int]:
    """Offsets of messages, which columns have in the same order."""
    found = [message.offset for message in read_segment(*sources, **options)]
    assert [each["offset"] for each in rows(*sources, **options)] == found
    return found


def in_transaction(offset: int, producer: int = 1, count: int = 1) -> bytes:
    return kb.batch(*[Rec(b"%d" % producer)] * count, producer_id=producer, transactional=True, base=offset)


def commit(offset: int, producer: int = 1) -> bytes:
    return kb.marker(producer, commits=True, base=offset)


def abort(offset: int, producer: int = 1) -> bytes:
    return kb.marker(producer, commits=False, base=offset)


def index(*aborted: tuple[int, int, int], version: int = 0) -> bytes:
    """A transaction index: producer id, first offset and offset of the marker of each transaction."""
    return b"".join(struct.pack(">hqqqq", version, *each, each[2] + 1) for each in aborted)


# Messages and columns


@pytest.mark.parametrize("codec", range(5))
def test_columns_have_what_messages_have(codec: int) -> None:
    data = kb.batch(*RECORDS, codec=codec, base=7) + kb.batch(RECORDS[0], base=30)
    messages = list(read_segment(io.BytesIO(data), schema_header=False))
    assert [message.offset for message in messages] == [7, 8, 9, 10, 30]
    assert rows(io.BytesIO(data)) == [row(message) for message in messages]


def test_the_columns_are_those_of_sparks_kafka_source() -> None:
    from streamnative_serdes.arrow.kafka_columns import kafka_columns

    (batch,) = read_segment_batches(io.BytesIO(kb.batch(*RECORDS)))
    assert batch.schema == kafka_columns([]).schema


def test_the_schema_header_becomes_the_version_of_messages_and_stays_in_columns() -> None:
    data = kb.batch(RECORDS[0])
    (message,) = read_segment(io.BytesIO(data))
    assert (message.value, message.schema_version) == (golden.A[10:], 0)
    assert rows(io.BytesIO(data))[0]["value"] == golden.A


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_arrow_batches_have_at_most_so_many_rows(most: int) -> None:
    data = b"".join(kb.batch(*RECORDS, base=base) for base in (0, 4, 8))
    sizes = [len(batch) for batch in read_segment_batches(io.BytesIO(data), batch_rows=most)]
    assert sum(sizes) == 12
    assert sizes[:-1] == [most] * (12 // most) if 12 % most else sizes == [most] * (12 // most)
    assert [each["offset"] for each in rows(io.BytesIO(data), batch_rows=most)] == list(range(12))


def test_arrow_batches_have_at_most_so_many_bytes_of_records_but_at_least_one_record() -> None:
    data = kb.batch(*[Rec(bytes(100))] * 5, Rec(bytes(1000)), Rec(b""), codec=kb.ZSTD)
    sizes = [len(batch) for batch in read_segment_batches(io.BytesIO(data), batch_size=250)]
    assert sizes == [2, 2, 1, 1, 1]


def test_columns_of_a_batch_do_not_change_when_the_next_one_is_read() -> None:
    data = b"".join(kb.batch(Rec(bytes([65 + base]) * 50, b"k"), base=base) for base in range(5))
    batches = list(read_segment_batches(io.BytesIO(data), batch_rows=1))
    assert [batch["value"][0].as_py()[:1] for batch in batches] == [b"A", b"B", b"C", b"D", b"E"]


def test_nulls_stand_in_their_own_rows() -> None:
    """The second and third null, and one after a batch was taken."""
    values = [None, b"a", None, None, b"b", None, b"c", None, None]
    data = kb.batch(*[Rec(value, None if value else b"k") for value in values])
    for most in (2, 4, 100):
        assert [each["value"] for each in rows(io.BytesIO(data), batch_rows=most)] == values
        assert [each["key"] for each in rows(io.BytesIO(data), batch_rows=most)] == [
            None if value else b"k" for value in values
        ]


def test_log_append_time_shows_in_the_type_of_the_timestamp() -> None:
    data = kb.patched(kb.patched(kb.batch(*RECORDS), 21, ">h", kb.APPEND_TIME), 35, ">q", 4711)
    assert {each["timestampType"] for each in rows(io.BytesIO(data))} == {1}
    assert {each["timestamp"].microsecond for each in rows(io.BytesIO(data))} == {711_000}


def test_a_record_without_a_timestamp_has_none() -> None:
    assert rows(io.BytesIO(kb.batch(Rec(b"", timestamp=-1))))[0]["timestamp"] is None


def test_message_sets_have_columns_too() -> None:
    plain = [Rec(b"a", b"k"), Rec(None), Rec(b"")]
    data = kb.legacy(*plain, magic=0) + kb.patched(kb.legacy(*plain, magic=1, codec=kb.GZIP), 0, ">q", 12)
    data += kb.batch(Rec(b"z"), base=13)
    messages = list(read_segment(io.BytesIO(data)))
    kinds = [-1] * 3 + [0] * 4
    for most in (1, 2, 100):
        assert rows(io.BytesIO(data), batch_rows=most) == [
            row(message, timestampType=kind) for message, kind in zip(messages, kinds, strict=True)
        ]


@pytest.mark.parametrize("timestamp", [2**63 - 1, 2**63 // 1000 + 1, -(2**63)])
def test_a_timestamp_that_columns_cannot_hold_is_an_error_after_the_rows_before_it(timestamp: int) -> None:
    first = kb.batch(Rec(b"a"))
    data = first + kb.patched(kb.batch(Rec(b"b", timestamp=0), base=1), 27, ">q", timestamp)
    assert next(iter(read_segment(io.BytesIO(data[len(first) :])))).timestamp == timestamp
    batches = read_segment_batches(io.BytesIO(data))
    assert next(batches)["value"].to_pylist() == [b"a"]
    with pytest.raises(DecodeError, match=f"record 0: expected a timestamp that fits.*got {timestamp} milli") as caught:
        next(batches)
    assert caught.value.offset == len(first) + 61


def test_a_name_of_a_header_that_is_not_utf8_is_an_error_in_columns_only() -> None:
    plain = kb.batch(Rec(b"a"), Rec(b"b", None, [("k", b"1"), ("xy", b"1")]), Rec(b"c"))
    data = kb.sealed(plain.replace(b"xy", b"\xff\xfe"))
    assert len(list(read_segment(io.BytesIO(data)))) == 3
    batches = read_segment_batches(io.BytesIO(data))
    first = next(batches)
    first.validate(full=True)
    assert first["value"].to_pylist() == [b"a"]
    with pytest.raises(DecodeError, match="record 1: expected a header's name in UTF-8"):
        next(batches)


def test_topic_and_partition_come_from_the_folder_or_the_caller(tmp_path: Path) -> None:
    path = segment(tmp_path / "my-orders-12", kb.batch(Rec(b"")))
    assert [(each["topic"], each["partition"]) for each in rows(path)] == [("my-orders", 12)]
    assert [(each["topic"], each["partition"]) for each in rows(str(path), topic="ü", partition=0)] == [("ü", 0)]
    other = segment(tmp_path / "copies", kb.batch(Rec(b"")))
    assert [(each["topic"], each["partition"]) for each in rows(other)] == [(None, None)]


# Files


def test_a_file_is_read_in_blocks_whatever_its_batches_sizes(tmp_path: Path) -> None:
    """Smaller than a block, as large, larger, and across the border of two blocks."""
    overhead = len(kb.batch(Rec(bytes(BLOCK // 2))) + b"") - BLOCK // 2
    sizes = [10, BLOCK // 2, BLOCK - overhead, BLOCK, 3 * BLOCK + 5, 20, BLOCK - overhead - 1, BLOCK - overhead + 1, 1]
    path = segment(tmp_path, *[kb.batch(Rec(bytes(size)), base=number) for number, size in enumerate(sizes)])
    assert [len(message.value or b"") for message in read_segment(path)] == sizes
    assert [len(each["value"]) for each in rows(path)] == sizes


def test_several_segments_are_one_log(tmp_path: Path) -> None:
    paths = [segment(tmp_path, kb.batch(*RECORDS, base=base), name=f"{base:020}.log") for base in (0, 4, 100)]
    assert offsets(*paths) == [0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103]


def test_segments_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    paths = [segment(tmp_path, kb.batch(Rec(b""), base=base), name=f"{base:020}.log") for base in (0, 4)]
    found = read_segment(*reversed(paths))
    assert next(found).offset == 4
    with pytest.raises(DecodeError, match=f"{paths[0].name}: expected a batch with an offset after 4, got 0"):
        next(found)
    with pytest.raises(DecodeError, match=f"{paths[1].name}: expected a batch with an offset after 4, got 4"):
        list(read_segment(paths[1], paths[1]))


class Trickle(io.RawIOBase):
    """A file that returns at most 7 bytes at once, as those of object stores may."""

    def __init__(self, data: bytes) -> None:
        self._inside = io.BytesIO(data)

    def readinto(self, buffer: Any) -> int:
        return self._inside.readinto(memoryview(buffer)[:7])


def test_an_open_file_is_read_from_its_position_and_stays_open() -> None:
    data = kb.batch(*RECORDS)
    assert len(list(read_segment(Trickle(data)))) == 4
    opened = io.BytesIO(b"front" + data)
    opened.seek(5)
    assert len(list(read_segment(opened))) == 4
    assert not opened.closed


def test_a_tail_of_zeros_ends_a_preallocated_segment() -> None:
    data = kb.batch(*RECORDS)
    for zeros in (12, 13, 100, BLOCK, 3 * BLOCK):
        assert offsets_of(data + bytes(zeros)) == [0, 1, 2, 3]
    assert offsets_of(bytes(BLOCK + 1)) == []
    for zeros in (12, 100, 2 * BLOCK):
        with pytest.raises(DecodeError, match="expected zeros to the end of the segment, got other bytes") as caught:
            offsets_of(data + bytes(zeros) + b"\x01")
        assert caught.value.offset == len(data) + zeros


def offsets_of(data: bytes, **options: Any) -> list[int]:
    return [message.offset for message in read_segment(io.BytesIO(data), **options)]


def test_an_empty_segment_has_no_messages(tmp_path: Path) -> None:
    assert offsets(segment(tmp_path)) == []


def test_a_batch_that_is_cut_off_is_an_error_or_the_stated_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = kb.batch(*RECORDS)
    path = segment(tmp_path, whole, kb.batch(*RECORDS, base=4)[:-1])
    found = read_segment(path)
    assert [next(found).offset for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(DecodeError, match=f"{NAME}: batch: expected {len(whole)} bytes, got {len(whole) - 1} up to"):
        next(found)
    with caplog.at_level(logging.WARNING):
        assert [message.offset for message in read_segment(path, partial=True)] == [0, 1, 2, 3]
    assert f"left out {len(whole) - 1} bytes at the end, from byte {len(whole)} on" in caplog.text


def test_only_the_last_segment_may_be_cut_off(tmp_path: Path) -> None:
    first = segment(tmp_path, kb.batch(*RECORDS)[:-1])
    last = segment(tmp_path, kb.batch(*RECORDS, base=4), name="00000000000000000004.log")
    with pytest.raises(DecodeError, match=f"{NAME}: batch: expected .* bytes, got .* up to the end of the segment"):
        list(read_segment(first, last, partial=True))


def test_a_damaged_batch_is_an_error_with_its_byte_in_the_file(tmp_path: Path) -> None:
    """In the second block of the file."""
    first = kb.batch(Rec(bytes(BLOCK - 200))) + kb.batch(Rec(bytes(200)), base=1)
    damaged = bytearray(kb.batch(*RECORDS, base=2))
    damaged[70] ^= 1
    path = segment(tmp_path, first, damaged)
    with pytest.raises(DecodeError, match=f"{NAME}: batch: expected the checksum") as caught:
        list(read_segment(path))
    assert caught.value.offset == len(first) + 17
    broken = kb.with_records(kb.batch(Rec(b""), base=2), b"\x0c\0\0\x7f\1\1\0")
    path.write_bytes(first + broken)
    for read in (read_segment, read_segment_batches):
        with pytest.raises(DecodeError, match="record 0: expected an offset delta from 0 to 0, got -64") as caught:
            list(read(path))
        assert caught.value.offset == len(first) + 61 + 3


@pytest.mark.parametrize("length", [-1, 0, 13])
def test_a_batch_that_is_too_short_is_an_error_with_the_byte_of_its_length(length: int) -> None:
    first = kb.batch(Rec(b""))
    with pytest.raises(DecodeError, match=f"expected a length from 14 bytes, got {length}") as caught:
        offsets_of(first + struct.pack(">qi", 1, length) + bytes(100))
    assert caught.value.offset == len(first) + 8


def test_a_batch_beyond_the_declared_size_is_not_read() -> None:
    with pytest.raises(DecodeError, match=r"expected at most 1061 bytes, got .*max_batch_size") as caught:
        offsets_of(kb.batch(Rec(b"")) + kb.batch(Rec(bytes(1000)), base=1), max_batch_size=1000)
    assert caught.value.offset == len(kb.batch(Rec(b""))) + 8


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_segment(tmp_path / NAME))


@pytest.mark.parametrize(
    "options",
    [
        {"isolation": "committed"},
        {"max_batch_size": 0},
        {"max_held": 2**31},
        {"batch_rows": 0},
        {"batch_size": 2**31},
    ],
)
def test_impossible_options_are_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        read_segment_batches(io.BytesIO(b""), **options)


def test_no_segment_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected at least one segment"):
        read_segment()
    with pytest.raises(ConfigError, match="expected at least one segment"):
        read_segment_batches()


# Transactions


LOG = (
    in_transaction(0, 1, 2), kb.batch(Rec(b"x"), base=2), in_transaction(3, 2), abort(4, 1), in_transaction(5, 2),
    commit(6, 2), in_transaction(7, 1), commit(8, 1),
)  # fmt: skip


def test_read_committed_returns_what_is_committed_in_order(tmp_path: Path) -> None:
    path = segment(tmp_path, *LOG)
    assert offsets(path) == [0, 1, 2, 3, 5, 7]
    assert offsets(path, isolation="read_committed") == [2, 3, 5, 7]


def test_a_transaction_may_continue_in_the_next_segment(tmp_path: Path) -> None:
    for cut in range(1, len(LOG)):
        first = segment(tmp_path, *LOG[:cut])
        second = segment(tmp_path, *LOG[cut:], name="00000000000000000009.log")
        assert offsets(first, second, isolation="read_committed") == [2, 3, 5, 7], cut


def test_a_segment_that_ends_within_transactions_is_an_error_or_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = segment(tmp_path, kb.batch(Rec(b"")), in_transaction(1), kb.batch(Rec(b""), base=2), in_transaction(3, 2))
    with pytest.raises(DecodeError, match=f"{NAME}.*within producer 1 from offset 1, producer 2 from offset 3"):
        list(read_segment(path, isolation="read_committed"))
    with caplog.at_level(logging.WARNING):
        assert offsets(path, isolation="read_committed", partial=True) == [0]
    assert "producer 1 from offset 1, producer 2 from offset 3" in caplog.text


def test_the_index_of_a_later_segment_says_what_was_aborted(tmp_path: Path) -> None:
    path = segment(tmp_path, in_transaction(0), kb.batch(Rec(b"x"), base=1), in_transaction(2))
    with pytest.raises(DecodeError, match="within producer 1 from offset 0"):
        list(read_segment(path, isolation="read_committed"))
    (tmp_path / "00000000000000000003.txnindex").write_bytes(index((1, 0, 3)))
    assert offsets(path, isolation="read_committed") == [1]


def test_indexes_of_earlier_segments_and_other_files_are_not_read(tmp_path: Path) -> None:
    path = segment(tmp_path, in_transaction(5), commit(6), name="00000000000000000005.log")
    for name in ("00000000000000000004.txnindex", "other.txnindex"):
        (tmp_path / name).write_bytes(b"no index")
    assert offsets(path, isolation="read_committed") == [5]


def test_a_copy_with_another_name_has_its_index_beside_it(tmp_path: Path) -> None:
    path = segment(tmp_path, in_transaction(0), kb.batch(Rec(b"x"), base=1), name="copy.log")
    (tmp_path / "copy.txnindex").write_bytes(index((1, 0, 9)))
    assert offsets(path, isolation="read_committed") == [1]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(index((1, 0, 9)))
    assert offsets_of(path.read_bytes(), isolation="read_committed", transaction_indexes=[elsewhere]) == [1]
    with pytest.raises(DecodeError, match="within producer 1"):
        list(read_segment(path, isolation="read_committed", transaction_indexes=[]))


def test_indexes_share_one_limit_of_memory(tmp_path: Path) -> None:
    log = segment(tmp_path, in_transaction(0), abort(1), in_transaction(2), abort(3), in_transaction(4), abort(5))
    indexes = [tmp_path / name for name in ("one.txnindex", "two.txnindex")]
    indexes[0].write_bytes(index((1, 0, 1), (1, 2, 3)))
    indexes[1].write_bytes(index((1, 4, 5)))
    read = {"isolation": "read_committed", "transaction_indexes": indexes}
    assert offsets(log, **read, max_held=3 * 400) == []
    with pytest.raises(DecodeError, match=r"two.txnindex: expected at most 0 aborted transactions, got 1 .*max_held"):
        offsets(log, **read, max_held=3 * 400 - 1)


def test_what_an_index_calls_aborted_is_not_held(tmp_path: Path) -> None:
    many = b"".join(in_transaction(base, 1, 10) for base in range(0, 1000, 10))
    data = many + abort(1000) + kb.batch(Rec(b"x"), base=1001)
    with pytest.raises(DecodeError, match=r"expected the end of the open transactions .*producer 1 from offset 0"):
        offsets_of(data, isolation="read_committed", max_held=5000)
    path = segment(tmp_path, data)
    path.with_suffix(".txnindex").write_bytes(index((1, 0, 1000)))
    assert offsets(path, isolation="read_committed", max_held=5000) == [1001]


def test_an_index_ends_where_the_next_transaction_begins(tmp_path: Path) -> None:
    """The same producer's next transaction is committed."""
    path = segment(tmp_path, in_transaction(0), in_transaction(1), abort(2), in_transaction(3), commit(4))
    path.with_suffix(".txnindex").write_bytes(index((2, 0, 9), (1, 0, 2)))
    assert offsets(path, isolation="read_committed", max_held=1500) == [3]


def test_an_index_says_nothing_of_a_producers_earlier_transactions(tmp_path: Path) -> None:
    path = segment(tmp_path, in_transaction(0), commit(1), in_transaction(2), abort(3), in_transaction(4), commit(5))
    path.with_suffix(".txnindex").write_bytes(index((1, 2, 3)))
    assert offsets(path, isolation="read_committed") == [0, 4]


def test_message_sets_behind_an_open_transaction_wait_too() -> None:
    old = kb.patched(kb.legacy(Rec(b"old", b"k"), magic=1), 0, ">q", 1)
    data = in_transaction(0) + old
    assert offsets_of(data, isolation="read_committed", partial=True) == []
    assert offsets_of(data + commit(2), isolation="read_committed") == [0, 1]
    assert [each["value"] for each in rows(io.BytesIO(data + commit(2)), isolation="read_committed")] == [b"1", b"old"]


def test_held_batches_survive_the_next_blocks_of_the_file(tmp_path: Path) -> None:
    batches = [in_transaction(0), *(kb.batch(Rec(bytes(BLOCK // 2)), base=base) for base in range(1, 6)), commit(6)]
    path = segment(tmp_path, *batches)
    messages = list(read_segment(path, isolation="read_committed"))
    assert [message.offset for message in messages] == list(range(6))
    assert messages[0].value == b"1"
    assert [len(each["value"]) for each in rows(path, isolation="read_committed")] == [1] + [BLOCK // 2] * 5


def test_other_control_batches_end_no_transaction() -> None:
    leader_change = kb.patched(kb.batch(Rec(struct.pack(">hi", 0, 0), struct.pack(">hh", 0, 2))), 21, ">h", kb.CONTROL)
    assert offsets_of(leader_change + kb.batch(Rec(b""), base=1)) == [1]
    assert offsets_of(leader_change + kb.batch(Rec(b""), base=1), isolation="read_committed") == [1]


DAMAGED = {
    "cut off": (index((1, 0, 3))[:-1], "expected entries of 34 bytes each, got 33 bytes"),
    "version": (index((1, 0, 3)) + index((1, 4, 5), version=1), "byte 34: .*txnindex: expected version 0, got 1"),
    "negative": (
        index((1, -1, 3)),
        "producer 1: expected a transaction from offset 0 on that ends later, got .* -1 to 3",
    ),
    "backwards": (index((1, 4, 3)), "got one from 4 to 3"),
    "overlapping": (index((1, 0, 3), (1, 3, 4)), "byte 34: .*from offset 4 on that ends later, got one from 3 to 4"),
    "too long": (index(*[(1, i, i) for i in range(5)]), "expected at most 4 aborted transactions, got 5.*max_held"),
}


@pytest.mark.parametrize(("data", "expected"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_index_is_an_error(tmp_path: Path, data: bytes, expected: str) -> None:
    path = segment(tmp_path, kb.batch(Rec(b"")))
    path.with_suffix(".txnindex").write_bytes(data)
    with pytest.raises(DecodeError, match=expected):
        list(read_segment(path, isolation="read_committed", max_held=1600))
    assert offsets(path) == [0]  # read_uncommitted does not need it
