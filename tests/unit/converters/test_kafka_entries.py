"""Entries that KoP stores in Kafka's format, and Kafka's own batches, are read to the messages that are in them."""

from __future__ import annotations

import itertools
import pickle
import struct
from typing import Any

import pytest

pytest.importorskip("aiokafka")
pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

import cramjam
import kafka_batches as kb
import kop_golden as golden
from java_entries import changed
from kafka_batches import Rec
from kop_entries import pulsar_entry

from streamnative_serdes import header
from streamnative_serdes.converters import KafkaEntryReader, Message, PulsarEntryReader
from streamnative_serdes.converters.compression import xxh32
from streamnative_serdes.converters.wire import RecordReader
from streamnative_serdes.errors import ConfigError, DecodeError

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
RECORDS = (
    Rec(golden.A, b"k1", [("h", b"v")]),
    Rec(header.pack(2**63 - 1), b"\x00\xff", [("n", None), ("n", b"\xff\xfe"), ("", b"")], 0),
    Rec(None, b"k3"),
    Rec(b"", None, (), 2**62),
    Rec(b"no header" * 50, b""),
)
THREE = RECORDS[2:]
MESSAGES = [
    Message(b"\x02a\x02", key=b"k1", headers=[("h", b"v")], timestamp=golden.TIMESTAMP, offset=0, schema_version=0),
    Message(
        b"", key=b"\x00\xff", headers=[("n", None), ("n", b"\xff\xfe"), ("", b"")], timestamp=0, offset=1,
        schema_version=2**63 - 1,
    ),
    Message(None, key=b"k3", timestamp=golden.TIMESTAMP, offset=2),
    Message(b"", timestamp=2**62, offset=3),
    Message(b"no header" * 50, key=b"", timestamp=golden.TIMESTAMP, offset=4),
]  # fmt: skip


def entry(data: bytes, **options: Any) -> list[Message]:
    return list(KafkaEntryReader(**options).entry(data))


def batches(data: bytes, **options: Any) -> list[Message]:
    return list(KafkaEntryReader(**options).batches(data))


# Golden entries


def test_golden_value() -> None:
    assert entry(golden.KAFKA_VALUE) == [Message(b"\x02a\x02", timestamp=golden.TIMESTAMP, offset=0, schema_version=0)]


def test_golden_batch() -> None:
    assert entry(golden.KAFKA_BATCH) == [
        MESSAGES[0],
        Message(b"\x02b\x04", key=b"\x00\xff", timestamp=golden.TIMESTAMP, offset=1, schema_version=1),
        Message(None, key=b"k3", timestamp=golden.TIMESTAMP, offset=2),
        Message(b"", timestamp=golden.TIMESTAMP, offset=3),
    ]


def test_golden_commit_marker_is_no_message() -> None:
    assert entry(golden.KAFKA_COMMIT) == []


def test_golden_commit_marker_releases_its_transaction() -> None:
    reader = KafkaEntryReader(isolation="read_committed")
    record = kb.entry(kb.batch(Rec(golden.A), producer_id=1, transactional=True), records=1, index=0)
    assert list(reader.entry(record)) == []
    (message,) = reader.entry(golden.KAFKA_COMMIT)
    assert (message.offset, message.producer_id, message.transactional) == (0, 1, True)


# entryFormat=mixed_kafka: a batch of n records, if it is not compressed, has a base offset that is n too small.


def mixed(*records: Rec, base: int = 0) -> bytes:
    return kb.patched(kb.batch(*records), 0, ">q", base - len(records))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_batches_with_the_base_offset_of_mixed_kafka_are_numbered_up_to_the_index(count: int) -> None:
    numbers = [message.offset for message in entry(kb.entry(mixed(*RECORDS[:count]), records=count, index=99))]
    assert numbers == [*range(100 - count, 100)]
    assert entry(kb.entry(mixed(*RECORDS), records=5, index=4)) == MESSAGES


@pytest.mark.parametrize("base", range(5))
def test_a_base_offset_below_0_says_the_offsets_without_an_index_too(base: int) -> None:
    found = entry(kb.entry(mixed(*RECORDS, base=base), records=5))
    assert [message.offset for message in found] == [*range(base, base + 5)]


