"""Message sets of formats 0 and 1 by kafka-clients and by kafka-python are read to the messages that are in them."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")
pytest.importorskip("kafka")
pytest.importorskip("pyarrow")

import cramjam
import kafka.codec
from java_sets import Log, Row, golden
from kafka.record import legacy_records

from streamnative_serdes.converters import KafkaEntryReader, Message, read_segment, read_segment_batches
from streamnative_serdes.converters.compression import xxh32

NOW = 1_600_000_000_000


def expected(row: Row) -> Message:
    return Message(row.value, key=row.key, timestamp=row.timestamp, offset=row.offset)


def columns(data: bytes) -> list[Row]:
    found: list[dict[str, Any]] = []
    for batch in read_segment_batches(io.BytesIO(data)):
        batch.validate(full=True)
        found += batch.set_column(5, "timestamp", batch["timestamp"].cast("int64")).to_pylist()
    return [
        Row(
            each["offset"],
            -1 if each["timestamp"] is None else each["timestamp"] // 1000,
            each["timestampType"],
            each["key"],
            each["value"],
        )
        for each in found
    ]


@pytest.mark.parametrize("log", golden().values(), ids=golden())
def test_what_java_wrote_is_read_as_java_reads_it(log: Log) -> None:
    messages = [expected(row) for row in log.messages]
    assert list(read_segment(io.BytesIO(log.data), schema_header=False)) == messages
    assert list(KafkaEntryReader(schema_header=False).batches(log.data)) == messages
    assert columns(log.data) == list(log.messages)


def test_java_wrote_what_is_peculiar_to_these_formats() -> None:
    """LZ4's header with a wrong checksum in format 0 (KAFKA-3160), timestamps of all kinds, gaps between offsets."""
    wrong = []
    for magic in (0, 1):
        data = golden()[f"format {magic} lz4"].data
        header = data.index(b"\x04\x22\x4d\x18")
        wrong.append(data[header + 6] != xxh32(data[header + 4 : header + 6]) >> 8 & 0xFF)
    assert wrong == [True, False]
    assert {row.kind for log in golden().values() for row in log.messages} == {-1, 0, 1}
    assert [row.offset for row in golden()["format 1 gzip"].messages] == [5, 6, 7, 8, 9, 20, 23, 26, 29, 32]


@pytest.fixture
def cramjam_in_kafka_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python's own framing around cramjam, in the place of the libraries that it takes codecs from."""
    snappy = SimpleNamespace(compress=lambda data: bytes(cramjam.snappy.compress_raw(data)))
    xxhash = SimpleNamespace(xxh32=lambda data: SimpleNamespace(digest=lambda: xxh32(data).to_bytes(4)))

    def lz4(data: bytes) -> bytes:
        return bytes(cramjam.lz4.compress(data))

    for name, value in {"snappy": snappy, "xxhash": xxhash, "lz4": lz4, "lz4_encode": lz4}.items():
        monkeypatch.setattr(kafka.codec, name, value)
    monkeypatch.setattr(legacy_records, "lz4_encode", lz4)


@pytest.mark.usefixtures("cramjam_in_kafka_python")
@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_what_kafka_python_wrote_is_read(magic: int, codec: int) -> None:
    builder = legacy_records.LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    rows = [
        Row(number, NOW + number if magic else -1, 0 if magic else -1, key, value)
        for number, (key, value) in enumerate([(b"k", b"v" * 200), (None, b""), (b"", None), (None, None)])
    ]
    for row in rows:
        builder.append(row.offset, timestamp=row.timestamp if magic else None, key=row.key, value=row.value)
    data = bytes(builder.build())
    assert data[17] & 7 == codec
    assert list(read_segment(io.BytesIO(data))) == [expected(row) for row in rows]
    assert columns(data) == rows
