"""Log segments that a real Kafka broker has written are read to what its consumers get."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from servers import Kafka
from waiting import HANG_SECONDS, until

from streamnative_serdes.arrow.kafka_columns import kafka_columns
from streamnative_serdes.converters import Message, read_segment, read_segment_batches
from streamnative_serdes.converters.batches import read_batches
from streamnative_serdes.converters.wire import BatchLimits
from streamnative_serdes.errors import DecodeError

SEGMENT = 1 << 20  # bytes: the smallest that Kafka 4 allows
HALF = bytes(SEGMENT * 6 // 10)  # two such values do not fit into one segment
Isolation = Literal["read_uncommitted", "read_committed"]
RECORDS: tuple[dict[str, Any], ...] = (
    {"value": b"a" * 300, "key": b"k\x00\xff", "headers": [("h", b"v"), ("h", None), ("é", b"\xff")]},
    {"value": None, "key": b"k2"},
    {"value": b"", "key": None, "timestamp": 1_600_000_000_123},
    {"value": b"\x03\x04" + bytes(8) + b"\x02", "key": b""},
)


def to(kafka: Kafka) -> dict[str, Any]:
    """The configuration of clients, which do not say that the broker is gone at the end of the tests."""
    return {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}


@pytest.fixture(scope="module")
def admin(kafka: Kafka) -> AdminClient:
    return AdminClient(to(kafka))


def new_topic(admin: AdminClient, **conf: object) -> str:
    topic = f"segments-{uuid4().hex[:8]}"
    text = {key.replace("_", "."): str(value) for key, value in conf.items()}
    admin.create_topics([NewTopic(topic, 1, config=text)])[topic].result(HANG_SECONDS)
    return topic


def send(producer: Producer, topic: str, *records: Mapping[str, Any]) -> None:
    for record in records:
        producer.produce(topic, partition=0, **record)
    assert producer.flush(HANG_SECONDS) == 0


def transactional(kafka: Kafka) -> Producer:
    producer = Producer({**to(kafka), "transactional.id": uuid4().hex})
    producer.init_transactions(HANG_SECONDS)
    return producer


def segments(kafka: Kafka, topic: str) -> list[Path]:
    return sorted((kafka.folder / "data" / f"{topic}-0").glob("*.log"))


def consumed(kafka: Kafka, topic: str, isolation: Isolation) -> list[Any]:
    """What Kafka's own client gets, up to the end of the partition."""
    consumer = Consumer(
        {
            **to(kafka),
            "group.id": "segments",
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return list(_until_end(consumer))
    finally:
        consumer.close()


def _until_end(consumer: Consumer) -> Iterator[Any]:
    while True:
        message = consumer.poll(HANG_SECONDS)
        assert message is not None, "the broker does not answer"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            return
        yield message


def shown(message: Any) -> tuple[Any, ...]:
    if isinstance(message, Message):
        return message.offset, message.timestamp, message.key, message.value, list(message.headers)
    return message.offset(), message.timestamp()[1], message.key(), message.value(), message.headers() or []


def with_empty_headers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Spark's Kafka source has null for a message without headers; segments, an empty list."""
    at = batch.schema.get_field_index("headers")
    headers = pa.array([found or [] for found in batch.column(at).to_pylist()], batch.schema.field(at).type)
    return batch.set_column(at, "headers", headers)


def require_same(kafka: Kafka, topic: str, isolation: Isolation = "read_uncommitted", **options: Any) -> list[int]:
    """Compare messages and columns with what the consumer gets; returns the offsets."""
    paths, expected = segments(kafka, topic), consumed(kafka, topic, isolation)
    options["isolation"] = isolation
    messages = list(read_segment(*paths, schema_header=False, **options))
    assert [shown(message) for message in messages] == [shown(message) for message in expected]
    theirs = pa.Table.from_batches([with_empty_headers(kafka_columns(expected))])
    ours = pa.Table.from_batches(list(read_segment_batches(*paths, batch_rows=3, **options)), theirs.schema)
    ours.validate(full=True)
    assert ours.equals(theirs)
    return [message.offset for message in messages]


def codecs(paths: list[Path]) -> set[int]:
    return {batch.codec for path in paths for _, batch in read_batches(memoryview(path.read_bytes()), BatchLimits())}


def test_every_codec(kafka: Kafka, admin: AdminClient) -> None:
    topic = new_topic(admin)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        conf = {**to(kafka), "compression.type": codec, "linger.ms": 50}
        send(Producer(conf), topic, *RECORDS, {"value": b"b" * 5000})
        send(Producer(conf), topic, *RECORDS)
    assert codecs(segments(kafka, topic)) == {0, 1, 2, 3, 4}
    assert require_same(kafka, topic) == list(range(45))


def test_the_brokers_own_timestamps_and_a_preallocated_file(kafka: Kafka, admin: AdminClient) -> None:
    conf = {"message_timestamp_type": "LogAppendTime", "preallocate": "true", "segment_bytes": SEGMENT}
    topic = new_topic(admin, **conf)
    send(Producer(to(kafka)), topic, *RECORDS)
    (path,) = segments(kafka, topic)
    assert path.stat().st_size == SEGMENT
    assert require_same(kafka, topic) == [0, 1, 2, 3]
    kinds = {kind for batch in read_segment_batches(path) for kind in batch["timestampType"].to_pylist()}
    assert kinds == {1}


def test_transactions_over_several_segments(kafka: Kafka, admin: AdminClient) -> None:
    """One is aborted and one committed in a later segment than they begin in, and one is open at the end."""
    topic = new_topic(admin, segment_bytes=SEGMENT)
    plain = Producer(to(kafka))
    aborting, committing, open_one = (transactional(kafka) for _ in range(3))
    send(plain, topic, *RECORDS)
    aborting.begin_transaction()
    send(aborting, topic, {"value": b"aborted"})
    send(plain, topic, {"value": HALF})
    committing.begin_transaction()
    send(committing, topic, {"value": b"committed"})
    send(committing, topic, {"value": HALF, "key": b"of the second segment"})
    send(aborting, topic, {"value": b"aborted, too"})
    aborting.abort_transaction(HANG_SECONDS)
    send(plain, topic, {"value": b"between"})
    committing.commit_transaction(HANG_SECONDS)
    aborting.begin_transaction()
    send(aborting, topic, {"value": b"committed later"})
    aborting.commit_transaction(HANG_SECONDS)
    open_one.begin_transaction()
    send(open_one, topic, {"value": b"open"})
    send(plain, topic, {"value": b"behind"})

    first, second = segments(kafka, topic)
    assert not first.with_suffix(".txnindex").exists()
    assert second.with_suffix(".txnindex").stat().st_size == 34
    everything = require_same(kafka, topic)
    settled = require_same(kafka, topic, "read_committed", partial=True)
    assert (len(everything), len(settled)) == (13, 9)
    with pytest.raises(DecodeError, match="got the end of the segment within producer"):
        list(read_segment(first, second, isolation="read_committed"))

    # Without the indexes the markers say the same, of all segments together.
    options: dict[str, Any] = {"isolation": "read_committed", "partial": True}
    without = [message.offset for message in read_segment(first, second, transaction_indexes=[], **options)]
    assert without == settled
    # The first segment alone: only the index of the second says that the first transaction was aborted.
    alone = [message.offset for message in read_segment(first, transaction_indexes=[], **options)]
    assert alone == [0, 1, 2, 3]
    alone = [message.offset for message in read_segment(first, **options)]
    assert alone == [0, 1, 2, 3, 5]
    # The second one alone, from the middle of both transactions.
    rest = [message.offset for message in read_segment(second, **options)]
    assert rest == [offset for offset in settled if offset > 6]
    open_one.abort_transaction(HANG_SECONDS)
    assert require_same(kafka, topic, "read_committed")[-1] == everything[-1]


def test_a_compacted_topic(kafka: Kafka, admin: AdminClient) -> None:
    """Records are missing within batches and between them, with committed and aborted transactions among them."""
    broker = ConfigResource(ResourceType.BROKER, "1")
    often = ConfigEntry("log.cleaner.backoff.ms", "200", incremental_operation=AlterConfigOpType.SET)
    broker.add_incremental_config(often)
    admin.incremental_alter_configs([broker])[broker].result(HANG_SECONDS)
    topic = new_topic(
        admin, cleanup_policy="compact", segment_bytes=SEGMENT, min_cleanable_dirty_ratio="0.01", delete_retention_ms=0
    )
    plain = Producer({**to(kafka), "compression.type": "lz4", "linger.ms": 50})
    producer = transactional(kafka)
    send(plain, topic, *({"key": b"%d" % (number % 7), "value": b"%d" % number} for number in range(40)))
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        send(producer, topic, *({"key": b"t%d" % (number % 2), "value": b"t"} for number in range(4)))
        ends(HANG_SECONDS)
    send(plain, topic, {"key": b"3", "value": None}, {"key": b"after", "value": b"a"})
    incompressible = Producer(to(kafka))
    send(incompressible, topic, *({"key": b"large", "value": HALF} for _ in range(3)))  # begins new segments
    done = kafka.folder / "data" / "cleaner-offset-checkpoint"

    def cleaned_to() -> int:
        found = re.search(rf"^{topic} 0 (\d+)$", done.read_text() if done.exists() else "", re.MULTILINE)
        return int(found[1]) if found else 0

    def files() -> set[tuple[str, int]]:
        return {(entry.name, entry.inode()) for entry in os.scandir(segments(kafka, topic)[0].parent)}

    def nothing_changes() -> bool:
        before = files()
        time.sleep(2)  # ten looks of the cleaner
        return files() == before

    until(lambda: cleaned_to() >= 52, "all but the last segments are compacted")
    until(nothing_changes, "the cleaner has also removed what a first run may only mark")
    for isolation in ("read_uncommitted", "read_committed"):
        left = require_same(kafka, topic, isolation)
        assert len(left) < 15
        assert left[-1] > 50
