"""``migrate plan`` at a real Kafka, Apicurio and Pulsar: what it finds, creates, refuses, and leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from command import CommandLine, Ended
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]
from confluent_stand_in import ConfluentStandIn
from schemas import record
from servers import ConfluentRegistry, Kafka, Pulsar

from streamnative_serdes import header
from streamnative_serdes._kafka import BrokerRefusedError
from streamnative_serdes.migration import Looking, ProblemsError, Route, Side, State, ensure_target, plan
from streamnative_serdes.migration import probe as probe_module
from streamnative_serdes.migration.cluster import Cluster
from streamnative_serdes.migration.probe import CASES, probe
from streamnative_serdes.migration.sampling import Sample
from streamnative_serdes.migration.settings import batch_size
from streamnative_serdes.migration.tally import Tally

AWAY = "http://127.0.0.1:1"
DAY = 86_400_000
VERSIONS = [
    record("Order", ("id", "long"), *((f"f{extra}", ["null", "int"], None) for extra in range(count)), namespace="shop")
    for count in range(4)
]

pytestmark = pytest.mark.usefixtures("nothing_is_known")


class Source:
    """A topic with messages, and the registry that has their schemas."""

    def __init__(self, kafka: Kafka, registry: str, partitions: int = 3, **settings: str) -> None:
        self.name, self.target = f"plan-{uuid.uuid4().hex[:12]}", f"out-{uuid.uuid4().hex[:12]}"
        self.bootstrap, self.registry, self.other_registry = kafka.bootstrap_servers, registry, AWAY
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        self.create(self.name, partitions, **settings)
        self.producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def create(self, name: str, partitions: int = 3, **settings: str) -> None:
        config = {key.replace("_", "."): value for key, value in settings.items()}
        self.admin.create_topics([NewTopic(name, partitions, config=config)])[name].result()
        until = time.monotonic() + 30
        while name not in self.topics() and time.monotonic() < until:
            time.sleep(0.05)

    def topics(self) -> list[str]:
        return list(self.admin.list_topics(timeout=30).topics)

    @property
    def scratch(self) -> list[str]:
        return [name for name in self.topics() if name.startswith(f"{self.target}.migration-probe-")]

    def settings(self, name: str) -> dict[str, str]:
        """Those that were set for the topic."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        found = self.admin.describe_configs([resource])[resource].result()
        return {key: entry.value for key, entry in found.items() if entry.source == 1}

    def send(self, value: bytes | None, key: bytes | None = b"k", topic: str | None = None, **more: Any) -> None:
        self.producer.produce(topic or self.name, value, key, partition=more.pop("partition", 0), **more)

    def register(self, schema: Any, subject: str | None = None, kind: str = "AVRO", **more: Any) -> int:
        body = {"schema": json.dumps(schema), "schemaType": kind, **more}
        url = f"{self.registry}/subjects/{subject or f'{self.name}-value'}/versions"
        answer = requests.post(url, json=body, timeout=60)
        assert answer.ok, answer.text
        return int(answer.json()["id"])

    def arguments(self, *more: str) -> tuple[str, ...]:
        places = {"source": self.registry, "target": self.other_registry}
        options = [("--" + side + "-registry", url) for side, url in places.items()]
        options += [(f"--{side}-bootstrap", self.bootstrap) for side in places]
        return ("migrate", "plan", self.name, self.target, *(part for pair in options for part in pair), *more)

    def plan(self, *more: str, code: int | None = 0) -> Ended:
        self.producer.flush(30)
        return CommandLine()(*self.arguments(*more), code=code)

    def found(self, *more: str, code: int | None = 0) -> dict[str, Any]:
        """The findings, without a probe."""
        found: dict[str, Any] = self.plan("--json", "--no-probe", *more, code=code).json
        return found

    def route(self) -> Route:
        kafka = {"bootstrap.servers": self.bootstrap}
        registries = ({"schema.registry.url": url} for url in (self.registry, self.other_registry))
        return Route("forward", self.name, self.target, *(Side(kafka, registry) for registry in registries))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def stand_in() -> Iterator[ConfluentStandIn]:
    with ConfluentStandIn() as registry:
        yield registry


@pytest.fixture
def source(kafka: Kafka, stand_in: ConfluentStandIn) -> Source:
    """With a stand-in as registry, and two messages of one schema."""
    source = Source(kafka, stand_in.url)
    number = source.register(VERSIONS[0])
    for _ in range(2):
        source.send(header.pack_id(number) + b"\2")
    source.producer.flush(30)
    return source


