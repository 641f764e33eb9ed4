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
from streamnative_serdes._topics.schema_version import Compiled, Posted, SchemaVersion
from streamnative_serdes._topics.topic_state import PickledSchema, Refusal, Topics, TopicState
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


def keep_registered(topics: Topics, topic: TopicName, text: str, version: int) -> None:
    known = SchemaVersion(info(version, text=text), topic.given, Compiled(parse(text)))
    topics.keep_registered(topic, Posted("AVRO", text), known)


def known_topics(topics: Topics, *given: str) -> list[str]:
    return [topic for topic in given if topics.get(name(topic)).newest]


# Bounds


def test_one_more_topic_drops_the_least_recently_used() -> None:
    topics = made(3)
    for topic in "abc":
        topics.use(name(topic))
        topics.keep(name(topic), info(0))
    topics.use(name("a"))
    topics.keep(name("d"), info(0))
    assert known_topics(topics, *"abcd") == ["a", "c", "d"]
    assert len(topics) == 3


def test_a_response_for_a_topic_does_not_count_as_its_use() -> None:
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
    assert topics.get(name("unknown2")).refusals == {}  # the capacity limits them, too
    topics.keep(name("unknown4"), info(0))
    assert topics.get(name("unknown4")).refusals == {("latest",): refusal}
    topics.forget(name("unknown4"))
    assert topics.get(name("unknown4")).refusals == {}


def test_a_change_during_another_change_is_kept() -> None:
    """Such as by a signal handler or a finalizer that serializes."""
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
def test_the_capacity_counts_topics_for_each_user(users: int, kept: int) -> None:
    topics = made(2)
    topics.make_room(5)
    for topic in "abcdefghi":
        topics.keep(name(topic), info(0))
    assert len(topics) == 9
    topics.make_room(users)
    topics.keep(name("i"), info(1))
    assert len(topics) == kept
    assert known_topics(topics, *"abcdefghi") == [*"abcdefghi"][-kept:]


def test_a_capacity_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a capacity of at least 1, got 0"):
        LruMap(0)


def test_one_version_more_than_the_capacity_drops_the_first() -> None:
    topics = made(2)
    for version in (0, 1):
        topics.keep(T, info(version))
    assert [*topics.get(T).schemas] == [0, 1]
    topics.keep(T, info(2))
    assert [*topics.get(T).schemas] == [1, 2]
    topics.keep(T, info(1, timestamp=5))  # a known version is replaced in place
    assert [*topics.get(T).schemas] == [1, 2]


def test_one_written_schema_more_than_the_capacity_drops_the_first() -> None:
    topics = made(2)
    for size in (1, 2):
        keep_registered(topics, T, fixed(size), size)
    assert [*topics.get(T).versions.values()] == [1, 2]
    keep_registered(topics, T, fixed(3), 3)
    assert topics.get(T).versions == {Posted("AVRO", fixed(2)): 2, Posted("AVRO", fixed(3)): 3}


def test_refusals_are_bounded_too() -> None:
    state = TopicState(T)
    for version in range(4):
        state = state.with_refusal(("version", version), Refusal(SchemaNotFoundError("no"), 0.0), 2)
    assert [*state.refusals] == [("version", 2), ("version", 3)]


# Forgetting


def test_forgetting_a_topic_drops_its_whole_state_and_no_other() -> None:
    topics = made()
    for topic in ("t", "other"):
        keep_registered(topics, name(topic), INT, 0)
        topics.keep_latest(name(topic), topics.keep(name(topic), info(0)))
    topics.change(T, lambda state: state.with_refusal(("all",), Refusal(SchemaNotFoundError("no"), 9e9), 2))
    topics.forget(T)
    state = topics.get(T)
    assert (state.schemas, state.versions, state.refusals, state.latest, state.newest) == ({}, {}, {}, None, None)
    assert known_topics(topics, "t", "other") == ["other"]
    topics.forget(T)  # twice has the same effect


def test_a_topic_that_lost_its_schemas_is_requested_again_and_can_still_be_read() -> None:
    topics = made()
    keep_registered(topics, T, INT, 0)
    topics.keep_latest(T, topics.keep(T, info(0)))
    refusal = Refusal(SchemaNotFoundError("no"), 9e9)
    state = topics.change(T, lambda now: now.with_refusal(("all",), refusal, 2).without_registrations())
    assert (state.versions, state.latest, state.refusals) == ({}, None, {})
    assert [*state.schemas] == [0]
    assert state.newest is state.schemas[0]


def test_an_expired_topic_keeps_its_versions_and_its_latest_schema_but_has_to_be_asked_for_it() -> None:
    topics, unknown = made(), name("unknown")
    keep_registered(topics, T, INT, 0)
    held = topics.keep_latest(T, topics.keep(T, info(0)))
    refusal = Refusal(SchemaNotFoundError("no"), time.monotonic() + 60)
    for topic in (T, unknown):
        topics.change(topic, lambda now: now.with_refusal(("latest",), refusal, 2))
    topics.expire()
    state = topics.get(T)
    assert ([*state.schemas], state.versions, state.refusals) == ([0], {Posted("AVRO", INT): 0}, {})
    assert state.latest is not None
    assert (state.latest.known, state.latest.valid, held.valid) == (held.known, False, True)
    assert (topics.get(unknown).latest, topics.get(unknown).refusals) == (None, {})


