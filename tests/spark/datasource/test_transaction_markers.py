"""The marker that tells a batch that was committed from one that was not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamnative_serdes.spark.datasource.writing import transactions
from streamnative_serdes.spark.datasource.writing.transactions import (
    Identity,
    Rows,
    StaleBatchError,
    Transaction,
    TransactionError,
    committed_rows,
)

ROWS = Rows(3, "ab", "cd")
NONE_YET = -1001  # the offset of a group that has committed nothing


class Kafka:
    """The group's offset, and a producer that commits it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.marker = TopicPartition("t", 0, NONE_YET)
        self.producer = self
        self.faults: list[int] = []  # of the next questions

        @contextmanager
        def reader(*_: object) -> Iterator[Kafka]:
            yield self

        monkeypatch.setattr(transactions, "_marker_reader", reader)
        monkeypatch.setattr(transactions, "Outbox", lambda *_, **__: self)

    def committed(self, _places: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        if self.faults:
            raise KafkaException(KafkaError(self.faults.pop(0)))
        return [self.marker]

    def poll(self, _seconds: float) -> None: ...

    def send_offsets_to_transaction(self, markers: list[TopicPartition], *_: object) -> None:
        (self.marker,) = markers

    def flush(self) -> None: ...
    def consumer_group_metadata(self) -> object: ...
    def commit_transaction(self, _seconds: float) -> None: ...


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Any:
    return Kafka(monkeypatch)


def commit(kafka: Any, batch: int) -> None:
    Transaction({}, "t", Identity("q", batch, 0)).commit(kafka, ROWS)


@pytest.mark.parametrize("batch", [0, 1, 7])
def test_a_batch_that_was_committed_is_found_and_the_next_one_is_new(kafka: Any, batch: int) -> None:
    assert committed_rows({}, "t", Identity("q", batch, 0)) is None
    commit(kafka, batch)
    assert committed_rows({}, "t", Identity("q", batch, 0)) == ROWS
    assert committed_rows({}, "t", Identity("q", batch + 1, 0)) is None


def test_a_coordinator_that_moves_is_asked_again(kafka: Any) -> None:
    commit(kafka, 7)
    kafka.faults = [KafkaError.NOT_COORDINATOR, KafkaError._TIMED_OUT, KafkaError.COORDINATOR_LOAD_IN_PROGRESS]
    assert committed_rows({}, "t", Identity("q", 7, 0)) == ROWS
    assert kafka.faults == []


def test_a_refusal_of_the_broker_is_not_asked_again(kafka: Any) -> None:
    kafka.faults = [KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.NOT_COORDINATOR]
    with pytest.raises(TransactionError, match="cannot read from the broker which batch was committed last"):
        committed_rows({}, "t", Identity("q", 7, 0))
    assert len(kafka.faults) == 1


def test_a_batch_before_the_last_one_that_was_committed_is_refused(kafka: Any) -> None:
    commit(kafka, 7)
    with pytest.raises(StaleBatchError, match=r"expected batch 6 to be the last one or a new one.*committed batch 7"):
        committed_rows({}, "t", Identity("q", 6, 0))


@pytest.mark.parametrize("metadata", ["", "x", "[]", '{"rows": 1, "other": 2}'])
def test_an_offset_that_no_task_has_committed_is_an_error(kafka: Any, metadata: str) -> None:
    kafka.marker = TopicPartition("t", 0, 8, metadata)
    with pytest.raises(TransactionError, match="has an offset that no task has committed"):
        committed_rows({}, "t", Identity("q", 7, 0))