def names(found: dict[str, Any]) -> list[str]:
    return [problem["name"] for problem in found["problems"]]


def counts(found: dict[str, Any]) -> dict[str, tuple[int, list[int]]]:
    return {kind: (entry["count"], entry["first"]) for kind, entry in found["counts"].items()}


def test_a_plan_lists_all_that_the_source_uses(kafka: Kafka, confluent_registry: ConfluentRegistry) -> None:
    source = Source(kafka, confluent_registry.url)
    ids = [source.register(schema) for schema in VERSIONS]
    key = source.register(record("Key", ("id", "long")), f"{source.name}-key")
    other = source.register({**VERSIONS[0], "doc": "elsewhere"}, f"{source.name}-elsewhere")
    for number in (*ids, ids[3]):
        source.send(header.pack_id(number) + b"\2", partition=1)
    source.send(header.pack_id(other) + b"\2")
    source.send(b"\2", headers=[("__value_schema_id", header.pack_id(ids[0]))])
    source.send(None)
    source.send(b"garbage")
    source.send(header.pack_id(2**31 - 1) + b"\2", header.pack_id(key) + b"\2", partition=2)
    source.send(header.pack_id(ids[0]) + b"\2", header.pack_id(2**31 - 2) + b"\2", partition=2)
    source.send(header.pack_id(ids[0]) + b"\2", None, headers=[("n", None), ("r", b"\xff"), ("n", b"")], partition=2)
    found = source.found()
    used = {entry["id"]: (entry["count"], entry["first"], entry["name"]) for entry in found["ids"]}
    assert used == {
        ids[0]: (4, [0, 1], "shop.Order"),
        ids[1]: (1, [1, 1], "shop.Order"),
        ids[2]: (1, [1, 2], "shop.Order"),
        ids[3]: (2, [1, 3], "shop.Order"),
        other: (1, [0, 0], "shop.Order"),
    }
    subjects = {entry["id"]: entry["subjects"] for entry in found["ids"]}
    assert subjects[ids[0]] == [f"{source.name}-value"]
    assert subjects[other] == [f"{source.name}-elsewhere"]
    assert found["unknown_ids"] == [{"id": 2**31 - 1, "count": 1, "first": [2, 0]}]
    assert [(entry["id"], entry["count"]) for entry in found["key_ids"]] == [(key, 1)]
    assert [entry["id"] for entry in found["listed"]] == ids
    assert counts(found) == {
        "empty_headers": (1, [2, 2]),
        "framed_in_header": (1, [0, 1]),
        "framed_in_value": (9, [0, 0]),
        "no_framing": (1, [0, 3]),
        "null_headers": (1, [2, 2]),
        "null_keys": (1, [2, 2]),
        "raw_headers": (1, [2, 2]),
        "repeated_headers": (1, [2, 2]),
        "tombstones": (1, [0, 2]),
        "with_headers": (2, [0, 1]),
    }
    assert (found["messages"], found["whole"]) == (12, True)
    assert names(found) == ["unknown-ids", "other-subjects", "framed-keys", "no-framing", "missing-target"]
    assert State.load(Path(f"{source.name}-to-{source.target}.migration.json"), source.route()).findings == found


def test_people_see_the_same_as_tables(source: Source) -> None:
    source.send(b"\x1b[2Jgarbage", headers=[("\x1b[2J", b"x")])
    text = source.plan("--no-probe").out
    assert "SCHEMAS IN USE" in text
    assert f"{source.name}-value 1" in text
    assert "no-framing" in text
    assert f"TARGET {source.target}: does not exist; it would have 3 partitions" in text
    assert "\x1b" not in text


def test_guids_are_looked_up(source: Source, stand_in: ConfluentStandIn) -> None:
    number = source.register(VERSIONS[1])
    source.send(b"\2", headers=[("__value_schema_id", b"\1" + stand_in.guid(number))])
    source.send(b"\2", headers=[("__value_schema_id", b"\1" + bytes(16))])
    found = source.found()
    entry = found["ids"][-1]
    assert entry["id"] == str(uuid.UUID(bytes=stand_in.guid(number)))
    assert entry["versions"] == [[f"{source.name}-value", 2]]
    assert [one["id"] for one in found["unknown_ids"]] == [str(uuid.UUID(int=0))]


