"""The probe of a migration on a real Kafka and Pulsar: what it finds, that nothing is left, and the rights it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from command import CommandLine, Ended
from confluent_stand_in import ConfluentStandIn
from plan_source import AWAY, ROOM, PlanSource
from servers import Kafka, Pulsar

from streamnative_serdes._kafka import BrokerRefusedError, Cluster
from streamnative_serdes.migration.planning import probe as probe_module
from streamnative_serdes.migration.planning.probe import CASES, probe
from streamnative_serdes.migration.planning.source_messages import Tally

# The command line, which waits within its probe, when the scratch topic is there.
WAITS_IN_THE_PROBE = """
import time
from streamnative_serdes.cli import main
from streamnative_serdes.migration.planning import probe

def wait(*_):
    print("probing", flush=True)
    time.sleep(60)

probe._transactions = wait
main()
"""

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


def test_kafka_keeps_everything_and_the_scratch_topic_is_gone(source: PlanSource) -> None:
    found = source.plan("--json").json
    assert found["probe"] == {**dict.fromkeys((*CASES, "timestamps", "transactions"), True), "reasons": {}}
    source.wait_until_no_scratch()
    assert source.found()["probe"] == found["probe"], "a later plan without a probe keeps it"


@pytest.mark.parametrize(
    ("settings", "broken"),
    [
        ({"message.timestamp.type": "LogAppendTime"}, {"timestamps"}),
        ({"cleanup.policy": "compact"}, {"null_keys"}),
    ],
)
def test_the_probe_finds_what_a_broker_alters(
    source: PlanSource, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], broken: set[str]
) -> None:
    create = Cluster.create
    monkeypatch.setattr(
        Cluster, "create", lambda self, name, count, replicas, _: create(self, name, count, replicas, settings)
    )
    found = probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    assert {case for case, kept in found.kept.items() if not kept} == broken == set(found.reasons)
    source.wait_until_no_scratch()


@pytest.mark.promise("nothing-left")
@pytest.mark.parametrize(
    ("place", "error"),
    [("_transactions", KeyboardInterrupt), ("_read", BrokerRefusedError("no")), ("_difference", ZeroDivisionError)],
)
def test_the_scratch_topic_is_deleted_whatever_happens(
    source: PlanSource, monkeypatch: pytest.MonkeyPatch, place: str, error: Any
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(probe_module, place, fail)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    source.wait_until_no_scratch()


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokerRefusedError])
def test_a_scratch_topic_that_cannot_be_deleted_after_an_error_is_named(
    source: PlanSource, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    def fail(*_: Any) -> None:
        raise error("first")

    def refuse(*_: Any) -> None:
        raise BrokerRefusedError("second")

    with monkeypatch.context() as patched:
        patched.setattr(probe_module, "_transactions", fail)
        patched.setattr(Cluster, "delete", refuse)
        with pytest.raises(error, match="first"):
            probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    (name,) = source.scratch
    assert f"topic {name} could not be deleted: second" in caplog.text
    source.admin.delete_topics([name])[name].result()


def test_ctrl_c_while_sampling_leaves_nothing(
    source: PlanSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tally, "add", interrupt)
    before = set(source.topics())
    source.plan("--create", code=130)
    assert {topic for topic in source.topics() if not topic.startswith("__")} <= before  # Kafka's own topics begin so
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_probe_deletes_the_scratch_topic(
    source: PlanSource, tmp_path: Path, signal_: signal.Signals
) -> None:
    command = [sys.executable, "-c", WAITS_IN_THE_PROBE, *source.arguments("--create")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"probing\n"
        assert source.scratch != []
        process.send_signal(signal_)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    source.wait_until_no_scratch()
    assert source.target not in source.topics()
    assert list(tmp_path.iterdir()) == []


def test_a_topic_that_kafka_does_not_delete_is_deleted_at_pulsar(
    source: PlanSource, pulsar: Pulsar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A KoP never answers. The topic is at Pulsar under the same name."""
    admin = f"{pulsar.url}/admin/v2/persistent/public/default"
    monkeypatch.setattr(Cluster, "is_kop", True)
    source.other_registry = pulsar.url
    cluster = Cluster({"bootstrap.servers": source.bootstrap}, "t", source.route().pulsar_registry)
    assert requests.put(f"{admin}/{source.target}/partitions", json=1, timeout=60).status_code == 204
    cluster.delete(source.target, 10.0)
    assert requests.get(f"{admin}/{source.target}/partitions", timeout=60).json().get("partitions") in (0, None)
    source.other_registry = AWAY
    found = probe(
        source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t", source.route().pulsar_registry), 1
    )
    assert found.left is not None
    (name,) = source.scratch
    assert f"topic {name} could not be deleted" in found.left
    source.admin.delete_topics([name])[name].result()


