"""The topics that both sources read: with gaps, headers, lost messages, several partitions, and none."""

from __future__ import annotations

import time
import zlib
from typing import Any

from confluent_kafka import KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

SECONDS = 60
DAY = 1_700_000_000_000  # milliseconds since 1970: the first message's time


def delivered(error: KafkaError | None, _: Message) -> None:
    assert error is None, error


class Topics:
    """Topics of one run, whose names have a prefix of their own; ``{p}`` in options stands for it."""

    def __init__(self, servers: str, prefix: str | None = None) -> None:
        self.servers = servers
        self.prefix = prefix or f"cmp{time.time_ns()}"
        self.compacted = ""
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
        key = None if n % 5 == 0 and topic != self.compacted else f"k{n % 7}".encode()
        value = None if n % 11 == 0 else f"v{n}".encode()
        producer.produce(topic, value, key, partition, headers=headers, timestamp=DAY + n * 1000, on_delivery=delivered)

    def fill(self) -> None:
        self.send(self.create("plain", 3), range(120), 3)
        self.send(self.create("other", 1), range(10), 1)
        self.create("empty", 2)
        self.transactions(self.create("gaps", 1))
        self.compacted = self.create(
            "compacted", 1, **{"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
        )
        self.send(self.compacted, range(60), 1)
        time.sleep(0.3)
        self.send(self.compacted, range(60, 61), 1)  # rolls the segment, so that the one before is cleaned
        trimmed = self.create("trimmed", 1)
        self.send(trimmed, range(30), 1)
        self.trim(trimmed, 12)

    def settle(self) -> None:
        """Wait until the broker has compacted the topic."""
        from confluent_kafka import Consumer

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "settle", "enable.partition.eof": True})
        until = time.monotonic() + SECONDS
        try:
            while time.monotonic() < until:
                consumer.assign([TopicPartition(self.compacted, 0, 0)])
                offsets = []
                while True:
                    message = consumer.poll(5)
                    assert message is not None
                    if message.error() is not None:
                        break
                    offsets.append(message.offset())
                if len(offsets) < 61:
                    return
                time.sleep(1)
        finally:
            consumer.close()
        raise AssertionError("the topic was not compacted")

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
