"""Hostile entries and batches only raise DecodeError, and take no more memory than is declared."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

import cramjam
import kafka_batches as kb
import kop_golden as golden
from child import run_limited
from kafka_batches import Rec
from kop_entries import _number, _text, sealed
from wire import damaged

from streamnative_serdes.converters import (
    KafkaEntryReader,
    Message,
    PulsarEntryReader,
    PulsarToKafkaConverter,
)
from streamnative_serdes.errors import DecodeError, EncodeError

RECORDS = (Rec(golden.A, b"k1", [("h", b"v"), ("n", None)]), Rec(None, b"k2"), Rec(b"value" * 40, None))
MIB = 1 << 20


def batches(data: bytes, **options: Any) -> list[Message]:
    return list(KafkaEntryReader(**options).batches(data))


def test_an_entry_without_all_of_its_batches_is_an_error() -> None:
    one = kb.batch(RECORDS[0])
    assert len(list(KafkaEntryReader().entry(kb.entry(one, one, records=2)))) == 2
    with pytest.raises(DecodeError, match="expected batches of 2 offsets, as the metadata say, got 1"):
        list(KafkaEntryReader().entry(kb.entry(one, records=2)))


def test_batches_that_are_cut_off_at_any_byte_are_an_error() -> None:
    data = {
        "plain": kb.batch(*RECORDS),
        "gzip": kb.batch(*RECORDS, codec=kb.GZIP),
        "zstd": kb.batch(*RECORDS, codec=kb.ZSTD),
        "format 0": kb.legacy(RECORDS[2], magic=0),
        "format 1": kb.legacy(*RECORDS, magic=1, codec=kb.GZIP),
    }
    for name, whole in data.items():
        assert batches(whole), name
        for end in range(1, len(whole)):
            with pytest.raises(DecodeError):
                batches(whole[:end])


def cut_records(codec: int) -> Iterator[bytes]:
    """Batches whose header is right, and whose records end too early."""
    whole = kb.batch(*RECORDS, codec=codec)
    for end in range(61, len(whole)):
        yield kb.with_records(whole, whole[61:end], attributes=codec)


@pytest.mark.parametrize("codec", range(5))
def test_records_that_are_cut_off_at_any_byte_are_an_error(codec: int) -> None:
    for data in cut_records(codec):
        with pytest.raises(DecodeError):
            batches(data)


def test_messages_inside_a_set_that_are_cut_off_at_any_byte_are_an_error() -> None:
    inner = kb.legacy(RECORDS[0], magic=1)
    for end in range(1, len(inner)):
        with pytest.raises(DecodeError):
            batches(kb.wrapper(kb.gzipped(inner[:end])))


@pytest.mark.parametrize("whole", [kb.batch(*RECORDS), kb.legacy(*RECORDS, magic=1), golden.KAFKA_BATCH])
def test_any_damaged_bytes_are_read_or_refused(whole: bytes) -> None:
    """Without checksums, so that every byte reaches the reader."""
    rng = random.Random(7)
    read = KafkaEntryReader(check_crc=False).entry if whole is golden.KAFKA_BATCH else None
    refused = 0
    for _ in range(4000):
        data = bytes(damaged(whole, rng))
        try:
            list(read(data)) if read else batches(data, check_crc=False)
        except DecodeError:
            refused += 1
    assert 100 < refused < 4000


def test_any_damaged_pulsar_entry_is_read_or_refused() -> None:
    rng = random.Random(7)
    reader = PulsarEntryReader(check_crc=False)
    converter = PulsarToKafkaConverter(check_crc=False)
    for whole in (golden.PULSAR_BATCH, golden.JAVA_KEY_VALUE):
        for _ in range(3000):
            data = damaged(whole, rng)
            with suppress(DecodeError):
                list(reader.entry(data))
            with suppress(DecodeError, EncodeError):
                converter.convert(memoryview(data))


@pytest.mark.parametrize("codec", range(1, 5))
def test_damaged_compressed_data_are_read_or_refused(codec: int) -> None:
    rng = random.Random(codec)
    whole = kb.batch(*RECORDS, codec=codec)
    for _ in range(1500):
        records = bytearray(whole[61:])
        records[rng.randrange(len(records))] = rng.randrange(256)
        with suppress(DecodeError):
            batches(kb.with_records(whole, bytes(records), attributes=codec), check_crc=False, max_batch_size=MIB)


def bomb(codec: int, size: int) -> bytes:
    """A batch that says it has one record, and expands to so many zeros."""
    zeros = bytes(size)
    compress: dict[int, Callable[[bytes], Any]] = {
        kb.GZIP: kb.gzipped,
        kb.SNAPPY: cramjam.snappy.compress_raw,
        kb.LZ4: cramjam.lz4.compress,
        kb.ZSTD: cramjam.zstd.compress,
    }
    return kb.with_records(kb.batch(Rec(b"x")), bytes(compress[codec](zeros)), attributes=codec)


@pytest.mark.promise("limits")
@pytest.mark.parametrize("codec", range(1, 5))
def test_what_expands_beyond_the_maximum_is_refused(codec: int) -> None:
    data = bomb(codec, 4 * MIB)
    with pytest.raises(DecodeError, match=f"expected at most {MIB} bytes after decompression, got more"):
        batches(data, max_batch_size=MIB, check_crc=False)


def test_many_streams_of_gzip_that_expand_beyond_the_maximum_are_refused() -> None:
    streams = kb.gzipped(bytes(MIB // 2)) * 3
    data = kb.with_records(kb.batch(Rec(b"x")), streams, attributes=kb.GZIP)
    with pytest.raises(DecodeError, match=f"expected at most {MIB} bytes after decompression, got more"):
        batches(data, max_batch_size=MIB, check_crc=False)


@pytest.mark.promise("no-lying-lengths")
def test_a_snappy_length_that_lies_allocates_nothing() -> None:
    data = kb.with_records(kb.batch(Rec(b"x")), b"\xff\xff\xff\xff\x0f", attributes=kb.SNAPPY)
    with pytest.raises(DecodeError, match="snappy: expected at most 67108864 bytes"):
        batches(data)


@pytest.mark.not_sanitized(reason="the sanitizers need memory of their own")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_memory_is_bounded_by_the_declared_maximum() -> None:
    """64 MiB and twice the declared maximum, for every bomb: one that just fits, and one of 1 GiB."""
    said = run_limited(
        """
        import gzip, struct
        import cramjam
        from streamnative_serdes.converters import KafkaEntryReader, KafkaToPulsarConverter
        from streamnative_serdes.errors import DecodeError
        MIB = 1 << 20
        def batch(codec, records, count):
            covered = struct.pack(">hiqqqhii", codec, count - 1, 0, 0, -1, -1, -1, count) + records
            return struct.pack(">qiibI", 0, len(covered) + 9, 0, 2, 0) + covered
        def read(data):
            count = 0
            try:
                for message in KafkaEntryReader(max_batch_size=32 * MIB, check_crc=False).batches(data):
                    count += 1
                    if count == 500_000:
                        break
            except DecodeError as error:
                return f"{count} {'got more' in str(error)}"
            return str(count)
        tiny = b"\\x0c\\0\\0\\0\\1\\1\\0" * 4_000_000
        many = batch(4, bytes(cramjam.zstd.compress(tiny)), 4_000_000)
        inner = struct.pack(">qiIbbii", 0, 14, 0, 0, 0, -1, -1) * 1_000_000
        value = gzip.compress(inner)
        del inner, tiny
        body = struct.pack(">bbii", 0, 1, -1, len(value)) + value
        small = struct.pack(">qiI", 0, len(body) + 4, 0) + body
        import zlib
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        first, other = (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
        huge = batch(1, first + other * 1023, 1)
        before = peak()
        results = [read(many), read(small), read(huge)]
        print(*results, 32 <= peak() - before <= 64 + 2 * 32)
        """
    )
    assert said == "500000 500000 0 True True\n"


def test_an_entry_of_many_tiny_messages_is_bounded_when_it_is_converted() -> None:
    payload = bytes(4) * 100_000
    entry = sealed(_text(1, b"") + _number(2, 0) + _number(3, 1) + _number(11, 100_000), payload)
    with pytest.raises(EncodeError, match="expected a batch of at most 400000 bytes"):
        PulsarToKafkaConverter(max_batch_size=400_000).convert(memoryview(entry))


@pytest.mark.promise("bounded-reads")
def test_nothing_is_read_beyond_a_views_end() -> None:
    data = bytes(golden.KAFKA_BATCH)
    longer = memoryview(data + b"\xff" * 100)[: len(data)]
    assert list(KafkaEntryReader().entry(longer)) == list(KafkaEntryReader().entry(data))


def test_a_reader_that_is_dropped_early_releases_the_buffer() -> None:
    data = bytearray(kb.batch(*RECORDS))
    reader = KafkaEntryReader().batches(data)
    next(reader)
    del reader
    data.clear()
