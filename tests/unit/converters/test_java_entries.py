"""Entries that Pulsar's and Kafka's own classes have composed are read to the messages that those classes read."""

from __future__ import annotations

import zlib

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

from java_entries import Topic, changed, golden
from kop_entries import _number, _text, sealed

from streamnative_serdes import header
from streamnative_serdes.converters import (
    KafkaEntryReader,
    KafkaToPulsarConverter,
    Message,
    PulsarEntryReader,
    PulsarToKafkaConverter,
    framed,
    write_record_batch,
)
from streamnative_serdes.converters.entry import read_entry
from streamnative_serdes.errors import DecodeError, EncodeError

KAFKA = {name: topic for name, topic in golden().items() if topic.kafka}
PULSAR = {name: topic for name, topic in golden().items() if not topic.kafka}
HEADER = 61  # bytes of a RecordBatch before its records


def read(topic: Topic, reader: KafkaEntryReader | PulsarEntryReader) -> list[Message]:
    return [message for entry in topic.entries for message in reader.entry(entry)]


def split(message: Message) -> Message:
    """The message with its schema version off the value."""
    version = None if message.value is None else header.read(message.value)
    if version is None:
        return message
    assert message.value is not None
    return changed(message, value=message.value[header.SIZE :], schema_version=version)


@pytest.mark.parametrize("topic", KAFKA.values(), ids=KAFKA)
def test_entries_of_kafkas_format_are_read_as_kafka_reads_them(topic: Topic) -> None:
    assert read(topic, KafkaEntryReader(schema_header=False)) == list(topic.messages)
    assert read(topic, KafkaEntryReader()) == [split(message) for message in topic.messages]


@pytest.mark.parametrize("topic", PULSAR.values(), ids=PULSAR)
def test_entries_of_pulsars_format_are_read_as_they_were_made(topic: Topic) -> None:
    assert read(topic, PulsarEntryReader()) == list(topic.messages)


@pytest.mark.parametrize("topic", KAFKA.values(), ids=KAFKA)
def test_committed_records_are_those_that_were_committed(topic: Topic) -> None:
    reader = KafkaEntryReader(isolation="read_committed", schema_header=False)
    assert read(topic, reader) == [message for message in topic.messages if message.offset in topic.committed]
    assert reader.unknown.open == {}


def test_the_golden_transactions_have_all_kinds() -> None:
    topic = golden()["transactions"]
    aborted = [m for m in topic.messages if m.offset not in topic.committed]
    assert {m.producer_id for m in aborted} == {1, 2}
    assert {m.producer_id for m in topic.messages if m.offset in topic.committed} == {-1, 1}
    reader = KafkaEntryReader(isolation="read_committed")
    read(topic, reader)
    assert [producer for producer, _ in reader.unknown.markers] == [3]


@pytest.mark.parametrize("name", ["none", "producers", "transactions"])
def test_uncompressed_batches_are_written_back_byte_for_byte(name: str) -> None:
    """But for the producer and the transaction, which a message of Pulsar has not."""
    reader, written = KafkaEntryReader(), 0
    for data in golden()[name].entries:
        entry = read_entry(memoryview(data))
        payload = bytes(entry.payload)
        if entry.metadata.messages != 6:
            continue  # two batches, or a marker
        messages = [changed(message, offset=number) for number, message in enumerate(reader.entry(data))]
        batch = write_record_batch(messages, leader_epoch=0)
        assert batch[HEADER:] == payload[HEADER:]
        assert batch[23:43] == payload[23:43]  # last offset delta and timestamps
        assert name != "none" or batch == payload
        written += 1
    assert written >= 1


@pytest.mark.parametrize("topic", KAFKA.values(), ids=KAFKA)
def test_what_is_converted_to_pulsars_format_and_back_is_the_same(topic: Topic) -> None:
    expected = [changed(split(m), producer_id=-1, transactional=False) for m in topic.messages]
    converted = [each for entry in topic.entries for each in KafkaToPulsarConverter().entries(entry)]
    reader = PulsarEntryReader()
    found = [message for each in converted for message in reader.entry(each)]
    assert [(m.value, m.key, m.headers, m.offset, m.schema_version) for m in found] == [
        (m.value, m.key, m.headers, m.offset, m.schema_version) for m in expected
    ]
    # To Pulsar, an event time of 0 means that there is no event time, and the time of publishing takes its place.
    assert all(
        ours.timestamp == theirs.timestamp or not theirs.timestamp for ours, theirs in zip(found, expected, strict=True)
    )
    assert [framed(m) for m in found] == [m.value for m in topic.messages]


@pytest.mark.parametrize("name", [name for name in PULSAR if name != "pulsar chunks"])
def test_pulsars_entries_become_record_batches(name: str) -> None:
    for entry in golden()[name].entries:
        batch = PulsarToKafkaConverter().convert(memoryview(entry))
        expected = list(PulsarEntryReader().entry(entry))
        assert list(KafkaEntryReader(schema_header=False).batches(batch)) == [
            changed(m, value=framed(m), schema_version=None) for m in expected
        ]


@pytest.mark.parametrize("topic", golden().values(), ids=golden())
def test_an_entry_of_java_that_is_cut_off_at_any_byte_is_an_error(topic: Topic) -> None:
    converter = KafkaToPulsarConverter() if topic.kafka else PulsarToKafkaConverter()
    for entry in topic.entries:
        for end in range(len(entry)):
            reader = KafkaEntryReader() if topic.kafka else PulsarEntryReader()
            with pytest.raises(DecodeError):
                list(reader.entry(entry[:end]))
            with pytest.raises((DecodeError, EncodeError)):
                converter.convert(memoryview(entry[:end]))


def test_zlib_without_an_end_must_still_have_all_of_its_bytes() -> None:
    """Pulsar's Java client flushes the stream, and does not end it."""
    packer = zlib.compressobj()
    flushed = packer.compress(b"0123456789" * 100) + packer.flush(zlib.Z_SYNC_FLUSH)
    metadata = _text(1, b"p") + _number(2, 0) + _number(3, 1) + _number(8, 2) + _number(9, 1000)
    (message,) = PulsarEntryReader().entry(sealed(metadata, flushed))
    assert message.value == b"0123456789" * 100
    for end in range(len(flushed) // 2):
        with pytest.raises(DecodeError, match="ZLIB: expected 1000 bytes as the metadata say"):
            list(PulsarEntryReader().entry(sealed(metadata, flushed[:end])))
