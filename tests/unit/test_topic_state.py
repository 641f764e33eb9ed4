"""The state of a topic is immutable, in a bounded map: topics in use stay, and forgetting a topic is complete."""

from __future__ import annotations

import dataclasses
import json
import pickle
import threading
import time

import pytest
from waiting import HANG_SECONDS, elsewhere, join, together

from streamnative_serdes._schema import Limits, parse
from streamnative_serdes._topics.cache import LruMap
from streamnative_serdes._topics.known import Compiled, Known
from streamnative_serdes._topics.topic_state import Learnt, Refusal, TopicState
from streamnative_serdes._topics.topics import Topics
from streamnative_serdes.errors import SchemaError, SchemaNotFoundError
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

INT = '"int"'
T = TopicName.parse("t")


def made(capacity: int = 10, ttl: float = 60.0) -> Topics:
    return Topics(capacity, ttl, Limits())


def name(topic: str) -> TopicName:
    return TopicName.parse(topic)


def info(version: int, timestamp: int = 0, text: str = INT) -> SchemaInfo:
    return SchemaInfo(version, "AVRO", text, timestamp=timestamp)


def fixed(size: int) -> str:
    return json.dumps({"type": "fixed", "name": "F", "size": size})


def known_topics(topics: Topics, *given: str) -> list[str]:
    return [topic for topic in given if topics.get(name(topic)).newest]


# Bounds


def test_as_many_topics_as_the_capacity_are_kept() -> None:
    topics = made(3)
    for topic in "abc":
        topics.keep(name(topic), info(0))
    assert known_topics(topics, *"abc") == ["a", "b", "c"]


def test_one_topic_more_drops_the_one_whose_use_is_longest_ago() -> None:
    topics = made(3)
    for topic in "abc":
        topics.use(name(topic))
        topics.keep(name(topic), info(0))
    topics.use(name("a"))
    topics.keep(name("d"), info(0))
    assert known_topics(topics, *"abcd") == ["a", "c", "d"]
    assert len(topics) == 3


def test_an_answer_for_a_topic_does_not_count_as_its_use() -> None:
    topics = made(2)
    for topic in "ab":
        topics.use(name(topic))
        topics.keep(name(topic), info(0))
    topics.keep(name("a"), info(1))
    topics.keep(name("c"), info(0))
    assert known_topics(topics, *"ab") == ["b"]


def test_topics_without_schemas_evict_no_known_topic() -> None:
    topics = made(2)
    for topic in "ab":
        topics.keep(name(topic), info(0))
    refusal = Refusal(SchemaNotFoundError("none"), time.monotonic() + 60)
    for number in range(5):
        unknown = name(f"unknown{number}")
        topics.use(unknown)
        topics.change(unknown, lambda state: state.with_refusal(("latest",), refusal, 10))
    assert known_topics(topics, *"ab") == ["a", "b"]
    assert topics.get(name("unknown4")).refusals == {("latest",): refusal}
    assert topics.get(name("unknown2")).refusals == {}  # the capacity bounds them, too
    topics.keep(name("unknown4"), info(0))
    assert topics.get(name("unknown4")).refusals == {("latest",): refusal}
    topics.forget(name("unknown4"))
    assert topics.get(name("unknown4")).refusals == {}


def test_a_change_in_the_middle_of_another_one_is_kept() -> None:
    """As by a signal handler or a finalizer that serializes."""
    topics = made()
    topics.keep(T, info(0))
    versions = iter((1, 2))

    def step(state: TopicState) -> TopicState:
        for version in versions:
            topics.keep(T, info(version))
        return state.answered()

    assert topics.change(T, step).asked > 0
    assert sorted(topics.get(T).schemas) == [0, 1, 2]


def test_no_lock_is_held_while_a_step_runs() -> None:
    topics = made()
    topics.keep(T, info(0))

    def step(state: TopicState) -> TopicState:
        assert elsewhere(lambda: topics.keep(name("other"), info(0))).version == 0
        return state.answered()

    topics.change(T, step)
    assert known_topics(topics, "t", "other") == ["t", "other"]


