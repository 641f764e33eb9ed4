"""The command ``ping``: what answers, what the credentials permit, what to mend; and that it changes nothing."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from command import CommandLine, process
from confluent_kafka import KafkaError, KafkaException
from confluent_stand_in import ConfluentStandIn
from first_messages import send
from schemas import record

from streamnative_serdes._kafka import topics
from streamnative_serdes.cli import servers as module
from streamnative_serdes.testing import Fault, LocalRegistry, MockBroker

USER = record("User", ("name", "string"))
MISSING = Fault.status(401, "Unauthorized to validateTopicOperation for operation [PRODUCE]")
AWAY = ("--registry", "http://127.0.0.1:1", "--bootstrap", "127.0.0.1:1", "--set", "retries.first.ms=300")
NO_ADMIN = Fault.status(401, "Don't have permission to administrate resources on this tenant")


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """With one message, so that no test waits for what an empty partition may have."""
    with MockBroker({"users": 2, "empty": 1}) as broker:
        send(broker, "users", b"Ada")
        yield broker.bootstrap_servers


@pytest.fixture
def run(registry: LocalRegistry, bootstrap: str) -> CommandLine:
    """With a schema on the topic users."""
    run = CommandLine(registry.url, bootstrap)
    run("schemas", "register", "users", "-", stdin=json.dumps(USER))
    return run


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker does not say which operations it permits, as the mock broker does, but at once."""
    monkeypatch.setattr(topics, "AdminClient", lambda conf: Admin(None))


class Operation:
    def __init__(self, name: str) -> None:
        self.name = name


class Admin:
    """Stands in for Kafka's AdminClient: describes any topic with these operations; None fails."""

    def __init__(self, names: list[str] | None) -> None:
        self.names = names

    def describe_topics(self, _topics: Any, **_: Any) -> Any:
        return {"users": self}

    def result(self, _seconds: float) -> Any:
        if self.names is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        self.authorized_operations = [Operation(name) for name in self.names]
        return self


def goods(results: Any) -> dict[str, bool | None]:
    return {result["check"]: result["good"] for result in results}


def test_servers_and_rights_on_a_topic_are_checked(run: CommandLine) -> None:
    results = run("ping", "users", "--json").json
    assert goods(results) == {
        "registry: read": True,
        "registry: namespace public/default": True,
        "registry: register": True,
        "registry: administer": True,
        "broker": True,
        "broker: consume": True,
    }
    found = {result["check"]: result["found"] for result in results}
    assert found["registry: read"] == "answers; version 0, AVRO"
    assert found["registry: administer"] == "permitted; compatibility strategy FULL"
    assert found["broker"] == "answers; 1 broker; the topic has 2 partitions"


