"""Batches of objects and of Arrow columns on a real Kafka: nothing is lost, and commits have what was returned."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.error import ValueDeserializationError
from consumed import with_serdes
from schemas import record
from servers import Kafka

from streamnative_serdes import ConfigError, DecodeError, KafkaAvroDeserializer, KafkaAvroSerializer
from streamnative_serdes._kafka import RefusedMessageError
from streamnative_serdes.integrations.consuming import (
    ArrowConsumer,
    ArrowProducer,
    DeserializingConsumer,
    UnreadMessageError,
    split_errors,
)
from streamnative_serdes.testing import LocalRegistry

ROW: dict[str, Any] = record("Row", ("id", "long"), ("note", ["null", "string"], None))
POISON = b"not a message"
SECONDS = 60.0  # the longest that anything may take


@dataclass
class Place:
    """A new topic with two partitions, and the means to write it."""

    kafka: str
    registry: str
    topic: str
    partitions: int

    @property
    def conf(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.kafka, "schema.registry.url": self.registry}

    @property
    def group(self) -> dict[str, Any]:
        """A consumer's configuration, with a group of its own."""
        return {**self.conf, "group.id": f"g-{uuid.uuid4()}", "auto.offset.reset": "earliest"}

    def consumer(self, conf: dict[str, Any] | None = None, **more: Any) -> ArrowConsumer:
        consumer = ArrowConsumer(conf or self.group, **more)
        consumer.subscribe([self.topic])
        return consumer

    def write(self, ids: range, partition: int | None = 0, topic: str | None = None) -> None:
        with ArrowProducer(self.conf, topic or self.topic, ROW, partition="to") as producer:
            producer.write(pa.table({"id": list(ids), "to": pa.array([partition] * len(ids), pa.int32())}))

    def send(self, *values: bytes | None, key: bytes | None = None, partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.kafka})
        for value in values:
            producer.produce(self.topic, value, key, partition)
        assert producer.flush(SECONDS) == 0

    def committed(self, conf: dict[str, Any]) -> list[int]:
        """The group's committed offset of each partition; -1001 without one."""
        asking = Consumer({"bootstrap.servers": self.kafka, "group.id": conf["group.id"]})
        try:
            found = asking.committed([TopicPartition(self.topic, n) for n in range(self.partitions)], SECONDS)
            return [each.offset for each in found]
        finally:
            asking.close()


@pytest.fixture(scope="module")
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as found:
        yield found


@pytest.fixture
def place(kafka: Kafka, registry: LocalRegistry) -> Place:
    return new_place(kafka, registry, 2)


def new_place(kafka: Kafka, registry: LocalRegistry, partitions: int, **config: str) -> Place:
    topic = f"columns-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(SECONDS)
    return Place(kafka.bootstrap_servers, registry.url, topic, partitions)


def rows_of(consumer: ArrowConsumer, count: int) -> list[dict[str, Any]]:
    """The next ``count`` rows."""
    rows: list[dict[str, Any]] = []
    until = time.monotonic() + SECONDS
    while len(rows) < count and time.monotonic() < until:
        rows += consumer.read_batch(count - len(rows), 0.5).to_pylist()
    return rows


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["id"] for row in rows)


def test_a_restart_goes_on_after_the_rows_that_were_returned_and_committed(place: Place) -> None:
    place.write(range(30))
    conf = place.group
    with place.consumer(conf) as consumer:
        first = rows_of(consumer, 10)
        assert ids(first) == list(range(10))
        assert [each.offset for each in consumer.commit(asynchronous=False) or ()] == [10]
        assert consumer.commit(asynchronous=False) == []  # nothing new
        assert ids(rows_of(consumer, 5)) == list(range(10, 15))  # and not committed
    assert place.committed(conf)[0] == 10  # closing commits nothing
    with place.consumer(conf) as consumer:
        assert ids(rows_of(consumer, 3)) == [10, 11, 12]
        assert consumer.commit() is None  # asynchronous
    assert place.committed(conf)[0] == 13
    with place.consumer(conf) as consumer:
        assert ids(rows_of(consumer, 17)) == list(range(13, 30))


def test_automatic_commits_have_returned_rows_only(place: Place) -> None:
    place.write(range(20))
    conf = {**place.group, "enable.auto.commit": True}
    with place.consumer(conf) as consumer:
        assert len(rows_of(consumer, 7)) == 7
    assert place.committed(conf)[0] == 7