@pytest.mark.parametrize("base", [-6, -7, -(2**63)])
def test_any_other_base_offset_below_0_is_refused(base: int) -> None:
    data = kb.entry(kb.patched(kb.batch(*RECORDS), 0, ">q", base), records=5, index=4)
    with pytest.raises(DecodeError, match=rf"expected offsets from 0 to 2\*\*63 - 1, got {base} and 4 more"):
        entry(data)


def test_a_base_offset_below_0_is_refused_outside_of_an_entry() -> None:
    with pytest.raises(DecodeError, match=r"expected offsets from 0 to 2\*\*63 - 1, got -5 and 4 more"):
        batches(mixed(*RECORDS))


# Messages


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_every_codec(codec: int) -> None:
    assert batches(kb.batch(*RECORDS, codec=codec)) == MESSAGES


def test_raw_snappy_without_the_java_librarys_chunks() -> None:
    plain = kb.batch(*RECORDS)
    raw = bytes(cramjam.snappy.compress_raw(plain[61:]))
    assert batches(kb.with_records(plain, raw, attributes=kb.SNAPPY)) == MESSAGES


def test_snappy_in_several_chunks_and_streams() -> None:
    plain = kb.batch(*RECORDS)
    front = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    pieces = [bytes(cramjam.snappy.compress_raw(part)) for part in (plain[61:70], b"", plain[70:])]
    chunks = [struct.pack(">i", len(piece)) + piece for piece in pieces]
    data = kb.with_records(plain, front + chunks[0] + chunks[1] + front + chunks[2], attributes=kb.SNAPPY)
    assert batches(data) == MESSAGES


def xerial(*chunks: bytes) -> bytes:
    pieces = [bytes(cramjam.snappy.compress_raw(chunk)) for chunk in chunks]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(p)) + p for p in pieces)


def test_snappy_in_more_chunks_than_the_system_has_mappings() -> None:
    """Linux allows 65,530 by default; a chunk may have any size."""
    plain = kb.batch(Rec(bytes(range(250)) * 280))
    data = xerial(*(plain[at : at + 1] for at in range(61, len(plain))))
    assert len(plain) - 61 > 65_530
    assert batches(kb.with_records(plain, data, attributes=kb.SNAPPY)) == batches(plain)


def test_all_chunks_of_snappy_together_have_at_most_the_maximum() -> None:
    plain = kb.batch(*RECORDS)
    whole = len(plain) - 61
    data = kb.with_records(plain, xerial(plain[61:90], b"", plain[90:]), attributes=kb.SNAPPY)
    assert batches(data, max_batch_size=whole) == MESSAGES
    with pytest.raises(DecodeError, match=f"expected at most {whole - 1} bytes after decompression, got more"):
        batches(data, max_batch_size=whole - 1)


@pytest.mark.parametrize("codec", [kb.GZIP, kb.LZ4, kb.ZSTD])
def test_compressed_streams_may_follow_each_other(codec: int) -> None:
    whole = kb.batch(*RECORDS)
    compress = {kb.GZIP: kb.gzipped, kb.LZ4: cramjam.lz4.compress, kb.ZSTD: cramjam.zstd.compress}[codec]
    streams = [bytes(compress(part)) for part in (whole[61:70], b"", whole[70:])]
    data = kb.with_records(whole, b"".join(streams), attributes=codec)
    assert batches(data) == batches(whole)
    for end in range(len(data) - len(streams[2]), len(data)):  # the last stream is cut off
        with pytest.raises(DecodeError):
            batches(kb.with_records(whole, data[61:end], attributes=codec))


def test_several_batches_in_one_entry_are_numbered_up_to_the_index() -> None:
    one, three = kb.batch(RECORDS[0]), kb.batch(*THREE, codec=kb.GZIP)
    found = entry(kb.entry(one, three, one, records=5, index=104))
    assert [message.offset for message in found] == [100, 101, 102, 103, 104]


def test_without_the_brokers_index_offsets_are_those_of_the_batches() -> None:
    found = entry(kb.entry(kb.batch(*RECORDS[:2], base=7), kb.batch(RECORDS[0], base=20), records=3))
    assert [message.offset for message in found] == [7, 8, 20]