def test_with_a_capacity_of_one_the_topic_used_last_stays() -> None:
    topics = made(1)
    for topic in "ab":
        topics.use(name(topic))
        topics.keep(name(topic), info(0))
    assert known_topics(topics, *"ab") == ["b"]


@pytest.mark.parametrize(("users", "kept"), [(0, 2), (1, 2), (3, 6)])
def test_each_user_has_room_for_as_many_topics_as_the_capacity(users: int, kept: int) -> None:
    topics = made(2)
    topics.make_room(5)
    for topic in "abcdefghi":
        topics.keep(name(topic), info(0))
    assert len(topics) == 9
    topics.make_room(users)
    topics.keep(name("i"), info(1))
    assert len(topics) == kept
    assert known_topics(topics, *"abcdefghi") == [*"abcdefghi"][-kept:]


def test_a_capacity_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a capacity of at least 1, got 0"):
        LruMap(0)


def test_as_many_versions_as_the_capacity_are_kept_and_one_more_drops_the_first() -> None:
    topics = made(2)
    for version in (0, 1):
        topics.keep(T, info(version))
    assert [*topics.get(T).schemas] == [0, 1]
    topics.keep(T, info(2))
    assert [*topics.get(T).schemas] == [1, 2]
    topics.keep(T, info(1, timestamp=5))  # a known one is replaced in its place
    assert [*topics.get(T).schemas] == [1, 2]


def test_as_many_written_schemas_as_the_capacity_are_kept_and_one_more_drops_the_first() -> None:
    topics = made(2)
    for size in (1, 2):
        topics.keep_registered(T, parse(fixed(size)), size)
    assert [*topics.get(T).versions.values()] == [1, 2]
    topics.keep_registered(T, parse(fixed(3)), 3)
    assert topics.get(T).versions == {parse(fixed(2)).text: 2, parse(fixed(3)).text: 3}


def test_refusals_are_bounded_too() -> None:
    state = TopicState(T)
    for version in range(4):
        state = state.with_refusal(("version", version), Refusal(SchemaNotFoundError("no"), 0.0), 2)
    assert [*state.refusals] == [("version", 2), ("version", 3)]


# What is forgotten, and what is not


def test_forgetting_a_topic_forgets_all_of_it_and_nothing_else() -> None:
    topics = made()
    for topic in ("t", "other"):
        topics.keep_registered(name(topic), parse(INT), 0)
        topics.keep_latest(name(topic), topics.keep(name(topic), info(0)))
    topics.change(T, lambda state: state.with_refusal(("all",), Refusal(SchemaNotFoundError("no"), 9e9), 2))
    topics.forget(T)
    state = topics.get(T)
    assert (state.schemas, state.versions, state.refusals, state.latest, state.newest) == ({}, {}, {}, None, None)
    assert known_topics(topics, "t", "other") == ["other"]
    topics.forget(T)  # twice is as good as once


def test_a_topic_that_lost_its_schemas_is_asked_again_and_still_reads() -> None:
    topics = made()
    topics.keep_registered(T, parse(INT), 0)
    topics.keep_latest(T, topics.keep(T, info(0)))
    refusal = Refusal(SchemaNotFoundError("no"), 9e9)
    state = topics.change(T, lambda now: now.with_refusal(("all",), refusal, 2).without_registrations())
    assert (state.versions, state.latest, state.refusals) == ({}, None, {})
    assert [*state.schemas] == [0]
    assert state.newest is state.schemas[0]


def test_the_registration_time_of_the_newest_version_is_kept_after_the_version_was_dropped() -> None:
    topics = made(1)
    topics.keep(T, info(5))  # a POST does not tell the time
    topics.keep(T, info(5, timestamp=9))
    topics.keep(T, info(3, timestamp=8))
    state = topics.get(T)
    assert [*state.schemas] == [3]
    assert state.contradiction(info(5, timestamp=10), Limits()) == (
        "version 5 was registered at another time than before"
    )


