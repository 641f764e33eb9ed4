"""Settings of topics: those that a new target takes over from the source, and the problems that they cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamnative_serdes._kafka import Topic
from streamnative_serdes.errors import ConfigError

from .problems import Problem

PREFIX_GROWTH: Final = 5  # bytes: a schema version header is that much larger than Confluent's prefix
LENGTH_GROWTH: Final = 5  # bytes: the length of a value whose schema is `bytes`, which Confluent's framing leaves out
# The lengths of value and record may need one more byte each, where they cross a power of 128.
_LENGTHS: Final = 2
_BATCH: Final = 61  # bytes of a record batch (v2) before its records
_DAY: Final = 86_400_000  # milliseconds

# Of the place where the source is, which is not that of the target.
_PLACES: Final = frozenset(
    {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "message.format.version",  # removed in Kafka 4.0
        "message.downconversion.enable",  # removed in Kafka 4.0
    }
)
_PLACE_PREFIXES: Final = ("confluent.", "remote.", "local.retention.", "redpanda.")


@dataclass(frozen=True, slots=True)
class SourceMessages:
    """Known facts about the source's messages.

    Args:
        oldest: the lowest timestamp, in milliseconds since 1970 UTC; None if unknown.
        newest: the highest timestamp.
        largest: size of the largest message with its share of a batch, in bytes.
        null_keys: the number of messages without a key.
    """

    oldest: int | None = None
    newest: int | None = None
    largest: int = 0
    null_keys: int = 0

    @classmethod
    def of(cls, findings: Mapping[str, Any] | None) -> SourceMessages:
        """The facts in the findings of ``migrate plan``."""
        if findings is None:
            return cls()
        times, counts = findings["timestamps"], findings["counts"]
        null_keys = counts.get("null_keys", {}).get("count", 0)
        return cls(times["oldest"], times["newest"], findings["largest"]["bytes"], null_keys)


def batch_size(key: bytes | None, value: bytes | None, headers: Any) -> int:
    """The uncompressed size of a message as a batch of its own; ``max.message.bytes`` limits this size."""
    size = 3 + _data(key) + _data(value)  # attributes, timestamp delta, offset delta: one byte each
    for name, data in headers or ():
        size += _data(name.encode("utf-8", "surrogateescape")) + _data(data)
    size += _varint(len(headers or ()))
    return _BATCH + _varint(size) + size


def _data(data: bytes | None) -> int:
    """The size of bytes with their length before them; null has the length -1."""
    return 1 if data is None else _varint(len(data)) + len(data)


def _varint(number: int) -> int:
    """The size of a number as a zigzag varint."""
    return 1 if number < 64 else 2 if number < 8_192 else ((number << 1).bit_length() + 6) // 7


def for_new_topic(
    source: Topic, defaults: Mapping[str, str], growth: int, replicas: int, overrides: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The settings of a new target: those that were set for the source, and those of the user.

    Args:
        source: the topic that is copied.
        defaults: settings that topics of the target's broker inherit, as far as the broker tells.
        growth: by how many bytes copies are larger.
        replicas: of each message of the target.
        overrides: settings of the user; an empty one is left to the broker.

    Returns:
        The settings, and the names of the source's settings that are not copied.
    """
    left = sorted(key for key in source.own if key in _PLACES or key.startswith(_PLACE_PREFIXES))
    found = {key: value for key, value in source.own.items() if key not in left}
    if found.get("message.timestamp.type") == "LogAppendTime":  # the copies keep the times of the source
        found["message.timestamp.type"] = "CreateTime"
    if _number(found, "min.insync.replicas", 1) > replicas > 0:
        found["min.insync.replicas"] = str(replicas)
    permitted = _number(source.settings, "max.message.bytes", 0)
    needed = permitted + growth + (_LENGTHS if growth else 0)
    if permitted and ("max.message.bytes" in found or needed > _number(defaults, "max.message.bytes", 0)):
        found["max.message.bytes"] = str(needed)
    found |= overrides
    return {key: value for key, value in found.items() if value != ""}, left


def problems_of(source: Topic, target: Topic, seen: SourceMessages, now: int, growth: int) -> Iterator[Problem]:
    """Problems that the target's settings would cause for copies of the source.

    Args:
        source: the topic that is copied.
        target: the topic that is written, or would be created.
        seen: the known facts about the messages.
        now: the time, in milliseconds since 1970 UTC.
        growth: by how many bytes copies are larger.
    """
    if target.partitions != source.partitions:
        yield Problem(
            "partitions",
            f"the source has {source.partitions} partitions, the target {target.partitions}",
            "add partitions to the target"
            if target.partitions < source.partitions
            else "delete the target and let --create make it, or choose another one",
        )
    if not target.settings:
        yield Problem("unknown-settings", "the broker does not tell the target's settings, so they are not checked")
    if not source.settings:
        yield Problem("unknown-settings", "the broker does not tell the source's settings, so they are not copied")
    yield from _times(target.settings, seen, now)
    yield from _retention(source.settings, target.settings, seen, now)
    yield from _compaction(source.settings, target.settings, seen)
    yield from _sizes(source.settings, target.settings, seen, growth)


