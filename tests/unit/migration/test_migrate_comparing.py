"""Comparing a copy with its source: each part that may be different is found, and only that, at its place."""

from __future__ import annotations

from typing import Any

import pytest
from compared import Found, compared, copied, framed, sent
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE
from consumed import Message
from schemas import array, mapping, record
from wire import sized, varint

from streamnative_serdes import header
from streamnative_serdes.migration.copying.messages import Rules as CopyRules
from streamnative_serdes.migration.verifying.comparing import WINDOW, Rules

USER = record("User", ("name", "string"), ("age", "int"))
SECOND = record("User", ("name", "string"), ("age", "int"), ("mail", "string"))
RENAMED = record("User", ("name", "string"), ("years", "int"))
DOCUMENTED = {**USER, "doc": "people"}
IDS = {1: USER, 2: SECOND}
VERSIONS = {0: DOCUMENTED, 1: SECOND, 2: RENAMED}
ADA = sized(b"Ada") + varint(36)
BOB = sized(b"Bob") + varint(40)
PAIRS = [("a", b"1"), ("b", None), ("c", b"")]
TIME = 1_700_000_000_000


def users(count: int, begin: int = 0) -> list[bytes]:
    return [sized(b"u%d" % number) + varint(number) for number in range(begin, begin + count)]


def between(source: list[Message], target: list[Message], **more: Any) -> Found:
    return compared(source, target, IDS, VERSIONS, **more)


def bodies_between(source: list[bytes], target: list[bytes], *, lost: bool, **more: Any) -> Found:
    """Compare messages with these bodies; with ``lost``, the source has no times, and the copies those of copying."""
    if not lost:
        return between([*map(framed, source)], [*map(copied, target)], **more)
    timeless = [framed(body, timestamp=(TIMESTAMP_NOT_AVAILABLE, -1)) for body in source]
    copies = [copied(body, timestamp=(TIMESTAMP_CREATE_TIME, TIME + place)) for place, body in enumerate(target)]
    return between(timeless, copies, rules=CopyRules(allow_time_loss=True), **more)


def pair(original: Message, copy: Message, **more: Any) -> Found:
    """Compare messages that have the same ones before and behind them."""
    before, behind = users(3), users(20, 100)
    return between(
        [*map(framed, before), original, *map(framed, behind)],
        [*map(copied, before), copy, *map(copied, behind)],
        **more,
    )


# Equal


def test_a_copy_is_the_same() -> None:
    found = pair(framed(ADA, headers=PAIRS), copied(ADA, headers=PAIRS))
    assert found.same
    assert (found.counts.copied, found.counts.tombstones, found.counts.undecodable) == (24, 0, 0)


def test_nothing_is_the_same_as_nothing() -> None:
    assert between([], []).same


@pytest.mark.parametrize("headers", [None, []])
def test_no_headers_are_an_empty_list_of_headers(headers: Any) -> None:
    assert pair(framed(ADA, headers=None), copied(ADA, headers=headers)).same
    assert pair(framed(ADA, headers=headers), copied(ADA, headers=None)).same


def test_the_log_append_time_of_the_source_is_the_create_time_of_the_copy() -> None:
    assert pair(
        framed(ADA, timestamp=(TIMESTAMP_LOG_APPEND_TIME, TIME)), copied(ADA, timestamp=(TIMESTAMP_CREATE_TIME, TIME))
    ).same


def test_the_place_of_a_copy_without_transactions_is_not_compared() -> None:
    place = ("streamnative.migration.place", b"0:3")
    assert pair(framed(ADA, headers=PAIRS), copied(ADA, headers=[*PAIRS, place])).same
    assert pair(framed(ADA), copied(ADA, headers=[place])).same
    # Nor is that of an earlier copy, which the source may have.
    assert pair(framed(ADA, headers=[place]), copied(ADA)).same