def test_guids_at_a_registry_without_them_are_a_question(kafka: Kafka, confluent_registry: ConfluentRegistry) -> None:
    source = Source(kafka, confluent_registry.url)
    source.register(VERSIONS[0])
    source.send(b"\2", headers=[("__value_schema_id", b"\1" + bytes(16))])
    ended = source.plan("--json", "--no-probe", code=1)
    assert ended.error["error"]["problems"] == ["guids"]
    assert "--accept guids" in ended.error["error"]["hint"]
    source.plan("--no-probe", "--accept", "guids")


def test_all_refusals_are_named_at_once(source: Source) -> None:
    json_id = source.register({"type": "object"}, kind="JSON")
    source.register({**VERSIONS[1]}, ruleSet={"domainRules": [{"name": "encrypt"}]})
    refund = source.register(record("Refund", ("id", "long")), "shop.Refund")
    source.send(header.pack_id(refund) + b"\2")
    source.send(header.pack_id(json_id) + b"{}")
    source.create(source.target, 2)
    ended = source.plan("--json", "--no-probe", code=1)
    refused = ["schema-type", "record-types", "schema-rules", "partitions"]
    assert names(ended.json)[: len(refused)] == refused
    assert ended.error["error"]["problems"] == [*refused, "message-size"]
    assert f"schema {json_id} of type JSON" in ended.json["problems"][0]["text"]


