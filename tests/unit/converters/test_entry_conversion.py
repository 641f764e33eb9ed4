"""Entries of Kafka's format become those of Pulsar's, and the other way round, with nothing lost."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest

pytest.importorskip("aiokafka")
pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

import cramjam
import kafka_batches as kb
import kop_golden as golden
from kafka_batches import Rec
from kop_entries import Record, _number, _text, kop_entry, pulsar_entry, sealed

from streamnative_serdes import header
from streamnative_serdes.converters import (
    ConverterChain,
    KafkaEntryReader,
    KafkaToPulsarConverter,
    Message,
    PulsarEntryReader,
    PulsarToKafkaConverter,
    framed,
    write_record_batch,
)
from streamnative_serdes.errors import ConfigError, DecodeError, EncodeError

NOW = golden.TIMESTAMP
METADATA = _text(1, b"p") + _number(2, 0) + _number(3, NOW)
EXACT = "streamnative.serdes.kafka.headers"


def to_pulsar(data: bytes, **options: Any) -> bytes:
    return bytes(KafkaToPulsarConverter(**options).convert(memoryview(data)))


def to_kafka(data: bytes, **options: Any) -> bytes:
    return bytes(PulsarToKafkaConverter(**options).convert(memoryview(data)))


def read(*data: bytes, **options: Any) -> list[Message]:
    reader = PulsarEntryReader(**options)
    return [message for each in data for message in reader.entry(each)]


# Golden entries


def test_golden_entries_of_kafkas_format_become_those_of_pulsars_byte_for_byte() -> None:
    assert to_pulsar(golden.KAFKA_VALUE, schema_header=False) == golden.PULSAR_VALUE
    assert to_pulsar(golden.KAFKA_BATCH, schema_header=False) == golden.PULSAR_BATCH


def test_golden_entries_of_pulsars_format() -> None:
    assert read(golden.PULSAR_VALUE) == [Message(golden.A, timestamp=NOW, offset=0)]
    keyed = Message(golden.A, key=b"k1", headers=[("h", b"v")], timestamp=NOW, offset=0)
    assert read(golden.PULSAR_KEY_AND_HEADER) == [keyed]
    assert read(golden.PULSAR_BATCH) == [
        keyed,
        Message(golden.B, key=b"\x00\xff", timestamp=NOW, offset=1),
        Message(None, key=b"k3", timestamp=NOW, offset=2),
        Message(b"", timestamp=NOW, offset=3),
    ]


def test_golden_entries_of_pulsars_java_client() -> None:
    (avro,) = read(golden.JAVA_AVRO)
    assert (avro.value, avro.key, avro.schema_version, framed(avro)) == (
        b"\x0e\x02\x08jbob", None, 0, header.pack(0) + b"\x0e\x02\x08jbob",
    )  # fmt: skip
    (pair,) = read(golden.JAVA_KEY_VALUE)
    assert (pair.key, pair.value, pair.headers) == (b"\x02", b"\x0e\x02\x06bob", (("p", b"q"),))
    assert pair.schema_version == 0


def test_golden_entries_of_pulsars_format_become_those_of_kafkas_byte_for_byte() -> None:
    for pulsar, kafka in ((golden.PULSAR_VALUE, golden.KAFKA_VALUE), (golden.PULSAR_BATCH, golden.KAFKA_BATCH)):
        batch = write_record_batch(PulsarEntryReader().entry(pulsar), leader_epoch=0)
        assert kafka.endswith(batch)


# Kafka's format to Pulsar's


def test_the_schema_version_goes_into_the_metadata_and_the_header_off_the_value() -> None:
    converted = to_pulsar(golden.KAFKA_VALUE)
    assert read(converted) == [Message(b"\x02a\x02", timestamp=NOW, offset=0, schema_version=0)]
    assert b"\x82\x01\x08" + bytes(8) in converted
    assert golden.A not in converted


def test_values_of_several_schema_versions_need_several_entries() -> None:
    with pytest.raises(EncodeError, match=r"offsets without gaps, .*entries\(\)"):
        to_pulsar(golden.KAFKA_BATCH)
    entries = list(KafkaToPulsarConverter().entries(golden.KAFKA_BATCH))
    found = [[(m.offset, m.schema_version) for m in read(each)] for each in entries]
    assert found == [[(0, 0)], [(1, 1), (2, None)], [(3, None)]]
    assert [message for each in entries for message in read(each)] == list(KafkaEntryReader().entry(golden.KAFKA_BATCH))


def test_a_gap_between_offsets_needs_another_entry() -> None:
    records = write_record_batch([Message(b"%d" % offset, timestamp=1, offset=offset) for offset in (0, 1, 5, 6)])
    entry = kb.entry(records, records=7, index=106)
    entries = list(KafkaToPulsarConverter().entries(entry))
    assert [[message.offset for message in read(each)] for each in entries] == [[100, 101], [105, 106]]
    with pytest.raises(EncodeError, match=r"offsets without gaps, .*entries\(\)"):
        to_pulsar(entry)


def test_without_the_brokers_index_a_gap_between_offsets_is_lost() -> None:
    records = write_record_batch([Message(b"v", timestamp=1, offset=offset) for offset in (0, 5)])
    assert [message.offset for message in read(to_pulsar(kb.entry(records, records=2)))] == [-1, -1]


def test_a_null_goes_with_any_schema_version() -> None:
    data = kb.entry(kb.batch(Rec(None), Rec(golden.A), Rec(None), Rec(golden.A)), records=4, index=3)
    assert [m.schema_version for m in read(to_pulsar(data))] == [None, 0, None, 0]


def test_headers_that_text_can_hold_are_properties() -> None:
    data = kb.entry(kb.batch(Rec(b"v", None, [("a", b"1"), ("a", "\N{EURO SIGN}".encode()), ("b", b"")])), records=1)
    converted = to_pulsar(data)
    assert read(converted)[0].headers == (("a", b"1"), ("a", "\N{EURO SIGN}".encode()), ("b", b""))
    assert EXACT.encode() not in converted


@pytest.mark.parametrize(
    "headers",
    [[("n", None)], [("b", b"\x00\xff\x80"), ("a", b"1")], [("n", None), ("n", b"")], [("a", b"1"), (EXACT, b"AA==")],
     [(EXACT, b"x")]],
)  # fmt: skip
def test_headers_that_text_cannot_hold_are_exact_too(headers: list[tuple[str, bytes | None]]) -> None:
    converted = to_pulsar(kb.entry(kb.batch(Rec(b"v", None, headers)), records=1))
    assert read(converted)[0].headers == tuple(headers)
    assert EXACT.encode() in converted
    assert next(iter(KafkaEntryReader().batches(to_kafka(converted)))).headers == tuple(headers)


def test_a_headers_name_that_is_not_utf8_is_exact_too() -> None:
    batch = kb.sealed(kb.batch(Rec(b"v", None, [("xy", b"1")])).replace(b"xy", b"\xff\xfe"))
    expected = next(iter(KafkaEntryReader().batches(batch))).headers
    converted = to_pulsar(kb.entry(batch, records=1))
    assert read(converted)[0].headers == expected
    assert next(iter(KafkaEntryReader().batches(to_kafka(converted)))).headers == expected


def test_an_index_that_is_too_small_gives_offsets_that_are_not_known() -> None:
    converted = to_pulsar(kb.entry(kb.batch(*(Rec(b"v"),) * 3), records=3, index=2))
    assert [message.offset for message in read(converted)] == [0, 1, 2]
    front = b"\x0e\x02\0\0\0\x02\x10"
    assert converted.startswith(front + b"\x02")
    smaller = front + b"\0" + converted[len(front) + 1 :]
    assert [message.offset for message in read(smaller)] == [-1, -1, 0]


def test_the_first_millisecond_of_1970_is_a_timestamp() -> None:
    converted = to_pulsar(kb.entry(kb.batch(Rec(b"v", None, (), 0)), records=1))
    assert [message.timestamp for message in read(converted)] == [0]
    assert _text(1, b"") + _number(2, 0) + _number(3, 0) in converted  # the time of the first message
    assert _number(3, 1) + _number(5, 0) in converted  # its own


def test_a_message_without_a_timestamp_has_the_time_of_the_entry() -> None:
    converted = to_pulsar(kb.entry(kb.legacy(Rec(b"v"), magic=0), records=1))
    (message,) = read(converted)
    assert message.timestamp == 1_600_000_000_000
    assert b"\x28" not in converted[-10:]  # no event time


def test_a_commit_marker_becomes_an_entry_that_consumers_skip() -> None:
    converted = to_pulsar(golden.KAFKA_COMMIT)
    assert read(converted) == []
    assert converted.startswith(golden.KAFKA_COMMIT[:8])
    assert list(KafkaToPulsarConverter().entries(golden.KAFKA_COMMIT)) == []


def test_a_single_entry_does_not_say_what_is_committed() -> None:
    with pytest.raises(ConfigError, match=r"isolation: a converter sees one entry.*KafkaEntryReader"):
        KafkaToPulsarConverter(isolation="read_committed")


def test_a_batch_that_becomes_too_large_is_refused() -> None:
    data = kb.entry(kb.batch(*[Rec(b"")] * 100), records=100, index=99)
    assert len(read(to_pulsar(data, max_batch_size=100 * (4 + 11)))) == 100
    with pytest.raises(EncodeError, match="offset 99: expected a batch of at most 1499 bytes"):
        to_pulsar(data, max_batch_size=100 * (4 + 11) - 1)


def test_what_the_broker_has_added_is_kept() -> None:
    stamped = b"\x0e\x02\0\0\0\x04\x08\x07\x10\x00" + golden.KAFKA_VALUE[8:]
    assert to_pulsar(stamped)[:10] == stamped[:10]
    assert to_pulsar(golden.KAFKA_VALUE[8:])[:2] == b"\x0e\x01"


def test_each_converter_accepts_only_its_own_format() -> None:
    forward, back = KafkaToPulsarConverter(), PulsarToKafkaConverter()
    for data, kafka, pulsar in (
        (golden.KAFKA_BATCH, True, False),
        (golden.PULSAR_BATCH, False, True),
        (golden.JAVA_AVRO, False, True),
        (b"", False, False),
        (b"\x0e\x02", False, False),
        (b"\x0e\x01abcdefgh", False, False),
    ):
        assert (forward.accept(memoryview(data)), back.accept(memoryview(data))) == (kafka, pulsar)


def test_a_chain_by_class_names_converts_what_is_kafkas_and_leaves_the_rest() -> None:
    with ConverterChain(["streamnative_serdes.converters.KafkaToPulsarConverter"]) as chain:
        assert chain.convert(golden.JAVA_AVRO) == golden.JAVA_AVRO
        assert read(bytes(chain.convert(golden.KAFKA_VALUE)))[0].schema_version == 0


# Pulsar's format to Kafka's


def test_the_schema_version_in_the_metadata_becomes_our_header() -> None:
    batch = to_kafka(pulsar_entry(b"datum", (2**63 - 1).to_bytes(8)))
    (message,) = KafkaEntryReader(schema_header=False).batches(batch)
    assert (message.value, message.timestamp) == (header.pack(2**63 - 1) + b"datum", NOW)


def test_without_a_schema_version_the_value_stays_bare() -> None:
    (message,) = KafkaEntryReader(schema_header=False).batches(to_kafka(pulsar_entry(b"datum", b"")))
    assert message.value == b"datum"


@pytest.mark.parametrize("version", [b"\x00", bytes(7), bytes(9), bytes(63), b"\x80" + bytes(7), b"\x80" + bytes(63)])
def test_a_schema_version_of_another_kind_is_refused(version: bytes) -> None:
    with pytest.raises(DecodeError, match="schema version: expected 8 bytes, a number from 0"):
        to_kafka(pulsar_entry(b"datum", version))


def test_a_schema_version_of_64_bytes_is_in_the_first_eight() -> None:
    """Pulsar before 2.4 wrote it so."""
    (message,) = read(pulsar_entry(b"datum", (3).to_bytes(8) + bytes(56)))
    assert message.schema_version == 3


def test_the_version_of_external_schemas_is_named() -> None:
    with pytest.raises(DecodeError, match=r"PIP-420"):
        to_kafka(pulsar_entry(b"datum", b"\xff" * 8))


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        (b"", None),
        (_text(6, b"k"), b"k"),
        (_text(6, b""), b""),
        (_text(6, base64.b64encode(b"\x00\xff")) + _number(17, 1), b"\x00\xff"),
        (_text(6, b"partition") + _text(18, b"ordering"), b"ordering"),
        (_text(18, b"\xff"), b"\xff"),
    ],
)
def test_the_key_is_the_ordering_key_or_else_the_partition_key(fields: bytes, key: bytes | None) -> None:
    assert read(sealed(METADATA + fields, b"v"))[0].key == key


def test_a_key_that_is_not_base64_is_refused() -> None:
    with pytest.raises(DecodeError, match="partition key: expected base64, as its flag says"):
        read(sealed(METADATA + _text(6, b"k1!") + _number(17, 1), b"v"))


def test_event_time_properties_and_null_of_a_single_message() -> None:
    fields = b"".join(_text(4, _text(1, name) + _text(2, value)) for name, value in ((b"z", b"1"), (b"a", b"2")))
    (message,) = read(sealed(METADATA + fields + _number(12, 77) + _number(25, 1) + _text(16, bytes(8)), b""))
    assert message == Message(None, headers=[("z", b"1"), ("a", b"2")], timestamp=77)


COMPRESSED = {
    "LZ4": (1, lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False))),
    "ZLIB": (2, zlib.compress),
    "ZSTD": (3, lambda data: bytes(cramjam.zstd.compress(data))),
    "SNAPPY": (4, lambda data: bytes(cramjam.snappy.compress_raw(data))),
}


@pytest.mark.parametrize(("number", "compress"), COMPRESSED.values(), ids=COMPRESSED)
def test_every_compression_of_pulsar(number: int, compress: Any) -> None:
    for data in (b"", b"x", b"0123456789" * 1000):
        entry = sealed(METADATA + _number(8, number) + _number(9, len(data)), compress(data))
        assert read(entry, max_batch_size=10_000)[0].value == data


@pytest.mark.parametrize(("number", "compress"), COMPRESSED.values(), ids=COMPRESSED)
@pytest.mark.parametrize("size", [0, 9999, 10001, 2**31])
def test_a_size_that_is_not_that_of_the_payload_is_refused(number: int, compress: Any, size: int) -> None:
    entry = sealed(METADATA + _number(8, number) + _number(9, size), compress(b"0123456789" * 1000))
    with pytest.raises(DecodeError):
        read(entry)


def test_a_payload_above_the_maximum_is_refused_by_its_size() -> None:
    entry = sealed(METADATA + _number(8, 3) + _number(9, 101), bytes(cramjam.zstd.compress(bytes(101))))
    assert len(read(entry, max_batch_size=101)) == 1
    with pytest.raises(DecodeError, match="ZSTD: expected at most 100 bytes"):
        read(entry, max_batch_size=100)


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(DecodeError, match="expected a compression type from 0 to 4, got 5"):
        read(sealed(METADATA + _number(8, 5), b""))


def test_a_compressed_batch_is_split() -> None:
    plain = kop_entry(Record(b"one", b"k"), Record(None), Record(b"three"))
    payload = b"".join(
        struct.pack(">i", len(single)) + single + value
        for single, value in ((_number(3, 3), b"one"), (_number(3, 0) + _number(9, 1), b""), (_number(3, 5), b"three"))
    )
    entry = sealed(
        METADATA + _number(8, 3) + _number(9, len(payload)) + _number(11, 3), bytes(cramjam.zstd.compress(payload))
    )
    assert [message.value for message in read(entry)] == [message.value for message in read(plain)]


def test_messages_that_compaction_has_taken_out_are_skipped_and_counted() -> None:
    parts = (_number(3, 1), _number(3, 0) + _number(4, 1), _number(3, 1))
    payload = b"".join(
        struct.pack(">i", len(single)) + single + value for single, value in zip(parts, (b"a", b"", b"c"), strict=True)
    )
    entry = b"\x0e\x02\0\0\0\x02\x10\x0c" + sealed(METADATA + _number(11, 3), payload)
    assert [(message.value, message.offset) for message in read(entry)] == [(b"a", 10), (b"c", 12)]


def test_markers_of_the_broker_are_no_messages() -> None:
    assert read(sealed(METADATA + _number(20, 10), b"")) == []
    with pytest.raises(EncodeError, match="expected at least one message"):
        to_kafka(sealed(METADATA + _number(20, 10), b""))


def test_an_encrypted_payload_is_refused_by_name() -> None:
    encrypted = sealed(METADATA + _text(13, _text(1, b"key") + _text(2, b"data")), b"secret")
    for convert in (read, to_kafka):
        with pytest.raises(DecodeError, match="expected a payload in plain text, got an encrypted one"):
            convert(encrypted)


def test_an_entry_of_kafkas_format_is_refused_by_name() -> None:
    with pytest.raises(DecodeError, match=r"got one of Kafka's .*KafkaEntryReader"):
        read(golden.KAFKA_VALUE)


# Chunks


def chunk(number: int, of: int, data: bytes, uuid: bytes = b"u-1") -> bytes:
    return sealed(METADATA + _text(26, uuid) + _number(27, of) + _number(28, 9) + _number(29, number % 2**64), data)


def test_chunks_are_put_together() -> None:
    reader = PulsarEntryReader()
    assert list(reader.entry(chunk(0, 3, b"abc"))) == []
    assert list(reader.entry(chunk(0, 2, b"12", b"u-2"))) == []
    assert list(reader.entry(chunk(1, 3, b"def"))) == []
    assert reader.unfinished == {"u-1": 2, "u-2": 1}
    assert [m.value for m in reader.entry(chunk(2, 3, b"ghi"))] == [b"abcdefghi"]
    assert [m.value for m in reader.entry(chunk(1, 2, b"34", b"u-2"))] == [b"1234"]
    assert reader.unfinished == {}


def test_compressed_chunks_are_decompressed_when_they_are_whole() -> None:
    data = bytes(cramjam.zstd.compress(bytes(range(256)) * 4))
    more = _number(8, 3) + _number(9, 1024) + _text(26, b"u") + _number(27, 2)
    parts = [sealed(METADATA + more + _number(29, n), part) for n, part in enumerate((data[:50], data[50:]))]
    assert [m.value for m in read(*parts)] == [bytes(range(256)) * 4]


def test_a_first_chunk_again_begins_the_message_again() -> None:
    """A producer that has lost its connection sends all chunks again."""
    assert [m.value for m in read(chunk(0, 2, b"ab"), chunk(0, 2, b"ab"), chunk(1, 2, b"cd"))] == [b"abcd"]


@pytest.mark.parametrize("numbers", [[0, 1, 1, 2], [0, 1, 2, 2], [0, 1, 2, 1, 2], [0, 1, 0, 1, 1, 2]])
def test_a_later_chunk_again_is_skipped(numbers: list[int]) -> None:
    """The lost connection again: the chunks whose receipts were lost are in the topic twice. Java skips them too."""
    assert [m.value for m in read(*(chunk(number, 3, b"%d" % number) for number in numbers))] == [b"012"]


def test_chunks_again_after_other_messages_are_skipped() -> None:
    others = [chunk(number, 2, b"%d" % number, uuid) for uuid in (b"u-2", b"u-3") for number in (0, 1)]
    again = [chunk(1, 2, b"x"), chunk(1, 2, b"x", b"u-2")]
    assert len(read(chunk(0, 2, b"a"), chunk(1, 2, b"b"), *others, *again)) == 3


@pytest.mark.parametrize(
    ("before", "wrong", "said"),
    [
        ([], chunk(1, 3, b"x"), "expected its first chunk, got chunk 1 of 3"),
        ([chunk(0, 3, b"x")], chunk(2, 3, b"x"), "expected chunk 1 of 3, got chunk 2 of 3"),
        ([chunk(0, 3, b"x")], chunk(1, 4, b"x"), "expected chunk 1 of 3, got chunk 1 of 4"),
        ([chunk(0, 3, b"x")], chunk(-1, 3, b"x"), "got chunk -1 of 3"),
        ([chunk(0, 3, b"x"), chunk(1, 3, b"x")], chunk(1, 4, b"x"), "expected chunk 2 of 3, got chunk 1 of 4"),
    ],
)
def test_a_chunk_out_of_order_is_refused_by_name(before: list[bytes], wrong: bytes, said: str) -> None:
    reader = PulsarEntryReader()
    for each in before:
        assert list(reader.entry(each)) == []
    with pytest.raises(DecodeError, match=f"message 'u-1' in chunks: .*{said}"):
        list(reader.entry(wrong))
    assert reader.unfinished == {}
    assert [m.value for each in (chunk(0, 2, b"a"), chunk(1, 2, b"b")) for m in reader.entry(each)] == [b"ab"]


def test_unfinished_chunks_are_bounded_over_all_messages() -> None:
    reader = PulsarEntryReader(max_chunked=10)
    assert list(reader.entry(chunk(0, 3, bytes(5), b"a"))) == []
    assert list(reader.entry(chunk(0, 3, bytes(5), b"b"))) == []
    with pytest.raises(DecodeError, match=r"message 'a' in chunks: expected at most 10 bytes .* got 11 .*max_chunked"):
        list(reader.entry(chunk(1, 3, bytes(1), b"a")))
    assert reader.unfinished == {"b": 1}


def test_a_converter_refuses_a_chunk_by_name() -> None:
    with pytest.raises(DecodeError, match=r"expected a whole message, got chunk 0 of 2 .*PulsarEntryReader"):
        to_kafka(chunk(0, 2, b"x"))
    assert len(list(KafkaEntryReader().batches(to_kafka(chunk(0, 1, b"x"))))) == 1


# Batches of Pulsar that lie


@pytest.mark.parametrize(
    ("count", "payload", "said"),
    [
        (0, b"", "expected 1 to 0 messages, got the count 0"),
        (1, b"", "expected 1 to 0 messages, got the count 1"),
        (2**31 - 1, bytes(4), "expected 1 to 1 messages, got the count 2147483647"),
        (2**32 - 1, bytes(4), "expected 1 to 1 messages, got the count -1"),
        (1, b"\0\0\0\1", "message 0 of the batch: expected metadata of 0 to 0 bytes, got 1"),
        (1, b"\xff\xff\xff\xff", "expected metadata of 0 to 0 bytes, got -1"),
        (1, b"\0\0\0\2\x18\1", "message 0 of the batch: expected 0 to 0 bytes, got 1"),
        (1, b"\0\0\0\x06\x18\xff\xff\xff\xff\x0f", "expected 0 to 0 bytes, got -1"),
        (1, bytes(5), "expected the end after 1 messages, got 1 more bytes"),
        (2, bytes(4) + b"\0\0\0\2\x18\1", "message 1 of the batch: expected 0 to 0 bytes, got 1"),
        (1, b"\0\0\0\1\x18", "message 0 of the batch: SingleMessageMetadata: expected a number, got the end"),
        (1, b"\0\0\0\2\x1b\0", "message 0 of the batch: SingleMessageMetadata: field 3: expected wire type"),
        (1, b"\0\0\0\2\x1a\0", "message 0 of the batch: SingleMessageMetadata: field 3: expected a number, got b''"),
    ],
)
def test_impossible_numbers_in_a_batch(count: int, payload: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        read(sealed(METADATA + _number(11, count), payload))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (b"\x00\x00", "MessageMetadata: expected a field number from 1"),
        (b"\x08", "MessageMetadata: expected a number, got the end"),
        (b"\x08" + b"\xff" * 10, "MessageMetadata: expected a number, got one of more than 64 bits"),
        (b"\x0a\x05abc", "field 1: expected at most 3 bytes, got the length 5"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "field 1: expected at most 0 bytes, got the length 18446744073709551615"),
        (b"\x09abc", "field 1: expected 8 bytes, got 3"),
        (b"\x0dabc", "field 1: expected 4 bytes, got 3"),
        (b"\x0c", "field 1: expected wire type 0, 1, 2 or 5, got 4"),
        (_number(6, 1), "MessageMetadata: field 6: expected bytes, got 1"),
        (_text(3, b"x"), "MessageMetadata: field 3: expected a number, got b'x'"),
        (_text(4, _number(1, 1)), "MessageMetadata: property: field 1: expected bytes, got 1"),
        (_text(4, b"\x0a"), "MessageMetadata: property: expected a number, got the end"),
    ],
)
def test_metadata_that_are_not_a_protocol_buffer(fields: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said) as caught:
        read(sealed(fields, b""))
    assert caught.value.offset is not None
    assert caught.value.offset >= 10


def test_unknown_fields_are_skipped() -> None:
    more = _number(500, 1) + _text(501, b"x") + b"\xd1\x1f12345678" + b"\xd5\x1f1234"
    assert read(sealed(METADATA + more, b"v"))[0].value == b"v"


def test_every_bit_of_an_entry_is_covered_by_the_checksum() -> None:
    entry = golden.PULSAR_KEY_AND_HEADER
    for at in range(10, len(entry)):
        damaged = bytearray(entry)
        damaged[at] ^= 1
        with pytest.raises(DecodeError, match="entry: expected the checksum"):
            read(bytes(damaged))


def test_a_timestamp_beyond_int64_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"expected a timestamp below 2\*\*63"):
        read(sealed(METADATA + _number(12, 2**64 - 1), b""))


# Writing a RecordBatch


def test_a_written_batch_is_the_one_that_aiokafka_writes() -> None:
    records = [Rec(b"v", b"k", [("h", b"x"), ("n", None)], 7), Rec(None, None, (), 3), Rec(b"", b"", (), 2**62)]
    messages = list(KafkaEntryReader().batches(kb.batch(*records)))
    assert write_record_batch(messages)[12:] == kb.patched(kb.batch(*records), 12, ">i", -1)[12:]


def test_offsets_have_to_increase() -> None:
    batch = write_record_batch([Message(b"", offset=5), Message(b"", offset=9)])
    assert [message.offset for message in KafkaEntryReader().batches(batch)] == [5, 9]
    for wrong in (5, 4, 5 + 2**31):
        with pytest.raises(EncodeError, match="expected an offset after 5"):
            write_record_batch([Message(b"", offset=5), Message(b"", offset=wrong)])


def test_a_written_batch_has_at_most_its_size() -> None:
    messages = [Message(bytes(10))] * 3
    size = len(write_record_batch(messages))
    assert len(write_record_batch(messages, max_size=size)) == size
    with pytest.raises(EncodeError, match=f"offset 2: expected a batch of at most {size - 1} bytes"):
        write_record_batch(messages, max_size=size - 1)


def test_an_empty_batch_is_not_written() -> None:
    with pytest.raises(EncodeError, match="at least one message"):
        write_record_batch([])


def test_framed_leaves_nulls_and_unversioned_values() -> None:
    assert framed(Message(None, schema_version=3)) is None
    assert framed(Message(b"x")) == b"x"
    assert framed(Message(b"x", schema_version=3)) == header.pack(3) + b"x"
