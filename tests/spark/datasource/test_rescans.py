"""Later queries on a DataFrame or a view read the offsets of the first one: Spark keeps them, and a task warns."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from spark_topics import send

from streamnative_serdes.spark.datasource.reading import batch as rescans
from streamnative_serdes.spark.datasource.reading.batch import Planned
from streamnative_serdes.testing import MockBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def in_query(monkeypatch: pytest.MonkeyPatch, query: str | None) -> None:
    context = SimpleNamespace(getLocalProperty={"spark.sql.execution.id": query}.get)
    monkeypatch.setattr(rescans.TaskContext, "get", lambda: context)


def test_a_later_query_by_the_same_plan_is_warned_about_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    planned = Planned.now()
    for query, warnings in (("7", 0), ("7", 0), ("8", 1), ("8", 1), ("9", 1)):
        in_query(monkeypatch, query)
        pickle.loads(pickle.dumps(planned)).note_query()  # each task has its own copy
        assert len(caplog.messages) == warnings, query
    assert f"the offsets are those of an earlier query, of {planned.at}" in caplog.text
    assert "create the view again" in caplog.text
    Planned.now().note_query()  # another plan is of its own query
    assert len(caplog.messages) == 1


def test_without_a_query_there_is_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    planned = Planned.now()
    for query in (None, "1", None, "1"):
        in_query(monkeypatch, query)
        planned.note_query()
    monkeypatch.setattr(rescans.TaskContext, "get", lambda: None)
    planned.note_query()
    assert caplog.messages == []


def test_many_plans_are_not_remembered_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rescans, "_MOST", 3)
    in_query(monkeypatch, "1")
    for _ in range(10):
        Planned.now().note_query()
    assert len(rescans._first) <= 3


def test_a_view_keeps_the_offsets_of_its_first_query_until_it_is_created_again(spark: SparkSession) -> None:
    """What the warning and the docs say of Spark."""
    with MockBroker({"kept": 1}) as broker:
        keeps(spark, broker)


def keeps(spark: SparkSession, broker: MockBroker) -> None:
    kafka = {"bootstrap.servers": broker.bootstrap_servers}
    send(kafka, "kept", b"x")
    options = f"`kafka.bootstrap.servers` '{broker.bootstrap_servers}', subscribe 'kept'"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW kept USING `streamnative-kafka` OPTIONS ({options})")
    count = "SELECT count(*) FROM kept"
    assert spark.sql(count).first()[0] == 1
    send(kafka, "kept", b"x")
    keeps_offsets = tuple(map(int, spark.version.split(".")[:2])) >= (4, 1)
    assert spark.sql(count).first()[0] == (1 if keeps_offsets else 2)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW kept USING `streamnative-kafka` OPTIONS ({options})")
    assert spark.sql(count).first()[0] == 2