def _times(settings: Mapping[str, str], seen: SourceMessages, now: int) -> Iterator[Problem]:
    if settings.get("message.timestamp.type") == "LogAppendTime":
        yield Problem(
            "log-append-time",
            "the target replaces each timestamp by the time of its arrival (message.timestamp.type=LogAppendTime)",
            "set message.timestamp.type=CreateTime on the target",
        )
        return
    difference = _limit(settings, "message.timestamp.difference.max.ms")
    before, after = (
        min(_limit(settings, f"message.timestamp.{side}.max.ms"), difference) for side in ("before", "after")
    )
    if seen.oldest is not None and now - seen.oldest > before:
        yield Problem(
            "timestamp-bounds",
            f"the target refuses messages that are older than {_duration(before)}, and the source has one of "
            f"{_duration(now - seen.oldest)}",
            "raise message.timestamp.before.max.ms on the target, before Kafka 3.6 message.timestamp.difference.max.ms",
        )
    if seen.newest is not None and seen.newest - now > after:
        yield Problem(
            "timestamp-bounds",
            f"the target refuses messages whose time is more than {_duration(after)} ahead, and the source has one "
            f"that is {_duration(seen.newest - now)} ahead",
            "raise message.timestamp.after.max.ms on the target, before Kafka 3.6 message.timestamp.difference.max.ms",
        )


def _retention(
    source: Mapping[str, str], target: Mapping[str, str], seen: SourceMessages, now: int
) -> Iterator[Problem]:
    if "delete" not in target.get("cleanup.policy", "delete"):
        return
    kept = _limit(target, "retention.ms")
    if seen.oldest is not None and now - seen.oldest > kept:
        yield Problem(
            "retention",
            f"the target deletes messages after {_duration(kept)}, and the oldest one of the source is "
            f"{_duration(now - seen.oldest)} old: it could be deleted before it is read",
            "raise retention.ms on the target until the migration is over",
        )
    if _limit(target, "retention.bytes") < _limit(source, "retention.bytes"):
        yield Problem(
            "retention",
            f"the target keeps {target['retention.bytes']} bytes of a partition, the source "
            f"{source.get('retention.bytes', 'an unknown number of')}",
            "raise retention.bytes on the target",
        )


def _compaction(source: Mapping[str, str], target: Mapping[str, str], seen: SourceMessages) -> Iterator[Problem]:
    if "compact" not in target.get("cleanup.policy", ""):
        return
    if "compact" not in source.get("cleanup.policy", ""):
        yield Problem(
            "compaction",
            "the target is compacted and the source is not: earlier messages of a key would be lost",
            "set cleanup.policy=delete on the target",
        )
    if seen.null_keys:
        yield Problem(
            "null-keys",
            f"the target is compacted, which refuses messages without a key, and {seen.null_keys} of those read have "
            "none: they would go to the dead letters",
            "set cleanup.policy=delete on the target",
        )


def _sizes(
    source: Mapping[str, str], target: Mapping[str, str], seen: SourceMessages, growth: int
) -> Iterator[Problem]:
    limit, permitted = (_number(side, "max.message.bytes", 0) for side in (target, source))
    needed = max(permitted, seen.largest) + growth
    if limit >= needed or not limit:
        return
    yield Problem(
        "message-size",
        f"the target takes messages of up to {limit} bytes; the source of up to {permitted or 'an unknown number of'}, "
        f"the largest one read has {seen.largest}, and copies are {growth} bytes larger",
        f"set max.message.bytes={needed} on the target",
    )


def _limit(settings: Mapping[str, str], key: str) -> float:
    """A limit; infinite if the setting is -1 or unknown."""
    value = _number(settings, key, -1)
    return value if value >= 0 else float("inf")


def _number(settings: Mapping[str, str], key: str, default: int) -> int:
    """The number in a setting. Raises ConfigError if the user has written something else."""
    try:
        return int(settings.get(key, default))
    except ValueError:
        raise ConfigError(f"{key}: expected a whole number, got {settings[key]!r:.80}") from None


def _duration(milliseconds: float) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    days, rest = divmod(int(milliseconds), _DAY)
    hours, minutes, seconds = rest // 3_600_000, rest // 60_000 % 60, rest // 1_000 % 60
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
