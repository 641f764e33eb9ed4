"""Questions to the brokers, in batches: the topics with their partitions, and offsets of any number of partitions.

A question about all partitions is one call of the client: a request for metadata, and one to each broker that leads
some of the partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka.admin import AdminClient

from streamnative_serdes._kafka import (
    EARLIEST,
    LATEST,
    ClientErrors,
    TopicConsumer,
    client,
    is_full_name,
    metadata,
    offsets,
    retry,
)
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.errors import ConfigError

from .bounds import Bound, Place, Topics

HIDDEN_HINT: Final = "if the topic exists, the ACLs of the cluster do not let this user DESCRIBE it"
_UNKNOWN: Final = ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID")
_SETTLING_SECONDS: Final = 10.0
_Answer = TypeVar("_Answer")
# What Kafka's own clients leave out of lists of topics.
_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})


class Brokers:
    """Asks the brokers. The connection is opened at the first question, and is not pickled."""

    def __init__(self, kafka: Mapping[str, Any], topics: Topics) -> None:
        self._kafka, self._topics = dict(kafka), topics
        self._admin: AdminClient | None = None
        self._errors = ClientErrors(kafka, self._topics.shown)
        self.calls: Counter[str] = Counter()  # for tests: questions by kind

    def close(self) -> None:
        """Drop the connection; the next question opens a new one."""
        self._admin = None

    def places(self) -> list[Place]:
        """The partitions to read, as of now. Raises ConfigError: a topic or an assigned partition does not exist."""
        there = self.existing()
        if self._topics.assigned is not None:
            for topic, partition in sorted(self._topics.assigned):
                self._require(topic, there)
                if partition >= there[topic]:
                    raise ConfigError(
                        f"assign: partition {partition} does not exist: the topic has {there[topic]} partitions",
                        topic=topic,
                    )
            return sorted(self._topics.assigned)
        for topic in self._topics.names:
            self._require(topic, there)
        return self._chosen(there)

    def left(self) -> list[Place]:
        """The partitions to read that exist now: as :meth:`places`, but without an error for missing ones."""
        there = self.existing()
        if self._topics.assigned is not None:
            return sorted(place for place in self._topics.assigned if place[1] < there.get(place[0], 0))
        return self._chosen(there)

    def _chosen(self, there: Mapping[str, int]) -> list[Place]:
        return [(topic, n) for topic in sorted(there) if self._topics.matches(topic) for n in range(there[topic])]

    def _require(self, topic: str, there: Mapping[str, int]) -> None:
        if topic not in there:
            near = did_you_mean(topic, there)
            hint = f"{near} {HIDDEN_HINT}" if near else HIDDEN_HINT
            raise ConfigError("the topic does not exist", topic=topic, hint=hint)

    def existing(self) -> dict[str, int]:
        """All topics of the cluster that this user may see, with their numbers of partitions.

        This is one request, which does not name topics, since some brokers create topics that are named. A KoP's list
        has no full names of Pulsar's, so another client asks for each one, and creates none.
        """
        self.calls["topics"] += 1
        there = {
            name: len(found.partitions)
            for name, found in metadata(self._client(), self._errors).topics.items()
            if found.error is None and name not in _INTERNAL
        }
        if full_names := [name for name in self._topics.names if name not in there and is_full_name(name)]:
            with TopicConsumer(self._kafka, self._topics.shown, committed=False) as consumer:
                found = {name: len(consumer.named(name)) for name in full_names}
            there |= {name: count for name, count in found.items() if count}
        return there

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        """The earliest available offsets."""
        return self._offsets(dict.fromkeys(places, EARLIEST))

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        """The end offsets: those of the next messages; with read_committed, of the first open transactions."""
        return self._offsets(dict.fromkeys(places, LATEST))

    def begins_left(self, places: Collection[Place]) -> dict[Place, int]:
        """The earliest available offsets of those partitions that exist now."""
        if not places:
            return {}
        return settled(lambda: self.earliest(place for place in self.left() if place in places))

    def ends_left(self) -> dict[Place, int]:
        """The end offsets of the partitions to read that exist now."""
        return settled(lambda: self.latest(self.left()))

    def by_time(self, times: Mapping[Place, int]) -> dict[Place, int]:
        """By partition, the offset of the first message at or after the given time; -1 if there is no such message."""
        return self._offsets(times)

    def at(self, bound: Bound, places: list[Place], *, start: bool) -> dict[Place, int]:
        """The present offsets of a bound, by at most three questions.

        Raises:
            ConfigError: the bound does not name exactly these partitions, or no message is as new as the bound's time.
        """
        wanted = dict.fromkeys(places, bound.everywhere or 0)
        if bound.offsets is not None:
            wanted = _for_all(bound.option, bound.offsets, places)
        elif bound.by_time:
            times = (
                _for_all(bound.option, bound.times, places) if bound.times else dict.fromkeys(places, bound.time or 0)
            )
            wanted = self.by_time(times)
            if start and bound.no_match == "error":
                _refuse_no_match(bound, wanted, times)
        low = self.earliest(place for place, offset in wanted.items() if offset == EARLIEST)
        high = self.latest(place for place, offset in wanted.items() if offset == LATEST)
        return wanted | low | high

    def _offsets(self, wanted: Mapping[Place, int]) -> dict[Place, int]:
        if not wanted:
            return {}
        self.calls["offsets"] += 1
        return offsets(self._client(), self._errors, wanted, committed=self.committed)

    @property
    def committed(self) -> bool:
        """Whether only committed messages are read."""
        return self._kafka.get("isolation.level") == "read_committed"

    def _client(self) -> AdminClient:
        if self._admin is None:
            self._admin = client(AdminClient, dict(self._kafka), self._topics.shown, self._errors)
        return self._admin


def settled(ask: Callable[[], _Answer]) -> _Answer:
    """Repeat a question, with the one for the topics, while a topic is created or deleted.

    For a moment, a partition is listed that its broker does not know.
    """
    return retry(ask, _UNKNOWN, _SETTLING_SECONDS)


def _for_all(option: str, given: Mapping[Place, int], places: list[Place]) -> dict[Place, int]:
    """Require each partition, as Spark does: a forgotten partition would be read from another offset."""
    missing = sorted(set(places) - given.keys())
    if missing:
        topic, partition = missing[0]
        special = "; use -1 for latest and -2 for earliest" if "Timestamp" not in option else ""
        raise ConfigError(
            f"{option} must name each partition, and lacks partition {partition}{special}"
            + (f", and {len(missing) - 1} others" if len(missing) > 1 else ""),
            topic=topic,
        )
    more = sorted(given.keys() - set(places))
    if more:
        topic, partition = more[0]
        raise ConfigError(f"{option}: partition {partition} does not exist, or is not to be read", topic=topic)
    return dict(given)


def _refuse_no_match(bound: Bound, found: Mapping[Place, int], times: Mapping[Place, int]) -> None:
    for (topic, partition), offset in sorted(found.items()):
        if offset == LATEST:
            raise ConfigError(
                f"{bound.option}: partition {partition} has no message of {times[topic, partition]} ms or later",
                topic=topic,
                hint="startingOffsetsByTimestampStrategy=latest starts such partitions at their latest offsets",
            )
