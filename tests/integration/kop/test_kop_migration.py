"""A migration on a real KoP, there and back, with a transaction coordinator and as KoP is delivered."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import pytest
from command import CommandLine
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_stand_in import ConfluentStandIn
from kop_server import Kop
from migrations import VERSIONS, Gauge, Sent, Sides, create, expected, messages, new_name, register

from streamnative_serdes._kafka import bounds, committed_messages
from streamnative_serdes.migration.copying.messages import PLACE

SECONDS = 60.0
COUNT = 600
BAD = 6

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


def sent_to_kop(ids: list[int], count: int = COUNT) -> list[Sent]:
    """As for Kafka, without null headers and headers that are not text: a KoP with entryFormat=pulsar has neither."""
    found = messages(count, ids, bad=BAD, damaged=False)
    texts = [("trace", b"1"), ("empty", b""), ("trace", b"2")]
    return [
        Sent(one.partition, one.key, one.value, one.headers and texts, one.timestamp, one.copy, one.bad)
        for one in found
    ]


def send(kafka: str, topic: str, sent: Iterable[Sent]) -> None:
    failed: list[Any] = []
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 20, "max.in.flight": 1})
    for one in sent:
        producer.produce(
            topic, one.value, one.key, one.partition, headers=one.headers, timestamp=one.timestamp,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )  # fmt: skip
    assert producer.flush(SECONDS) == 0
    assert failed == []


def read(kafka: str, topic: str, partitions: int = 3) -> dict[int, list[Any]]:
    """All committed messages of a topic, by partition, without the places of copies; to the end by the position."""
    conf = {"bootstrap.servers": kafka, "group.id": "test", "auto.offset.reset": "error", "enable.auto.commit": False}
    consumer = Consumer(conf)
    found: dict[int, list[Any]] = {}
    try:
        for partition in range(partitions):
            place = TopicPartition(topic, partition, 0)
            low, high = consumer.get_watermark_offsets(place, SECONDS)
            consumer.unassign()
            consumer.assign([place])
            got, until = found.setdefault(partition, []), time.monotonic() + SECONDS
            while low < high and consumer.position([place])[0].offset < high:
                assert time.monotonic() < until, f"partition {partition} does not end"
                for message in consumer.consume(1000, 0.2):
                    assert message.error() is None
                    headers = [pair for pair in message.headers() or () if pair[0] != PLACE] or None
                    got.append((message.key(), message.value(), headers, message.timestamp()))
        return found
    finally:
        consumer.close()


class Migration:
    """A source in Confluent's framing on a KoP, and the commands that copy it within that KoP."""

    def __init__(self, kop: Kop, confluent: ConfluentStandIn, count: int = COUNT) -> None:
        self.kop, self.url = kop, confluent.url
        self.source, self.target = new_name("source"), new_name("target")
        self.ids = register(confluent.url, f"{self.source}-value", VERSIONS)
        create(kop.kafka, self.source)
        self.sent = sent_to_kop(self.ids, count)
        send(kop.kafka, self.source, self.sent)
        self.sides = Sides(confluent.url, kop.url, kop.kafka)
        self._run = CommandLine()

    def arguments(self, step: str, *more: str) -> list[str]:
        return self.sides(step, self.source, self.target, "--state", f"{self.target}.json", *more)

    def __call__(self, step: str, *more: str, code: int = 0) -> Any:
        ended = self._run(*self.arguments(step, *more, "--json"), code=code)
        return json.loads(ended.out.splitlines()[-1]) if code == 0 else ended.error["error"]

    def kill(self, *more: str) -> None:
        """Begin to copy, and kill that when the target has some messages."""
        command = [sys.executable, "-m", "streamnative_serdes", *self.arguments("topic", *more)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
            Gauge(self.kop.kafka, self.target) as used,
        ):
            while process.poll() is None and not used():
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)

    def check(self, copied: dict[str, Any]) -> None:
        assert (copied["lag"], copied["ended"]) == (0, True)
        assert read(self.kop.kafka, self.target) == expected(self.sent)


@pytest.mark.parametrize("more", [(), ("--transactions", "off")], ids=["default", "off"])
def test_a_topic_is_copied_on_a_kop_resumed_after_a_kill_and_again_with_nothing_left(
    kop: Kop, stand_in: ConfluentStandIn, more: tuple[str, ...]
) -> None:
    """By default without transactions, although there is a coordinator: see the next test."""
    migration = Migration(kop, stand_in)
    found = migration("plan", "--create")
    assert {problem["severity"] for problem in found["problems"]} == {"note"}
    assert "a KoP may show" in found["probe"]["reasons"]["transactions"]
    migration("schemas")
    migration.kill(*more)
    for _ in range(2):
        copied = migration("topic", *more)
        migration.check(copied)
        assert not copied["transactions"]
    letters = f"topic:{migration.target}.dead-letters"
    assert migration("verify", "--dead-letters", letters)["differences"] == []


def test_with_transactions_nothing_is_lost_on_a_kop_and_verify_names_what_a_killed_copy_has_left(
    kop: Kop, stand_in: ConfluentStandIn
) -> None:
    """After one kill of 20, a KoP shows what it has aborted (docs/migrate.md)."""
    migration = Migration(kop, stand_in)
    migration("schemas")
    migration.kill("--create", "--transactions", "on")
    copied = migration("topic", "--transactions", "on")
    assert (copied["lag"], copied["ended"], copied["transactions"]) == (0, True, True)
    letters = f"topic:{migration.target}.dead-letters"
    there, wanted = read(kop.kafka, migration.target), expected(migration.sent)
    exact = there == wanted and sum(map(len, read(kop.kafka, letters.removeprefix("topic:")).values())) == BAD
    assert [one for partition, those in wanted.items() for one in those if one not in there[partition]] == []
    ended = migration("verify", "--dead-letters", letters, code=0 if exact else 1)
    if exact:
        assert ended["differences"] == []
    else:
        assert "there more than once" in ended["message"] or not ended["message"].startswith("0 differences")