def test_all_topics_may_be_forgotten_at_once() -> None:
    topics = made()
    refusal = Refusal(SchemaNotFoundError("no"), time.monotonic() + 60)
    topics.keep(T, info(0))
    topics.change(name("unknown"), lambda now: now.with_refusal(("latest",), refusal, 2))
    topics.forget_all()
    assert (len(topics), topics.get(name("unknown")).refusals) == (0, {})


def test_the_registration_time_of_the_newest_version_is_kept_after_the_version_was_dropped() -> None:
    topics = made(1)
    topics.keep(T, info(5))  # a POST does not return the registration time
    topics.keep(T, info(5, timestamp=9))
    topics.keep(T, info(3, timestamp=8))
    state = topics.get(T)
    assert [*state.schemas] == [3]
    assert state.contradiction(info(5, timestamp=10), Limits()) == (
        "version 5 has a different registration time than before"
    )


@pytest.mark.parametrize(
    ("before", "after", "fits"), [(0, 0, True), (9, 0, True), (0, 9, True), (9, 9, True), (9, 8, False)]
)
def test_only_two_known_registration_times_can_contradict_each_other(before: int, after: int, fits: bool) -> None:
    topics = made()
    topics.keep(T, info(0, timestamp=before))
    assert (topics.get(T).contradiction(info(0, timestamp=after), Limits()) == "") is fits


def test_a_different_schema_of_a_known_version_is_a_contradiction_also_of_an_older_one() -> None:
    topics = made()
    for version, text in enumerate((INT, '"long"')):
        topics.keep(T, info(version, text=text))
    state = topics.get(T)
    for version, text in ((0, '"long"'), (0, "{"), (1, INT)):
        why = state.contradiction(info(version, text=text), Limits())
        assert why == f"version {version} has a different schema than before"
    assert state.contradiction(info(2, text='"string"'), Limits()) == ""
    assert TopicState(T).contradiction(info(0), Limits()) == ""


def test_a_refused_request_may_be_repeated_after_a_registration() -> None:
    topics = made()
    topics.change(T, lambda state: state.with_refusal(("latest",), Refusal(SchemaNotFoundError("no"), 9e9), 2))
    keep_registered(topics, T, INT, 0)
    assert topics.get(T).refusals == {}


# Checking topics in use


def test_known_topics_in_use_are_listed_with_the_least_recently_checked_first() -> None:
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