def test_a_poisoned_message_loses_none_of_its_batch(place: Place) -> None:
    place.write(range(3))
    place.send(POISON)
    place.write(range(3, 6))
    consumer = ArrowConsumer(place.group)
    try:
        consumer.assign([TopicPartition(place.topic, 0, 0)])
        for _ in range(2):  # the same messages come again
            with pytest.raises(DecodeError, match=place.topic) as caught:
                consumer.read_batch(7, SECONDS)
            assert caught.value.raw is not None
            assert (caught.value.raw.partition, caught.value.raw.offset, caught.value.raw.data) == (0, 3, POISON)
        assert consumer.commit(asynchronous=False) == []
        assert consumer.read_batch(3, SECONDS)["id"].to_pylist() == [0, 1, 2]
        with pytest.raises(DecodeError):
            consumer.read_batch(1, SECONDS)
        assert [each.offset for each in consumer.commit(asynchronous=False) or ()] == [3]
        consumer.seek(TopicPartition(place.topic, 0, 4))
        assert consumer.read_batch(3, SECONDS)["id"].to_pylist() == [3, 4, 5]
        assert [each.offset for each in consumer.commit(asynchronous=False) or ()] == [7]
    finally:
        consumer.close()


def test_dead_letters_and_tombstones_are_rows(place: Place) -> None:
    place.write(range(1))
    place.send(POISON, key=b"k")
    place.send(None, key=b"gone")
    place.write(range(1, 2))
    conf = place.group
    with place.consumer(conf, keep={"key": "k", "value": "raw"}, error_column="why") as consumer:
        until = time.monotonic() + SECONDS
        batches: list[pa.RecordBatch] = []
        while len(batches) < 4 and time.monotonic() < until:
            batches += [batch for batch in [consumer.read_batch(1, 0.5)] if batch.num_rows]
        assert [each.offset for each in consumer.commit(asynchronous=False) or ()] == [4]
    assert [batch["id"].to_pylist() for batch in batches] == [[0], [None], [None], [1]]
    assert [batch["raw"].to_pylist()[0] is None for batch in batches] == [False, False, True, False]  # the tombstone
    assert len({batch.schema for batch in batches}) == 1
    whole = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    good, dead = split_errors(whole, "why")
    assert good["k"].to_pylist() == [None, b"gone", None]
    (letter,) = dead.to_pylist()
    assert "expected a union branch" in letter.pop("error")
    assert letter == {"key": b"k", "value": POISON, "topic": place.topic, "partition": 0, "offset": 1}


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_rebalance_leaves_revoked_partitions_uncommitted(
    kafka: Kafka, registry: LocalRegistry, strategy: str
) -> None:
    place = new_place(kafka, registry, 4)
    for partition in range(4):
        place.write(range(10 * partition, 10 * partition + 5), partition)
    conf = {**place.group, "partition.assignment.strategy": strategy}
    first, second = ArrowConsumer(conf), ArrowConsumer(conf)
    revoked: list[int] = []
    first.subscribe([place.topic], on_revoke=lambda _, found: revoked.extend(each.partition for each in found))
    try:
        assert len(rows_of(first, 20)) == 20
        second.subscribe([place.topic])
        again: list[dict[str, Any]] = []
        until = time.monotonic() + SECONDS
        while len(again) < 10 and time.monotonic() < until:
            first.read_batch(100, 0.2)  # in which it is told of the rebalance
            again += second.read_batch(100, 0.2).to_pylist()
        theirs = {each.partition for each in second.assignment()}
        assert set(revoked) >= theirs
        assert len(theirs) == 2
        assert ids(again) == sorted(10 * partition + n for partition in theirs for n in range(5))
        place.write(range(100, 102), min(set(range(4)) - theirs))
        kept: set[int] = set()
        while not kept >= {100, 101} and time.monotonic() < until:
            kept |= set(first.read_batch(100, 0.2)["id"].to_pylist())
        assert kept >= {100, 101}
        found = first.commit(asynchronous=False) or []
        assert {each.partition for each in found}.isdisjoint(theirs)
        assert [place.committed(conf)[partition] for partition in sorted(theirs)] == [-1001, -1001]
        second.commit(asynchronous=False)
        assert [place.committed(conf)[partition] for partition in sorted(theirs)] == [5, 5]
    finally:
        first.close()
        second.close()