def test_a_schema_in_a_header_is_taken_off() -> None:
    in_header = [("__value_schema_id", header.pack_id(1)), *PAIRS]
    assert pair(sent(ADA, headers=in_header), copied(ADA, headers=PAIRS)).same
    assert pair(sent(ADA, headers=in_header), copied(ADA, headers=in_header)).parts == [("headers", 3, 3)]


def test_keys_are_kept_or_stripped() -> None:
    framed_key = header.pack_id(1) + b"key"
    stripped = CopyRules("strip")
    assert pair(framed(ADA, key=framed_key), copied(ADA, key=framed_key)).same
    assert pair(framed(ADA, key=framed_key), copied(ADA, key=b"key")).parts == [("key", 3, 3)]
    both = [framed(ADA, key=framed_key)], [copied(ADA, key=b"key")]
    found = between(*both, rules=stripped)
    assert (found.same, found.bad) == (True, [])
    assert between([framed(ADA, key=framed_key)], [copied(ADA, key=framed_key)], rules=stripped).parts == [
        ("key", 0, 0)
    ]
    for bad in (b"key", header.pack_id(7) + b"key"):  # without a framing, and of a schema that the registry lacks
        assert between([framed(ADA, key=bad)], [], rules=stripped).bad == [0]
    assert between([framed(ADA, key=None)], [copied(ADA, key=None)], rules=stripped).same


def test_stripped_keys_of_bytes_get_their_length_and_those_that_are_not_avro_stay() -> None:
    schemas = {1: USER, 2: "bytes", 3: ("JSON", "{}")}
    source = [framed(ADA, key=header.pack_id(number) + b"key") for number in (2, 3)]
    target = [copied(ADA, key=name) for name in (b"\x06key", b"key")]
    found = compared(source, target, schemas, {0: USER}, CopyRules("strip"))
    assert (found.same, found.bad, found.counts.copied) == (True, [], 2)


def test_tombstones_are_counted() -> None:
    found = pair(sent(None), sent(None))
    assert found.same
    assert (found.counts.copied, found.counts.tombstones) == (24, 1)


def test_bodies_that_neither_side_can_decode_are_equal_by_their_bytes_and_counted() -> None:
    damaged = ADA[:-1]
    found = pair(framed(damaged), copied(damaged))
    assert found.same
    assert (found.counts.undecodable, found.counts.undecodable_at) == (1, [3])
    several = between([framed(damaged)] * 4, [copied(damaged)] * 4, most=2)
    assert (several.counts.undecodable, several.counts.undecodable_at) == (4, [0, 1])
    assert pair(framed(damaged), copied(damaged[:-1])).parts == [("value", 3, 3)]
    assert pair(framed(damaged), copied(damaged, 1)).parts == [("schema", 3, 3)]


def test_the_encoding_of_arrays_and_the_order_of_maps_do_not_matter() -> None:
    both = record("Both", ("list", array("int")), ("map", mapping("int")))
    one, two = sized(b"a") + varint(1), sized(b"b") + varint(2)
    items = varint(5) + varint(6)
    first = varint(2) + items + varint(0) + varint(2) + one + two + varint(0)
    blocks = varint(1) + varint(5) + varint(-1) + varint(1) + varint(6) + varint(0)
    second = blocks + varint(1) + two + varint(1) + one + varint(0)
    assert compared([framed(first)], [copied(second)], {1: both}, {0: both}).same
    other = varint(2) + varint(6) + varint(5) + varint(0) + varint(2) + one + two + varint(0)
    assert compared([framed(first)], [copied(other)], {1: both}, {0: both}).parts == [("value", 0, 0)]


