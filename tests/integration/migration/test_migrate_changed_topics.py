"""A migration whose topics are deleted, or created again: an error that changes nothing, or a whole copy."""

from __future__ import annotations

import json

import pytest
from command import CommandLine
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]
from copied_topic import LIMIT, Migration, create_again, delete
from migrations import commit, create, expected, messages, new_name, read

from streamnative_serdes.migration import Report, Route, State, TopicCopy, Wishes
from streamnative_serdes.migration.copying.resuming import ChangedTopicError

pytestmark = pytest.mark.usefixtures("nothing_is_known")
MODES = pytest.mark.parametrize("mode", [["--transactions", "on"], ["--transactions", "off"]], ids=["on", "off"])


def of_target(migration: Migration) -> list[str]:
    return [f"{migration.target}{suffix}" for suffix in ("", ".migration-state", ".dead-letters")]


@pytest.mark.promise("same-topics")
@MODES
def test_a_target_that_was_deleted_or_recreated_is_refused_until_what_is_left_is_deleted_too(
    migration: Migration, mode: list[str]
) -> None:
    migration.send(messages(100, migration.ids, bad=3, damaged=False))
    assert migration(*mode)["copied"] == 97
    delete(migration.kafka, migration.target)
    for step in ((), ("--create",), ("--dry-run",)):
        failed = migration(*mode, *step, code=1)
        assert "does not exist" in failed["message"]
    create_again(migration, migration.target)
    for step in ((), ("--dry-run",)):
        failed = migration(*mode, *step, code=1)
        assert failed["kind"] == "ChangedTopicError"
        assert failed["topic"] == migration.target
        assert all(name in failed["hint"] for name in of_target(migration))
    assert not any(read(migration.kafka, migration.target).values())
    assert sum(one["differences"] for one in migration.verify(code=1)["partitions"]) == 97

    delete(migration.kafka, *of_target(migration)[1:])
    told = migration(*mode)
    assert (told["copied"], told["bad"]) == (97, 3)
    migration.check_everywhere()


@pytest.mark.promise("same-topics")
@MODES
def test_a_source_that_was_recreated_is_refused_and_can_be_copied_to_a_new_target(
    migration: Migration, mode: list[str]
) -> None:
    migration.send(messages(90, migration.ids))
    assert migration(*mode)["copied"] == 90
    before = read(migration.kafka, migration.target)
    create_again(migration, migration.source)
    migration.sent = []
    migration.send(messages(150, migration.ids, seed=2))
    failed = migration(*mode, code=1)
    assert (failed["kind"], failed["topic"]) == ("ChangedTopicError", migration.source)
    assert "copy to a new target" in failed["hint"]
    assert read(migration.kafka, migration.target) == before
    assert not migration.verify(code=1)["same"]

    migration.target = new_name("target")
    create(migration.kafka, migration.target, max_message_bytes="2000000")
    migration.state = migration.saved(migration.source, migration.target)
    assert migration(*mode)["copied"] == 150
    migration.check_everywhere()


def test_dead_letters_that_were_left_of_an_earlier_copy_are_refused(migration: Migration) -> None:
    migration.send(messages(30, migration.ids, bad=3, damaged=False))
    assert migration()["bad"] == 3
    delete(migration.kafka, of_target(migration)[1])
    create_again(migration, migration.target)
    failed = migration(code=1)
    assert "the dead letters of an earlier copy are there" in failed["message"]
    delete(migration.kafka, of_target(migration)[2])
    assert migration()["bad"] == 3
    migration.check_letters(migration.dead_letters())