@pytest.mark.parametrize(
    ("before", "after", "fits"), [(0, 0, True), (9, 0, True), (0, 9, True), (9, 9, True), (9, 8, False)]
)
def test_only_two_known_times_of_registration_can_contradict_each_other(before: int, after: int, fits: bool) -> None:
    topics = made()
    topics.keep(T, info(0, timestamp=before))
    assert (topics.get(T).contradiction(info(0, timestamp=after), Limits()) == "") is fits


def test_another_schema_of_a_known_version_is_a_contradiction_and_an_unknown_version_is_none() -> None:
    topics = made()
    topics.keep(T, info(0))
    state = topics.get(T)
    assert state.contradiction(info(0, text='"long"'), Limits()) == "version 0 has another schema than before"
    assert state.contradiction(info(0, text="{"), Limits()) == "version 0 has another schema than before"
    assert state.contradiction(info(1, text='"long"'), Limits()) == ""
    assert TopicState(T).contradiction(info(0), Limits()) == ""


def test_an_older_known_version_is_compared_too() -> None:
    topics = made()
    for version, text in enumerate((INT, '"long"')):
        topics.keep(T, info(version, text=text))
    assert topics.get(T).contradiction(info(0, text='"string"'), Limits()) != ""
    assert topics.get(T).contradiction(info(1), Limits()) != ""


def test_what_was_refused_may_be_asked_again_after_a_registration() -> None:
    topics = made()
    topics.change(T, lambda state: state.with_refusal(("latest",), Refusal(SchemaNotFoundError("no"), 9e9), 2))
    topics.keep_registered(T, parse(INT), 0)
    assert topics.get(T).refusals == {}


# The watch


def test_known_topics_in_use_are_listed_with_the_one_asked_about_longest_ago_first() -> None:
    topics = made()
    for topic in ("late", "early", "idle"):
        topics.use(name(topic))
        topics.keep(name(topic), info(0))
    topics.use(name("unknown"))
    topics.change(name("early"), TopicState.answered)
    topics.change(name("late"), TopicState.answered)
    topics.change(name("idle"), TopicState.checked)
    topics.use(name("never"))
    topics.keep(name("never"), info(0))
    assert [state.topic.given for state in topics.in_use()] == ["never", "early", "late"]
    topics.use(name("idle"))
    assert len(topics.in_use()) == 4


def test_a_state_has_the_name_by_which_its_topic_was_used_last() -> None:
    topics = made()
    full = name("persistent://public/default/t")
    topics.keep(T, info(0))
    assert topics.use(full).topic.given == "persistent://public/default/t"
    assert topics.use(T).topic.given == "t"
    assert len(topics) == 1


# Threads, forks, failures


