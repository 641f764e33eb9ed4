"""The target topic: created with the partitions and settings of the source, or checked against them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from streamnative_serdes._kafka import BrokerRefusedError, Cluster, Topic, bounds, no_producer_ids
from streamnative_serdes.errors import ConfigError, SchemaRegistryError
from streamnative_serdes.migration.route import Route
from streamnative_serdes.schema_registry import TopicName

from .problems import Problem, judged, require_none

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
PLACE_GROWTH: Final = (
    64  # bytes, at most, of the header with the source's place, which copies have without transactions
)
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SourceMessages:
    """Known facts about the source's messages."""

    oldest: int | None = None  # the lowest timestamp, in milliseconds since 1970 UTC; None if unknown
    newest: int | None = None  # the highest timestamp
    largest: int = 0  # size of the largest message with its share of a batch, in bytes
    null_keys: int = 0  # the number of messages without a key

    @classmethod
    def of(cls, findings: Mapping[str, Any] | None) -> SourceMessages:
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
    return 1 if number < 64 else 2 if number < 8_192 else ((number << 1).bit_length() + 6) // 7


def for_new_topic(
    source: Topic, defaults: Mapping[str, str], growth: int, replicas: int, overrides: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The settings of a new target, and the names of the source's settings that are not copied.

    Topics inherit ``defaults`` from the target's broker; ``overrides`` are the user's, and empty to leave one to it.
    """
    left = sorted(key for key in source.own if key in _PLACES or key.startswith(_PLACE_PREFIXES))
    found = {key: value for key, value in source.own.items() if key not in left}
    if found.get("message.timestamp.type") == "LogAppendTime":  # the copies keep the times of the source
        found["message.timestamp.type"] = "CreateTime"
    if _number(found, "min.insync.replicas", 1) > replicas > 0:
        found["min.insync.replicas"] = str(replicas)
    permitted = _number(source.settings, "max.message.bytes", 0)
    needed = permitted + _larger(growth)
    if permitted and ("max.message.bytes" in found or needed > _number(defaults, "max.message.bytes", 0)):
        found["max.message.bytes"] = str(needed)
    found |= overrides
    return {key: value for key, value in found.items() if value != ""}, left


def _larger(growth: int) -> int:
    return growth + (_LENGTHS if growth else 0)


def problems_of(source: Topic, target: Topic, seen: SourceMessages, now: int, growth: int) -> Iterator[Problem]:
    """Problems that the target's settings would cause for copies of the source, which are ``growth`` bytes larger."""
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
            "none: the copy would end at the first one",
            "set cleanup.policy=delete on the target",
        )