def test_a_partitioned_topic_is_deleted_with_its_messages(pulsar: Pulsar, source: PlanSource) -> None:
    source.other_registry = pulsar.url
    path = f"{pulsar.url}/admin/v2/persistent/public/default/{source.target}"
    assert requests.put(f"{path}/partitions", json=3, timeout=60).status_code == 204
    with source.route().pulsar_registry() as client:
        for _ in range(2):  # the second time, it does not exist
            client.delete_topic(source.target)
    listed = requests.get(f"{pulsar.url}/admin/v2/persistent/public/default/partitioned", timeout=60).json()
    assert not [name for name in listed if name.endswith(f"/{source.target}")]


# Rights


@pytest.fixture(scope="module")
def guarded_kafka(servers_at_hand: None) -> Iterator[Kafka]:
    """A Kafka where user ``me`` may do only what ACLs permit."""
    with Kafka(users={"me": "secret"}, rights=True) as server:
        yield server


@pytest.fixture
def guarded(guarded_kafka: Kafka, stand_in: ConfluentStandIn) -> PlanSource:
    source = PlanSource(guarded_kafka, stand_in.url)
    source.send(None)
    source.producer.flush(30)
    source.create(source.target, **ROOM)
    source.bootstrap = guarded_kafka.sasl_servers
    return source


def allow(source: PlanSource, topic: str, *operations: str) -> None:
    from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    for operation in operations:
        binding = AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.PREFIXED,
            "User:me",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        source.admin.create_acls([binding])[binding].result()


def signed_in(source: PlanSource, *more: str, code: int) -> Ended:
    options = [
        f"{side}.{name}"
        for side in ("source", "target")
        for name in ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=me")
    ]
    secrets = [f"{side}.sasl.password=env:PASSWORD" for side in ("source", "target")]
    sets = [part for option in options for part in ("--set", option)]
    sets += [part for secret in secrets for part in ("--secret", secret)]
    return CommandLine(more={"PASSWORD": "secret"})(*source.arguments(*sets, *more), code=code)


def test_each_missing_right_is_named(guarded: PlanSource) -> None:
    """One after the other is granted; ACLs take a moment to arrive."""
    rights = [
        ("DESCRIBE on the topic", guarded.name, "DESCRIBE"),
        ("DESCRIBE_CONFIGS on the topic", guarded.name, "DESCRIBE_CONFIGS"),
        ("DESCRIBE on the topic", guarded.target, "DESCRIBE"),
        ("DESCRIBE_CONFIGS on the topic", guarded.target, "DESCRIBE_CONFIGS"),
        ("to consume from the topic", guarded.name, "READ"),
    ]
    for right, topic, operation in rights:
        ended = signed_in(guarded, "--no-probe", code=3)
        assert f"the user needs the right {right}" in ended.err, ended.err
        assert topic in ended.err
        allow(guarded, topic, operation)
        time.sleep(1)
    signed_in(guarded, "--no-probe", code=0)
    guarded.target += "-missing"  # the rights are those of names that begin so
    found = signed_in(guarded, "--no-probe", "--json", code=0).json
    assert found["target"]["exists"] is False
    guarded.target = guarded.target.removesuffix("-missing")
    refused = signed_in(guarded, code=3).err
    assert "--no-probe leaves the probe out" in refused
    assert "CREATE on the topic" in refused
    allow(guarded, guarded.target, "CREATE")
    time.sleep(1)
    refused = signed_in(guarded, code=3).err
    assert "WRITE" in refused
    left = guarded.scratch
    for name in left:  # without the right to delete it, its name is all that can be said
        assert name in refused
        guarded.admin.delete_topics([name])[name].result()