@pytest.mark.parametrize(
    ("how", "side", "mode"),
    [
        ("recreated", "source", "on"),
        ("recreated", "source", "off"),
        ("recreated", "target", "on"),
        ("recreated", "target", "off"),
        ("deleted", "source", "on"),
        ("deleted", "source", "off"),
        pytest.param("deleted", "target", "on", marks=pytest.mark.long),  # the client waits a minute for the topic
        ("deleted", "target", "off"),
    ],
)
def test_a_topic_that_is_deleted_during_a_run_ends_it_before_it_commits(
    migration: Migration, monkeypatch: pytest.MonkeyPatch, how: str, side: str, mode: str
) -> None:
    again = how == "recreated"
    monkeypatch.setattr("streamnative_serdes.migration.copying.inlet_outlet._LOOK_SECONDS", 0.5)
    migration.send(messages(300, migration.ids, seed=1))
    changes: list[Report] = []

    def change(report: Report) -> None:
        if report.copied == 300 and not changes:
            changes.append(report)
            topic = getattr(migration, side)
            create_again(migration, topic) if again else delete(migration.kafka, topic)
            if again or side == "target":
                migration.send(messages(600, migration.ids, seed=2))

    wishes = Wishes(transactions=mode == "on", follow=True)
    with pytest.raises(ChangedTopicError) as caught:
        TopicCopy(migration.state, wishes, change).run()
    assert caught.value.topic == getattr(migration, side)
    assert changes[0].copied == 300
    if again or side == "target":
        failed = migration("--transactions", mode, code=1)
        assert (failed["kind"], failed["topic"]) == ("ChangedTopicError", getattr(migration, side))


def test_retention_that_deletes_what_was_kept_is_no_error(migration: Migration) -> None:
    from confluent_kafka import TopicPartition

    migration.send(messages(60, migration.ids))
    migration()
    admin = AdminClient({"bootstrap.servers": migration.kafka})
    for topic in (migration.source, migration.target):
        places = [TopicPartition(topic, number, -1) for number in range(3)]  # all there is
        for future in admin.delete_records(places).values():
            future.result(LIMIT)
    new = messages(30, migration.ids, seed=2)
    migration.send(new)
    assert migration()["copied"] == 90
    assert read(migration.kafka, migration.target) == expected(new)


@pytest.mark.parametrize("mode", ["on", "off"])
def test_retention_may_delete_aborted_messages_at_the_end_that_a_run_has_passed(
    migration: Migration, mode: str
) -> None:
    from confluent_kafka import TopicPartition

    migration.send(messages(30, migration.ids))
    migration("--transactions", mode)
    producer = Producer({"bootstrap.servers": migration.kafka, "transactional.id": migration.source})
    producer.init_transactions(LIMIT)
    producer.begin_transaction()
    producer.produce(migration.source, b"aborted", partition=0)
    producer.flush(LIMIT)
    producer.abort_transaction(LIMIT)
    again = migration("--transactions", mode)
    end = sum(one.partition == 0 for one in migration.sent) + 2  # with the marker
    assert (again["partitions"]["0"]["next"], again["lag"]) == (end, 0)
    commit(migration.kafka, migration.source, migration.source, {0: end})
    (moved,) = migration("--transactions", mode, "--groups", migration.source)["groups"]
    assert not moved["early"]
    admin = AdminClient({"bootstrap.servers": migration.kafka})
    admin.delete_records([TopicPartition(migration.source, 0, end)])[TopicPartition(migration.source, 0)].result(LIMIT)
    assert migration("--transactions", mode)["copied"] == 30


def test_one_topic_cannot_be_source_and_target(migration: Migration) -> None:
    sent = messages(30, migration.ids)
    migration.send(sent)
    path = migration.folder / "same.json"
    migration.target = migration.source
    migration.state = migration.saved(migration.source, migration.source)
    for accept in ((), ("--accept", "not-empty")):
        failed = migration(*accept, code=1)
        assert "same-topic: source and target are one topic" in failed["message"]
    assert migration("--dry-run", "--accept", "not-empty", code=1)["kind"] == "ProblemsError"
    planned = migration.sides("plan", migration.source, migration.source, "--state", str(path), "--no-probe", "--json")
    problems = json.loads(CommandLine()(*planned, code=1).out)["problems"]
    assert {"same-topic"} <= {one["name"] for one in problems}
    assert sum(map(len, read(migration.kafka, migration.source).values())) == 30


def test_groups_and_the_way_back_need_the_topics_of_the_progress(migration: Migration) -> None:
    from streamnative_serdes.migration import behind_copies, move_groups

    migration.send(messages(90, migration.ids))
    migration()
    route = migration.state.route
    back = Route("back", route.target, route.source, route.confluent, route.pulsar)
    assert behind_copies(back)
    create_again(migration, migration.target)
    with pytest.raises(ChangedTopicError):
        behind_copies(back)
    with pytest.raises(ChangedTopicError):
        move_groups(State.load(migration.state.path, route), ["any"], Wishes())
