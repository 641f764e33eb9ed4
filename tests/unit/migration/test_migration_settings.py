"""Settings of a migration's target: what is copied from the source, and each bound beyond which copies suffer."""

from __future__ import annotations

from typing import Any

import pytest

from streamnative_serdes import header
from streamnative_serdes._kafka import Topic
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.migration import Direction, Rewriter, Route, Side
from streamnative_serdes.migration.copying.messages import mark_of, with_place
from streamnative_serdes.migration.planning.target import (
    SourceMessages,
    batch_size,
    for_new_topic,
    growth_of,
    problems_of,
)

NOTHING = SourceMessages()
NOW = 1_800_000_000_000
HOUR = 3_600_000
PLAIN = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1000",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(HOUR),
    "retention.bytes": "-1",
    "retention.ms": "-1",
}


def topic(partitions: int = 3, **settings: str) -> Topic:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Topic("t", partitions, 1, {**PLAIN, **given}, given)


OLD, AHEAD = SourceMessages(NOW - HOUR, NOW), SourceMessages(NOW, NOW + HOUR)
KEYLESS = SourceMessages(null_keys=1)
COMPACT, BOTH = {"cleanup_policy": "compact"}, {"cleanup_policy": "compact,delete"}
BROKERS_TIME = {"message_timestamp_type": "LogAppendTime"}
SILENT = Topic("t", 3, 1)


def target(partitions: int = 3, **settings: str) -> Topic:
    """A target with room for five more bytes than the source's, unless ``settings`` say otherwise."""
    return topic(partitions, **{"max_message_bytes": "1007", **settings})


def kept(milliseconds: int, **settings: str) -> tuple[Topic, Topic, SourceMessages]:
    return topic(**settings), target(retention_ms=str(milliseconds), **settings), OLD


def keeping(source: str, of_target: str) -> tuple[Topic, Topic, SourceMessages]:
    return topic(retention_bytes=source), target(retention_bytes=of_target), NOTHING


