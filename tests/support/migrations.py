"""What tests of migrations share: a source topic in Confluent's framing, and topics as lists of messages."""

from __future__ import annotations

import json
import random
import struct
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from streamnative_serdes import header
from streamnative_serdes.codec import Codec
from streamnative_serdes.migration import Direction, Route, Side

SECONDS = 60.0
# The first message's timestamp, in milliseconds: an hour ago, since brokers delete what is older than seven days.
BEGIN = int(time.time() * 1000) - 3_600_000
_NAME: Any = {"name": "name", "type": "string"}
_AGE: Any = {"name": "age", "type": ["null", "int"], "default": None}
_PLACE: Any = {"name": "place", "type": ["null", "string", {"type": "record", "name": "Point", "fields": [
    {"name": "x", "type": "double"}, {"name": "y", "type": "double"}]}], "default": None}  # fmt: skip
_SINCE: Any = {"name": "since", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None}
# Four versions of one record, each with a field more.
VERSIONS: list[Any] = [
    {"type": "record", "name": "User", "namespace": "shop", "fields": [_NAME, *more]}
    for more in ([], [_AGE], [_AGE, _PLACE], [_AGE, _PLACE, _SINCE])
]

Parts = tuple[bytes | None, bytes | None, Any, tuple[int, int]]  # key, value, headers, type and value of the timestamp


@dataclass(frozen=True)
class Sent:
    """A message of a source, and what has to become of it; ``copy`` is None if it is a dead letter."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: Any
    timestamp: int
    copy: bytes | None = None
    bad: bool = False


def new_name(word: str) -> str:
    return f"{word}-{uuid.uuid4().hex[:10]}"


def create(bootstrap: str, *names: str, partitions: int = 3, **config: str) -> None:
    """Create topics; underscores in the names of settings stand for dots."""
    settings = {key.replace("_", "."): text for key, text in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, config=settings) for name in names]).values():
        future.result(SECONDS)


def register(url: str, subject: str, schemas: Iterable[Any], level: str = "NONE") -> list[int]:
    """Register schemas in a registry with Confluent's API, and return their ids."""
    requests.put(f"{url}/config/{subject}", json={"compatibility": level}, timeout=SECONDS)
    answers = [
        requests.post(f"{url}/subjects/{subject}/versions", json={"schema": json.dumps(schema)}, timeout=SECONDS)
        for schema in schemas
    ]
    return [answer.json()["id"] for answer in answers]


def user(number: int, version: int) -> dict[str, Any]:
    """The record of this number for a version of the schema."""
    places = [None, f"street {number}", {"x": number / 2, "y": -0.0}]
    values = {"name": f"user {number}", "age": number % 3 or None, "place": places[number % 3], "since": None}
    return {part["name"]: values[part["name"]] for part in VERSIONS[version]["fields"]}


def messages(
    count: int, ids: Sequence[int], *, partitions: int = 3, bad: int = 0, seed: int = 1, damaged: bool = True
) -> list[Sent]:
    """Messages of all kinds: versions, tombstones, keys, headers; ``bad`` of them cannot be copied.

    Args:
        count: how many.
        ids: of the four versions; version n of the target is that of ``ids[n]``.
        partitions: of the topic.
        bad: how many are corrupt, at random places.
        seed: of the places.
        damaged: whether bodies that cannot be decoded are among the corrupt ones.
    """
    draw = random.Random(seed)
    spoilt = set(draw.sample(range(count), bad))
    codecs = [Codec(schema) for schema in VERSIONS]
    found = []
    for number in range(count):
        version = number * len(ids) // count if number % 7 else number % len(ids)
        body = codecs[version].encode(user(number, version))
        value: bytes | None = header.pack_id(ids[version]) + body
        copy: bytes | None = header.pack(version) + body
        if number % 50 == 7:
            value = copy = None
        if number in spoilt:
            value, copy = _spoilt(number, header.pack_id(ids[version]), damaged), None
        place = number % partitions if number % 11 else draw.randrange(partitions)
        key = None if number % 13 == 1 else b"" if number % 13 == 2 else f"key {number % 1000}".encode()
        headers = [("trace", str(number).encode()), ("empty", b""), ("trace", b"\xff\xfe")] if number % 3 else None
        if number % 17 == 1:
            headers = [("null", None)]
        found.append(Sent(place, key, value, headers, BEGIN + number, copy, number in spoilt))
    return found