def test_a_json_schema_of_apicurio_is_refused(kafka: Kafka, confluent_registry: ConfluentRegistry) -> None:
    source = Source(kafka, confluent_registry.url)
    source.register({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, kind="JSON")
    assert source.plan("--json", "--no-probe", code=1).error["error"]["problems"] == ["schema-type"]


# The sample


def test_a_sample_reads_the_beginning_the_end_and_between(source: Source) -> None:
    for number in range(998):
        source.send(str(number).encode())
    source.producer.flush(30)
    read = [
        message.offset()
        for message in Sample({"bootstrap.servers": source.bootstrap}, source.name, 3, 20)
        if message.partition() == 0
    ]
    assert len(read) == len(set(read)) == 20
    assert sorted(read) == read
    assert read[:2] == [0, 1]
    assert read[-2:] == [998, 999]
    assert read[10] in range(500, 600)


def test_whole_reads_all_and_says_so(source: Source) -> None:
    for _ in range(100):
        source.send(b"x", partition=2)
    source.producer.flush(30)
    sampled = source.found("--sample", "10")
    assert (sampled["messages"], sampled["whole"]) == (12, False)
    assert sampled["partitions"]["2"] == {"first": 0, "next": 100, "read": 10}
    whole = source.found("--whole")
    assert (whole["messages"], whole["whole"]) == (102, True)


def test_aborted_and_open_transactions_are_not_counted(source: Source) -> None:
    """An open one hides what comes after it, and does not make the plan wait."""
    producers = []
    for end in ("abort", "open"):
        producer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(source.name, b"hidden", partition=1)
        producer.flush(30)
        if end == "abort":
            producer.abort_transaction(30)
            source.send(None, partition=1)
            source.producer.flush(30)
        producers.append(producer)
    begun = time.monotonic()
    found = source.found("--whole")
    assert time.monotonic() - begun < 20
    assert found["partitions"]["1"]["read"] == 1
    assert "no_framing" not in found["counts"]
    producers[1].abort_transaction(30)


def test_the_progress_ends_at_the_total(source: Source) -> None:
    seen: list[tuple[int, int]] = []
    plan(State(Path("s.json"), source.route()), Looking(probe=False), lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2, 2)
    assert seen == sorted(seen)


def test_an_empty_source_is_noted(kafka: Kafka, stand_in: ConfluentStandIn) -> None:
    found = Source(kafka, stand_in.url).found()
    assert names(found) == ["no-subject", "no-messages", "missing-target"]
    assert found["timestamps"] == {"oldest": None, "newest": None}


# The target


def test_the_target_is_created_as_the_source_is(kafka: Kafka, stand_in: ConfluentStandIn) -> None:
    settings = {"cleanup_policy": "compact", "retention_ms": "-1", "segment_ms": "70000", "compression_type": "zstd"}
    source = Source(kafka, stand_in.url, 5, max_message_bytes="2000000", min_insync_replicas="1", **settings)
    found = source.found("--create", "--topic-config", "segment.ms=80000", "--topic-config", "compression.type=")
    assert found["target"]["created"]
    assert "missing-target" not in names(found)
    assert len(source.admin.list_topics(timeout=30).topics[source.target].partitions) == 5
    assert source.settings(source.target) == {
        "cleanup.policy": "compact",
        "max.message.bytes": "2000005",
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
    source = Source(kafka, stand_in.url, message_timestamp_type="LogAppendTime")
    source.send(None)
    found = source.found("--create")
    assert "source-log-append-time" in names(found)
    assert source.settings(source.target)["message.timestamp.type"] == "CreateTime"


def test_a_blocked_plan_creates_nothing_and_keeps_its_findings(source: Source) -> None:
    source.register({"type": "object"}, kind="JSON")
    source.plan("--no-probe", "--create", code=1)
    assert source.target not in source.topics()
    findings = State.load(Path(f"{source.name}-to-{source.target}.migration.json"), source.route()).findings
    assert findings is not None
    assert names(findings)[0] == "schema-type"


def test_a_dry_run_changes_nothing(source: Source, tmp_path: Path) -> None:
    before = source.topics()
    text = source.plan("--dry-run", "--create").out
    assert "nothing was changed" in text
    assert "TARGET'S BROKER KEEPS" not in text
    assert source.topics() == before
    assert list(tmp_path.iterdir()) == []


def test_asking_for_a_topic_does_not_create_it(source: Source) -> None:
    assert Cluster({"bootstrap.servers": source.bootstrap}, "t").topic(source.target) is None
    time.sleep(0.5)
    assert source.target not in source.topics()


OLD = int(time.time() * 1000) - 3 * DAY
ROOM = {"max_message_bytes": "2000000"}


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
    source: Source, name: str, settings: dict[str, str]
) -> None:
    source.create(source.target, **{"retention_ms": "-1", **ROOM, **settings})
    source.send(None, None, timestamp=OLD)
    accepted = ["--accept", "compaction"] if name == "null-keys" else []
    ended = source.plan("--json", "--no-probe", *accepted, code=1)
    assert ended.error["error"]["problems"] == [name]
    found = source.found(*accepted, "--accept", name)
    assert [problem["accepted"] for problem in found["problems"] if problem["name"] == name] == [True]
    assert ensure_target(source.route(), found).exists


def test_what_the_target_has_already_is_asked_about(source: Source) -> None:
    source.create(source.target, **ROOM)
    assert names(source.found()) == []
    source.send(b"x", topic=source.target, partition=2)
    ended = source.plan("--json", "--no-probe", code=1)
    assert ended.error["error"]["problems"] == ["not-empty"]
    assert "up to 1 messages" in ended.json["problems"][0]["text"]
    source.plan("--no-probe", "--accept", "not-empty")


def test_other_partitions_cannot_be_accepted(source: Source) -> None:
    source.create(source.target, 4, **ROOM)
    assert source.plan("--json", "--no-probe", code=1).error["error"]["problems"] == ["partitions"]
    assert source.plan("--no-probe", "--accept", "partitions", code=2).err


def test_what_the_broker_alters_by_a_setting_of_its_own_is_asked_about_before_the_target_exists(
    kafka: Kafka, stand_in: ConfluentStandIn
) -> None:
    """The copied retention is shorter than the age of a message that the source still has."""
    source = Source(kafka, stand_in.url, retention_ms=str(DAY))
    source.send(None, timestamp=OLD)
    ended = source.plan("--json", "--no-probe", "--create", code=1)
    assert ended.error["error"]["problems"] == ["retention"]
    assert source.target not in source.topics()
    assert source.found("--create", "--topic-config", "retention.ms=-1")["target"]["created"]


def test_a_setting_that_the_broker_refuses_is_a_refusal(source: Source) -> None:
    ended = source.plan("--no-probe", "--create", "--topic-config", "no.such=1", code=3)
    assert "Unknown topic config name: no.such" in ended.err
    assert source.target not in source.topics()


def test_ensure_target_is_idempotent_and_knows_copies_of_earlier_runs(source: Source) -> None:
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
    source: Source, monkeypatch: pytest.MonkeyPatch
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


def test_the_size_of_a_batch_is_the_one_that_the_broker_limits(source: Source) -> None:
    value, key, headers = b"v" * 2_000, b"k" * 70, [("n", None), ("name" * 20, b"x" * 90)]
    size = batch_size(key, value, headers)
    for limit, accepted in ((size, True), (size - 1, False)):
        name = f"{source.target}-{limit}"
        source.create(name, 1, max_message_bytes=str(limit))
        outcome: list[Any] = []
        source.send(value, key, name, headers=headers, on_delivery=lambda error, _, to=outcome: to.append(error))
        source.producer.flush(30)
        assert (outcome[0] is None) == accepted


# The probe


def test_kafka_keeps_everything_and_the_scratch_topic_is_gone(source: Source) -> None:
    found = source.plan("--json").json
    assert found["probe"] == {**dict.fromkeys((*CASES, "timestamps", "transactions"), True), "reasons": {}}
    assert source.scratch == []


@pytest.mark.parametrize(
    ("settings", "broken"),
    [
        ({"message.timestamp.type": "LogAppendTime"}, {"timestamps"}),
        ({"cleanup.policy": "compact"}, {"null_keys"}),
    ],
)
def test_the_probe_finds_what_a_broker_alters(
    source: Source, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], broken: set[str]
) -> None:
    create = Cluster.create
    monkeypatch.setattr(
        Cluster, "create", lambda self, name, count, replicas, _: create(self, name, count, replicas, settings)
    )
    found = probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    assert {case for case, kept in found.kept.items() if not kept} == broken == set(found.reasons)
    assert source.scratch == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokerRefusedError("no"), ZeroDivisionError])