@pytest.mark.parametrize(("kind", "size"), [("float", 4), ("double", 8)])
def test_nan_is_itself_and_no_other_bits(kind: str, size: int) -> None:
    schema = record("Number", ("x", kind))
    nan = bytes(size - 2) + b"\xf8\x7f"
    odd = b"\x01" + nan[1:]
    zero, minus = bytes(size), bytes(size - 1) + b"\x80"

    def of(left: bytes, right: bytes) -> Found:
        return compared([framed(left)], [copied(right)], {1: schema}, {0: schema})

    assert of(nan, nan).same
    assert of(odd, odd).same
    (difference,) = of(nan, odd).differences
    assert difference.part == "value"
    assert difference.expected != difference.got  # both are shown as nan, so their bytes are shown
    assert of(zero, minus).parts == [("value", 0, 0)]
    signalling, quiet = b"\x01" + bytes(size - 3) + b"\x80\x7f", b"\x01" + bytes(size - 3) + b"\xc0\x7f"
    assert of(signalling, quiet).parts == [("value", 0, 0)]


@pytest.mark.parametrize(
    "branches",
    [
        ["int", "long"],
        [record("A", ("x", "int")), record("B", ("x", "int"))],
        ["string", "bytes"],
        ["null", "float", "double"],
    ],
)
def test_another_branch_of_a_union_is_another_value(branches: Any) -> None:
    bodies = {
        "int": b"\x02",
        "long": b"\x02",
        "string": b"\x00",
        "bytes": b"\x00",
        "float": bytes(4),
        "double": bytes(8),
    }

    def of(place: int) -> bytes:
        branch = branches[place]
        return varint(place) + (bodies[branch] if isinstance(branch, str) else b"\x02")

    last = len(branches) - 1
    schema = record("R", ("u", branches))
    assert compared([framed(of(last))], [copied(of(last))], {1: schema}, {0: schema}).same
    assert compared([framed(of(last - 1))], [copied(of(last))], {1: schema}, {0: schema}).parts == [("value", 0, 0)]


# One part is different

CHANGES = {
    "key": [(b"k", b"K"), (None, b""), (b"", None), (b"k", None)],
    "headers": [
        ([("a", b"1")], [("A", b"1")]),
        ([("a", b"1")], [("a", b"2")]),
        ([("a", None)], [("a", b"")]),
        ([("a", b"")], [("a", None)]),
        ([("a", b"1"), ("b", b"2")], [("b", b"2"), ("a", b"1")]),
        ([("a", b"1")], [("a", b"1"), ("a", b"1")]),
        ([("a", b"1"), ("a", b"1")], [("a", b"1")]),
        ([("a", b"1")], None),
        (None, [("a", b"1")]),
    ],
    "timestamp": [
        ((TIMESTAMP_CREATE_TIME, TIME), (TIMESTAMP_CREATE_TIME, TIME + 1)),
        ((TIMESTAMP_CREATE_TIME, TIME), (TIMESTAMP_LOG_APPEND_TIME, TIME)),
    ],
}


@pytest.mark.promise("every-part")
@pytest.mark.parametrize(("part", "left", "right"), [(part, *both) for part, all_ in CHANGES.items() for both in all_])
def test_one_part_that_is_different_is_named_with_both_offsets(part: str, left: Any, right: Any) -> None:
    found = pair(framed(ADA, **{part: left}), copied(ADA, **{part: right}))
    assert found.parts == [(part, 3, 3)]
    assert found.differences[0].expected != found.differences[0].got
    assert (found.counts.copied, found.counts.differences, found.counts.stopped) == (23, 1, None)


@pytest.mark.promise("every-part")
@pytest.mark.parametrize("place", range(len(ADA)))
def test_one_byte_of_the_body_that_is_different_is_found(place: int) -> None:
    changed = bytearray(ADA)
    changed[place] ^= 0x04
    found = pair(framed(ADA), copied(bytes(changed)))
    assert found.parts == [("value", 3, 3)]
    assert "Ada" in found.differences[0].expected


def test_several_parts_are_named() -> None:
    found = pair(framed(ADA, key=b"1"), copied(BOB, key=b"2"))
    assert found.parts == [("key, value", 3, 3)]
    assert found.differences[0].expected == "key b'1'; value {'name': 'Ada', 'age': 36}"


