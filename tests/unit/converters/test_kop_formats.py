"""What a real KoP has stored in each of its entry formats is read to the messages that a Kafka consumer reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("cramjam")
pytest.importorskip("google_crc32c")

from java_entries import Topic
from kop_formats import CODECS, FORMATS, golden

from streamnative_serdes.converters import (
    ConverterChain,
    EntryReader,
    KafkaEntryReader,
    KafkaToPulsarConverter,
    Message,
    PulsarEntryReader,
    PulsarToKafkaConverter,
    framed,
)
from streamnative_serdes.converters.entry import read_entry

KAFKA = {name: topic for name, topic in golden().items() if topic.kafka}
PULSAR = {name: topic for name, topic in golden().items() if not topic.kafka}


def parts(messages: Iterator[Message] | tuple[Message, ...]) -> list[Any]:
    """What Kafka's consumers show of a message."""
    return [(framed(each), each.key, each.headers, each.timestamp, each.offset) for each in messages]


def converted(topic: Topic) -> Iterator[Message]:
    """The messages of a topic of Kafka's format, converted to Pulsar's."""
    converter, reader = KafkaToPulsarConverter(), PulsarEntryReader()
    for entry in topic.entries:
        for batch in converter.entries(entry):
            yield from reader.entry(batch)


def test_the_golden_entries_have_all_that_kop_stores() -> None:
    assert list(golden()) == [f"{format}-{codec}" for format in FORMATS for codec in CODECS]
    for topic in golden().values():
        assert topic.counts == (1, 1, 1, 6) * 2
        assert [message.offset for message in topic.messages] == list(range(18))
    for name, topic in KAFKA.items():
        payloads = [read_entry(memoryview(entry)).payload for entry in topic.entries]
        bases = [int.from_bytes(payload[:8], signed=True) for payload in payloads]
        wrong, right = [-1, 0, 1, -3, 8, 9, 10, 6], [0, 1, 2, 3, 9, 10, 11, 12]
        compressed = [payload[22] & 7 != 0 for payload in payloads]
        mixed = [there if small else short for there, short, small in zip(right, wrong, compressed, strict=True)]
        assert bases == (mixed if name.startswith("mixed_kafka") else [0] * 8)
        assert compressed[3] is (name.rpartition("-")[2] != "none")


@pytest.mark.parametrize("topic", golden().values(), ids=golden())
def test_entries_are_read_as_a_kafka_consumer_reads_them(topic: Topic) -> None:
    for header in (True, False):
        reader = EntryReader(schema_header=header)
        assert parts(message for entry in topic.entries for message in reader.entry(entry)) == parts(topic.messages)


@pytest.mark.parametrize("topic", KAFKA.values(), ids=KAFKA)
def test_idempotent_records_name_their_producer(topic: Topic) -> None:
    reader = KafkaEntryReader()
    producers = [message.producer_id for entry in topic.entries for message in reader.entry(entry)]
    assert set(producers[:9]) == {-1}
    assert len({*producers[9:]}) == 1
    assert producers[9] >= 0


@pytest.mark.parametrize("topic", KAFKA.values(), ids=KAFKA)
def test_entries_of_kafkas_format_become_pulsars_and_are_the_same_messages(topic: Topic) -> None:
    assert parts(converted(topic)) == parts(topic.messages)


@pytest.mark.parametrize("topic", PULSAR.values(), ids=PULSAR)
def test_entries_of_pulsars_format_become_kafkas_batches_of_the_same_messages(topic: Topic) -> None:
    converter, reader = PulsarToKafkaConverter(), KafkaEntryReader()
    found = [message for entry in topic.entries for message in reader.batches(converter.convert(memoryview(entry)))]
    assert parts(tuple(found)) == parts(topic.messages)


@pytest.mark.parametrize("topic", KAFKA.values(), ids=KAFKA)
def test_a_chain_converts_each_entry_that_it_accepts(topic: Topic) -> None:
    """Entries 0 to 2 have one message each, so one schema version."""
    with ConverterChain([KafkaToPulsarConverter(), PulsarToKafkaConverter()]) as chain:
        found = [message for entry in topic.entries[:3] for message in PulsarEntryReader().entry(chain.convert(entry))]
    assert parts(tuple(found)) == parts(topic.messages[:3])