def test_a_state_has_the_name_with_which_its_topic_was_last_used() -> None:
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
    keep_registered(topics, T, INT, 2)
    topics.forget(T)
    assert ([*before.schemas], before.versions, before.newest) == ([0], {}, before.schemas[0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.latest = None  # type: ignore[misc]


def test_changes_of_several_threads_are_all_kept() -> None:
    topics = made(1000)

    def write(number: int) -> None:
        for version in range(50):
            topics.keep(T, info(number * 50 + version))
            topics.keep(name(f"t{number}-{version}"), info(0))

    together(8, write)
    assert sorted(topics.get(T).schemas) == [*range(400)]
    assert len(topics) == 401


def test_a_reader_sees_consistent_states_while_others_write_and_forget() -> None:
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


def test_a_change_that_fails_does_not_affect_the_state_and_the_lock() -> None:
    topics = made()
    topics.keep(T, info(0))
    before = topics.get(T)

    def fail(_: TopicState) -> TopicState:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        topics.change(T, fail)
    assert topics.get(T) is before
    assert elsewhere(lambda: topics.use(T).schemas) == before.schemas


def test_an_invalid_schema_does_not_affect_the_state() -> None:
    topics = made()
    for wrong in (SchemaInfo(0, "KEY_VALUE", "{}"), info(0, text="{")):
        with pytest.raises(SchemaError, match="topic t, schema version 0"):
            topics.keep(T, wrong)
    assert len(topics) == 0


def test_after_a_fork_no_thread_waits_for_a_thread_of_the_parent() -> None:
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


def test_a_pickle_carries_the_known_schemas() -> None:
    topics = made()
    topics.keep(T, info(0, timestamp=7))
    topics.keep_latest(T, topics.keep(T, info(1, timestamp=8, text='"long"')))
    keep_registered(topics, T, INT, 0)
    topics.keep(name("other"), info(0))
    learnt = topics.learnt([T, T, name("never met")])
    assert learnt == (
        PickledSchema(T, 0, Posted("AVRO", INT), False, 7, witness=True),
        PickledSchema(T, 1, Posted("AVRO", '"long"'), True, 8, witness=False),
    )

    there = made()
    assert there.learn(pickle.loads(pickle.dumps(learnt))) == {}
    assert there.learnt([T]) == learnt
    assert there.get(T).topic.given == "t"
    assert there.in_use() == []  # not used there yet

    known = there.get(T)
    assert there.learn(learnt) == {}
    assert there.get(T) is known, "what is bound by a state is bound again when another state takes its place"


def learnt(*versions: int, witness: int) -> list[PickledSchema]:
    posted = {version: Posted("AVRO", fixed(version + 1)) for version in versions}
    return [PickledSchema(T, each, posted[each], False, each + 1, each == witness) for each in versions]


def witnesses(topics: Topics) -> list[int]:
    return [each.version for each in topics.get(T).witnesses]


def test_a_pickles_witness_becomes_one_unless_it_is_known_already() -> None:
    topics = made()
    for more, witness, found in (
        ((3, 4), 4, [4]),
        ((4, 5), 4, [4]),
        ((0, 1, 4), 0, [4, 0]),
        ((1, 2), 1, [4, 0]),
        ((7,), 7, [4, 0, 7]),
    ):
        assert topics.learn(learnt(*more, witness=witness)) == {}
        assert witnesses(topics) == found
    assert topics.learn([learnt(7, witness=7)[0]._replace(timestamp=9)]) == {
        T: "version 7 has a different registration time than before"
    }


def test_versions_are_witnesses_until_one_with_a_registration_time_is() -> None:
    topics = made()
    for version in (0, 1):
        keep_registered(topics, T, fixed(version + 1), version)
    assert witnesses(topics) == [1, 0]
    topics.keep(T, info(1, 5, fixed(2)))
    assert witnesses(topics) == [1, 0]
    assert topics.get(T).witnesses[0].info.timestamp == 5
    topics.keep(T, info(2, 6, fixed(3)))
    assert witnesses(topics) == [1, 0]


def test_a_check_leaves_the_witnesses_that_it_did_not_compare() -> None:
    topics = made()
    known = [topics.keep(T, info(version, version + 1, fixed(version + 1))) for version in range(3)]
    before = topics.get(T)
    topics.change(T, lambda state: state.with_witness(known[1]))
    topics.change(T, lambda state: state.confirmed(known[2], before.witnesses))
    assert witnesses(topics) == [2, 1]


def test_a_check_that_learns_the_time_of_a_witness_has_compared_it() -> None:
    topics = made()
    for version in (0, 1):
        keep_registered(topics, T, fixed(version + 1), version)
    before = topics.get(T)
    known = [topics.keep(T, info(version, version + 1, fixed(version + 1))) for version in (0, 1)]
    topics.change(T, lambda state: state.confirmed(known[1], before.witnesses))
    assert witnesses(topics) == [1]


def test_all_that_is_known_of_a_version_is_compared() -> None:
    """The schemas to read by are bounded, and may have been forgotten and asked for again."""
    topics = made(capacity=1)
    old = topics.keep(T, info(0, 0, fixed(1)))
    topics.keep(T, info(1, 2, fixed(2)))
    topics.change(T, lambda state: state.with_witness(old))
    topics.keep(T, info(0, 3, fixed(3)))
    assert topics.get(T).contradiction(info(0, 3, fixed(3)), Limits()) == "version 0 has a different schema than before"


def test_a_registration_time_is_taken_over_from_a_pickle_that_has_it() -> None:
    topics = made()
    for timestamp, expected in ((0, 0), (9, 9), (0, 9)):
        assert topics.learn([PickledSchema(T, 0, Posted("AVRO", INT), False, timestamp)]) == {}
        assert topics.get(T).schemas[0].info.timestamp == expected
    assert topics.learn([PickledSchema(T, 0, Posted("AVRO", INT), False, 8)]) == {
        T: "version 0 has a different registration time than before"
    }
    assert topics.get(T).newest is None


def test_an_older_latest_schema_is_not_taken_over() -> None:
    topics = made()
    for version, latest in ((1, 1), (0, 1), (2, 2)):
        topics.learn([PickledSchema(T, version, Posted("AVRO", fixed(version + 1)), True, 0)])
        held = topics.get(T).latest
        assert held is not None
        assert held.known.version == latest
    topics.learn([PickledSchema(T, 3, Posted("AVRO", fixed(4)), False, 0)])
    assert topics.get(T).latest is held


def test_a_latest_schema_is_valid_only_until_its_ttl() -> None:
    for seconds, valid in ((60.0, True), (0.0, False)):
        latest = made(ttl=seconds).keep_latest(T, SchemaVersion(info(0), avro=Compiled.of(INT, Limits())))
        assert latest.valid is valid


def test_a_change_can_be_made_during_another_one_by_the_same_thread() -> None:
    """Such as by a signal handler or a finalizer, in the thread that holds the lock."""
    topics = made()

    def nested(state: TopicState) -> TopicState:
        topics.keep(name("other"), info(0))
        return state.answered()

    topics.change(T, nested)
    assert known_topics(topics, "other") == ["other"]
