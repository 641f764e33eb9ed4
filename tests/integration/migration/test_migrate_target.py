"""The target of a migration on a real Kafka: created as the source is, or checked, with each reason to refuse it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_stand_in import ConfluentStandIn
from plan_source import DAY, OLD, ROOM, PlanSource, names
from servers import Kafka

from streamnative_serdes._kafka import BrokerRefusedError, Cluster
from streamnative_serdes.migration import ProblemsError, State, ensure_target
from streamnative_serdes.migration.planning.target import batch_size

pytestmark = pytest.mark.usefixtures("nothing_is_known", "own_folder")


@pytest.mark.promise("same-target")
def test_the_target_is_created_as_the_source_is(kafka: Kafka, stand_in: ConfluentStandIn) -> None:
    settings = {"cleanup_policy": "compact", "retention_ms": "-1", "segment_ms": "70000", "compression_type": "zstd"}
    source = PlanSource(kafka, stand_in.url, 5, max_message_bytes="2000000", min_insync_replicas="1", **settings)
    found = source.found("--create", "--topic-config", "segment.ms=80000", "--topic-config", "compression.type=")
    assert found["target"]["created"]
    assert "missing-target" not in names(found)
    assert len(source.admin.list_topics(timeout=30).topics[source.target].partitions) == 5
    assert source.settings(source.target) == {
        "cleanup.policy": "compact",
        "max.message.bytes": "2000007",
        "min.insync.replicas": "1",
        "retention.ms": "-1",
        "segment.ms": "80000",
    }
    again = source.found("--create")
    assert (again["target"]["exists"], again["target"]["created"]) == (True, False)
    assert names(again) == ["no-subject", "no-messages"]
    assert source.found()["target"]["exists"]


def test_a_source_with_the_brokers_times_gets_a_target_that_keeps_them(
    kafka: Kafka, stand_in: ConfluentStandIn
) -> None:
    source = PlanSource(kafka, stand_in.url, message_timestamp_type="LogAppendTime")
    source.send(None)
    found = source.found("--create")
    assert "source-log-append-time" in names(found)
    assert source.settings(source.target)["message.timestamp.type"] == "CreateTime"


def test_a_blocked_plan_creates_nothing_and_keeps_its_findings(source: PlanSource) -> None:
    source.register({"type": "object"}, kind="JSON")
    source.plan("--no-probe", "--create", code=1)
    assert source.target not in source.topics()
    findings = State.load(Path(f"{source.name}-to-{source.target}.migration.json"), source.route()).findings
    assert findings is not None
    assert names(findings)[0] == "schema-type"


def test_a_dry_run_changes_nothing(source: PlanSource, tmp_path: Path) -> None:
    before = source.topics()
    text = source.plan("--dry-run", "--create").out
    assert "nothing was changed" in text
    assert "TARGET'S BROKER KEEPS" not in text
    assert source.topics() == before
    assert list(tmp_path.iterdir()) == []


def test_asking_for_a_topic_does_not_create_it(source: PlanSource) -> None:
    assert Cluster({"bootstrap.servers": source.bootstrap}, "t").topic(source.target) is None
    time.sleep(0.5)
    assert source.target not in source.topics()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("log-append-time", {"message_timestamp_type": "LogAppendTime"}),
        ("retention", {"retention_ms": str(2 * DAY)}),
        ("timestamp-bounds", {"message_timestamp_before_max_ms": str(2 * DAY)}),
        ("null-keys", {"cleanup_policy": "compact,delete", "retention_ms": "-1"}),
        ("message-size", {"max_message_bytes": "1048592"}),
    ],
)
def test_a_target_that_would_lose_or_change_messages_is_asked_about(
    source: PlanSource, name: str, settings: dict[str, str]
) -> None:
    source.create(source.target, **{"retention_ms": "-1", **ROOM, **settings})
    source.send(None, None, timestamp=OLD)
    accepted = ["--accept", "compaction"] if name == "null-keys" else []
    ended = source.plan("--json", "--no-probe", *accepted, code=1)
    assert ended.error["error"]["problems"] == [name]
    found = source.found(*accepted, "--accept", name)
    assert [problem["accepted"] for problem in found["problems"] if problem["name"] == name] == [True]
    assert ensure_target(source.route(), found).exists


def test_what_the_target_has_already_is_asked_about(source: PlanSource) -> None:
    source.create(source.target, **ROOM)
    assert names(source.found()) == ["strategy"]
    source.send(b"x", topic=source.target, partition=2)
    ended = source.plan("--json", "--no-probe", code=1)
    assert ended.error["error"]["problems"] == ["not-empty"]
    assert "up to 1 messages" in ended.json["problems"][0]["text"]
    source.plan("--no-probe", "--accept", "not-empty")


def test_what_the_broker_alters_by_a_setting_of_its_own_is_asked_about_before_the_target_exists(
    kafka: Kafka, stand_in: ConfluentStandIn
) -> None:
    """The copied retention is shorter than the age of a message that the source still has."""
    source = PlanSource(kafka, stand_in.url, retention_ms=str(DAY))
    source.send(None, timestamp=OLD)
    ended = source.plan("--json", "--no-probe", "--create", code=1)
    assert ended.error["error"]["problems"] == ["retention"]
    assert source.target not in source.topics()
    assert source.found("--create", "--topic-config", "retention.ms=-1")["target"]["created"]


def test_a_setting_that_the_broker_refuses_is_a_refusal(source: PlanSource) -> None:
    ended = source.plan("--no-probe", "--create", "--topic-config", "no.such=1", code=3)
    assert "Unknown topic config name: no.such" in ended.err
    assert source.target not in source.topics()


def test_ensure_target_is_idempotent_and_knows_copies_of_earlier_runs(source: PlanSource) -> None:
    route = source.route()
    with pytest.raises(BrokerRefusedError, match="does not exist"):
        ensure_target(route)
    assert ensure_target(route, create=True, dry_run=True).topic.partitions == 3
    assert source.target not in source.topics()
    assert [ensure_target(route, create=True).created for _ in range(2)] == [True, False]
    source.send(b"x", topic=source.target)
    source.producer.flush(30)
    assert ensure_target(route, resuming=True).exists


def test_a_topic_that_somebody_else_has_created_meanwhile_is_checked(
    source: PlanSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster({"bootstrap.servers": source.bootstrap}, "t")
    assert not cluster.create(source.name, 7, 1, {})
    found = cluster.topic(source.name)
    assert found is not None
    assert found.partitions == 3

    def late(_: Cluster, name: str, *__: Any) -> bool:
        source.create(name, 7, **ROOM)
        return False

    monkeypatch.setattr(Cluster, "create", late)
    with pytest.raises(ProblemsError, match=r"partitions: the source has 3 partitions, the target 7"):
        ensure_target(source.route(), create=True)
    source.admin.delete_topics([source.target])[source.target].result()
    ended = source.plan("--json", "--no-probe", "--create", code=1)
    assert ended.error["error"]["problems"] == ["partitions"]
    findings = State.load(Path(f"{source.name}-to-{source.target}.migration.json"), source.route()).findings
    assert findings is not None
    assert names(findings)[0] == "partitions"


def test_the_size_of_a_batch_is_the_one_that_the_broker_limits(source: PlanSource) -> None:
    value, key, headers = b"v" * 2_000, b"k" * 70, [("n", None), ("name" * 20, b"x" * 90)]
    size = batch_size(key, value, headers)
    for limit, accepted in ((size, True), (size - 1, False)):
        name = f"{source.target}-{limit}"
        source.create(name, 1, max_message_bytes=str(limit))
        outcome: list[Any] = []
        source.send(value, key, name, headers=headers, on_delivery=lambda error, _, to=outcome: to.append(error))
        source.producer.flush(30)
        assert (outcome[0] is None) == accepted


def test_what_a_new_topic_inherits_is_known_before_it_exists(source: PlanSource) -> None:
    """Kafka keeps messages for 168 hours, under another name than that of the topic's setting."""
    cluster = Cluster({"bootstrap.servers": source.bootstrap}, "t")
    made = cluster.topic(source.name)
    assert made is not None
    defaults = cluster.defaults()
    assert defaults["retention.ms"] == "604800000"
    assert defaults == {key: made.settings[key] for key in defaults}
    assert len(defaults) >= 6
