"""The topics that both sources read: with gaps, headers, lost messages, several partitions, and none."""

from __future__ import annotations

import time
import zlib
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

SECONDS = 60
OPEN = 3  # messages of a transaction that is still open
DAY = 1_700_000_000_000  # milliseconds since 1970: the first message's time


def delivered(error: KafkaError | None, _: Message) -> None:
    assert error is None, error


class Topics:
    """Topics of one run, whose names have a prefix of their own; ``{p}`` in options stands for it."""

    def __init__(self, servers: str, prefix: str | None = None) -> None:
        self.servers = servers
        self.prefix = prefix or f"cmp{time.time_ns()}"
        self.compacted: dict[str, int] = {}  # by topic, how many messages the broker leaves
        self.admin = AdminClient({"bootstrap.servers": servers})

    def options(self, given: dict[str, str]) -> dict[str, str]:
        filled = {name: value.replace("{p}", self.prefix) for name, value in given.items()}
        return {"kafka.bootstrap.servers": self.servers, **filled}

    def create(self, name: str, partitions: int, **config: str) -> str:
        topic = f"{self.prefix}-{name}"
        for future in self.admin.create_topics(
            [NewTopic(topic, partitions, config={"retention.ms": "-1", **config})]
        ).values():
            future.result(SECONDS)
        return topic

    def send(self, topic: str, numbers: range, partitions: int, **config: Any) -> None:
        """Message ``n`` has the time ``DAY + n`` seconds, and goes to partition ``n % partitions``."""
        producer = Producer({"bootstrap.servers": self.servers, **config})
        for n in numbers:
            self._produce(producer, topic, n, n % partitions)
        assert producer.flush(SECONDS) == 0

    def _produce(self, producer: Producer, topic: str, n: int, partition: int) -> None:
        headers = [("a", b"1"), ("b", None), ("a", b"")][: n % 4] or None
        # A compacted topic refuses messages without a key.
        key = None if n % 5 == 0 and topic not in self.compacted else f"k{n % 7}".encode()
        value = None if n % 11 == 0 else f"v{n}".encode()
        producer.produce(topic, value, key, partition, headers=headers, timestamp=DAY + n * 1000, on_delivery=delivered)

    def fill(self) -> None:
        self.send(self.create("plain", 3), range(120), 3)
        self.send(self.create("other", 1), range(10), 1)
        self.create("empty", 2)
        self.transactions(self.create("gaps", 1))
        self.compact()
        trimmed = self.create("trimmed", 1)
        self.send(trimmed, range(30), 1)
        self.trim(trimmed, 12)

    def compact(self) -> None:
        """Topics of which the broker keeps the last message of each of seven keys, of those that are not aborted.

        One has transactions, the last of which stays open.
        """
        config = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
        plain, transactional = (self.create(name, 1, **config) for name in ("compacted", "compacted-gaps"))
        self.compacted = {plain: 7 + 1, transactional: 7 + 1 + OPEN}
        self.send(plain, range(60), 1)
        self.transactions(transactional)
        time.sleep(0.3)
        for topic in self.compacted:
            self.send(topic, range(60, 61), 1)  # rolls the segment, so that the one before is cleaned
        conf = {"transactional.id": f"{transactional}-open", "transaction.timeout.ms": 900_000}
        self._open = Producer({"bootstrap.servers": self.servers, **conf})
        self._open.init_transactions(SECONDS)
        self._open.begin_transaction()
        for n in range(70, 70 + OPEN):
            self._produce(self._open, transactional, n, 0)
        assert self._open.flush(SECONDS) == 0

    def settle(self) -> None:
        """Wait until the broker has compacted the topics."""
        until = time.monotonic() + SECONDS
        while (counts := {topic: self._count(topic) for topic in self.compacted}) != self.compacted:
            assert time.monotonic() < until, f"expected {self.compacted} messages after compaction, got {counts}"
            time.sleep(1)

    def _count(self, topic: str) -> int:
        """The number of messages, whatever became of their transactions."""
        conf = {"group.id": "settle", "enable.partition.eof": True, "isolation.level": "read_uncommitted"}
        consumer, found = Consumer({"bootstrap.servers": self.servers, **conf}), 0
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            while (message := consumer.poll(5)) is not None and message.error() is None:
                found += 1
            assert message is not None
        finally:
            consumer.close()
        return found

    def transactions(self, topic: str) -> None:
        """Committed, aborted, and without a transaction, by turns; the last thing is an abort."""
        for number, ends in enumerate("cacna"):
            config = {} if ends == "n" else {"transactional.id": f"{topic}-{number}"}
            producer = Producer({"bootstrap.servers": self.servers, **config})
            if config:
                producer.init_transactions(SECONDS)
                producer.begin_transaction()
            for n in range(number * 10, number * 10 + 10):
                self._produce(producer, topic, n, 0)
            assert producer.flush(SECONDS) == 0
            if ends == "c":
                producer.commit_transaction(SECONDS)
            elif ends == "a":
                producer.abort_transaction(SECONDS)

    def trim(self, topic: str, offset: int) -> None:
        for future in self.admin.delete_records([TopicPartition(topic, 0, offset)]).values():
            future.result(SECONDS)

    def grow(self, topic: str, partitions: int) -> None:
        for future in self.admin.create_partitions([NewPartitions(topic, partitions)]).values():
            future.result(SECONDS)
        asked = {TopicPartition(topic, partitions - 1): OffsetSpec.latest()}
        until = time.monotonic() + SECONDS
        while True:
            try:
                for future in self.admin.list_offsets(asked).values():
                    future.result(SECONDS)
                return
            except Exception:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
                self.admin.list_topics(timeout=SECONDS)  # the client forgets what it knew of the leaders

    def fresh(self, name: str) -> Topics:
        """Topics for one stream: `s`, with two partitions and twenty messages."""
        made = Topics(self.servers, f"{self.prefix}-{zlib.crc32(name.encode()):08x}")
        made.send(made.create("s", 2), range(20), 2)
        return made