# Source, target, what is known of the messages, and the problems.
PROBLEMS: dict[str, tuple[tuple[Topic, Topic, SourceMessages], list[str]]] = {
    "equal topics with room": ((topic(), target(), SourceMessages(NOW - HOUR, NOW, 900)), []),
    "a partition less": ((topic(3), target(2), NOTHING), ["partitions"]),
    "a partition more": ((topic(3), target(4), NOTHING), ["partitions"]),
    "the broker's time": ((topic(), target(**BROKERS_TIME), NOTHING), ["log-append-time"]),
    "the broker's time, which refuses no times": (
        (topic(), target(message_timestamp_before_max_ms="1", **BROKERS_TIME), OLD), ["log-append-time"]
    ),
    "retention as long as the oldest message is old": (kept(HOUR, cleanup_policy="delete"), []),
    "a shorter retention": (kept(HOUR - 1, cleanup_policy="delete"), ["retention"]),
    "an endless retention": (kept(-1, cleanup_policy="delete"), []),
    "no retention": (kept(0, cleanup_policy="delete"), ["retention"]),
    "a retention where only compaction deletes": (kept(1, **COMPACT), []),
    "a retention where compaction deletes too": (kept(1, **BOTH), ["retention"]),
    "as many bytes": (keeping("100", "100"), []),
    "fewer bytes": (keeping("100", "99"), ["retention"]),
    "any number of bytes": (keeping("-1", "-1"), []),
    "a number of bytes where the source has none": (keeping("-1", "9"), ["retention"]),
    "any number of bytes where the source has one": (keeping("9", "-1"), []),
    **{
        f"{setting} of {bound} and {word} messages": ((topic(), target(**{setting: str(bound)}), seen), expected)
        for word, setting, seen in (
            ("old", "message_timestamp_before_max_ms", OLD),
            ("old", "message_timestamp_difference_max_ms", OLD),
            ("new", "message_timestamp_after_max_ms", AHEAD),
            ("new", "message_timestamp_difference_max_ms", AHEAD),
        )
        for bound, expected in ((HOUR, []), (HOUR - 1, ["timestamp-bounds"]))
    },
    **{
        f"room for {more} bytes more than {largest}": (
            (topic(), topic(max_message_bytes=str(largest + more)), SourceMessages(largest=largest)), expected
        )
        for largest in (1000, 2000)  # as the source takes; more, because its limit was lowered since
        for more, expected in ((7, []), (6, ["message-size"]))
    },
    "compaction of what was not compacted": ((topic(), target(**COMPACT), NOTHING), ["compaction"]),
    "compaction of what was compacted": ((topic(**COMPACT), target(**COMPACT), NOTHING), []),
    "compaction of messages with keys": ((topic(**BOTH), target(**BOTH), NOTHING), []),
    "compaction of a message without a key": ((topic(**BOTH), target(**BOTH), KEYLESS), ["null-keys"]),
    "a target whose broker tells no settings": ((topic(), SILENT, NOTHING), ["unknown-settings"]),
    "a source whose broker tells no settings": ((SILENT, topic(), NOTHING), ["unknown-settings"]),
    "all at once": (
        (topic(), topic(4, retention_ms="1", max_message_bytes="9", **BROKERS_TIME, **BOTH),
         SourceMessages(NOW - HOUR, NOW, 1, null_keys=1)),
        ["partitions", "log-append-time", "retention", "compaction", "null-keys", "message-size"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_each_setting_by_which_copies_would_suffer_is_a_problem(given: Any, expected: list[str]) -> None:
    assert [problem.name for problem in problems_of(*given, NOW, 5)] == expected


def test_on_the_way_back_messages_do_not_grow() -> None:
    assert not list(problems_of(topic(), topic(), SourceMessages(largest=1000), NOW, 0))


def copied(source: Topic, replicas: int = 1, growth: int = 5, **more: Any) -> dict[str, str]:
    return for_new_topic(source, more.pop("defaults", PLAIN), growth, replicas, more.pop("overrides", {}))[0]


def test_only_settings_of_the_topic_itself_are_copied() -> None:
    source = Topic("t", 1, 1, {**PLAIN, "max.message.bytes": "993", "retention.ms": "7"}, {"retention.ms": "7"})
    assert copied(source) == {"retention.ms": "7"}


@pytest.mark.parametrize(("default", "expected"), [("1006", "1007"), ("1007", None), ("1008", None)])
def test_a_default_with_too_little_room_is_raised(default: str, expected: str | None) -> None:
    """Five bytes for the prefix, and two for the lengths of value and record, which may grow too."""
    defaults = {**PLAIN, "max.message.bytes": default}
    assert copied(topic(), defaults=defaults).get("max.message.bytes") == expected


def test_an_unknown_default_is_not_relied_on() -> None:
    assert copied(topic(), defaults={})["max.message.bytes"] == "1007"


def test_a_limit_of_the_topic_itself_is_copied_with_room() -> None:
    """Even where the default is larger: it was chosen."""
    source = topic(max_message_bytes="500")
    assert copied(source)["max.message.bytes"] == "507"
    assert copied(source, growth=0)["max.message.bytes"] == "500"


def test_the_brokers_time_is_not_copied() -> None:
    found = copied(topic(message_timestamp_type="LogAppendTime"), defaults={**PLAIN, "max.message.bytes": "9999"})
    assert found == {"message.timestamp.type": "CreateTime"}


@pytest.mark.parametrize(("replicas", "expected"), [(1, "1"), (2, "2"), (3, "2")])
def test_no_more_replicas_have_to_confirm_than_there_are(replicas: int, expected: str) -> None:
    assert copied(topic(min_insync_replicas="2"), replicas)["min.insync.replicas"] == expected


def test_settings_of_the_sources_cluster_stay_there_and_are_named() -> None:
    source = Topic("t", 1, 1, PLAIN, {"confluent.placement.constraints": "{}", "remote.storage.enable": "true"})
    assert for_new_topic(source, {**PLAIN, "max.message.bytes": "9999"}, 5, 1, {}) == (
        {},
        ["confluent.placement.constraints", "remote.storage.enable"],
    )


def test_the_users_settings_take_precedence_and_an_empty_one_is_left_to_the_broker() -> None:
    source = topic(retention_ms="7", segment_ms="9")
    found = copied(source, overrides={"retention.ms": "8", "segment.ms": "", "max.message.bytes": "77"})
    assert found == {"retention.ms": "8", "max.message.bytes": "77"}


@pytest.mark.parametrize("key", ["retention.ms", "max.message.bytes"])
def test_a_setting_that_is_not_a_number_is_named(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"{key}: expected a whole number, got 'many'"):
        list(problems_of(topic(), Topic("t", 3, 1, {**PLAIN, key: "many"}), NOTHING, NOW, 5))


def test_the_size_of_a_batch_counts_every_part() -> None:
    """Record batch v2: 61 bytes, and a record of length, attributes, two deltas, key, value and headers."""
    assert batch_size(None, None, None) == 61 + 1 + 6
    assert batch_size(b"", b"", []) == 61 + 1 + 6
    assert batch_size(b"k" * 10, b"v" * 20, None) == 61 + 1 + 6 + 30
    assert batch_size(None, b"v" * 63, None) == 61 + 2 + 6 + 63
    assert batch_size(None, b"v" * 64, None) == 61 + 2 + 6 + 64 + 1
    assert batch_size(None, b"v" * 8_191, None) == 61 + 3 + 6 + 8_191 + 1
    assert batch_size(None, b"v" * 8_192, None) == 61 + 3 + 6 + 8_192 + 2
    assert batch_size(None, None, [("h", None), ("hh", b"xyz")]) == 61 + 1 + 6 + (1 + 1 + 1) + (1 + 2 + 1 + 3)


# By how many bytes copies are larger than their messages

GUID = "89791762-2336-186f-9674-180ca802d4d1"
SIDE = Side({}, {})


def growth(direction: Direction, findings: Any) -> int:
    return growth_of(Route(direction, "t", "out", SIDE, SIDE), findings)


@pytest.mark.parametrize("findings", [None, {"probe": None}, {"probe": {"transactions": True}}])
def test_with_transactions_only_the_prefix_grows(findings: Any) -> None:
    assert growth("forward", findings) == 5
    assert growth("back", findings) == 0


def test_bytes_at_the_root_get_their_length_too() -> None:
    findings: Any = {"probe": None, "ids": [{"name": "shop.User"}, {"name": "bytes"}], "listed": None}
    assert growth("forward", findings) == growth("forward", {"ids": [], "listed": [{"name": "bytes"}]}) == 10
    assert growth("back", findings) == 0
    framed = header.pack_id(7) + b"x" * 2**20
    copy, _ = Rewriter("forward", {7: 2**62}, {7}).rewrite(framed, None)
    assert len(copy) - len(framed) == 5 + 4  # and 5 for values of 128 MB and more


@pytest.mark.parametrize("size", [50, 55, 60, 63, 8_180, 8_186, 1_048_570])
def test_a_copy_grows_by_no_more_than_that_and_two_bytes_for_lengths(size: int) -> None:
    rewriter = Rewriter("forward", {7: 2**62, GUID: 2**62})
    framed = header.pack_id(7) + b"x" * (size - 5)
    copy, _ = rewriter.rewrite(framed, None)
    assert len(copy) - len(framed) == 5
    assert 5 <= batch_size(None, copy, None) - batch_size(None, framed, None) <= 7


def test_a_copy_without_the_header_of_its_schema_is_smaller() -> None:
    rewriter = Rewriter("forward", {7: 2**62, GUID: 2**62})
    for named in (b"\1" + bytes.fromhex(GUID.replace("-", "")), header.pack_id(7)):
        in_header = [("__value_schema_id", named)]
        copy, headers = rewriter.rewrite(b"x" * 60, in_header)
        assert batch_size(None, copy, headers) < batch_size(None, b"x" * 60, in_header)


def test_without_transactions_the_place_of_any_message_fits() -> None:
    findings = {"probe": {"transactions": False}}
    assert growth("back", findings) == growth("forward", findings) - 5
    value, key, headers, _ = with_place((b"v" * 8_000, None, None, 0), 10**9 - 1, 2**63 - 1, mark_of("orders@A"))
    assert batch_size(key, value, headers) - batch_size(None, b"v" * 8_000, None) <= growth("back", findings)