@pytest.mark.parametrize(("left", "right"), [(None, b""), (b"", None)])
def test_a_tombstone_is_not_an_empty_value(left: bytes | None, right: bytes | None) -> None:
    original = sent(None) if left is None else framed(b"")
    copy = sent(None) if right is None else sent(right)
    assert pair(original, copy).parts == [("value", 3, 3)]


def test_a_version_that_reads_the_bytes_but_is_another_schema_is_different() -> None:
    found = pair(framed(ADA), copied(ADA, 2))
    assert found.parts == [("schema", 3, 3)]
    assert found.differences[0].expected == "schema 1 (User): {'name': 'Ada', 'age': 36}"
    assert found.differences[0].got == "schema 2 (User): {'name': 'Ada', 'years': 36}"


def test_a_version_that_does_not_exist_and_no_framing_are_different() -> None:
    assert pair(framed(ADA), copied(ADA, 9)).parts == [("schema", 3, 3)]
    assert pair(framed(ADA), sent(ADA)).parts == [("schema", 3, 3)]
    assert pair(framed(ADA), framed(ADA)).parts == [("schema", 3, 3)]


def test_the_difference_of_long_values_is_shown() -> None:
    long = b"x" * 1000
    found = pair(framed(sized(long + b"A" + long) + b"\0"), copied(sized(long + b"B" + long) + b"\0"))
    (difference,) = found.differences
    assert "xxxAxxx" in difference.expected
    assert "xxxBxxx" in difference.got
    assert len(difference.expected) < 200


# Messages that are missing, or too many


BODIES = users(30)
SWAPPED = [*BODIES[:5], BODIES[6], BODIES[5], *BODIES[7:]]
# Bodies of both sides, the differences, and counts.
FOUND: dict[str, tuple[list[bytes], list[bytes], list[Any], dict[str, int]]] = {
    "a missing one": (BODIES, [*BODIES[:7], *BODIES[8:]], [("missing", 7, None)], {"copied": 29}),
    "the first one missing": (BODIES, BODIES[1:], [("missing", 0, None)], {"copied": 29}),
    "the last one missing": (BODIES, BODIES[:-1], [("missing", 29, None)], {"copied": 29}),
    "a second copy": (BODIES, [*BODIES[:9], *BODIES[8:]], [("copied twice", 8, 9)], {"copied": 30}),
    "a second copy at the end, no newer one": (BODIES, [*BODIES, BODIES[-1]], [("copied twice", 29, 30)], {"newer": 0}),
    "others in between": (
        BODIES, [*BODIES[:9], ADA, BOB, *BODIES[9:]], [("unexpected", None, 9), ("unexpected", None, 10)],
        {"copied": 30},
    ),
    "a changed last one before newer ones": (
        [*users(3), ADA], [*users(3), BOB, *users(5, 50)], [("value", 3, 3)], {"newer": 5}
    ),
    "two swapped ones": (BODIES, SWAPPED, [("order", 5, 6), ("order", 6, 5)], {"differences": 2}),
    "one too many among swapped ones": (
        BODIES, [*SWAPPED[:7], ADA, *SWAPPED[7:]], [("unexpected", None, 7)], {"copied": 30}
    ),
    "a missing one among swapped ones": (
        [*BODIES[:7], BOB, *BODIES[7:]], SWAPPED, [("missing", 7, None)], {"copied": 30}
    ),
}  # fmt: skip


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("source", "target", "parts", "counts"), FOUND.values(), ids=FOUND)
def test_messages_that_are_missing_or_too_many_are_found_and_comparing_goes_on(
    source: list[bytes], target: list[bytes], parts: list[Any], counts: dict[str, int], lost: bool
) -> None:
    found = bodies_between(source, target, lost=lost)
    assert found.parts == parts
    assert {name: getattr(found.counts, name) for name in counts} == counts
    assert found.counts.stopped is None


def test_a_missing_message_is_shown() -> None:
    found = between([*map(framed, BODIES)], [*map(copied, [*BODIES[:7], *BODIES[8:]])])
    assert "u7" in found.differences[0].expected