def test_messages_of_a_partition_that_is_revoked_in_the_same_call_are_left_to_its_new_consumer(place: Place) -> None:
    for partition in (0, 1):
        place.write(range(10 * partition, 10 * partition + 5), partition)
    conf, taken = {**place.group, "enable.partition.eof": False}, threading.Event()

    def look(stats: str) -> None:
        places = json.loads(stats)["topics"].get(place.topic, {"partitions": {}})["partitions"]
        if [places[number]["app_offset"] for number in ("0", "1") if number in places] == [5, 5]:
            taken.set()

    told = {"statistics.interval.ms": 100, "stats_cb": look}  # called inside read_batch
    first, second = place.consumer({**conf, **told}, keep=["partition"]), ArrowConsumer(conf)
    try:
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(first.read_batch, 11, SECONDS)  # one more than there are
            assert taken.wait(SECONDS)
            second.subscribe([place.topic])
            theirs = rows_of(second, 5)
            (mine,) = {0, 1} - {row["id"] // 10 for row in theirs}
            place.write(range(100, 106), mine)
            batch = reading.result(SECONDS)
        assert set(batch["partition"].to_pylist()) == {mine}
        assert ids(batch.to_pylist()) == [*range(10 * mine, 10 * mine + 5), *range(100, 106)]
    finally:
        first.close()
        second.close()


def test_rows_of_an_earlier_assignment_are_not_committed_in_a_later_one(place: Place) -> None:
    place.write(range(5))
    consumer = ArrowConsumer(conf := place.group)
    try:
        consumer.assign([TopicPartition(place.topic, 0, 0)])
        assert len(rows_of(consumer, 5)) == 5
        consumer.unassign()
        consumer.assign([TopicPartition(place.topic, 0, 0)])
        assert consumer.commit(asynchronous=False) == []  # another consumer may have committed more meanwhile
        assert place.committed(conf) == [-1001, -1001]
    finally:
        consumer.close()


def test_on_revoke_can_commit_what_was_returned(place: Place) -> None:
    place.write(range(5))
    conf = place.group
    consumer, other = ArrowConsumer(conf), ArrowConsumer(conf)
    consumer.subscribe([place.topic], on_revoke=lambda found, _: found.commit(asynchronous=False))
    try:
        assert len(rows_of(consumer, 5)) == 5
        other.subscribe([place.topic])
        until = time.monotonic() + SECONDS
        while place.committed(conf)[0] != 5 and time.monotonic() < until:
            consumer.read_batch(10, 0.2)
            assert other.read_batch(10, 0.2).num_rows == 0  # no row comes twice
        assert place.committed(conf)[0] == 5
    finally:
        consumer.close()
        other.close()


def test_a_paused_partition_waits(place: Place) -> None:
    place.write(range(5), 0)
    place.write(range(10, 15), 1)
    with place.consumer() as consumer:
        assert len(rows_of(consumer, 10)) == 10
        paused = [TopicPartition(place.topic, 0)]
        consumer.pause(paused)
        place.write(range(20, 25), 0)
        place.write(range(30, 35), 1)
        assert ids(rows_of(consumer, 5)) == [30, 31, 32, 33, 34]
        consumer.resume(paused)
        assert ids(rows_of(consumer, 5)) == [20, 21, 22, 23, 24]


def test_aborted_messages_are_no_rows_and_the_end_is_reached(place: Place) -> None:
    serializer = KafkaAvroSerializer({"schema.registry.url": place.registry}, ROW)
    producer = Producer({"bootstrap.servers": place.kafka, "transactional.id": place.topic})
    producer.init_transactions(SECONDS)
    for number, ends in enumerate(["commit", "abort", "commit", "abort"]):
        producer.begin_transaction()
        producer.produce(place.topic, serializer.serialize(place.topic, {"id": number}), partition=0)
        producer.flush(SECONDS)
        getattr(producer, f"{ends}_transaction")(SECONDS)
    with place.consumer({**place.group, "isolation.level": "read_committed"}, keep=["offset"]) as consumer:
        rows = []
        until = time.monotonic() + SECONDS
        while not consumer.at_end and time.monotonic() < until:
            rows += consumer.read_batch(10, 0.5).to_pylist()
        assert [(row["id"], row["offset"]) for row in rows] == [(0, 0), (2, 4)]
        assert consumer.at_end
        assert [each.offset for each in consumer.commit(asynchronous=False) or ()] == [5]


def test_several_topics_are_a_batch_each(place: Place, kafka: Kafka, registry: LocalRegistry) -> None:
    other = new_place(kafka, registry, 1)
    place.write(range(3), 1)
    other.write(range(5, 7))
    consumer = ArrowConsumer(conf := place.group, keep=["topic"])
    consumer.subscribe([place.topic, other.topic])
    try:
        with pytest.raises(ConfigError, match="2 topics"):
            consumer.read_batch(10, 5.0)
        found: dict[str, list[int]] = {}
        until = time.monotonic() + SECONDS
        while sum(map(len, found.values())) < 5 and time.monotonic() < until:
            for topic, batch in consumer.read_batches(10, 0.5).items():
                found.setdefault(topic, []).extend(batch["id"].to_pylist())
                assert set(batch["topic"].to_pylist()) == {topic}
        assert found == {place.topic: [0, 1, 2], other.topic: [5, 6]}
        consumer.commit(asynchronous=False)
        assert place.committed(conf) == [-1001, 3]
        assert other.committed(conf) == [2]
    finally:
        consumer.close()


@pytest.mark.parametrize("leaves", [False, True], ids=["subscribe", "unsubscribe and subscribe"])
def test_a_second_subscription_takes_the_place_of_the_first(
    place: Place, kafka: Kafka, registry: LocalRegistry, *, leaves: bool
) -> None:
    other = new_place(kafka, registry, 1)
    place.write(range(3), 1)
    other.write(range(5, 7))
    with place.consumer() as consumer:
        assert ids(rows_of(consumer, 3)) == [0, 1, 2]
        if leaves:
            consumer.unsubscribe()
        consumer.subscribe([other.topic])
        assert ids(rows_of(consumer, 2)) == [5, 6]


def test_messages_that_the_broker_refuses_are_counted_and_raised(kafka: Kafka, registry: LocalRegistry) -> None:
    place = new_place(kafka, registry, 1, **{"max.message.bytes": "1000"})
    with ArrowProducer({**place.conf, "linger.ms": 0, "batch.num.messages": 1}, place.topic, ROW) as producer:
        assert producer.write(pa.table({"id": [1, 2, 3], "note": ["x" * 5_000, "short", "y" * 5_000]})) == 3
        with pytest.raises(RefusedMessageError, match=r"refused 2 messages, the first: .*too large") as caught:
            producer.flush()
        assert (caught.value.count, producer.delivered) == (2, 1)
        assert producer.write(pa.table({"id": [4]})) == 1
    with place.consumer() as consumer:
        assert ids(rows_of(consumer, 2)) == [2, 4]


def test_rows_go_to_their_partition_with_their_key_headers_and_time(place: Place) -> None:
    header = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
    table = pa.table(
        {
            "id": [1, 2],
            "who": ["Ada", None],
            "to": pa.array([1, None], pa.int32()),
            "sent": pa.array([1_600_000_000_000_000, None], pa.timestamp("us", "UTC")),
            "more": pa.array([[{"key": "h", "value": b"1"}], None], header),
        }
    )
    names = {"key": "who", "partition": "to", "timestamp": "sent", "headers": "more"}
    began = time.time()
    with ArrowProducer(place.conf, place.topic, ROW, **names) as producer:
        producer.write(table)
    with place.consumer(keep=["key", "partition", "timestamp", "headers"]) as consumer:
        first, second = sorted(rows_of(consumer, 2), key=lambda row: row["id"])
    assert first["timestamp"].timestamp() == 1_600_000_000
    assert (first["key"], first["partition"], first["headers"]) == (b"Ada", 1, [{"key": "h", "value": b"1"}])
    assert (second["key"], second["headers"]) == (None, None)
    assert second["timestamp"].timestamp() >= began - 60


def test_consume_returns_every_message_with_its_own_error(place: Place) -> None:
    place.write(range(2))
    place.send(POISON, key=b"k")
    place.write(range(2, 4))
    deserializer = KafkaAvroDeserializer({"schema.registry.url": place.registry})
    conf = with_serdes(place.group, deserializer=deserializer)
    consumer = DeserializingConsumer({**conf, "enable.partition.eof": True})
    consumer.subscribe([place.topic])
    messages: list[Message] = []
    ended = 0
    until = time.monotonic() + SECONDS
    while (len(messages) < 5 or not ended) and time.monotonic() < until:
        for message in consumer.consume(5, 0.5):
            fault: Any = message.error()
            if fault is not None and fault.name() == "_PARTITION_EOF":  # as with a plain consumer
                ended += 1
            else:
                messages.append(message)
    consumer.close()
    assert [message.offset() for message in messages] == list(range(5))
    values: list[Any] = [message.value() for message in messages]
    assert values == [
        {"id": 0, "note": None},
        {"id": 1, "note": None},
        POISON,
        *({"id": n, "note": None} for n in (2, 3)),
    ]
    assert [message.error() is None for message in messages] == [True, True, False, True, True]
    fault = messages[2].error()
    assert isinstance(fault, UnreadMessageError)
    assert (fault.name(), messages[2].key()) == ("_VALUE_DESERIALIZATION", b"k")
    assert isinstance(fault.exception, ValueDeserializationError)
    assert isinstance(fault.exception.exception, DecodeError)
    assert fault.exception.kafka_message is messages[2]
    with pytest.raises((RuntimeError, KafkaException)):
        consumer.consume(1, 0.1)