def test_a_state_never_changes() -> None:
    topics = made()
    topics.keep(T, info(0))
    before = topics.get(T)
    topics.keep(T, info(1))
    topics.keep_registered(T, parse(INT), 2)
    topics.forget(T)
    assert ([*before.schemas], before.versions, before.newest) == ([0], {}, before.schemas[0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.latest = None  # type: ignore[misc]


def test_changes_of_several_threads_all_remain() -> None:
    topics = made(1000)

    def write(number: int) -> None:
        for version in range(50):
            topics.keep(T, info(number * 50 + version))
            topics.keep(name(f"t{number}-{version}"), info(0))

    together(8, write)
    assert sorted(topics.get(T).schemas) == [*range(400)]
    assert len(topics) == 401


def test_a_reader_sees_whole_states_while_others_write_and_forget() -> None:
    topics, ended = made(20), threading.Event()
    broken: list[TopicState] = []

    def write() -> None:
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            for version in range(15):
                topics.keep(T, info(version))
            topics.forget(T)
        ended.set()

    def read() -> None:
        while not ended.is_set():
            state = topics.get(T)
            newest = state.newest.version if state.newest else -1
            if newest != max(state.schemas, default=-1):
                broken.append(state)

    threads = [threading.Thread(target=work) for work in (read, read, write)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert not broken


def test_a_change_that_fails_leaves_the_state_and_the_lock_alone() -> None:
    topics = made()
    topics.keep(T, info(0))
    before = topics.get(T)

    def fail(_: TopicState) -> TopicState:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        topics.change(T, fail)
    assert topics.get(T) is before
    assert elsewhere(lambda: topics.use(T).schemas) == before.schemas


def test_an_invalid_schema_leaves_the_state_alone() -> None:
    topics = made()
    for wrong in (SchemaInfo(0, "JSON", INT), info(0, text="{")):
        with pytest.raises(SchemaError, match="topic t, schema version 0"):
            topics.keep(T, wrong)
    assert len(topics) == 0


def test_a_change_may_be_made_in_the_middle_of_another_one() -> None:
    """As by a signal handler or a finalizer, in the thread that holds the lock."""
    topics = made()

    def nested(state: TopicState) -> TopicState:
        topics.keep(name("other"), info(0))
        return state.answered()

    topics.change(T, nested)
    assert known_topics(topics, "other") == ["other"]


def test_after_a_fork_nobody_waits_for_a_thread_of_the_parent() -> None:
    topics, inside, go_on = made(), threading.Event(), threading.Event()

    def wait(state: TopicState) -> TopicState:
        inside.set()
        assert go_on.wait(HANG_SECONDS)
        return state

    holder = threading.Thread(target=topics.change, args=(T, wait))
    holder.start()
    assert inside.wait(HANG_SECONDS)
    topics.after_fork()  # what the child does
    assert elsewhere(lambda: topics.use(name("other")).in_use)
    go_on.set()
    join(holder)


# Pickles


def test_what_was_learnt_travels_in_a_pickle() -> None:
    topics = made()
    topics.keep(T, info(0, timestamp=7))
    topics.keep_latest(T, topics.keep(T, info(1, timestamp=8, text='"long"')))
    topics.keep_registered(T, parse(INT), 0)
    topics.keep(name("other"), info(0))
    learnt = topics.learnt([T, T, name("never met")])
    assert learnt == (Learnt(T, 0, INT, False, 7), Learnt(T, 1, '"long"', True, 8))

    there = made()
    assert there.learn(pickle.loads(pickle.dumps(learnt))) == {}
    assert there.learnt([T]) == learnt
    assert there.get(T).topic.given == "t"
    assert there.in_use() == []  # nobody has used it there


def test_a_registration_time_is_learnt_from_whoever_knows_it() -> None:
    topics = made()
    for timestamp, expected in ((0, 0), (9, 9), (0, 9)):
        assert topics.learn([Learnt(T, 0, INT, False, timestamp)]) == {}
        assert topics.get(T).schemas[0].timestamp == expected
    assert topics.learn([Learnt(T, 0, INT, False, 8)]) == {T: "version 0 was registered at another time than before"}
    assert topics.get(T).newest is None


def test_an_older_latest_schema_is_not_learnt() -> None:
    topics = made()
    for version, latest in ((1, 1), (0, 1), (2, 2)):
        topics.learn([Learnt(T, version, fixed(version + 1), True, 0)])
        held = topics.get(T).latest
        assert held is not None
        assert held.known.version == latest
    topics.learn([Learnt(T, 3, fixed(4), False, 0)])
    assert topics.get(T).latest is held


def test_a_latest_schema_is_valid_for_its_time_only() -> None:
    for seconds, valid in ((60.0, True), (0.0, False)):
        latest = made(ttl=seconds).keep_latest(T, Known(0, Compiled.of(INT, Limits())))
        assert latest.valid is valid