def test_all_that_is_missing_at_the_end_is_counted() -> None:
    bodies = users(500)
    found = between([*map(framed, bodies)], [*map(copied, bodies[:3])], most=2)
    assert found.parts == [("missing", 3, None), ("missing", 4, None)]
    assert (found.counts.differences, found.counts.stopped) == (497, None)
    assert between([*map(framed, bodies)], []).counts.differences == 500


def test_a_second_difference_is_found_behind_the_first() -> None:
    bodies = users(60)
    target = [copied(body) for place, body in enumerate(bodies) if place != 7]
    target[40] = copied(ADA)
    target[50] = copied(bodies[51], key=b"other")
    found = between([*map(framed, bodies)], target)
    assert found.parts == [("missing", 7, None), ("value", 41, 40), ("key", 51, 50)]


@pytest.mark.parametrize(("missing", "stops"), [(WINDOW, False), (WINDOW + 1, True)])
def test_comparing_stops_where_both_sides_do_not_agree_again(missing: int, stops: bool) -> None:
    bodies = users(100)
    # Other keys, too, so that the values are not compared in the same places.
    source = [framed(body, key=body) for body in bodies]
    target = [copied(body, key=body) for body in (*bodies[:5], *bodies[5 + missing :])]
    found = between(source, target)
    if stops:
        assert found.counts.stopped is not None
        assert "source's offset 5" in found.counts.stopped
        assert "target's offset 5" in found.counts.stopped
        assert found.counts.differences == 1
    else:
        assert (found.counts.stopped, found.counts.differences) == (None, missing)
        assert found.counts.copied == 100 - missing


def test_a_part_that_is_different_in_all_messages_does_not_stop_comparing() -> None:
    bodies = users(200)
    target = [copied(body, timestamp=(TIMESTAMP_CREATE_TIME, TIME + place)) for place, body in enumerate(bodies, 1)]
    found = between([framed(body) for body in bodies], target)
    assert (found.counts.differences, found.counts.stopped) == (200, None)
    assert found.parts[0] == ("timestamp", 0, 0)


def test_only_the_first_differences_are_kept() -> None:
    bodies = users(40)
    found = between([*map(framed, bodies)], [copied(body, key=b"x") for body in bodies], most=3)
    assert [one.source_offset for one in found.differences] == [0, 1, 2]
    assert found.counts.differences == 40


# Other messages in the target

MANY = users(300)
ALIKE = [ADA if number % 2 else body for number, body in enumerate(users(40))]
ANY_OLDER = Rules(older=1 << 62)
# Bodies of both sides, the rules, the differences, and counts.
BY_RULES: dict[str, tuple[list[bytes], list[bytes], Rules, list[Any], dict[str, int]]] = {
    "newer ones are counted": (BODIES, [*BODIES, ADA, BOB], Rules(), [], {"newer": 2}),
    "newer ones are differences if it is to be exact": (
        BODIES, [*BODIES, ADA, BOB], Rules(newer=False), [("unexpected", None, 30), ("unexpected", None, 31)], {}
    ),
    "foreign ones are counted": (
        BODIES, [ADA, *BODIES[:9], *users(100, 500), *BODIES[9:], BOB], Rules(foreign=True), [],
        {"foreign": 101, "newer": 1, "copied": 30},
    ),
    "a copy that is missing among foreign ones ends comparing": (
        BODIES, [ADA, *BODIES[:9], BOB, *BODIES[10:]], Rules(foreign=True), [("missing", 9, None)], {"copied": 9}
    ),
    "copies of what the source has deleted are older": (MANY[100:], MANY, ANY_OLDER, [], {"older": 100, "copied": 200}),
    "a changed one behind older ones": (
        MANY[100:], [*MANY[:100], ADA, *MANY[101:]], ANY_OLDER, [("value", 0, 100)], {"older": 100}
    ),
    "older ones that are like others": (ALIKE[2:], ALIKE, ANY_OLDER, [], {"older": 2}),
    "older ones are foreign if these are allowed": (
        users(20)[5:], [each for body in users(20) for each in (body, ADA)], Rules(foreign=True, older=1 << 62), [],
        {"older": 0, "foreign": 24, "newer": 1},
    ),
    "as many older ones as there may be": (MANY[100:], MANY, Rules(older=100), [], {"older": 100}),
    "more older ones than there may be": (MANY[100:], MANY, Rules(older=99), [("missing", 0, None)], {"copied": 0}),
}  # fmt: skip


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("source", "target", "rules", "parts", "counts"), BY_RULES.values(), ids=BY_RULES)
def test_other_messages_in_the_target_are_differences_or_counted_by_the_rules(
    source: list[bytes], target: list[bytes], rules: Rules, parts: list[Any], counts: dict[str, int], lost: bool
) -> None:
    found = bodies_between(source, target, lost=lost, comparing=rules)
    assert found.parts == parts
    assert {name: getattr(found.counts, name) for name in counts} == counts
    assert parts or found.same
    assert (found.counts.stopped is not None) is (("missing", 0, None) in parts or ("missing", 9, None) in parts)


