"""Records that aiokafka and kafka-python write are read to what they wrote, and are the same after every conversion."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("aiokafka")
pytest.importorskip("google_crc32c")

from hypothesis import given
from hypothesis import strategies as st

from streamnative_serdes import header
from streamnative_serdes.converters import (
    KafkaEntryReader,
    KafkaToPulsarConverter,
    Message,
    PulsarEntryReader,
    framed,
    write_record_batch,
)
from streamnative_serdes.converters.wire import fields_of, number, text, varint, zigzag

import kafka_batches as kb  # isort: skip

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its resources in an old way
    from kafka.record.default_records import DefaultRecordBatchBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder

DATA = st.binary(max_size=300)
VERSIONS = st.none() | st.integers(0, 2**63 - 1)
VALUES = st.none() | st.builds(lambda v, d: d if v is None else header.pack(v) + d, VERSIONS, DATA)
HEADERS = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=20)), max_size=4)
RECORDS = st.lists(
    st.builds(kb.Rec, VALUES, st.none() | DATA, HEADERS, st.integers(0, 2**63 - 1)), min_size=1, max_size=8
)


def expected(records: list[kb.Rec]) -> list[tuple[Any, ...]]:
    return [(each.value, each.key, tuple(each.headers), each.timestamp) for each in records]


def found(messages: list[Message]) -> list[tuple[Any, ...]]:
    return [(framed(each), each.key, each.headers, each.timestamp) for each in messages]


@given(RECORDS, st.integers(0, 2**62))
def test_records_of_aiokafka(records: list[kb.Rec], base: int) -> None:
    messages = list(KafkaEntryReader().batches(kb.batch(*records, base=base)))
    assert found(messages) == expected(records)
    assert [message.offset for message in messages] == list(range(base, base + len(records)))


@given(RECORDS, st.sampled_from([kb.NONE, kb.GZIP]), st.booleans())
def test_records_of_kafka_python(records: list[kb.Rec], codec: int, transactional: bool) -> None:
    builder = DefaultRecordBatchBuilder(2, codec, transactional, 7, 0, 0, 1 << 20)
    for offset, each in enumerate(records):
        assert builder.append(offset, each.timestamp, each.key, each.value, list(each.headers))
    messages = list(KafkaEntryReader().batches(bytes(builder.build())))
    assert found(messages) == expected(records)
    assert {(each.producer_id, each.transactional) for each in messages} == {(7, transactional)}


@given(RECORDS, st.sampled_from([0, 1]), st.sampled_from([kb.NONE, kb.GZIP]))
def test_message_sets_of_kafka_python(records: list[kb.Rec], magic: int, codec: int) -> None:
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for offset, each in enumerate(records):
        assert builder.append(offset, each.timestamp, each.key, each.value)
    messages = list(KafkaEntryReader().batches(bytes(builder.build())))
    plain = [(each.value, each.key, (), each.timestamp if magic else -1) for each in records]
    assert found(messages) == plain


@given(RECORDS)
def test_a_batch_is_the_same_when_it_is_written_back(records: list[kb.Rec]) -> None:
    data = kb.batch(*records)
    assert write_record_batch(KafkaEntryReader().batches(data), leader_epoch=0)[17:] == data[17:]


@given(RECORDS, st.integers(0, 2**40))
def test_nothing_is_lost_on_the_way_through_pulsars_format(records: list[kb.Rec], index: int) -> None:
    entry = kb.entry(kb.batch(*records), records=len(records), index=index + len(records))
    messages = list(KafkaEntryReader().entry(entry))
    converted = list(KafkaToPulsarConverter().entries(entry))
    reader = PulsarEntryReader()
    back = [message for each in converted for message in reader.entry(each)]
    # Pulsar has no event time 0: such a message has the time at which its batch was published.
    assert [(m.value, m.key, m.headers, m.offset, m.schema_version) for m in back] == [
        (m.value, m.key, m.headers, m.offset, m.schema_version) for m in messages
    ]
    assert [m.timestamp for m in back if m.timestamp] == [
        b.timestamp for b, m in zip(back, messages, strict=True) if b.timestamp
    ]
    assert all(b.timestamp == m.timestamp for b, m in zip(back, messages, strict=True) if m.timestamp)


@given(st.lists(st.tuples(st.integers(1, 2**29 - 1), st.integers(0, 2**64 - 1) | DATA), max_size=6))
def test_fields_are_what_was_written(fields: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(number(n, v) if isinstance(v, int) else text(n, v) for n, v in fields)
    assert [(n, v) for n, v, _, _ in fields_of(data)] == fields
    assert b"".join(data[start:end] for _, _, start, end in fields_of(data)) == data


@given(st.integers(0, 2**64 - 1))
def test_varints_are_those_of_protocol_buffers(value: int) -> None:
    expected = bytearray()
    left = value
    while left > 127:
        expected.append(left % 128 + 128)
        left //= 128
    assert varint(value) == bytes([*expected, left])


@given(st.integers(-(2**63), 2**63 - 1))
def test_zigzag_is_that_of_kafka(value: int) -> None:
    assert zigzag(value) == varint(2 * value if value >= 0 else -2 * value - 1)
