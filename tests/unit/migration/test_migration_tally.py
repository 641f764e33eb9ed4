"""The tally of a source: each kind of message, its first place, and bounds on what is kept."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE
from consumed import Message

from streamnative_serdes import header
from streamnative_serdes.migration import Direction
from streamnative_serdes.migration.planning import source_messages as module
from streamnative_serdes.migration.planning.source_messages import MOST_WINDOWS, Tally, windows

GUID = UUID("89791762-2336-186f-9674-180ca802d4d1")
FRAMED = header.pack_id(7) + b"x"


def message(
    value: bytes | None = FRAMED, key: bytes | None = b"k", place: tuple[int, int] = (0, 0), **more: Any
) -> Message:
    return Message(value, key, partition=place[0], offset=place[1], **more)


def tallied(*messages: Message, direction: Direction = "forward") -> Tally:
    tally = Tally(direction)
    for one in messages:
        tally.add(one)
    return tally


def kinds(one: Message, direction: Direction = "forward") -> set[str]:
    return set(tallied(one, direction=direction).kinds)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (message(), {"framed_in_value"}),
        (message(None), {"tombstones"}),
        (message(b""), {"empty_values", "no_framing"}),
        (message(b"\x01garbage"), {"no_framing"}),
        (message(b"\0\0\0\0"), {"no_framing"}),
        (message(b"\0\0\0\0\7"), {"framed_in_value"}),
        (message(header.pack(3) + b"x"), {"no_framing", "target_framing"}),
        (message(key=None), {"framed_in_value", "null_keys"}),
        (message(key=b""), {"framed_in_value", "empty_keys"}),
        (message(headers=[("a", None)]), {"framed_in_value", "with_headers", "null_headers"}),
        (message(headers=[("a", b"")]), {"framed_in_value", "with_headers", "empty_headers"}),
        (message(headers=[("a", b"\xff")]), {"framed_in_value", "with_headers", "raw_headers"}),
        (message(headers=[("a", b"1"), ("a", b"1")]), {"framed_in_value", "with_headers", "repeated_headers"}),
        (message(headers=[("a", "é".encode())]), {"framed_in_value", "with_headers"}),
        (message(headers=[]), {"framed_in_value"}),
        (message(b"x", headers=[("__value_schema_id", b"\0\0\0\0\7")]), {"framed_in_header", "with_headers"}),
        (message(b"x", headers=[("__value_schema_id", b"text")]), {"no_framing", "with_headers"}),
        (message(timestamp=(TIMESTAMP_NOT_AVAILABLE, -1)), {"framed_in_value", "no_timestamp"}),
        (message(timestamp=(TIMESTAMP_CREATE_TIME, 0)), {"framed_in_value", "no_timestamp"}),
        (message(timestamp=(TIMESTAMP_CREATE_TIME, 1)), {"framed_in_value"}),
        (message(timestamp=(TIMESTAMP_LOG_APPEND_TIME, 5)), {"framed_in_value", "log_append_time"}),
    ],
)
def test_each_kind_is_counted(one: Message, expected: set[str]) -> None:
    assert kinds(one) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(header.pack(3) + b"x", "framed_in_value"), (FRAMED, "no_framing"), (header.pack(3)[:9], "no_framing")],
)
def test_the_way_back_knows_schema_version_headers(value: bytes, expected: str) -> None:
    assert kinds(message(value), "back") == {expected}


def test_schemas_are_counted_by_id_guid_and_version() -> None:
    guid = message(b"x", headers=[("__value_schema_id", b"\1" + GUID.bytes)])
    found = tallied(message(), guid, message(place=(0, 9)))
    assert {name: count.count for name, count in found.names.each.items()} == {7: 2, str(GUID): 1}
    back = tallied(message(header.pack(2**40) + b"x"), direction="back")
    assert list(back.names.each) == [2**40]


@pytest.mark.parametrize(
    ("key", "headers", "expected"),
    [
        (b"\0\0\0\0\7", None, [7]),
        (b"\0\0\0\7", None, []),
        (b"\1\0\0\0\7", None, []),
        (b"k", [("__key_schema_id", b"\1" + GUID.bytes)], [str(GUID)]),
        (b"\0\0\0\0\7", [("__key_schema_id", b"text")], []),
        (None, [("__key_schema_id", b"\1" + GUID.bytes)], []),
    ],
)
def test_schemas_of_keys_are_counted(key: bytes | None, headers: Any, expected: list[Any]) -> None:
    assert list(tallied(message(key=key, headers=headers)).key_names.each) == expected


def test_the_way_back_knows_keys_with_a_schema_version_header() -> None:
    assert list(tallied(message(key=header.pack(3) + b"k"), direction="back").key_names.each) == [3]


def test_the_first_place_is_the_lowest_in_whatever_order_partitions_are_read() -> None:
    places = [(1, 0), (0, 5), (0, 9), (2, 1)]
    found = tallied(*(message(None, place=place) for place in places))
    assert found.counts()["tombstones"] == {"count": 4, "first": [0, 5]}
    assert found.read == {0: 2, 1: 1, 2: 1}


def test_the_oldest_newest_and_largest_are_kept() -> None:
    times = [(TIMESTAMP_CREATE_TIME, time) for time in (500, 100, 900)] + [(TIMESTAMP_NOT_AVAILABLE, -1)]
    values = [b"\0" * 10, b"\0" * 30, b"\0" * 20, None]
    found = tallied(
        *(
            message(value, place=(0, i), timestamp=time)
            for i, (value, time) in enumerate(zip(values, times, strict=True))
        )
    )
    assert (found.oldest, found.newest) == (100, 900)
    assert found.largest_at == (0, 1)
    assert found.largest == 61 + 1 + 6 + 1 + 30


@pytest.mark.parametrize("places", [[(1, 0), (0, 5), (0, 9)], [(0, 5), (0, 9), (1, 0)]])
def test_of_several_largest_messages_the_first_place_is_kept(places: list[tuple[int, int]]) -> None:
    assert tallied(*(message(place=place) for place in places)).largest_at == (0, 5)


def test_without_messages_nothing_is_known() -> None:
    found = tallied()
    assert (found.messages, found.oldest, found.newest, found.largest) == (0, None, None, 0)
    assert found.counts() == {}


def test_no_more_than_a_number_of_schemas_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are counted together, and those that are kept go on being counted."""
    monkeypatch.setattr(module, "MOST_NAMES", 2)
    ids = [1, 2, 3, 4, 1, 3]
    found = tallied(*(message(header.pack_id(number), place=(0, i)) for i, number in enumerate(ids)))
    assert {name: count.count for name, count in found.names.each.items()} == {1: 2, 2: 1}
    assert found.names.more.tree() == {"count": 3, "first": [0, 2]}


