"""Topics that are to be there: created, left as they are, or given more partitions."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamnative_serdes._kafka import BrokerRefusedError, Cluster, topics

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