def _spoilt(number: int, prefix: bytes, damaged: bool) -> bytes:
    kinds = [b"", b"\0\0\0", b"\x01" + prefix[1:] + b"\x02A", struct.pack(">bi", 0, 2_000_000_000) + b"\x02A", b"{}"]
    kinds += [prefix + b"\x7f", prefix + b"\x02A\x00\x00\x00\x00\x00\x00\x00"] if damaged else []
    return kinds[number % len(kinds)]


def send(bootstrap: str, topic: str, sent: Iterable[Sent]) -> None:
    """Produce messages to their partitions, in order."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True})
    for message in sent:
        parts: dict[str, Any] = {"headers": message.headers, "timestamp": message.timestamp}
        while True:
            try:
                producer.produce(topic, message.value, message.key, message.partition, **parts)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(SECONDS) == 0


def commit(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Set a group's offsets."""
    places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    end = time.monotonic() + 2 * SECONDS
    while True:  # the first group of a broker waits for its coordinator
        asked = [ConsumerGroupTopicPartitions(group, places)]
        result = admin.alter_consumer_group_offsets(asked)[group].result(SECONDS)
        faults = [place.error for place in result.topic_partitions if place.error is not None]
        if not faults:
            return
        assert all(fault.name().endswith(("IN_PROGRESS", "AVAILABLE", "COORDINATOR")) for fault in faults), faults
        assert time.monotonic() < end


def read(bootstrap: str, topic: str, *, committed: bool = True) -> dict[int, list[Parts]]:
    """All messages of a topic, by partition."""
    conf: dict[str, Any] = {"bootstrap.servers": bootstrap, "group.id": "test", "enable.partition.eof": True}
    isolation = "read_committed" if committed else "read_uncommitted"
    consumer = Consumer({**conf, "isolation.level": isolation, "auto.offset.reset": "earliest"})
    try:
        partitions = sorted(consumer.list_topics(topic, SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: dict[int, list[Parts]] = {partition: [] for partition in partitions}
        left = set(partitions)
        while left:
            message = consumer.poll(SECONDS)
            assert message is not None
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF
                left.discard(message.partition())
            else:
                parts: Any = (message.key(), message.value(), message.headers(), message.timestamp())
                found[message.partition()].append(parts)  # type: ignore[index]
        return found
    finally:
        consumer.close()


def expected(sent: Iterable[Sent], partitions: int = 3) -> dict[int, list[Parts]]:
    """What the target has to hold."""
    found: dict[int, list[Parts]] = {partition: [] for partition in range(partitions)}
    for one in sent:
        if not one.bad:
            found[one.partition].append((one.key, one.copy, one.headers, (1, one.timestamp)))
    return found


class Gauge:
    """How many offsets a topic has used, aborted and uncommitted messages included; use it as a context manager."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer, self._topic = Consumer({"bootstrap.servers": bootstrap, "group.id": "gauge"}), topic
        self._partitions = self._consumer.list_topics(topic, SECONDS).topics[topic].partitions

    def __enter__(self) -> Gauge:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def __call__(self) -> int:
        places = (TopicPartition(self._topic, number) for number in self._partitions)
        return sum(high - low for low, high in (self._consumer.get_watermark_offsets(one, SECONDS) for one in places))


@dataclass
class Sides:
    """Arguments of ``migrate`` for the servers of a test."""

    confluent: str
    pulsar: str
    kafka: str
    more: Sequence[str] = field(default_factory=tuple)

    def route(self, source: str, target: str, direction: Direction = "forward") -> Route:
        registries = ({"schema.registry.url": url} for url in (self.confluent, self.pulsar))
        sides = (Side({"bootstrap.servers": self.kafka}, registry) for registry in registries)
        return Route(direction, source, target, *sides)

    def __call__(self, *arguments: str) -> list[str]:
        """The whole command line."""
        addresses = ["--source-registry", self.confluent, "--target-registry", self.pulsar]
        addresses += ["--source-bootstrap", self.kafka, "--target-bootstrap", self.kafka]
        return ["migrate", *arguments, *addresses, *self.more]
