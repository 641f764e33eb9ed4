"""Offsets of a batch: cut into ranges for tasks, limited by the options of a trigger, and stored in the checkpoint."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnative_serdes import ConfigError
from streamnative_serdes.spark.datasource.offsets.bounds import Place
from streamnative_serdes.spark.datasource.offsets.checkpoint import after, begin_of, initial, restored, stored
from streamnative_serdes.spark.datasource.offsets.ranges import Delay, Range, limited, ranges_of

PLACES = st.tuples(st.sampled_from(["a", "b-c"]), st.integers(0, 11))
SIZES = st.dictionaries(PLACES, st.integers(0, 2000), max_size=8)
COUNTS = st.none() | st.integers(1, 50)


@given(SIZES, COUNTS, COUNTS)
def test_ranges_have_each_offset_once(sizes: dict[Place, int], least: int | None, most: int | None) -> None:
    starts = dict.fromkeys(sizes, 7)
    found = ranges_of(starts, {place: 7 + size for place, size in sizes.items()}, least, most)
    assert all(each.size > 0 for each in found)
    if most is not None:
        assert all(each.size <= most for each in found)
    for place, size in sizes.items():
        own = [each for each in found if (each.topic, each.partition) == place]
        ends = [7, *(each.end for each in own)]
        assert [each.start for each in own] == ends[:-1]
        assert ends[-1] == 7 + size


@pytest.mark.parametrize(
    ("sizes", "least", "expected"),
    [
        ([100], 4, [25, 25, 25, 25]),
        ([10], 3, [3, 3, 4]),
        ([2], 5, [1, 1]),
        ([100, 100], 2, [100, 100]),
        ([10, 1000], 5, [10, 250, 250, 250, 250]),  # small ranges stay whole
        ([0, 90], 3, [30, 30, 30]),
        ([150, 100], 5, [50, 50, 50, 50, 50]),
        ([3, 5], 4, [1, 2, 1, 2, 2]),  # 1.5 and 2.5 parts: halves go up, as in Java
    ],
)
def test_min_partitions_cuts_in_proportion_as_spark_does(sizes: list[int], least: int, expected: list[int]) -> None:
    ends = {("t", number): size for number, size in enumerate(sizes)}
    assert [each.size for each in ranges_of(dict.fromkeys(ends, 0), ends, least)] == expected


def test_max_records_and_min_partitions_work_together() -> None:
    ends = {("t", 0): 100, ("t", 1): 10}
    starts = dict.fromkeys(ends, 0)
    assert [each.size for each in ranges_of(starts, ends, None, 40)] == [33, 33, 34, 10]
    assert ranges_of(starts, ends, 4, 40) == ranges_of(starts, ends, None, 40)
    assert len(ranges_of(starts, ends, 6, 40)) == 7
    assert ranges_of(starts, starts, 6, 40) == []
    assert ranges_of({("t", 0): 5}, {("t", 0): 5}) == []
    assert ranges_of({("t", 0): 5}, {("t", 0): 6}) == [Range("t", 0, 5, 6)]


@given(SIZES, st.integers(1, 3000))
def test_a_limit_takes_from_each_partition_in_proportion(sizes: dict[Place, int], most: int) -> None:
    begins = dict.fromkeys(sizes, 3)
    ends = {place: 3 + size for place, size in sizes.items()}
    found = limited(most, begins, ends)
    taken = {place: offset - 3 for place, offset in found.items()}
    backlog = [place for place, size in sizes.items() if size]
    assert taken.keys() == sizes.keys()
    assert all(0 <= taken[place] <= size for place, size in sizes.items())
    assert all(taken[place] >= 1 for place in backlog)
    total = sum(sizes.values())
    if total <= most:
        assert found == ends
    else:
        # No more than asked for, but for the one that each partition with a backlog gets at least.
        assert sum(taken.values()) <= most + len(backlog)
        for place, size in sizes.items():
            assert taken[place] in (most * size // total, 1)


def test_partitions_that_the_batch_does_not_know_yet_are_taken_as_they_are() -> None:
    assert limited(5, {("t", 0): 0}, {("t", 0): 10, ("t", 1): 4}) == {("t", 0): 5, ("t", 1): 4}


def test_a_batch_waits_for_its_minimum_or_for_the_delay() -> None:
    now = [0.0]
    delay = Delay(10, 60.0, lambda: now[0])
    begins: dict[Place, int] = {("t", 0): 100}
    assert not delay.skips(begins, {("t", 0): 101})  # the first batch does not wait
    assert delay.skips(begins, {("t", 0): 109})
    assert not delay.skips(begins, {("t", 0): 110})
    now[0] = 59.9
    assert delay.skips(begins, {("t", 0): 101})
    now[0] = 60.0
    assert not delay.skips(begins, {("t", 0): 101})
    assert delay.skips(begins, {("t", 0): 101, ("t", 1): 8})  # a new partition counts from its beginning
    assert not delay.skips(begins, {("t", 0): 101, ("t", 1): 9})


@given(st.dictionaries(PLACES, st.integers(0, 2**63 - 1)))
def test_offsets_are_restored_as_they_were_stored(offsets: dict[Place, int]) -> None:
    text = json.dumps(stored(offsets))
    assert restored(json.loads(text)) == offsets
    assert json.dumps(stored(dict(reversed(offsets.items())))) == text  # Spark compares texts


def test_offsets_of_sparks_own_source_are_read() -> None:
    assert restored({"orders": {"0": 23, "1": 4}}) == {("orders", 0): 23, ("orders", 1): 4}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"format": 2, "source": "streamnative-kafka", "topics": {}},
            "format 2, and this version reads formats up to 1",
        ),
        ({"format": 1, "source": "another", "topics": {}}, "of another source: 'another'"),
        ({"format": "1", "source": "streamnative-kafka", "topics": {}}, "damaged"),
        ({"format": 0, "source": "streamnative-kafka", "topics": {}}, "damaged"),
        ({"format": 1, "source": "streamnative-kafka"}, "damaged"),
        ({"format": 1, "source": "streamnative-kafka", "topics": {"a": {"0": -1}}}, "damaged"),
        ({"format": 1, "source": "streamnative-kafka", "topics": {"a": {"x": 1}}}, "damaged"),
        ({"logOffset": 5}, "of another source: its offsets are"),
        ({"0": 23}, "of another source: its offsets are"),
        ({}, "of another source"),
        ({"0": "5"}, "of another source"),
        ([1], "of another source"),
        (5, "of another source"),
    ],
)
def test_a_foreign_or_newer_checkpoint_is_refused_by_name(found: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        restored(found)


def test_the_first_batch_begins_where_it_did_although_the_initial_offsets_have_changed() -> None:
    x, y, z = ({("orders", 0): offset} for offset in (100, 150, 200))
    end = after(initial(x), y)
    assert json.loads(json.dumps(end)) == {**stored(y), "start": {"orders": {"0": 100}}}
    # The query ended before its first batch was committed, and startingOffsets=latest means another offset now.
    for again in (initial(z), initial(y), initial(x), initial(z | {("orders", 1): 0})):
        assert begin_of(again, end) == x
    # The batch was committed: the next one begins at its end, and so does one without data.
    following = after(end, z)
    assert following == stored(z)
    assert begin_of(end, following) == y
    assert begin_of(end, end) == y
    assert begin_of(end, stored(y)) == y


def test_offsets_are_the_same_text_if_nothing_is_new() -> None:
    x = {("orders", 0): 100}
    for start in (initial(x), stored(x), after(initial({("orders", 0): 7}), x), {"orders": {"0": 100}}):
        assert json.dumps(after(start, x)) == json.dumps(start)


def test_topics_of_sparks_own_checkpoint_may_be_called_like_our_keys() -> None:
    start, end = {"start": {"0": 3}, "topics": {"0": 3}}, {"start": {"0": 5}, "topics": {"0": 5}}
    assert begin_of(start, end) == {("start", 0): 3, ("topics", 0): 3}
    others = {"source": {"0": 1}, "format": {"0": 2}}
    assert restored(others) == {("source", 0): 1, ("format", 0): 2}