# Messages that cannot be copied


@pytest.mark.parametrize("bad", [sent(b""), sent(b"\x00\x00\x00"), sent(b"\x01" + ADA), framed(ADA, 99)])
def test_bad_messages_are_not_in_the_target(bad: Message) -> None:
    bodies = users(10)
    source = [*map(framed, bodies[:4]), bad, *map(framed, bodies[4:])]
    found = between(source, [*map(copied, bodies)])
    assert found.same
    assert found.bad == [4]
    found = between(source, [*map(copied, bodies[:4]), bad, *map(copied, bodies[4:])])
    assert found.parts == [("unexpected", None, 4)]


def test_bodies_that_cannot_be_decoded_are_bad_if_the_copy_was_made_with_check() -> None:
    found = between([framed(ADA[:-1]), framed(ADA)], [copied(ADA)], rules=CopyRules(check=True))
    assert found.same
    assert found.bad == [0]


def test_a_null_header_that_the_broker_does_not_keep_is_a_dead_letter_or_empty() -> None:
    one = [framed(ADA, headers=[("a", None)])]
    assert between(one, [], rules=CopyRules(null_headers=False)).bad == [0]
    lossy = CopyRules(null_headers=False, allow_header_loss=True)
    assert between(one, [copied(ADA, headers=[("a", b"")])], rules=lossy).same
    assert not between(one, [copied(ADA, headers=[("a", None)])], rules=lossy).same
    raw = [framed(ADA, headers=[("a", b"\xff")])]
    assert between(raw, [], rules=CopyRules(raw_headers=False)).bad == [0]
    lossy = CopyRules(raw_headers=False, allow_header_loss=True)
    assert between(raw, [copied(ADA, headers=[("a", "\ufffd".encode())])], rules=lossy).same


@pytest.mark.parametrize("time", [(TIMESTAMP_CREATE_TIME, 0), (TIMESTAMP_NOT_AVAILABLE, -1)])
def test_a_time_that_cannot_be_written_is_bad_or_not_compared(time: Any) -> None:
    one = [framed(ADA, timestamp=time), framed(BOB)]
    assert between(one, [copied(BOB)]).bad == [0]
    lossy = CopyRules(allow_time_loss=True)
    now = (TIMESTAMP_CREATE_TIME, TIME + 5)
    assert between(one, [copied(ADA, timestamp=now), copied(BOB)], rules=lossy).same
    assert not between(one, [copied(ADA, key=b"x", timestamp=now), copied(BOB)], rules=lossy).same
    assert not between(one, [copied(ADA), copied(BOB, timestamp=now)], rules=lossy).same
    assert not between(one, [copied(BOB, timestamp=now), copied(BOB)], rules=lossy).same