def test_offsets_that_compaction_has_removed_stay_counted() -> None:
    compacted = kb.patched(kb.batch(*RECORDS[:2]), 23, ">i", 9)
    found = entry(kb.entry(compacted, kb.batch(RECORDS[0]), records=3, index=10))
    assert [message.offset for message in found] == [0, 1, 10]


def test_a_batch_may_be_empty_after_compaction() -> None:
    empty = kb.patched(kb.with_records(kb.batch(*RECORDS), b""), 57, ">i", 0)
    assert batches(empty + kb.batch(RECORDS[0], base=5)) == [changed(MESSAGES[0], offset=5)]


def test_log_append_time_is_the_timestamp_of_every_record() -> None:
    data = kb.patched(kb.patched(kb.batch(*RECORDS), 21, ">h", kb.APPEND_TIME), 35, ">q", 4711)
    assert {message.timestamp for message in batches(data)} == {4711}


def test_timestamps_wrap_as_in_java() -> None:
    data = kb.patched(kb.batch(Rec(b"", timestamp=5), Rec(b"", timestamp=6)), 27, ">q", 2**63 - 1)
    assert [message.timestamp for message in batches(data)] == [2**63 - 1, -(2**63)]


def test_idempotent_records_name_their_producer() -> None:
    (message,) = batches(kb.batch(RECORDS[0], producer_id=2**63 - 1))
    assert (message.producer_id, message.transactional) == (2**63 - 1, False)


def test_names_of_headers_that_are_not_utf8_are_kept() -> None:
    plain = kb.batch(Rec(b"", None, [("xy", b"1")]))
    data = kb.sealed(plain.replace(b"xy", b"\xff\xfe"))
    ((name, value),) = batches(data)[0].headers
    assert (name.encode("utf-8", "surrogateescape"), value) == (b"\xff\xfe", b"1")


def test_the_schema_header_can_stay_on_the_value() -> None:
    found = entry(golden.KAFKA_BATCH, schema_header=False)
    assert [(m.value, m.schema_version) for m in found] == [
        (golden.A, None),
        (golden.B, None),
        (None, None),
        (b"", None),
    ]


@pytest.mark.parametrize("value", [b"\x03\x04" + bytes(7), b"\x03\x04\x80" + bytes(7), b"\x03\x05" + bytes(8)])
def test_what_only_begins_like_a_header_stays_on_the_value(value: bytes) -> None:
    assert [(m.value, m.schema_version) for m in batches(kb.batch(Rec(value)))] == [(value, None)]


def test_a_message_is_a_value() -> None:
    message, same = MESSAGES[1], pickle.loads(pickle.dumps(MESSAGES[1]))
    assert (message, hash(message)) == (same, hash(same))
    assert message != MESSAGES[0]
    assert message != 1
    assert "schema_version=9223372036854775807" in repr(message)
    with pytest.raises(AttributeError):
        message.value = b""  # type: ignore[misc]


def test_any_buffer_is_read() -> None:
    for kind in (bytes, bytearray, memoryview):
        assert len(entry(kind(golden.KAFKA_BATCH))) == 4


# Message sets


@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_message_sets(magic: int, codec: int) -> None:
    plain = [Rec(record.value, record.key, (), record.timestamp) for record in RECORDS]
    expected = [changed(m, headers=(), timestamp=m.timestamp if magic else -1) for m in MESSAGES]
    assert batches(kb.legacy(*plain, magic=magic, codec=codec)) == expected


def test_offsets_inside_a_compressed_message_of_format_1_end_with_its_own() -> None:
    data = kb.patched(kb.legacy(*THREE, magic=1, codec=kb.GZIP), 0, ">q", 102)
    assert [message.offset for message in batches(data)] == [100, 101, 102]


def test_offsets_inside_a_compressed_message_of_format_0_are_absolute() -> None:
    data = kb.patched(kb.legacy(*THREE, magic=0, codec=kb.GZIP), 0, ">q", 102)
    assert [message.offset for message in batches(data)] == [0, 1, 2]


def test_log_append_time_of_a_compressed_message_holds_inside() -> None:
    data = kb.legacy(*THREE, magic=1, codec=kb.GZIP)
    data = kb.patched(kb.patched(data, 17, ">b", kb.GZIP | kb.APPEND_TIME), 18, ">q", 4711)
    assert [message.timestamp for message in batches(data)] == [4711] * 3


