"""The command ``ping`` at a real KoP: what it finds, what each role may, and a wrong port."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import CommandLine
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from kop_server import Kop
from migrations import new_name

USER: Any = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
BOB = b"\3\4" + bytes(8) + b"\6bob"

pytestmark = pytest.mark.usefixtures("nothing_is_known")


def goods(results: list[dict[str, Any]]) -> dict[str, bool | None]:
    return {result["check"]: result["good"] for result in results}


def put(kop: Kop, topic: str, **more: Any) -> None:
    """The first message, with which the topic comes into being."""
    producer = Producer({"bootstrap.servers": kop.kafka, "log_level": 2, **more})
    producer.produce(topic, BOB)
    assert producer.flush(30) == 0


def test_servers_and_rights_are_found(kop_as_delivered: Kop) -> None:
    kop, topic = kop_as_delivered, new_name("ping")
    run = CommandLine(kop.url, kop.kafka)
    assert goods(run("ping", "--json").json) == {
        "registry: read": True,
        "registry: namespace public/default": True,
        "registry: other rights": None,
        "broker": True,
    }
    run("schemas", "register", topic, "-", stdin=json.dumps(USER))
    put(kop, topic)
    results = run("ping", topic, "--for", "produce", "--json").json
    assert goods(results) == {
        "registry: read": True,
        "registry: namespace public/default": True,
        "registry: register": True,
        "registry: administer": True,
        "broker": True,
        "broker: consume": True,
        "broker: produce": None,  # which a KoP does not say
    }
    found = {result["check"]: result["found"] for result in results}
    assert found["broker"] == "answers; 1 broker; the topic has 1 partition"
    assert found["broker: consume"] == "permitted; 1 message"
    assert found["registry: administer"] == "permitted; compatibility strategy FULL"


def test_a_topic_that_does_not_exist_is_not_created(kop_as_delivered: Kop) -> None:
    topic, run = new_name("missing"), CommandLine(kop_as_delivered.url, kop_as_delivered.kafka)
    for _ in range(2):
        ended = run("ping", topic, code=3)
        assert ended.err.splitlines() == [
            "Hint: create the topic, or ask for the right to describe it",
            f"Error: broker: topic {topic}: the broker does not have the topic, or does not show it",
        ]


def test_an_empty_topic_can_be_consumed(kop_as_delivered: Kop) -> None:
    """A KoP says nothing about the end of a partition."""
    topic, run = new_name("empty"), CommandLine(kop_as_delivered.url, kop_as_delivered.kafka)
    admin = AdminClient({"bootstrap.servers": kop_as_delivered.kafka, "log_level": 2})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(60)
    results = run("ping", topic, "--json").json
    assert results[-1]["found"] == "permitted; 0 messages"


def test_an_open_transaction_is_no_hindrance(kop: Kop) -> None:
    topic, run = new_name("open"), CommandLine(kop.url, kop.kafka)
    put(kop, topic)
    producer = Producer({"bootstrap.servers": kop.kafka, "log_level": 2, "transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, BOB)
    producer.flush(30)
    try:
        assert goods(run("ping", topic, "--json").json)["broker: consume"] is True
    finally:
        producer.abort_transaction(60)


def test_swapped_ports_are_two_lines(kop_as_delivered: Kop) -> None:
    kafka, url = kop_as_delivered.kafka, kop_as_delivered.url
    ended = CommandLine(f"http://{kafka}", url.removeprefix("http://"))("ping", code=3)
    hint, error = ended.err.splitlines()
    assert hint.startswith("Hint: is this a port for Kafka clients or for Pulsar's binary protocol (pulsar://)?")
    assert "; is bootstrap.servers correct" in hint
    assert f"no usable response from http://{kafka}/" in error
    assert f"broker: no response from a Kafka broker at {url.removeprefix('http://')} within 5 s" in error
    assert ended.out == ""


@pytest.mark.parametrize(
    ("role", "permitted"), [("admin", {"consume", "produce", "admin"}), ("consume", {"consume"}), ("nobody", set())]
)
def test_each_role_is_told_what_it_may(kop_with_tokens: Kop, role: str, permitted: set[str], tmp_path: Path) -> None:
    kop, topic = kop_with_tokens, new_name(f"ping-{role}")
    admin = settings(kop, "admin", tmp_path)
    run = CommandLine()
    run("schemas", "register", topic, "-", "--config", admin, stdin=json.dumps(USER))
    run(
        "produce",
        topic,
        "--create",
        "--config",
        admin,
        "--set",
        "enable.idempotence=false",
        stdin='{"value":{"name":"a"}}',
    )
    own = settings(kop, role, tmp_path)
    purposes = ("consume", "produce", "admin")
    codes = {purpose: run("ping", topic, "--for", purpose, "--config", own, code=None).code for purpose in purposes}
    assert codes == {purpose: 0 if purpose in permitted else 3 for purpose in purposes}


def settings(kop: Kop, role: str, folder: Path) -> str:
    path, token = folder / f"{role}.toml", kop.token(role)
    path.write_text(
        f'[registry]\n"schema.registry.url" = "{kop.url}"\n"bearer.auth.token" = "{token}"\n'
        f'[kafka]\n"bootstrap.servers" = "{kop.kafka}"\n"security.protocol" = "SASL_PLAINTEXT"\n'
        f'"sasl.mechanism" = "PLAIN"\n"sasl.username" = "public/default"\n"sasl.password" = "token:{token}"\n'
    )
    path.chmod(0o600)
    return str(path)