# The windows of offsets that a sample reads


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((5, 5, 100), []),
        ((3, 1_000_000, None), [(3, 1_000_000)]),  # all
        ((10, 20, 1), [(10, 11)]),
        ((10, 20, 2), [(10, 11), (19, 20)]),
    ],
)
def test_few_messages_are_the_first_and_the_last_and_all_are_one_window(of: Any, expected: Any) -> None:
    assert windows(*of) == expected


@pytest.mark.parametrize("count", [99, 100, 101])
def test_a_partition_of_a_hundred_is_read_whole_from_a_sample_of_a_hundred_on(count: int) -> None:
    found = windows(7, 107, count)
    assert (found == [(7, 107)]) == (count >= 100)
    assert sum(stop - start for start, stop in found) == min(count, 100)


@pytest.mark.parametrize("total", [11, 12, 99, 1_000, 12_345_678])
@pytest.mark.parametrize("count", [1, 3, 9, 10, 11, 25])
def test_windows_are_in_order_apart_and_spread(total: int, count: int) -> None:
    low = 42
    found = windows(low, low + total, count)
    assert sum(stop - start for start, stop in found) == min(count, total)
    assert all(start < stop for start, stop in found)
    assert all(one[1] <= two[0] for one, two in pairwise(found))
    assert found[0][0] == low
    assert len(found) <= MOST_WINDOWS
    if count > 1:
        assert found[-1][1] == low + total
        gaps = [two[0] - one[1] for one, two in pairwise(found)]
        assert not gaps or max(gaps) - min(gaps) <= 1
