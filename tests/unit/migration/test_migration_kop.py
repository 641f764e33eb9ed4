"""A KoP is told by the name of Pulsar's cluster, and what it says of topics is not believed."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Uuid
from scripted_registry import Answer, ScriptedRegistry

from streamnative_serdes._kafka import Cluster, Topic
from streamnative_serdes.migration import Route, Side
from streamnative_serdes.migration.planning import target as module
from streamnative_serdes.migration.planning.target import Target, describe, source_of
from streamnative_serdes.testing import LocalRegistry

KAFKA = {"bootstrap.servers": "127.0.0.1:1"}
BROKERS = {"max.message.bytes": "5242880"}  # what a KoP says of its broker


def route(url: str, *, back: bool = False) -> Route:
    confluent, pulsar = (Side(KAFKA, {"schema.registry.url": each}) for each in ("http://127.0.0.1:1", url))
    return Route("back" if back else "forward", "from", "to", confluent, pulsar)


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as running:
        yield running


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster as a KoP describes it, with topics of two partitions, and none called ``to``."""
    partitions = [SimpleNamespace(replicas=[1]), SimpleNamespace(replicas=[1])]
    described = SimpleNamespace(partitions=partitions, topic_id=Uuid(0, 0))  # a KoP answers with zeros
    monkeypatch.setattr(Cluster, "_cluster", SimpleNamespace(cluster_id="standalone", nodes=[1]))
    monkeypatch.setattr(Cluster, "_described", lambda _, name: None if name == "to" else described)
    monkeypatch.setattr(Cluster, "defaults", lambda _: dict(BROKERS))
    wrong = {"cleanup.policy": "compact", "max.message.bytes": "1000012"}
    entries = {name: SimpleNamespace(value=value, source=5) for name, value in wrong.items()}
    monkeypatch.setattr(Cluster, "_settings", lambda *_: entries)
    monkeypatch.setattr(module, "_content", lambda *_: ())


@pytest.mark.usefixtures("described")
def test_the_settings_of_a_topic_are_those_of_the_broker(registry: LocalRegistry) -> None:
    found = Cluster(KAFKA, "t", route(registry.url).pulsar_registry)
    assert found.is_kop
    assert found.topic("x") == Topic("x", 2, 1, BROKERS, cluster="standalone")


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize("answer", [Answer(body=["pulsar-1"]), Answer(401, {}), Answer(body={"a": 1})])
def test_other_clusters_are_taken_for_kafkas(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedRegistry(answer) as pulsar:
        found = Cluster(KAFKA, "t", route(pulsar.url).pulsar_registry)
        assert not found.is_kop
        assert ("not known whether its broker is a KoP" in caplog.text) == (answer.body != ["pulsar-1"])
        topic = found.topic("x")
        assert topic is not None
        assert topic.settings["cleanup.policy"] == "compact"


@pytest.mark.usefixtures("described")
def test_an_id_that_is_made_up_is_kafkas_and_pulsar_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = SimpleNamespace(cluster_id="", nodes=[1])
    monkeypatch.setattr(Cluster, "_cluster", ids)
    with ScriptedRegistry(Answer(body=["standalone", "a-cluster-of-22-letter"])) as pulsar:
        for cluster, asked in (("6PMpHYL9QkeyXRj9Nrp4KA", 0), ("a-cluster-of-22-letter", 1), ("standalone", 2)):
            ids.cluster_id = cluster
            assert Cluster(KAFKA, "t", route(pulsar.url).pulsar_registry).is_kop == (asked > 0)
            assert len(pulsar.asked) == asked


def planned(registry: LocalRegistry, settings: dict[str, str], *, back: bool = False) -> Target:
    way = route(registry.url, back=back)
    cluster = Cluster(KAFKA, "to", way.pulsar_registry)
    findings: Any = None
    return describe(way, cluster, source_of(way), findings, settings, ())


@pytest.mark.usefixtures("described")
def test_a_kop_leaves_no_question_open(registry: LocalRegistry) -> None:
    found = planned(registry, {"retention.ms": "-1"})
    assert not [problem for problem in found.problems if problem.blocks]
    text = {problem.name: problem.text for problem in found.problems}
    assert text["settings-not-copied"] == "settings that a KoP ignores, since Pulsar's policies apply: retention.ms"
    assert "unknown-settings" in text
    assert (found.topic.settings, found.topic.own) == (BROKERS, {})


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize(
    ("retention", "said"),
    [
        (None, "public/default has no retention of its own"),
        ((0, 0), "a retention of 0 minutes and 0 MB"),
        ((-1, -1), None),
        ((60, 100), None),
    ],
)
def test_a_retention_that_keeps_nothing_is_a_remark(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch, retention: tuple[int, int] | None, said: str | None
) -> None:
    monkeypatch.setattr(Cluster, "retention", lambda *_: retention)
    found = [problem.text for problem in planned(registry, {}).problems if problem.name == "pulsar-retention"]
    assert len(found) == (said is not None)
    assert said is None or said in found[0]
