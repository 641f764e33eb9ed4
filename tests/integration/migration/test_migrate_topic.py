"""Copying a topic on real servers: complete, in order, exactly once, however often it is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from operator import gt
from typing import Any

import pytest
import requests
from command import CommandLine
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from copied_topic import LIMIT, Migration, check_places, without_places
from migrations import BEGIN, VERSIONS, Gauge, Sent, commit, create, expected, messages, new_name, read, register, send

from streamnative_serdes import header
from streamnative_serdes._kafka import Cluster, TopicConsumer, consuming
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration import Report, State, TopicCopy, Wishes
from streamnative_serdes.migration.copying import copy as copying
from streamnative_serdes.migration.copying.dead_letters import read_file
from streamnative_serdes.migration.copying.progress import ProgressTopic

KILLS = pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.long)])

pytestmark = pytest.mark.usefixtures("nothing_is_known")


@pytest.mark.promise("nothing-lost", "exactly-once", "stopped-anytime")
@KILLS
def test_a_topic_is_copied_exactly_once_though_the_copy_is_killed_again_and_again(
    migration: Migration, kills: int
) -> None:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    draw = random.Random(seed)
    migration.copy_schemas(migration.target)
    migration.send(messages(100_000, migration.ids, bad=50, seed=seed))
    half = {partition: draw.randrange(10_000, 25_000) for partition in range(3)}
    group = new_name("group")
    commit(migration.kafka, group, migration.source, half)

    killed = 0
    for most in [1, 22_000, 4_000, 8_000, 1_000, *[1] * 20]:
        killed += migration.kill_after(draw.randint(1, most), "--check", "--groups", group)
        if killed == kills:
            break
    assert killed == kills
    told = migration("--check", "--groups", group)

    assert (told["copied"], told["bad"], told["ended"], told["lag"]) == (99_950, 50, True, 0)
    migration.check_target()
    migration.check_letters(migration.dead_letters())
    check_group(migration, group, half)
    again = migration("--check", "--groups", group)
    assert (again["copied"], again["bad"]) == (99_950, 50)
    migration.check_target()
    assert migration.verify("--check", f"--dead-letters=topic:{migration.target}.dead-letters")["differences"] == []
    migration.target, (partition, number) = with_one_byte_changed(migration, draw)
    differences = migration.verify("--check", code=1)["differences"]
    assert {(one["partition"], one["target_offset"]) for one in differences} == {(partition, number)}, differences


def with_one_byte_changed(migration: Migration, draw: random.Random) -> tuple[str, tuple[int, int]]:
    """A topic like the target but for the last byte of one message's value, and the place of that message."""
    name, place = new_name("altered"), (draw.randrange(3), draw.randrange(30_000))
    create(migration.kafka, name)
    found = []
    for partition, copies in read(migration.kafka, migration.target).items():
        for number, (key, value, headers, (_, moment)) in enumerate(copies):
            other = value
            if (partition, number) == place:  # a tombstone becomes a message without bytes
                other = b"" if value is None else value[:-1] + bytes([value[-1] ^ 1])
            found.append(Sent(partition, key, other, headers, moment))
    send(migration.kafka, name, found)
    return name, place


def check_group(migration: Migration, group: str, half: dict[int, int]) -> None:
    """The group's first message in each partition of the target is the copy of its next one in the source."""
    for partition, offset in half.items():
        of_partition = [one for one in migration.sent if one.partition == partition]
        following = next(one for one in of_partition[offset:] if not one.bad)
        consumer = Consumer(
            {"bootstrap.servers": migration.kafka, "group.id": group, "isolation.level": "read_committed"}
        )
        try:
            (place,) = consumer.committed([TopicPartition(migration.target, partition)], 60)
            consumer.assign([place])
            message = consumer.poll(60)
            assert message is not None
            assert (message.value(), message.timestamp()[1]) == (following.copy, following.timestamp)
        finally:
            consumer.close()


