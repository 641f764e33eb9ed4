"""The command line at a real Pulsar and a real Kafka: numbers of schemas, rights, times, transactions."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
import requests
from command import CommandLine
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from schemas import record
from servers import Kafka, Pulsar, Tokens

from streamnative_serdes import header

USER = record("User", ("name", "string"))
SECOND = record("User", ("name", "string"), ("age", ["null", "int"], None))
OTHER = record("Order", ("id", "long"))
PURPOSES = ["consume", "produce", "admin"]  # each role may what the ones before it may
ADA = header.pack(0) + b"\x06Ada"

pytestmark = pytest.mark.usefixtures("nothing_is_known")


@pytest.fixture
def topic() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def run(pulsar: Pulsar, kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(pulsar.url, kafka.bootstrap_servers)


def put(run: CommandLine, topic: str, *schemas: Any) -> None:
    for schema in schemas:
        run("schemas", "register", topic, "-", stdin=json.dumps(schema))


def numbers(run: CommandLine, topic: str) -> list[tuple[int, Any]]:
    found = run("schemas", "get", topic, "--all", "--json").json
    return [(one["version"], json.loads(one["text"])) for one in found]


def soft_delete(pulsar: Pulsar, topic: str) -> int:
    """The number that the deletion took, which is the one that the next schema would have had."""
    answer = requests.delete(f"{pulsar.url}/admin/v2/schemas/public/default/{topic}/schema", timeout=60)
    return int(answer.json()["version"])


@pytest.mark.parametrize(("first", "force"), [(0, ("--force",)), (3, ())], ids=["by force", "deleted"])
def test_schemas_come_back_with_their_numbers(
    run: CommandLine, pulsar: Pulsar, topic: str, first: int, force: tuple[str, ...]
) -> None:
    for _ in range(first):
        soft_delete(pulsar, topic)
    put(run, topic, USER, SECOND)
    before = numbers(run, topic)
    assert [number for number, _ in before] == [first, first + 1]
    run("schemas", "delete", topic, "--yes", "--backup", "b.json", *force)
    run("schemas", "get", topic, code=3)
    run("schemas", "restore", "b.json")
    assert numbers(run, topic) == before


def test_a_restoration_that_a_strategy_refuses_changes_nothing(run: CommandLine, pulsar: Pulsar) -> None:
    """The topic is in a namespace of its own, whose strategy can be changed."""
    namespace = f"public/{uuid.uuid4().hex[:12]}"
    topic = f"persistent://{namespace}/t"

    def strategy(name: str) -> None:
        path = f"{pulsar.url}/admin/v2/namespaces/{namespace}/schemaCompatibilityStrategy"
        assert requests.put(path, json=name, timeout=60).status_code == 204

    assert requests.put(f"{pulsar.url}/admin/v2/namespaces/{namespace}", timeout=60).status_code == 204
    strategy("ALWAYS_COMPATIBLE")
    put(run, topic, USER, OTHER)
    run("schemas", "delete", topic, "--yes", "--backup", "b.json")
    strategy("FULL")
    assert "nothing was changed" in run("schemas", "restore", "b.json", code=1).err
    run("schemas", "get", topic, code=3)
    strategy("ALWAYS_COMPATIBLE")
    run("schemas", "restore", "b.json")
    assert numbers(run, topic) == [(0, USER), (1, OTHER)]


@pytest.mark.parametrize(
    ("role", "permitted"),
    [("consume", {"consume"}), ("produce", {"consume", "produce"}), ("admin", {"consume", "produce", "admin"})],
)
def test_ping_knows_what_a_role_may(
    pulsar_with_tokens: Pulsar, tokens: Tokens, topic: str, role: str, permitted: list[str]
) -> None:
    admin = CommandLine(pulsar_with_tokens.url, more={"TOKEN": tokens.of("admin")})
    secret = ("--secret", "bearer.auth.token=env:TOKEN")
    admin("schemas", "register", topic, "-", *secret, stdin=json.dumps(USER))
    run = CommandLine(pulsar_with_tokens.url, more={"TOKEN": tokens.of(role)})
    codes = {
        purpose: run("ping", topic, "--for", purpose, *secret, code=None).code
        for purpose in ("consume", "produce", "admin")
    }
    assert {purpose for purpose, code in codes.items() if code == 0} == permitted
    assert set(codes.values()) <= {0, 3}
    without = CommandLine(pulsar_with_tokens.url)("ping", topic, code=3)
    assert "Hint: " in without.err


def make(kafka: Kafka, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})  # which ends what it does when it is dropped
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(60)


def test_messages_of_the_last_minutes_are_shown(run: CommandLine, kafka: Kafka, topic: str) -> None:
    put(run, topic, USER)
    make(kafka, topic)
    now = int(time.time() * 1000)
    sending = producer(kafka)
    for minutes in (90, 20, 5):
        sending.produce(topic, ADA, timestamp=now - minutes * 60_000)
    assert sending.flush(60) == 0
    for age, offsets in (("-10m", [2]), ("-1h", [1, 2]), ("-1d", [0, 1, 2]), ("-10s", [])):
        assert [one["offset"] for one in run("decode", topic, "--from", age).lines] == offsets
    assert [one["offset"] for one in run("tail", topic, "--from", "-2").lines] == [1, 2]


def producer(kafka: Kafka, **more: Any) -> Producer:
    return Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )


@pytest.mark.parametrize("last", ["committed", "aborted", "open"])
def test_the_end_of_a_topic_with_transactions_is_found(run: CommandLine, kafka: Kafka, topic: str, last: str) -> None:
    """What ends a partition is then no message; aborted messages and those of an open transaction are not shown."""
    make(kafka, topic)
    put(run, topic, USER)
    sender = producer(kafka, transactional_id=topic)
    sender.init_transactions(60)
    for number, end in enumerate((sender.commit_transaction, sender.abort_transaction, sender.commit_transaction)):
        sender.begin_transaction()
        sender.produce(topic, ADA, key=str(number))
        assert sender.flush(60) == 0
        end(60)
    expected = ["0", "2"]
    if last != "committed":
        sender.begin_transaction()
        sender.produce(topic, ADA, key="3")
        assert sender.flush(60) == 0
    if last == "aborted":
        sender.abort_transaction(60)
    begun = time.monotonic()
    assert [one["key"] for one in run("decode", topic).lines] == expected
    assert time.monotonic() - begun < 25  # it does not wait for messages that will not come
    if last == "open":
        sender.abort_transaction(60)


def test_what_is_decoded_is_produced_again_byte_for_byte(run: CommandLine, kafka: Kafka, topic: str) -> None:
    for name in (topic, f"{topic}-copy"):
        make(kafka, name, 3)
        put(run, name, USER, SECOND)
    sender = producer(kafka)
    for number in range(300):
        value = None if number % 7 == 0 else header.pack(1) + b"\x06Ada" + (b"\x00" if number % 2 else b"\x02\x48")
        sender.produce(topic, value, key=b"\xff%d" % number, headers=[("n", b"%d" % number), ("none", None)])
    assert sender.flush(60) == 0
    shown = run("decode", topic).out
    run("produce", f"{topic}-copy", stdin=shown)
    again = run("decode", f"{topic}-copy").lines

    def in_order(lines: list[Any]) -> list[Any]:
        return sorted(({**one, "topic": ""} for one in lines), key=lambda one: (one["partition"], one["offset"]))

    assert in_order(again) == in_order([json.loads(one) for one in shown.splitlines()])


def test_a_kafka_says_what_it_permits(run: CommandLine, kafka: Kafka, topic: str) -> None:
    make(kafka, topic)
    put(run, topic, USER)
    results = {one["check"]: one["good"] for one in run("ping", topic, "--for", "produce", "--json").json}
    assert results["broker: consume"] is True
    assert results["broker: produce"] in (True, None)  # None where it has no authorizer to ask


def test_strategies_of_topics_and_namespaces_are_set_and_shown(run: CommandLine, pulsar: Pulsar) -> None:
    namespace = f"public/{uuid.uuid4().hex[:12]}"
    topic = f"persistent://{namespace}/t"
    for path in (f"namespaces/{namespace}", f"persistent/{namespace}/t"):
        assert requests.put(f"{pulsar.url}/admin/v2/{path}", timeout=60).status_code == 204

    def shown() -> tuple[Any, Any]:
        found = run("schemas", "strategy", "get", topic, "--json").json
        return found["own"], found["namespace"]

    assert shown() == (None, None)
    run("schemas", "strategy", "set", namespace, "ALWAYS_COMPATIBLE")
    assert shown() == (None, "ALWAYS_COMPATIBLE")
    put(run, topic, USER, OTHER)
    run("schemas", "strategy", "set", namespace, "UNDEFINED")
    assert shown() == (None, None)
    assert (
        "topic level policies" in run("schemas", "strategy", "set", topic, "FORWARD", code=3).err.lower()
    )  # off there
