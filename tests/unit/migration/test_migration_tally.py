"""The tally of a source: each kind of message, its first place, and bounds on what is kept."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE

from streamnative_serdes import header
from streamnative_serdes.migration import Direction
from streamnative_serdes.migration.planning import source_messages as module
from streamnative_serdes.migration.planning.source_messages import Tally

GUID = UUID("89791762-2336-186f-9674-180ca802d4d1")
FRAMED = header.pack_id(7) + b"x"


class FakeMessage:
    """What the tally asks of a message."""

    def __init__(
        self,
        value: bytes | None = FRAMED,
        key: bytes | None = b"k",
        headers: Any = None,
        place: tuple[int, int] = (0, 0),
        time: tuple[int, int] = (TIMESTAMP_CREATE_TIME, 1_000),
    ) -> None:
        self._parts = {"value": value, "key": key, "headers": headers, "timestamp": time}
        self._parts |= {"partition": place[0], "offset": place[1]}

    def __getattr__(self, name: str) -> Any:
        return lambda: self._parts[name]


def tallied(*messages: FakeMessage, direction: Direction = "forward") -> Tally:
    tally = Tally(direction)
    for message in messages:
        tally.add(message)  # type: ignore[arg-type]
    return tally


def kinds(message: FakeMessage, direction: Direction = "forward") -> set[str]:
    return set(tallied(message, direction=direction).kinds)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (FakeMessage(), {"framed_in_value"}),
        (FakeMessage(None), {"tombstones"}),
        (FakeMessage(b""), {"empty_values", "no_framing"}),
        (FakeMessage(b"\x01garbage"), {"no_framing"}),
        (FakeMessage(b"\0\0\0\0"), {"no_framing"}),
        (FakeMessage(b"\0\0\0\0\7"), {"framed_in_value"}),
        (FakeMessage(header.pack(3) + b"x"), {"no_framing", "target_framing"}),
        (FakeMessage(key=None), {"framed_in_value", "null_keys"}),
        (FakeMessage(key=b""), {"framed_in_value", "empty_keys"}),
        (FakeMessage(headers=[("a", None)]), {"framed_in_value", "with_headers", "null_headers"}),
        (FakeMessage(headers=[("a", b"")]), {"framed_in_value", "with_headers", "empty_headers"}),
        (FakeMessage(headers=[("a", b"\xff")]), {"framed_in_value", "with_headers", "raw_headers"}),
        (FakeMessage(headers=[("a", b"1"), ("a", b"1")]), {"framed_in_value", "with_headers", "repeated_headers"}),
        (FakeMessage(headers=[("a", "é".encode())]), {"framed_in_value", "with_headers"}),
        (FakeMessage(headers=[]), {"framed_in_value"}),
        (FakeMessage(b"x", headers=[("__value_schema_id", b"\0\0\0\0\7")]), {"framed_in_header", "with_headers"}),
        (FakeMessage(b"x", headers=[("__value_schema_id", b"text")]), {"no_framing", "with_headers"}),
        (FakeMessage(time=(TIMESTAMP_NOT_AVAILABLE, -1)), {"framed_in_value", "no_timestamp"}),
        (FakeMessage(time=(TIMESTAMP_CREATE_TIME, 0)), {"framed_in_value", "no_timestamp"}),
        (FakeMessage(time=(TIMESTAMP_CREATE_TIME, 1)), {"framed_in_value"}),
        (FakeMessage(time=(TIMESTAMP_LOG_APPEND_TIME, 5)), {"framed_in_value", "log_append_time"}),
    ],
)
def test_each_kind_is_counted(message: FakeMessage, expected: set[str]) -> None:
    assert kinds(message) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(header.pack(3) + b"x", "framed_in_value"), (FRAMED, "no_framing"), (header.pack(3)[:9], "no_framing")],
)
def test_the_way_back_knows_schema_version_headers(value: bytes, expected: str) -> None:
    assert kinds(FakeMessage(value), "back") == {expected}


def test_schemas_are_counted_by_id_guid_and_version() -> None:
    guid = FakeMessage(b"x", headers=[("__value_schema_id", b"\1" + GUID.bytes)])
    found = tallied(FakeMessage(), guid, FakeMessage(place=(0, 9)))
    assert {name: count.count for name, count in found.names.each.items()} == {7: 2, str(GUID): 1}
    back = tallied(FakeMessage(header.pack(2**40) + b"x"), direction="back")
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
    assert list(tallied(FakeMessage(key=key, headers=headers)).key_names.each) == expected


def test_the_way_back_knows_keys_with_a_schema_version_header() -> None:
    assert list(tallied(FakeMessage(key=header.pack(3) + b"k"), direction="back").key_names.each) == [3]


def test_the_first_place_is_the_lowest_in_whatever_order_partitions_are_read() -> None:
    places = [(1, 0), (0, 5), (0, 9), (2, 1)]
    found = tallied(*(FakeMessage(None, place=place) for place in places))
    assert found.counts()["tombstones"] == {"count": 4, "first": [0, 5]}
    assert found.read == {0: 2, 1: 1, 2: 1}


def test_the_oldest_newest_and_largest_are_kept() -> None:
    times = [(TIMESTAMP_CREATE_TIME, time) for time in (500, 100, 900)] + [(TIMESTAMP_NOT_AVAILABLE, -1)]
    values = [b"\0" * 10, b"\0" * 30, b"\0" * 20, None]
    found = tallied(
        *(
            FakeMessage(value, place=(0, i), time=time)
            for i, (value, time) in enumerate(zip(values, times, strict=True))
        )
    )
    assert (found.oldest, found.newest) == (100, 900)
    assert found.largest_at == (0, 1)
    assert found.largest == 61 + 1 + 6 + 1 + 30


@pytest.mark.parametrize("places", [[(1, 0), (0, 5), (0, 9)], [(0, 5), (0, 9), (1, 0)]])
def test_of_several_largest_messages_the_first_place_is_kept(places: list[tuple[int, int]]) -> None:
    assert tallied(*(FakeMessage(place=place) for place in places)).largest_at == (0, 5)


def test_without_messages_nothing_is_known() -> None:
    found = tallied()
    assert (found.messages, found.oldest, found.newest, found.largest) == (0, None, None, 0)
    assert found.counts() == {}


def test_no_more_than_a_number_of_schemas_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are counted together, and those that are kept go on being counted."""
    monkeypatch.setattr(module, "MOST_NAMES", 2)
    ids = [1, 2, 3, 4, 1, 3]
    found = tallied(*(FakeMessage(header.pack_id(number), place=(0, i)) for i, number in enumerate(ids)))
    assert {name: count.count for name, count in found.names.each.items()} == {1: 2, 2: 1}
    assert found.names.more.tree() == {"count": 3, "first": [0, 2]}