def test_consumers_of_committed_messages_see_all_copies_when_the_copy_ends(migration: Migration) -> None:
    kafka = {"bootstrap.servers": migration.kafka}
    seen: list[tuple[int, int]] = []
    with TopicConsumer(kafka, migration.target) as target:

        def look(report: Report) -> None:
            if report.lag == 0:
                ends = [high for _, high in target.bounds(range(3)).values()]
                known = ProgressTopic(kafka, migration.target, None).read()
                next_ones = [progress.written.offset + 1 for progress in known.values() if progress.written]
                seen.append((sum(progress.copied for progress in known.values()), sum(map(gt, ends, next_ones))))

        for number in range(1, 6):  # a broker is late at about every fourth commit
            migration.send(messages(30, migration.ids, seed=number))
            TopicCopy(migration.state, Wishes(accept=["message-size"]), look).run()
            assert seen[-1] == (30 * number, 3)  # behind the copies there are markers
    assert len(seen) == 5


@pytest.mark.promise("stopped-anytime")
@pytest.mark.parametrize("letters", ["topic", "file"])
def test_without_transactions_a_killed_copy_goes_on_behind_the_last_message_that_arrived(
    migration: Migration, letters: str
) -> None:
    migration.send(messages(30_000, migration.ids, bad=50, seed=5, damaged=False))
    file = migration.folder / "letters.jsonl"
    more = ["--transactions", "off", *(["--dead-letters", str(file)] if letters == "file" else [])]
    draw = random.Random(7)
    kills = sum(migration.kill_after(draw.randint(1, 6_000), *more) for _ in range(4))
    assert kills >= 3
    told = migration(*more)

    assert (told["transactions"], told["ended"]) == (False, True)
    found = read(migration.kafka, migration.target)
    check_places(found)
    assert without_places(found) == expected(migration.sent)
    if letters == "topic":
        migration.check_letters(migration.dead_letters())
    else:
        assert os.stat(file).st_mode & 0o777 == 0o600
        source = json.loads(file.read_text().splitlines()[0])["source"]
        migration.check_letters(list(read_file(file, source)))


@pytest.mark.promise("aborted")
def test_aborted_messages_are_not_copied(migration: Migration) -> None:
    good = messages(30, migration.ids)
    for number, abort in enumerate([True, False, True]):
        producer = Producer({"bootstrap.servers": migration.kafka, "transactional.id": f"{migration.source}-{number}"})
        producer.init_transactions(60)
        producer.begin_transaction()
        for one in good[number * 10 : number * 10 + 10]:
            parts: Any = {"headers": one.headers, "timestamp": one.timestamp}
            producer.produce(migration.source, one.value, one.key, one.partition, **parts)
        assert producer.flush(60) == 0
        producer.abort_transaction(60) if abort else producer.commit_transaction(60)
    told = migration()
    assert (told["copied"], told["ended"]) == (10, True)
    assert read(migration.kafka, migration.target) == expected(good[10:20])


def test_what_an_open_transaction_of_the_source_hides_is_not_called_copied(
    migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "_SETTLING_SECONDS", 0.5)
    migration.send(messages(30, migration.ids))
    producer = Producer({"bootstrap.servers": migration.kafka, "transactional.id": new_name("open")})
    producer.init_transactions(60)
    producer.begin_transaction()
    (open_,) = messages(1, migration.ids, partitions=1)
    producer.produce(migration.source, open_.value, b"open", open_.partition, timestamp=BEGIN)
    producer.flush(60)
    migration.sent.append(Sent(0, b"open", open_.value, None, BEGIN, open_.copy))
    migration.send(messages(30, migration.ids, seed=2))  # acknowledged, and nobody can read those of partition 0
    behind = sum(one.partition == 0 for one in migration.sent[30:])

    said = migration.run(*migration.command(), code=1)
    assert f"partition 0: {behind} offsets behind an open transaction were not copied" in said.out
    assert "a transaction is open in the source" in said.err
    told = migration.run(*migration.command(), "--json", code=1).lines[-1]
    assert (told["ended"], told["hidden"]) == (False, {"0": behind})
    found = migration.verify(code=1)
    assert (found["same"], found["differences"]) == (False, [])
    assert [one["stopped"] for one in found["partitions"]] == [
        f"{behind} offsets behind an open transaction in the source were not compared", None, None
    ]  # fmt: skip
    assert migration.verify("--until", "copied")["same"]

    producer.commit_transaction(60)
    told = migration()
    assert (told["ended"], told["hidden"], told["copied"]) == (True, {}, 61)
    migration.check_target()
    assert migration.verify()["same"]