@pytest.mark.parametrize("broken", [True, False])
def test_lz4_of_format_0_may_have_the_wrong_checksum_of_its_header(broken: bool) -> None:
    """KAFKA-3160: it was taken over the magic, too."""
    frame = bytearray(cramjam.lz4.compress(kb.legacy(*RECORDS[:2], magic=0)))
    end = 6 + 8 * bool(frame[4] & 8)
    assert frame[end] == xxh32(bytes(frame[4:end])) >> 8 & 0xFF
    if broken:
        frame[end] = xxh32(bytes(frame[:end])) >> 8 & 0xFF
        with pytest.raises(cramjam.DecompressionError):
            cramjam.lz4.decompress(frame)
    data = kb.wrapper(bytes(frame), magic=0, codec=kb.LZ4, offset=1)
    assert [message.key for message in batches(data)] == [b"k1", b"\x00\xff"]


@pytest.mark.parametrize("codec", [0, 1])
def test_message_sets_of_an_entry_are_numbered_up_to_the_index(codec: int) -> None:
    for magic in (0, 1):
        data = kb.entry(kb.legacy(*THREE, magic=magic, codec=codec), records=3, index=12)
        assert [message.offset for message in entry(data)] == [10, 11, 12]


def test_formats_may_follow_each_other() -> None:
    data = kb.legacy(RECORDS[0], magic=0) + kb.legacy(RECORDS[0], magic=1) + kb.batch(RECORDS[0])
    assert [message.timestamp for message in batches(data)] == [-1, golden.TIMESTAMP, golden.TIMESTAMP]


PLAIN = kb.legacy(RECORDS[0], magic=1)