def test_without_a_plan_a_kop_is_copied_to_without_transactions(kop: Kop, stand_in: ConfluentStandIn) -> None:
    migration = Migration(kop, stand_in, 60)
    migration("schemas")
    assert not migration("topic", "--create")["transactions"]


def test_decode_shows_a_copy_with_transactions_to_its_end(kop: Kop, stand_in: ConfluentStandIn) -> None:
    migration = Migration(kop, stand_in, 60)
    migration("schemas")
    migration("topic", "--create", "--transactions", "on")
    ended = CommandLine(kop.url, kop.kafka)("decode", migration.target)
    assert len(ended.lines) == sum(not one.bad for one in migration.sent)


def test_a_group_goes_on_at_the_copies_of_its_next_messages_on_a_kop(kop: Kop, stand_in: ConfluentStandIn) -> None:
    """A KoP lists the offsets of a group under other names of the topic."""
    migration = Migration(kop, stand_in, 60)
    group = {"bootstrap.servers": kop.kafka, "group.id": migration.source, "enable.auto.commit": False}
    consumer = Consumer(group)
    assert consumer.commit(offsets=[TopicPartition(migration.source, 0, 2)], asynchronous=False)[0].error is None
    consumer.close()
    migration("schemas")
    bad = sum(one.bad for one in [one for one in migration.sent if one.partition == 0][:2])
    (moved,) = migration("topic", "--create", "--groups", migration.source)["groups"]
    assert (moved["partition"], moved["source"], moved["target"]) == (0, 2, 2 - bad)


def test_the_way_back_on_a_kop(kop: Kop, stand_in: ConfluentStandIn) -> None:
    migration = Migration(kop, stand_in, 60)
    migration("schemas")
    migration("topic", "--create")
    forth, back = f"{migration.target}.json", new_name("back")
    run = CommandLine()
    arguments = migration.sides  # the sides are Confluent's and Pulsar's, in either direction
    names = [migration.target, back, "--back", "--state", f"{back}.json"]
    run(*arguments("plan", *names))
    run(*arguments("schemas", *names, "--ids-of", forth))
    run(*arguments("topic", *names, "--create", "--from", "beginning"))
    assert json.loads(run(*arguments("verify", *names, "--json")).out.splitlines()[-1])["differences"] == []
    original = [
        Sent(one.partition, one.key, one.value, one.headers, one.timestamp, one.value, one.bad)
        for one in migration.sent
    ]
    assert read(kop.kafka, back) == expected(original)


def test_a_kop_as_delivered_is_copied_to_without_transactions(
    kop_as_delivered: Kop, stand_in: ConfluentStandIn
) -> None:
    migration = Migration(kop_as_delivered, stand_in)
    found = migration("plan", "--create")
    assert {problem["severity"] for problem in found["problems"]} == {"note"}
    assert not found["probe"]["transactions"]
    migration("schemas")
    migration.kill()
    for _ in range(2):
        copied = migration("topic")
        migration.check(copied)
        assert not copied["transactions"]
    assert migration("verify", "--dead-letters", f"topic:{migration.target}.dead-letters")["differences"] == []


def test_what_asks_a_kop_as_delivered_for_transactions_or_idempotence_by_name_is_told_soon(
    kop_as_delivered: Kop, stand_in: ConfluentStandIn
) -> None:
    migration = Migration(kop_as_delivered, stand_in, 60)
    migration("schemas")
    began = time.monotonic()
    error = migration("topic", "--create", "--transactions", "on", code=1)
    assert "gives no transactions: the brokers give no producer ids" in error["message"]
    assert "--transactions off" in error["hint"]
    error = migration("topic", "--create", "--transactions", "off", "--set", "target.enable.idempotence=true", code=2)
    assert "enable.idempotence=true: nothing would be delivered" in error["message"]
    assert time.monotonic() - began < 30.0
    run = CommandLine(kop_as_delivered.url, kop_as_delivered.kafka)
    ended = run("produce", migration.source, "--set", "enable.idempotence=true", "--json", stdin="", code=2)
    assert "enable.idempotence=true" in ended.error["error"]["message"]
    assert bounds({"bootstrap.servers": kop_as_delivered.kafka}, migration.target) == {}  # nothing was created


def test_what_a_killed_copy_has_left_open_does_not_stop_the_next_one(kop: Kop) -> None:
    """A KoP counts messages of open transactions as part of the topic, and nobody may read them."""
    topic = new_name("open")
    create(kop.kafka, topic, partitions=1)
    producer = Producer({"bootstrap.servers": kop.kafka, "transactional.id": topic, "log_level": 2})
    producer.init_transactions(SECONDS)
    for value in (b"committed", b"open"):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(SECONDS) == 0
        if value == b"committed":
            producer.commit_transaction(SECONDS)
    found = [message.value() for message in committed_messages({"bootstrap.servers": kop.kafka}, topic)]
    assert found == [b"committed"]
    producer.abort_transaction(SECONDS)