def test_an_empty_topic_is_copied_to_its_end(migration: Migration) -> None:
    assert (migration()["copied"], migration()["ended"]) == (0, True)


def test_a_copy_remembers_where_it_began_in_partitions_that_had_nothing_yet(migration: Migration) -> None:
    migration.send(messages(30, migration.ids))
    ends = {0: 0, 1: 0, 2: 0}
    for one in migration.sent:
        ends[one.partition] += 1
    wishes = Wishes(start=ends, accept=["message-size"])
    assert TopicCopy(migration.state, wishes).run().copied == 0
    assert migration()["copied"] == 0
    new = messages(3, migration.ids, seed=9)
    send(migration.kafka, migration.source, new)
    assert migration()["copied"] == 3
    assert read(migration.kafka, migration.target) == expected(new)


def test_following_goes_on_until_a_signal_and_commits_first(migration: Migration) -> None:
    migration.send(messages(100, migration.ids))
    process = migration.start("--follow")
    try:
        wait_for_copies(migration, process)
        migration.send(messages(50, migration.ids, seed=2))
        wait_for_copies(migration, process)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 0
    assert json.loads(said)["copied"] == 150
    migration.check_target()


def test_following_writes_nothing_while_nothing_comes(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "COMMIT_SECONDS", 0.1)
    migration.send(messages(30, migration.ids))
    ends: list[int] = []

    def look(report: Report) -> None:
        if not report.lag:
            ends.append(used())

    with Gauge(migration.kafka, f"{migration.target}.migration-state") as used:
        TopicCopy(migration.state, Wishes(follow=True, accept=["message-size"]), look, lambda: len(ends) == 8).run()
    assert len(set(ends[2:8])) == 1