@pytest.mark.parametrize("place", ["_transactions", "_read", "_difference"])
def test_the_scratch_topic_is_deleted_whatever_happens(
    source: Source, monkeypatch: pytest.MonkeyPatch, place: str, error: Any
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(probe_module, place, fail)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    assert source.scratch == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokerRefusedError])
def test_a_scratch_topic_that_cannot_be_deleted_after_an_error_is_named(
    source: Source, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[BaseException]
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


def test_ctrl_c_while_sampling_leaves_nothing(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tally, "add", interrupt)
    before = source.topics()
    source.plan("--create", code=130)
    assert sorted(set(source.topics()) - {"__transaction_state"}) == sorted(set(before) - {"__transaction_state"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_probe_deletes_the_scratch_topic(
    source: Source, tmp_path: Path, signal_: signal.Signals
) -> None:
    command = [sys.executable, "-m", "streamnative_serdes", *source.arguments("--create")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        until = time.monotonic() + 60
        while not source.scratch and time.monotonic() < until:
            time.sleep(0.02)
        assert source.scratch
        process.send_signal(signal_)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert source.scratch == []
    assert source.target not in source.topics()
    assert list(tmp_path.iterdir()) == []


def test_a_topic_that_kafka_does_not_delete_is_deleted_at_pulsar(
    source: Source, pulsar: Pulsar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As KoP does: it never answers. The topic is at Pulsar under the same name."""
    admin = f"{pulsar.url}/admin/v2/persistent/public/default"
    seen: list[str] = []

    def refuse(_: Cluster, name: str, __: float) -> None:
        seen.append(name)
        assert requests.put(f"{admin}/{name}/partitions", json=1, timeout=60).status_code == 204
        raise BrokerRefusedError("timed out")

    monkeypatch.setattr(Cluster, "delete", refuse)
    source.other_registry = pulsar.url
    found = probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    assert found.left is None
    assert requests.get(f"{admin}/{seen[0]}/partitions", timeout=60).json().get("partitions") in (0, None)
    source.other_registry = AWAY
    found = probe(source.route(), Cluster({"bootstrap.servers": source.bootstrap}, "t"), 1)
    assert found.left is not None
    assert seen[1] in found.left


def test_a_partitioned_topic_is_deleted_with_its_messages(pulsar: Pulsar, source: Source) -> None:
    source.other_registry = pulsar.url
    path = f"{pulsar.url}/admin/v2/persistent/public/default/{source.target}"
    assert requests.put(f"{path}/partitions", json=3, timeout=60).status_code == 204
    with source.route().pulsar_registry() as client:
        for _ in range(2):  # the second time, it does not exist
            client.delete_topic(source.target)
    listed = requests.get(f"{pulsar.url}/admin/v2/persistent/public/default/partitioned", timeout=60).json()
    assert not [name for name in listed if name.endswith(f"/{source.target}")]


# What is missing or away


def test_a_missing_source_is_refused_and_not_created(source: Source) -> None:
    source.name = f"missing-{source.name}"
    ended = source.plan("--no-probe", code=3)
    assert f"topic {source.name} does not exist" in ended.err
    assert source.name not in source.topics()


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_broker_that_is_away_is_named(source: Source, side: str, tmp_path: Path) -> None:
    ended = source.plan(f"--{side}-bootstrap", "127.0.0.1:1", code=3)
    assert "no response from a Kafka broker at 127.0.0.1:1" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_registry_that_is_away_stops_before_the_probe(source: Source, tmp_path: Path) -> None:
    ended = source.plan("--source-registry", AWAY, "--set", "source.retries.total.ms=100", code=3)
    assert AWAY in ended.err
    assert source.scratch == []
    assert list(tmp_path.iterdir()) == []


def test_a_state_file_that_cannot_be_written_is_named_before_anything_is_created(source: Source) -> None:
    Path("folder").mkdir()
    ended = source.plan("--no-probe", "--create", "--state", "missing/state.json", code=1)
    assert "missing/state.json cannot be written" in ended.err
    assert source.target not in source.topics()


# Rights


@pytest.fixture(scope="module")
def guarded_kafka(servers_at_hand: None) -> Iterator[Kafka]:
    """A Kafka where user ``me`` may do only what ACLs permit."""
    with Kafka(users={"me": "secret"}, rights=True) as server:
        yield server


@pytest.fixture
def guarded(guarded_kafka: Kafka, stand_in: ConfluentStandIn) -> Source:
    source = Source(guarded_kafka, stand_in.url)
    source.send(None)
    source.producer.flush(30)
    source.create(source.target, **ROOM)
    source.bootstrap = guarded_kafka.sasl_servers
    return source


def allow(source: Source, topic: str, *operations: str) -> None:
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


def signed_in(source: Source, *more: str, code: int) -> Ended:
    options = [
        f"{side}.{name}"
        for side in ("source", "target")
        for name in ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=me")
    ]
    secrets = [f"{side}.sasl.password=env:PASSWORD" for side in ("source", "target")]
    sets = [part for option in options for part in ("--set", option)]
    sets += [part for secret in secrets for part in ("--secret", secret)]
    return CommandLine(more={"PASSWORD": "secret"})(*source.arguments(*sets, *more), code=code)


def test_each_missing_right_is_named(guarded: Source) -> None:
    """One after the other is granted; ACLs take a moment to arrive."""
    rights = [
        ("DESCRIBE on the topic", guarded.name, "DESCRIBE"),
        ("DESCRIBE_CONFIGS on the topic", guarded.name, "DESCRIBE_CONFIGS"),
        ("DESCRIBE on the topic", guarded.target, "DESCRIBE"),
        ("DESCRIBE_CONFIGS on the topic", guarded.target, "DESCRIBE_CONFIGS"),
        ("READ on the topic", guarded.name, "READ"),
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


# The way back


def test_the_way_back_reads_versions_of_pulsar(kafka: Kafka, pulsar: Pulsar, stand_in: ConfluentStandIn) -> None:
    source = Source(kafka, stand_in.url)
    source.other_registry = pulsar.url
    run = CommandLine(pulsar.url)
    for schema in VERSIONS[:2]:
        run("schemas", "register", source.name, "-", stdin=json.dumps(schema))
    for version in (0, 1, 1, 9):
        source.send(header.pack(version) + b"\2")
    source.send(b"\2")
    source.send(header.pack_id(1) + b"\2")
    source.send(None, header.pack(0) + b"\2")
    found = source.found("--back", "--create")
    used = [(entry["id"], entry["count"], entry["type"], entry["name"]) for entry in found["ids"]]
    assert used == [(0, 1, "AVRO", "shop.Order"), (1, 2, "AVRO", "shop.Order")]
    assert found["unknown_ids"] == [{"id": 9, "count": 1, "first": [0, 3]}]
    assert [entry["id"] for entry in found["listed"]] == [0, 1]
    assert counts(found)["no_framing"] == (2, [0, 4])
    assert [entry["id"] for entry in found["key_ids"]] == [0]
    assert names(found) == ["unknown-ids", "framed-keys", "no-framing"]
    assert "max.message.bytes" not in source.settings(source.target)


def test_the_way_back_refuses_other_types_of_pulsar(kafka: Kafka, pulsar: Pulsar, stand_in: ConfluentStandIn) -> None:
    source = Source(kafka, stand_in.url)
    source.other_registry = pulsar.url
    run = CommandLine(pulsar.url)
    run("schemas", "register", source.name, "-", "--type", "JSON", stdin=json.dumps(VERSIONS[0]))
    assert source.plan("--json", "--no-probe", "--back", code=1).error["error"]["problems"] == ["schema-type"]