def _sizes(
    source: Mapping[str, str], target: Mapping[str, str], seen: SourceMessages, growth: int
) -> Iterator[Problem]:
    limit, permitted = (_number(side, "max.message.bytes", 0) for side in (target, source))
    needed = max(permitted, seen.largest) + _larger(growth)
    if limit >= needed or not limit:
        return
    yield Problem(
        "message-size",
        f"the target takes messages of up to {limit} bytes; the source of up to {permitted or 'an unknown number of'}, "
        f"the largest one read has {seen.largest}, and copies are up to {_larger(growth)} bytes larger",
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


@dataclass(frozen=True, slots=True)
class Target:
    """The target topic.

    Args:
        topic: the existing topic, or the topic that would be created.
        source: the topic that is copied.
        exists: whether the topic exists.
        created: whether this call created the topic.
        problems: all problems, accepted or not.
    """

    topic: Topic
    source: Topic
    exists: bool
    created: bool = False
    problems: tuple[Problem, ...] = ()


def ensure_target(
    route: Route,
    findings: Mapping[str, Any] | None = None,
    *,
    create: bool = False,
    accept: Collection[str] = (),
    settings: Mapping[str, str] = _NOTHING,
    resuming: bool = False,
    dry_run: bool = False,
) -> Target:
    """Create the target if it is missing and ``create`` is set, and check it against the source.

    Calling it again changes nothing.

    Args:
        route: the migration.
        findings: of ``migrate plan``; without findings, only settings are compared, not the messages. Problems accepted
            there are accepted here too.
        create: create the topic if it is missing.
        accept: names of accepted problems, see ``problems.NAMES``.
        settings: of a new topic, in addition to the source's; an empty value leaves a setting to the broker.
        resuming: the target has copies of an earlier run, so it need not be empty.
        dry_run: create nothing; the answer describes the topic that would be created.

    Raises:
        ProblemsError: a problem has to be mended or accepted first. No topic was created, unless the broker has given
            a new topic other settings than requested; then the topic exists, and is empty.
        ConfigError: an option is not valid, or a name in ``accept``.
        BrokerUnavailableError: the brokers of a side do not answer.
        BrokerRefusedError: a broker refuses, the source does not exist, or the target does not and ``create`` is unset.
    """
    accept = {*accept, *(findings or {}).get("accepted", ())}
    source, found = source_of(route), writing_cluster(route)
    target = describe(route, found, source, findings, settings, accept)
    if not target.exists and not create and not dry_run:
        raise BrokerRefusedError(
            f"topic {route.target} does not exist",
            topic=route.target,
            hint="add --create, or create it with the partitions of the source; `migrate plan` says what it would be",
        )
    require_none(
        [problem for problem in target.problems if not (resuming and problem.name == "not-empty")], route.target
    )
    if target.exists or dry_run:
        return target
    new = target.topic
    created = found.create(route.target, new.partitions, new.replicas, new.own)
    made = describe(route, found, source, findings, settings, accept)
    require_none(made.problems, route.target)  # a broker may ignore settings, and somebody may have been faster
    return Target(made.topic, source, exists=True, created=created, problems=made.problems)


def source_of(route: Route) -> Topic:
    cluster = Cluster(route.reading.kafka, route.source, route.pulsar_registry)
    found = cluster.topic(route.source)
    if found is None:
        raise BrokerRefusedError(
            f"topic {route.source} does not exist",
            topic=route.source,
            hint="check the name and the address of the broker; some brokers answer this for a missing right too",
        )
    # All that a KoP says is what its broker takes, not a setting of the topic.
    return replace(found, settings={}) if cluster.is_kop else found


def transactions_by_default(route: Route) -> bool:
    """Whether messages are copied with transactions if neither the user nor a plan says so: not to a KoP.

    Raises:
        BrokerUnavailableError: no broker answers.
    """
    return not writing_cluster(route).is_kop and no_producer_ids(route.writing.kafka, route.target) is None


def writing_cluster(route: Route) -> Cluster:
    return Cluster(route.writing.kafka, route.target, route.pulsar_registry)


def describe(
    route: Route,
    cluster: Cluster,
    source: Topic,
    findings: Mapping[str, Any] | None,
    settings: Mapping[str, str],
    accept: Collection[str],
) -> Target:
    growth = growth_of(route, findings)
    topic = cluster.topic(route.target)
    exists, problems = topic is not None, []
    if topic is None:
        topic, left = _planned(route, cluster, source, growth, settings)
        problems.append(Problem("missing-target", f"topic {route.target} does not exist; --create creates it"))
        if left:
            of = "that a KoP ignores, since Pulsar's policies apply" if cluster.is_kop else "of the source's cluster"
            problems.append(Problem("settings-not-copied", f"settings {of}: {', '.join(left)}"))
    problems += problems_of(source, topic, SourceMessages.of(findings), int(time.time() * 1000), growth)
    if exists:
        problems += [*_one_topic(route, source, topic), *_content(route, topic)]
    if cluster.is_kop:
        problems += _retention_of_pulsar(route, cluster)
    return Target(topic, source, exists, problems=tuple(judged(problems, accept)))


def growth_of(route: Route, findings: Mapping[str, Any] | None) -> int:
    """By how many bytes copies are larger than their messages, at most."""
    found = findings or {}
    transactions = (found.get("probe") or {}).get("transactions", True)
    bytes_roots = any(entry["name"] == "bytes" for entry in [*found.get("ids", ()), *(found.get("listed") or ())])
    prefix = PREFIX_GROWTH + (LENGTH_GROWTH if bytes_roots else 0)
    return (prefix if route.direction == "forward" else 0) + (0 if transactions else PLACE_GROWTH)


def _planned(
    route: Route, cluster: Cluster, source: Topic, growth: int, settings: Mapping[str, str]
) -> tuple[Topic, list[str]]:
    """The topic that would be created, with the settings inherited from its broker, as far as known."""
    defaults, replicas = cluster.defaults(), min(source.replicas, cluster.brokers())
    if cluster.is_kop:  # it ignores them
        return Topic(route.target, source.partitions, replicas, defaults), sorted({**source.own, **settings})
    own, left = for_new_topic(source, defaults, growth, replicas, settings)
    return Topic(route.target, source.partitions, replicas, {**defaults, **own}, own), left


def _retention_of_pulsar(route: Route, cluster: Cluster) -> Iterator[Problem]:
    """The problem of Pulsar's retention: Kafka's consumers are not subscriptions, so unread messages may be deleted."""
    name = TopicName.parse(route.target, route.topic.tenant, route.topic.namespace)
    namespace = f"{name.tenant}/{name.namespace}"
    try:
        found = cluster.retention(namespace)
    except SchemaRegistryError as error:
        yield Problem("pulsar-retention", f"Pulsar does not tell the retention of {namespace}: {error}")
        return
    if found is None or 0 in found:
        kept = "no retention of its own" if found is None else f"a retention of {found[0]} minutes and {found[1]} MB"
        yield Problem(
            "pulsar-retention",
            f"the namespace {namespace} has {kept}: by Pulsar's default, messages are deleted once no subscription "
            "needs them, and Kafka's consumers have none",
            f"pulsar-admin namespaces set-retention {namespace} --time TIME --size SIZE",
        )


def _one_topic(route: Route, source: Topic, target: Topic) -> Iterator[Problem]:
    """The problem of source and target being one topic; KoP takes a topic's full name too."""
    of_one_cluster = source.cluster and (source.cluster, source.id) == (target.cluster, target.id)
    if of_one_cluster and route.has_one_name:
        yield Problem("same-topic", "source and target are one topic", "choose another target")


def _content(route: Route, topic: Topic) -> Iterator[Problem]:
    count = sum(high - low for low, high in bounds(route.writing.kafka, topic.name).values())
    if count:
        yield Problem(
            "not-empty",
            f"the target has up to {count} messages already",
            "choose a topic without messages; if these are copies of an earlier run, accept it",
        )