def wait_for_copies(migration: Migration, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + LIMIT
    while sum(map(len, read(migration.kafka, migration.target).values())) < len(migration.sent):
        assert process.poll() is None
        assert time.monotonic() < until


def test_a_signal_before_the_end_commits_and_says_that_it_can_go_on(migration: Migration) -> None:
    migration.send(messages(60_000, migration.ids))
    group = new_name("group")
    commit(migration.kafka, group, migration.source, {0: 0})
    process = migration.start("--groups", group)
    migration.wait_for(process, 1)
    process.send_signal(signal.SIGINT)
    done, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, said.decode()
    assert b"run this again" in said
    assert json.loads(done)["groups"] == []
    assert migration()["copied"] == 60_000
    migration.check_target()


def test_a_copy_that_is_too_large_for_the_target_is_named(migration: Migration) -> None:
    small = new_name("small")
    create(migration.kafka, small, max_message_bytes="5000")
    state = migration.saved(migration.source, small)
    big = b"\0" + migration.ids[0].to_bytes(4) + b"\x02A" * 5_000
    send(migration.kafka, migration.source, [Sent(1, b"k", big, None, BEGIN)])
    arguments = migration.sides("topic", migration.source, small, "--state", str(state.path), "--json")
    failed = CommandLine()(*arguments, "--accept", "message-size", code=1).error["error"]
    assert "partition 1, offset 0 is too large: its value has 10010 bytes" in failed["message"]
    assert "max.message.bytes" in failed["hint"]


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("before", [300, 2_500])
def test_a_copy_that_the_broker_refuses_is_named(migration: Migration, mode: str, before: int) -> None:
    migration.target = new_name("bounded")
    create(migration.kafka, migration.target, max_message_bytes="2000000", message_timestamp_before_max_ms="7200000")
    migration.state = migration.saved(migration.source, migration.target)
    migration.send(messages(before, migration.ids, partitions=1))
    (early,) = messages(1, migration.ids, partitions=1)
    moment = BEGIN - 5 * 3_600_000
    send(migration.kafka, migration.source, [Sent(0, b"early", early.value, None, moment)])
    migration.send(messages(100, migration.ids, seed=2, partitions=1))
    began = time.monotonic()
    failed = migration("--transactions", mode, code=1)
    assert "the broker refused the message of partition 0 with key b'key " in failed["message"]
    assert "or a later one in its batch: Broker: Invalid timestamp" in failed["message"]
    assert migration.target in failed["message"]
    assert "message.timestamp.before.max.ms" in failed["hint"]
    assert time.monotonic() - began < 60  # not five attempts


def test_a_message_of_a_schema_that_cannot_be_copied_is_named_behind_what_is_before_it(migration: Migration) -> None:
    migration.send(messages(40, migration.ids, partitions=1))
    schema = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
    url = f"{migration.sides.confluent}/subjects/{new_name('json')}/versions"
    number = requests.post(url, json={"schema": schema, "schemaType": "JSON"}, timeout=60).json()["id"]
    send(migration.kafka, migration.source, [Sent(0, b"k", header.pack_id(number) + b"{}", None, BEGIN)])
    failed = migration(code=1)
    assert "got type JSON" in failed["message"]
    assert "partition 0, offset 40" in failed["message"]
    migration.check_target()


def test_following_ends_when_the_source_gets_more_partitions(
    migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamnative_serdes.migration.copying.inlet_outlet._LOOK_SECONDS", 0.0)
    migration.send(messages(10, migration.ids))
    admin = AdminClient({"bootstrap.servers": migration.kafka})
    wishes = Wishes(follow=True, accept=["message-size"])
    grown: list[Any] = []

    def grow(report: Report) -> None:
        if report.copied == 10 and not grown:
            grown.append(admin.create_partitions([NewPartitions(migration.source, 4)])[migration.source].result(60))

    with pytest.raises(SerdesError, match="had 3 partitions and has 4 now"):
        TopicCopy(migration.state, wishes, grow).run()
    migration.check_target()


def test_a_schema_that_was_not_copied_stops_the_copy_behind_what_is_before_it(migration: Migration) -> None:
    migration.send(messages(40, migration.ids[:3], partitions=1))
    new = {**VERSIONS[3], "name": "Newer"}
    (number,) = register(migration.sides.confluent, new_name("elsewhere"), [new])
    late = Sent(0, b"k", b"\0" + number.to_bytes(4) + b"\x02A\x00\x00\x00", None, BEGIN, b"")
    send(migration.kafka, migration.source, [late])
    failed = migration(code=1)
    assert f"schema {number} has not been copied" in failed["message"]
    assert "partition 0, offset 40" in failed["message"]
    assert "migrate schemas" in failed["hint"]
    migration.check_target()
    migration.state.mapping[number] = 9
    migration.state.save()
    assert migration()["copied"] == 41


def test_following_goes_on_with_a_schema_that_was_copied_meanwhile(migration: Migration) -> None:
    migration.send(messages(40, migration.ids[:3], partitions=1))
    new = {**VERSIONS[3], "name": "Newer"}
    (number,) = register(migration.sides.confluent, new_name("elsewhere"), [new])
    body = b"\x02A\x00\x00\x00"

    copied = 0

    def look(report: Report) -> None:
        nonlocal copied
        copied = report.copied
        if copied == len(migration.sent) == 40:
            other = State.load(migration.state.path, migration.state.route)
            other.mapping[number] = 9
            other.save()
            migration.send([Sent(0, b"k", header.pack_id(number) + body, None, BEGIN, header.pack(9) + body)])

    wishes = Wishes(follow=True, accept=["message-size"])
    TopicCopy(migration.state, wishes, look, lambda: copied == 41).run()
    migration.check_target()
    assert number in migration.state.mapping


def test_a_group_that_is_in_use_in_the_target_is_refused_by_name(migration: Migration) -> None:
    migration.send(messages(10, migration.ids))
    group = new_name("busy")
    commit(migration.kafka, group, migration.source, {0: 1})
    busy = Consumer({"bootstrap.servers": migration.kafka, "group.id": group})
    busy.subscribe([migration.target])
    try:
        until = time.monotonic() + LIMIT
        while not busy.assignment():
            busy.poll(0.2)
            assert time.monotonic() < until
        failed = migration("--groups", group, code=1)
    finally:
        busy.close()
    assert "is in use in the target" in failed["message"]
    assert migration("--groups", group)["groups"] == [
        {"group": group, "partition": 0, "source": 1, "target": 1, "early": False}
    ]


def test_a_full_disk_for_the_dead_letters_stops_the_copy_and_it_goes_on_later(migration: Migration) -> None:
    migration.send(messages(1_000, migration.ids, bad=20, damaged=False))
    file = str(migration.folder / "letters")
    command = ["bash", "-c", 'ulimit -f 2; exec "$@"', "-", *migration.command("--dead-letters", file)]  # 2 KiB
    command[4:4] = [sys.executable, "-m", "streamnative_serdes"]
    failed = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert failed.returncode == 1
    assert f"{file} cannot be written: File too large" in failed.stderr
    assert migration("--dead-letters", file)["bad"] == 20
    migration.check_target()


def large_bad_message(migration: Migration, limit: int, size: int) -> None:
    """Source and target that permit ``limit`` bytes, and a bad message of ``size`` bytes."""
    migration.source, migration.target = new_name("large"), new_name("large-target")
    create(migration.kafka, migration.source, max_message_bytes=str(limit))
    create(migration.kafka, migration.target, max_message_bytes=str(limit + 7))
    migration.state = migration.saved(migration.source, migration.target)
    producer = Producer({"bootstrap.servers": migration.kafka, "message.max.bytes": limit})
    producer.produce(migration.source, b"\7" * size, b"key", 0, timestamp=BEGIN)
    assert producer.flush(LIMIT) == 0


def test_a_dead_letter_may_be_larger_than_the_brokers_default(migration: Migration) -> None:
    large_bad_message(migration, 3_000_000, 2_000_000)
    assert migration()["bad"] == 1
    (letter,) = migration.dead_letters()
    assert letter is not None
    assert letter.value == b"\7" * 2_000_000


def test_a_dead_letter_that_is_too_large_with_its_reason_can_go_to_a_file(migration: Migration) -> None:
    large_bad_message(migration, 3_000_000, 2_999_900)
    failed = migration(code=1)
    assert "its value has 2999900 bytes" in failed["message"]
    assert "into a file" in failed["hint"]
    assert migration("--dead-letters", str(migration.folder / "letters"))["bad"] == 1


def test_a_dead_letter_may_have_any_time(migration: Migration) -> None:
    create(migration.kafka, source := new_name("ahead"), message_timestamp_after_max_ms=str(2**63 - 1))
    migration.source, migration.state = source, migration.saved(source, migration.target)
    migration.send([Sent(0, b"k", b"not framed", None, BEGIN + 100 * 3_600_000, bad=True)])
    assert migration()["bad"] == 1
    migration.check_letters(migration.dead_letters())
    topic = Cluster({"bootstrap.servers": migration.kafka}, source).topic(f"{migration.target}.dead-letters")
    assert topic is not None
    assert {"retention.ms", "cleanup.policy", "message.timestamp.after.max.ms"} <= topic.own.keys()


def test_a_new_partition_has_dead_letters_too(migration: Migration) -> None:
    migration.send(messages(10, migration.ids))
    migration()
    admin = AdminClient({"bootstrap.servers": migration.kafka})
    for topic in (migration.source, migration.target):
        admin.create_partitions([NewPartitions(topic, 4)])[topic].result(60)
    send(migration.kafka, migration.source, [Sent(3, b"key", b"bad", None, BEGIN)])
    assert migration()["bad"] == 1


def test_a_dry_run_says_what_is_left_and_where_groups_would_be_and_writes_nothing(migration: Migration) -> None:
    migration.send([Sent(0, b"key", None, None, BEGIN + number) for number in range(5)])
    group = new_name("group")
    commit(migration.kafka, group, migration.source, {0: 3})
    moved = {"group": group, "partition": 0, "source": 3}
    dry = migration("--dry-run", "--groups", group)
    assert (dry["left"], dry["groups"]) == (5, [{**moved, "target": 0, "early": True}])
    admin = AdminClient({"bootstrap.servers": migration.kafka})
    assert not {name for name in admin.list_topics(timeout=60).topics if name.startswith(f"{migration.target}.")}
    migration()
    dry = migration("--dry-run", "--groups", group)
    assert (dry["left"], dry["groups"]) == (0, [{**moved, "target": 3, "early": False}])
    assert "has no offsets" in migration("--dry-run", "--groups", "nobody", code=1)["message"]
    wanted = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(wanted)[group].result(60).topic_partitions
    assert {place.topic for place in found} == {migration.source}
