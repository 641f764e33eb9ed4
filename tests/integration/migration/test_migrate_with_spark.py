"""Copying a topic with the engine Spark, on real servers. `make test-spark` runs these, with its one session."""

from __future__ import annotations

import json
from typing import Any

import pytest
from copied_topic import Migration, check_places, create_again, without_places
from migrations import expected, messages, read

from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration import State, Wishes
from streamnative_serdes.migration.copying.resuming import ChangedTopicError

pytestmark = pytest.mark.usefixtures("nothing_is_known")


def test_the_command_copies_with_spark_and_refuses_a_master_without_it(migration: Migration) -> None:
    migration.send(messages(300, migration.ids, bad=3, seed=4, damaged=False))
    assert "--master has no effect without --engine spark" in migration("--master", "local", code=2)["message"]
    process = migration.start("--engine", "spark")
    out, said = process.communicate(timeout=600)
    assert process.returncode == 0, said.decode(errors="replace")[-3000:]
    report = json.loads(out.decode().splitlines()[-1])
    assert (report["copied"], report["bad"]) == (297, 3)
    assert without_places(read(migration.kafka, migration.target)) == expected(migration.sent)


def test_spark_copies_in_rounds_goes_on_where_it_was_stopped_and_verify_finds_what_a_task_has_sent_twice(
    migration: Migration, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamnative_serdes.migration.copying import spark_copy
    from streamnative_serdes.migration.verifying.verification import Scope, Verification

    monkeypatch.setattr(spark_copy, "ROUND", 400)
    migration.send(messages(2_000, migration.ids, bad=20, seed=9, damaged=False))
    state, wishes = migration.state, Wishes(transactions=False)
    stopped = spark_copy.SparkCopy(state, wishes, spark, stopping=lambda: True).run()
    assert (stopped.ended, stopped.copied + stopped.bad) == (False, 1_200)
    report = spark_copy.SparkCopy(state, wishes, spark).run()
    assert (report.ended, report.copied, report.bad, report.lag) == (True, 1_980, 20, 0)
    found = read(migration.kafka, migration.target)
    check_places(found)
    assert without_places(found) == expected(migration.sent)
    migration.check_letters(migration.dead_letters())
    with_schemas = State.load(migration.copy_schemas(migration.target), state.route)
    letters = ("topic", f"{migration.target}.dead-letters")
    assert Verification(with_schemas, Scope(letters=letters)).run().same

    again = spark_copy.SparkCopy(state, wishes, spark)
    task = spark_copy._CopyTask(state.route, state.rewriter(), wishes.rules, 0)
    done = again._job({0: (report.progress[0].next - 2, report.progress[0].next)}, task)
    twice = Verification(with_schemas, Scope(letters=letters)).run()
    assert [difference.part for difference in twice.differences] == ["copied twice"] * done[0].copied


def test_spark_stops_before_a_schema_that_was_not_copied_and_refuses_what_it_cannot_do(
    migration: Migration, spark: Any
) -> None:
    from streamnative_serdes.migration.copying.spark_copy import SparkCopy

    migration.send(messages(300, migration.ids))
    state = migration.state
    state.mapping = dict(list(state.mapping.items())[:2])
    with pytest.raises(SerdesError, match=r"schema \d+ has not been copied") as caught:
        SparkCopy(state, Wishes(transactions=False), spark).run()
    assert caught.value.raw is not None
    state.mapping = migration.saved(migration.source, migration.target).mapping
    assert SparkCopy(state, Wishes(transactions=False), spark).run().copied == 300
    for wishes in (Wishes(), Wishes(transactions=False, follow=True)):
        with pytest.raises(SerdesError, match="is not possible with --engine spark"):
            SparkCopy(state, wishes, spark)


def test_spark_goes_on_only_with_the_same_topics(migration: Migration, spark: Any) -> None:
    from streamnative_serdes.migration.copying.spark_copy import SparkCopy

    migration.send(messages(300, migration.ids))
    wishes = Wishes(transactions=False)
    for _ in range(2):
        assert SparkCopy(migration.state, wishes, spark).run().copied == 300
    create_again(migration, migration.source)
    migration.sent = []
    migration.send(messages(600, migration.ids, seed=2))
    with pytest.raises(ChangedTopicError, match="the source is not the topic"):
        SparkCopy(migration.state, wishes, spark).run()
    assert sum(map(len, read(migration.kafka, migration.target).values())) == 300