@pytest.mark.parametrize(
    ("inside", "offset", "said"),
    [
        (kb.legacy(RECORDS[4], magic=1, codec=kb.GZIP), 0, "messages of format 1, got one that is compressed again"),
        (kb.legacy(RECORDS[0], magic=0), 0, "expected plain messages of format 1, got one of format 0"),
        (kb.patched(PLAIN, 0, ">q", 5) + PLAIN, 2**63 - 1, r"from 0 to 2\*\*63 - 1, got 9223372036854775812"),
    ],
    ids=["compressed again", "another format", "offsets beyond an int64"],
)
def test_a_set_that_cannot_be_inside_a_compressed_message_is_refused(inside: bytes, offset: int, said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        batches(kb.wrapper(kb.gzipped(inside), offset=offset))


# Isolation


def transactional(offset: int, producer: int, value: bytes = b"v") -> bytes:
    return kb.batch(Rec(value), producer_id=producer, transactional=True, base=offset)


def committed_offsets(*data: bytes) -> list[int]:
    reader = KafkaEntryReader(isolation="read_committed")
    return [message.offset for each in data for message in reader.batches(each)]


def test_read_uncommitted_returns_every_record_with_its_producer() -> None:
    data = transactional(0, 1) + kb.marker(1, commits=False, base=1) + transactional(2, 9)
    assert [(m.offset, m.producer_id, m.transactional) for m in batches(data)] == [(0, 1, True), (2, 9, True)]


def test_read_committed_drops_aborted_records() -> None:
    data = (transactional(0, 1), kb.marker(1, commits=False, base=1), transactional(2, 1),
            kb.marker(1, commits=True, base=3))  # fmt: skip
    assert committed_offsets(*data) == [2]
    assert committed_offsets(b"".join(data)) == [2]


def test_read_committed_keeps_the_order_of_offsets() -> None:
    """As a broker does, which lets no consumer pass the first open transaction."""
    data = (
        transactional(0, 1), kb.batch(Rec(b"plain"), base=1), transactional(2, 2), transactional(3, 1),
        kb.marker(2, commits=True, base=4), kb.batch(Rec(b"plain"), base=5), kb.marker(1, commits=True, base=6),
        kb.batch(Rec(b"plain"), base=7),
    )  # fmt: skip
    reader = KafkaEntryReader(isolation="read_committed")
    found = [[message.offset for message in reader.batches(each)] for each in data]
    assert found == [[], [], [], [], [], [], [0, 1, 2, 3, 5], [7]]


def test_an_aborted_transaction_lets_those_behind_it_pass() -> None:
    data = (
        transactional(0, 1),
        transactional(1, 2),
        kb.batch(Rec(b"plain"), base=2),
        kb.marker(1, commits=False, base=3),
    )
    reader = KafkaEntryReader(isolation="read_committed")
    assert [m.offset for each in data for m in reader.batches(each)] == []
    assert (reader.unknown.open, reader.unknown.held) == ({2: 1}, 2)
    assert [m.offset for m in reader.batches(kb.marker(2, commits=False, base=4))] == [2]


def test_message_sets_wait_behind_an_open_transaction_too() -> None:
    late = kb.patched(kb.legacy(RECORDS[0], magic=1), 0, ">q", 1)
    assert committed_offsets(transactional(0, 1), late, kb.marker(1, commits=True, base=2)) == [0, 1]


def test_a_reader_that_begins_inside_a_transaction_says_what_it_cannot_know() -> None:
    reader = KafkaEntryReader(isolation="read_committed")
    data = transactional(100, 1) + kb.marker(2, commits=True, base=101) + kb.marker(1, commits=True, base=102)
    assert [m.offset for m in reader.batches(data + transactional(103, 3))] == [100]
    unknown = reader.unknown
    assert unknown.may_have_begun_before == {1, 3}
    assert unknown.markers == ((2, 101),)
    assert (unknown.open, unknown.held) == ({3: 103}, 1)


def test_a_reader_that_begins_at_the_first_offset_misses_nothing() -> None:
    reader = KafkaEntryReader(isolation="read_committed")
    assert len(list(reader.batches(transactional(0, 1) + kb.marker(1, commits=True, base=1)))) == 1
    assert (reader.unknown.may_have_begun_before, reader.unknown.markers) == (frozenset(), ())


def test_what_is_held_is_bounded() -> None:
    reader = KafkaEntryReader(isolation="read_committed", max_held=1000)
    assert list(reader.batches(transactional(0, 7, bytes(700)))) == []
    with pytest.raises(DecodeError, match=r"producer 7 from offset 0.* within 1000 bytes, got 1200.*max_held"):
        list(reader.batches(transactional(1, 8, bytes(100))))
    assert [m.offset for m in reader.batches(kb.marker(7, commits=True, base=2))] == [0]
    assert [m.offset for m in reader.batches(transactional(3, 7, bytes(800)) + kb.marker(7, commits=True, base=4))] == [
        3
    ]


def test_the_bound_counts_what_is_held_now() -> None:
    data = (
        b"".join((transactional(n, 1, bytes(700)), kb.marker(1, commits=True, base=n + 1))) for n in range(0, 20, 2)
    )
    reader = KafkaEntryReader(isolation="read_committed", max_held=1000)
    assert len(list(itertools.chain.from_iterable(map(reader.batches, data)))) == 10


def test_other_control_records_end_no_transaction() -> None:
    leader_change = kb.patched(kb.batch(Rec(b"", struct.pack(">hh", 0, 2)), base=1), 21, ">h", kb.CONTROL)
    other_kind = kb.patched(
        kb.batch(Rec(b"", struct.pack(">hh", 0, 5)), base=2, producer_id=1, transactional=True), 21, ">h",
        kb.CONTROL | kb.TRANSACTIONAL,
    )  # fmt: skip
    assert committed_offsets(transactional(0, 1), leader_change, other_kind) == []


def test_a_control_record_with_a_short_key_is_refused() -> None:
    short = kb.patched(kb.batch(Rec(b"", b"abc"), producer_id=1, transactional=True), 21, ">h",
                       kb.CONTROL | kb.TRANSACTIONAL)  # fmt: skip
    with pytest.raises(DecodeError, match="control record at offset 0: expected a key of 4 bytes, got 3"):
        committed_offsets(short)
    assert batches(short) == []


def test_only_read_committed_knows_of_transactions() -> None:
    with pytest.raises(ConfigError, match="read_uncommitted', the reader does not follow"):
        KafkaEntryReader().unknown  # noqa: B018


# Bounds


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_batch_may_expand_to_exactly_the_maximum(codec: int) -> None:
    record = Rec(bytes(100_000))
    size = len(kb.batch(record)) - 61
    data = kb.batch(record, codec=codec)
    assert len(batches(data, max_batch_size=size)) == 1
    if codec:
        with pytest.raises(DecodeError, match=f"expected at most {size - 1} bytes after decompression, got more"):
            batches(data, max_batch_size=size - 1)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (KafkaEntryReader, "max_batch_size"), (KafkaEntryReader, "max_held"), (PulsarEntryReader, "max_batch_size"),
        (PulsarEntryReader, "max_chunked"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [0, -1, 2**31, "5", 5.5, True, None])
def test_bounds_have_bounds(make: Any, name: str, size: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: expected 1 to 2\*\*31 - 1 bytes, got {size!r}"):
        make(**{name: size})


def test_an_unknown_isolation_is_refused() -> None:
    with pytest.raises(ConfigError, match="isolation: expected read_uncommitted or read_committed, got 'serializable'"):
        KafkaEntryReader(isolation="serializable")  # type: ignore[arg-type]


def test_an_entry_of_another_format_is_refused_by_name() -> None:
    with pytest.raises(DecodeError, match=r"entry.format is kafka, got 'nothing'.*PulsarEntryReader"):
        entry(golden.PULSAR_VALUE)
    with pytest.raises(DecodeError, match=r"entry\.format is kafka"):
        entry(pulsar_entry(b"value", bytes(8)))


@pytest.mark.parametrize(
    ("at", "form", "number", "said", "byte"),
    [
        (8, ">i", 13, "expected a length from 14 to", 8),
        (8, ">i", -1, "expected a length from 14 to", 8),
        (8, ">i", 2**31 - 1, "expected a length from 14 to", 8),
        (16, ">b", 3, "expected the magic 0, 1 or 2, got 3", 16),
        (16, ">b", -1, "expected the magic 0, 1 or 2, got -1", 16),
        (21, ">h", 5, "expected a compression codec from 0 to 4, got 5", 21),
        (23, ">i", -1, "expected offsets from 0", 0),
        (0, ">q", -1, "expected offsets from 0", 0),
        (0, ">q", 2**63 - 1, "expected offsets from 0", 0),
        (57, ">i", -1, "expected at most 5 records, got the count -1", 57),
        (57, ">i", 6, "expected at most 5 records, got the count 6", 57),
    ],
)
def test_impossible_numbers_in_the_batchs_header(at: int, form: str, number: int, said: str, byte: int) -> None:
    good = kb.batch(RECORDS[0])
    data = kb.patched(kb.batch(*RECORDS), at, form, number)
    with pytest.raises(DecodeError, match=said) as caught:
        batches(good + data)
    assert caught.value.offset == len(good) + byte


def test_a_count_that_the_bytes_cannot_have_is_refused_before_the_first_record() -> None:
    data = kb.patched(kb.patched(kb.batch(*RECORDS), 23, ">i", 2**31 - 1), 57, ">i", 2**31 - 1)
    reader = KafkaEntryReader().batches(data)
    with pytest.raises(DecodeError, match="got the count 2147483647"):
        next(reader)


def test_a_record_takes_at_least_seven_bytes() -> None:
    smallest = kb.with_records(kb.batch(Rec(b"")), bytes((0x0C, 0, 0, 0, 1, 1, 0)))
    assert len(batches(smallest)) == 1
    data = kb.patched(kb.patched(smallest, 23, ">i", 9), 57, ">i", 2)
    with pytest.raises(DecodeError, match="expected at most 1 records in 7 bytes, got the count 2"):
        batches(data)


@pytest.mark.parametrize(
    ("count", "said"), [(4, "record 4: expected the end after 4 records"), (6, "record 5: expected")]
)
def test_a_count_that_is_wrong_by_one(count: int, said: str) -> None:
    data = kb.patched(kb.patched(kb.batch(*RECORDS), 23, ">i", 9), 57, ">i", count)
    with pytest.raises(DecodeError, match=said):
        batches(data)


def one_record(*body: int) -> bytes:
    return kb.with_records(kb.batch(Rec(b"")), bytes(body))


@pytest.mark.parametrize(
    ("body", "said", "byte"),
    [
        ((0x0E, 0, 0, 0, 1, 1, 0), "expected a record's length from 0 to 6, got 7", 0),
        ((0x01, 0, 0, 0, 1, 1, 0), "expected a record's length from 0 to 6, got -1", 0),
        ((0x00, 0, 0, 0, 1, 1, 0), "expected a record's attributes, got its end", 1),
        ((0x0C, 0, 0, 2, 1, 1, 0), "expected an offset delta from 0 to 0, got 1", 3),
        ((0x0C, 0, 0, 1, 1, 1, 0), "expected an offset delta from 0 to 0, got -1", 3),
        ((0x0C, 0, 0, 0, 3, 1, 0), "expected a key of -1 to 2 bytes, got the length -2", 4),
        ((0x0C, 0, 0, 0, 6, 1, 0), "expected a key of -1 to 2 bytes, got the length 3", 4),
        ((0x0C, 0, 0, 0, 1, 3, 0), "expected a value of -1 to 1 bytes, got the length -2", 5),
        ((0x0C, 0, 0, 0, 1, 4, 0), "expected a value of -1 to 1 bytes, got the length 2", 5),
        ((0x0C, 0, 0, 0, 1, 4, 0, 0, 0, 0), "expected a value of -1 to 1 bytes, got the length 2", 5),
        ((0x0C, 0, 0, 0, 6, 1, 0, 0, 0, 0), "expected a key of -1 to 2 bytes, got the length 3", 4),
        ((0x0C, 0, 0, 0, 1, 1, 1), "expected a count of headers from 0 to 0, got -1", 6),
        ((0x0C, 0, 0, 0, 1, 1, 2), "expected a count of headers from 0 to 0, got 1", 6),
        ((0x10, 0, 0, 0, 1, 1, 4, 0, 1), "expected a count of headers from 0 to 1, got 2", 6),
        ((0x10, 0, 0, 0, 1, 1, 2, 1, 1), "expected a header's name, got null", 8),
        ((0x10, 0, 0, 0, 1, 1, 2, 0, 3), "expected a header's value of -1 to 0 bytes, got the length -2", 8),
        ((0x10, 0, 0, 0, 1, 1, 2, 4, 0), "expected a header's name of -1 to 1 bytes, got the length 2", 7),
        ((0x0E, 0, 0, 0, 1, 1, 0, 0), "expected the end of the record, got 1 more bytes", 7),
        ((0x0C, 0, 0, 0, 1, 1, 0, 0), "record 1: expected the end after 1 records, got 1 more bytes", 7),
        ((0x0C, 0, 0x80, 0x80, 0x80, 0x80, 0x80), "expected a number, got the end", 2),
        ((0x80, 0x80, 0x80, 0x80, 0x80, 0, 0), "expected a number of at most 5 bytes, got a longer one", 0),
        ((0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0, 0), "expected an int32, got a larger number", 5),
        ((0x18, 0, *[0x80] * 9, 2, 0), "expected a number of at most 10 bytes, got a longer one", 2),
    ],
)
def test_impossible_numbers_in_a_record(body: tuple[int, ...], said: str, byte: int) -> None:
    with pytest.raises(DecodeError, match=said) as caught:
        batches(one_record(*body))
    assert caught.value.offset == 61 + byte


def test_the_place_of_an_error_counts_from_the_entrys_first_byte() -> None:
    batch = one_record(0x0C, 0, 0, 0, 6, 1, 0)
    data = kb.entry(kb.batch(Rec(b"good")), batch, records=2, index=1)
    found, reader = [], KafkaEntryReader().entry(data)
    with pytest.raises(DecodeError, match="record 0: expected a key") as caught:
        found.extend(reader)
    assert caught.value.offset == data.index(batch) + 61 + 4
    assert next(reader, None) is None


@pytest.mark.parametrize("index", [None, 1])
def test_the_place_of_a_damaged_batch_counts_from_the_entrys_first_byte(index: int | None) -> None:
    good, bad = kb.batch(Rec(b"good")), bytearray(kb.batch(Rec(b"bad"), base=1))
    bad[16] = 9  # the magic
    data = kb.entry(good, bytes(bad), records=2, index=index)
    with pytest.raises(DecodeError, match="expected the magic 0, 1 or 2, got 9") as caught:
        list(KafkaEntryReader().entry(data))
    assert caught.value.offset == data.index(bytes(bad)) + 16


def test_a_damaged_record_in_a_compressed_batch_says_where_it_is() -> None:
    data = kb.with_records(kb.batch(Rec(b"")), kb.gzipped(bytes([0x0C, 0, 0, 0, 6, 1, 0])), attributes=kb.GZIP)
    said = "expected a key .* at byte 4 of the records, which are compressed with gzip"
    with pytest.raises(DecodeError, match=said) as caught:
        batches(data)
    assert caught.value.offset == 0


def test_records_before_a_damaged_one_are_returned_and_none_after_it() -> None:
    plain = kb.batch(Rec(b"one"), Rec(b"two"), Rec(b"three"))
    data = kb.sealed(plain.replace(b"\x06two", b"\x60two"))
    found, reader = [], KafkaEntryReader().batches(data)
    with pytest.raises(DecodeError, match="record 1: expected a value"):
        found.extend(iter(reader))
    assert next(reader, None) is None


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (kb.gzipped(bytes(7))[:-1], "gzip: expected the end of the stream, got the end of the 22 bytes"),
        (kb.gzipped(bytes(7)) + b"more", "gzip: expected the end, got 4 bytes after the stream"),
        (b"no gzip", "gzip: the compressed data are damaged"),
        (b"", "gzip: expected the end of the stream, got the end of the 0 bytes"),
    ],
)
def test_gzip_that_does_not_end_with_its_stream(records: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        batches(kb.with_records(kb.batch(Rec(b"")), records, attributes=kb.GZIP))


def test_the_last_property_of_a_name_counts() -> None:
    """As Pulsar's clients make a map of them."""
    other = struct.pack(">b", 0x22) + b"\x14\x0a\x0centry.format\x12\x04text"
    assert other[1] == len(other) - 2
    whole = kb.entry(kb.batch(RECORDS[0]), records=1)
    size = struct.unpack_from(">i", whole)[0] + len(other)
    assert len(entry(struct.pack(">i", size) + other + whole[4:])) == 1
    end = 4 + size - len(other)
    with pytest.raises(DecodeError, match="got 'text'"):
        entry(struct.pack(">i", size) + whole[4:end] + other + whole[end:])


@pytest.mark.parametrize(("size", "left"), [(-1, 1), (2, 1), (-(2**31), 1), (2**31 - 1, 1)])
def test_impossible_sizes_of_metadata(size: int, left: int) -> None:
    for front, name in ((b"", "MessageMetadata"), (b"\x0e\x02", "BrokerEntryMetadata")):
        with pytest.raises(DecodeError, match=f"{name}: expected a size from 0 to {left}, got {size}") as caught:
            entry(front + struct.pack(">i", size) + b"\0")
        assert caught.value.offset == len(front)


def test_a_reader_of_records_ends_after_a_damaged_one() -> None:
    reader = RecordReader(bytes((0x0C, 0, 0, 0, 6, 1, 0)) * 3, count=3, base_offset=0, last_delta=2, base_timestamp=0)
    with pytest.raises(DecodeError, match="record 0: expected a key"):
        next(reader)
    assert list(reader) == []


def test_every_bit_is_covered_by_the_checksum() -> None:
    data = kb.batch(*RECORDS[:2])
    for at in range(21, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(DecodeError, match="batch: expected the checksum") as caught:
            batches(bytes(damaged))
        assert caught.value.offset == 17


def test_without_checksums_damaged_text_is_read_as_it_is() -> None:
    data = bytearray(kb.batch(Rec(b"text")))
    data[-2] ^= 1
    assert batches(bytes(data), check_crc=False)[0].value == b"texu"


def test_an_index_below_the_number_of_records_is_refused() -> None:
    with pytest.raises(DecodeError, match="expected the index of the last of 5 offsets, at least 4, got 3"):
        entry(kb.entry(kb.batch(*RECORDS), records=5, index=3))
    assert entry(kb.entry(kb.batch(*RECORDS), records=5, index=4))[0].offset == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(ConfigError, match=r"need cramjam \(hint: pip install cramjam\)"):
        batches(kb.batch(*RECORDS, codec=kb.ZSTD), check_crc=False)
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(ConfigError, match=r"need google-crc32c \(hint: pip install google-crc32c\)"):
        batches(kb.batch(*RECORDS))
    assert len(batches(kb.batch(*RECORDS, codec=kb.GZIP), check_crc=False)) == 5