def test_ping_also_reads_messages_of_open_transactions(
    run: CommandLine, silent: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of committed messages would wait for the end of the transaction."""
    given = []
    reach_end = module.reach_end

    def noted(kafka: dict[str, Any], topic: str) -> Any:
        given.append(kafka["isolation.level"])
        return reach_end(kafka, topic)

    monkeypatch.setattr(module, "reach_end", noted)
    assert goods(run("ping", "users", "--json").json)["broker: consume"]
    assert given == ["read_uncommitted"]


def test_an_empty_topic_can_be_consumed_if_no_refusal_comes(run: CommandLine, silent: None) -> None:
    run("schemas", "register", "empty", "-", stdin=json.dumps(USER))
    results = run("ping", "empty", "--json").json
    assert goods(results)["broker: consume"]


def test_nothing_is_changed(run: CommandLine, registry: LocalRegistry, silent: None) -> None:
    for purpose in ("consume", "produce", "admin"):
        run("ping", "users", "--for", purpose)
        run("ping", "words", code=3)
    assert [entry.version for entry in registry.store.versions("public/default/users")] == [0]
    assert registry.store.versions("public/default/words") == []
    assert registry.store.delete("public/default/users") == 1


def test_without_a_topic_the_servers_are_checked(run: CommandLine) -> None:
    results = goods(run("ping", "--json").json)
    assert results == {
        "registry: read": True,
        "registry: namespace public/default": True,
        "registry: other rights": None,
        "broker": True,
    }


@pytest.mark.parametrize(
    ("fault", "match", "failing"),
    [
        (MISSING, "GET .*/schema$", {"consume", "produce", "admin"}),
        (MISSING, "POST .*/schema$", {"produce"}),
        (NO_ADMIN, "POST .*/compatibility$", {"admin"}),
        (Fault.status(401, "Unauthorized to validateNamespaceOperation"), "GET .*/persistent/", set()),
        (Fault.status(500, "x"), "GET .*/persistent/", set()),
    ],
)
def test_a_missing_right_fails_only_where_it_is_needed(
    run: CommandLine, registry: LocalRegistry, silent: None, fault: Fault, match: str, failing: set[str]
) -> None:
    registry.fail(fault, times=None, match=match)
    codes = {
        purpose: run("ping", "users", "--for", purpose, code=None).code for purpose in ("consume", "produce", "admin")
    }
    assert codes == {purpose: 3 if purpose in failing else 0 for purpose in codes}


def test_what_to_mend_is_said(run: CommandLine, registry: LocalRegistry, silent: None) -> None:
    registry.fail(MISSING, times=None, match="POST .*/schema$")
    ended = run("ping", "users", "--for", "produce", code=3)
    assert "registry: register" in ended.out
    hint, error = ended.err.splitlines()
    assert hint == "Hint: the role needs the right to produce"
    assert error.startswith("Error: registry: register: topic users: cannot register a schema: Unauthorized")


def test_a_namespace_that_does_not_exist_is_found_though_its_schemas_are_just_missing(run: CommandLine) -> None:
    ended = run("ping", "users", "--set", "pulsar.namespace=nope", "--bootstrap", "", "--json", code=3)
    assert goods(ended.json)["registry: namespace public/nope"] is False
    assert "check pulsar.tenant and pulsar.namespace" in ended.error["error"]["hint"]


def test_a_topic_that_the_broker_does_not_have_is_a_failure(run: CommandLine) -> None:
    ended = run("ping", "words", "--json", code=3)
    assert goods(ended.json)["broker"] is False
    assert "create the topic" in ended.error["error"]["hint"]


def test_servers_that_do_not_answer_are_failures_with_hints(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.5)
    ended = run("ping", "users", *AWAY, "--json", code=3)
    assert goods(ended.json) == {"registry: read": False, "broker": False}
    assert all(result["found"].startswith("topic users: ") for result in ended.json)
    assert "is Pulsar running" in ended.error["error"]["hint"]
    assert "is bootstrap.servers correct" in ended.error["error"]["hint"]


def test_a_wrong_port_is_two_lines_of_which_the_hint_is_the_first() -> None:
    hint, error = process("ping", *AWAY).stderr.splitlines()  # what is logged here goes to pytest
    assert hint.startswith("Hint: is schema.registry.url Pulsar's HTTP address, and is Pulsar running?")
    assert "; is bootstrap.servers correct" in hint
    assert error.startswith("Error: registry: read: cannot read the latest schema: no usable response from http://127")
    assert "; broker: no response from a Kafka broker at 127.0.0.1:1 within 5 s" in error


def test_a_registry_of_confluents_kind_is_no_registry_that_answers(run: CommandLine) -> None:
    with ConfluentStandIn() as other:
        ended = run("ping", "--registry", other.url, code=3)
    assert "registry: read" in ended.out
    assert "this is a Confluent-style registry: use Pulsar's HTTP address" in ended.out + ended.err
    assert "pulsar.namespace" not in ended.out + ended.err


def test_with_json_there_is_nothing_but_json_on_stderr() -> None:
    done = process("ping", *AWAY, "--json")
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["exit_code"] == done.returncode == 3
    assert goods(json.loads(done.stdout)) == {"registry: read": False, "broker": False}


def test_what_failed_is_explained_below_the_table(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.5)
    ended = run("ping", "--bootstrap", "127.0.0.1:1", code=3)
    assert ended.out.splitlines()[-1].split()[:3] == ["broker", "failed", "see"]
    assert [line.partition(":")[0] for line in ended.err.splitlines()] == ["Hint", "Error"]


@pytest.fixture
def mute() -> Iterator[str]:
    """A port that accepts connections and says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        yield f"127.0.0.1:{silent.getsockname()[1]}"


def test_a_port_that_says_nothing_is_not_waited_for_long(
    run: CommandLine, mute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    ended = run("ping", "--registry", f"http://{mute}", "--bootstrap", mute, "--json", code=3)
    assert all(result["millis"] < 15_000 for result in ended.json)  # by default, others wait for 60 and 20 s
    assert "is schema.registry.url Pulsar's HTTP address? If it is only slow" in ended.error["error"]["hint"]


def test_a_registry_that_is_only_slow_can_be_waited_for(run: CommandLine, mute: str) -> None:
    limit = ("--set", "retries.total.ms=700")
    ended = run("ping", "--registry", f"http://{mute}", "--bootstrap", "", *limit, "--json", code=3)
    assert re.search(r"in (0\.[7-9]|[1-9]\d*\.\d) s", ended.json[0]["found"])


def test_a_bad_option_is_a_usage_error(run: CommandLine) -> None:
    ended = run("ping", "users", "--set", "security.protocol=x", code=2)
    assert "Error: topic users: the Kafka client refuses its configuration" in ended.err


def test_one_server_alone_may_be_checked(run: CommandLine) -> None:
    assert goods(run("ping", "--bootstrap", "", "--json").json)["broker"] is None
    assert goods(run("ping", "--registry", "", "--json").json) == {"registry": None, "broker": True}
    run("ping", "--for", "produce", code=2)


@pytest.mark.parametrize(
    ("names", "good", "code"),
    [
        (None, None, 0),
        ([], None, 0),
        (["READ", "WRITE"], True, 0),
        (["ALL"], True, 0),
        (["READ", "DESCRIBE"], False, 3),
    ],
)
def test_a_broker_that_says_what_it_permits_is_believed(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, names: list[str] | None, good: bool | None, code: int
) -> None:
    monkeypatch.setattr(topics, "AdminClient", lambda conf: Admin(names))
    ended = run("ping", "users", "--for", "produce", "--json", code=code)
    (found,) = [result for result in ended.json if result["check"] == "broker: produce"]
    assert found["good"] is good
