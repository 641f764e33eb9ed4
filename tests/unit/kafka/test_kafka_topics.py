"""Topics that are to be there: created, left as they are, or given more partitions."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka import BrokerRefusedError, Cluster, TopicConsumer, consuming, listed, topics

KAFKA = {"bootstrap.servers": "topics:1"}


def answer(code: int | None = None) -> Future[None]:
    found: Future[None] = Future()
    if code is None:
        found.set_result(None)
    else:
        found.set_exception(KafkaException(KafkaError(code)))
    return found


class Admin:
    """Stands in for Kafka's AdminClient.

    Args:
        partitions: of the topic ``t``; None if it does not exist.
        refusal: what creating partitions is answered with.
    """

    def __init__(self, partitions: int | None, refusal: int | None = None) -> None:
        self.partitions, self.refusal = partitions, refusal
        self.created: list[tuple[int, dict[str, str]]] = []
        self.grown: list[int] = []

    def create_topics(self, new: Any, **_: Any) -> Any:
        if self.partitions is not None:
            return {"t": answer(KafkaError.TOPIC_ALREADY_EXISTS)}
        self.created.append((new[0].num_partitions, new[0].config))
        return {"t": answer()}

    def create_partitions(self, new: Any, **_: Any) -> Any:
        self.grown.append(new[0].new_total_count)
        return {"t": answer(self.refusal)}

    def list_topics(self, **_: Any) -> Any:
        found = SimpleNamespace(error=None, partitions=dict.fromkeys(range(self.partitions or 0)))
        return SimpleNamespace(topics={"t": found})


@pytest.mark.parametrize(
    ("partitions", "created", "grown"),
    [(None, [(3, {"cleanup.policy": "compact"})], []), (2, [], [3]), (3, [], []), (4, [], [])],
)
def test_a_topic_is_there_with_as_many_partitions_at_least(
    monkeypatch: pytest.MonkeyPatch, partitions: int | None, created: Any, grown: list[int]
) -> None:
    admin = Admin(partitions)
    monkeypatch.setattr(topics, "client", lambda *_: admin)
    monkeypatch.setattr(Cluster, "_wait_for", lambda *_: None)
    Cluster(KAFKA, "t").ensure("t", 3, {"cleanup.policy": "compact"})
    assert (admin.created, admin.grown) == (created, grown)


def test_who_may_not_add_partitions_is_told_which_right_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "client", lambda *_: Admin(1, KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(BrokerRefusedError, match="cannot add partitions to topic t: ") as caught:
        Cluster(KAFKA, "t").ensure("t", 2, {})
    assert caught.value.hint == "the user needs the right ALTER on the topic"


class Forbidden:
    """Stands in for the consumer of a user without rights to the topic."""

    def list_topics(self, topic: str, **_: Any) -> Any:
        found = SimpleNamespace(error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), partitions={})
        return SimpleNamespace(topics={topic: found})

    def get_watermark_offsets(self, *_: Any, **__: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))

    def close(self) -> None:
        pass


@pytest.mark.parametrize("partitions", [None, [0]], ids=["of all partitions", "of one"])
def test_who_may_not_consume_is_told_so_when_asking_for_bounds(
    monkeypatch: pytest.MonkeyPatch, partitions: list[int] | None
) -> None:
    monkeypatch.setattr(consuming, "client", lambda *_: Forbidden())
    with TopicConsumer(KAFKA, "t") as consumer, pytest.raises(BrokerRefusedError) as caught:
        consumer.bounds(partitions)
    assert (caught.value.topic, caught.value.hint) == ("t", "the user needs the right to consume from the topic")
    assert isinstance(caught.value.__cause__, KafkaException)


class KopConsumer:
    """Stands in for a consumer of a KoP, which lists ``people``, and describes it by its full names, too."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def list_topics(self, topic: str | None = None, **_: Any) -> Any:
        self.asked.append(topic)
        known = topic is None or topic.endswith("public/default/people")
        error = None if known else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        found = SimpleNamespace(error=error, partitions={1: None, 0: None} if known else {})
        return SimpleNamespace(topics={topic or "people": found})

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "partitions", "asked"),
    [
        ("people", [0, 1], [None]),
        ("missing", [], [None]),
        ("public/default/people", [0, 1], [None, "public/default/people"]),
        ("persistent://public/default/people", [0, 1], [None, "persistent://public/default/people"]),
        ("public/default/missing", [], [None, "public/default/missing"]),
        ("not/full", [], [None]),  # at which a KoP closes the connection
        ("http://public/default/people", [], [None]),
    ],
)
def test_only_full_names_that_are_not_listed_are_asked_for_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, partitions: list[int], asked: list[str | None]
) -> None:
    consumer, made = KopConsumer(), []

    def made_of(_kind: Any, conf: Any, *_: Any) -> KopConsumer:
        made.append(conf)
        return consumer

    monkeypatch.setattr(consuming, "client", made_of)
    assert list(listed({**KAFKA, "allow.auto.create.topics": True}, name)) == partitions
    assert consumer.asked == asked
    assert [conf["allow.auto.create.topics"] for conf in made] == [False]
