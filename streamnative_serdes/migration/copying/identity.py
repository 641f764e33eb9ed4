"""Checks that source and target are still the topics of a progress.

A topic that was deleted and created again has the same name. Brokers give each topic an id of its own (KoP does not);
and the progress of each partition has the last message that was read and the last copy. The ids have to be the same,
and so do these two messages, unless they have been deleted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import Message

from streamnative_serdes._kafka import Cluster, bounds, committed_messages, place_of
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.route import Route

from .progress import Kept, Progress

Role: TypeAlias = Literal["source", "target"]

ROLES: Final[tuple[Role, ...]] = ("source", "target")
_SETTLING_SECONDS: Final = 30.0  # copies that were committed can be read after a moment
_LOOK_SECONDS: Final = 0.2


class ChangedTopicError(SerdesError):
    """A topic is not the one that the copy was begun with: it was deleted, and perhaps created again."""


def require_known(
    route: Route, known: Mapping[int, Progress], roles: Iterable[Role] = ROLES, *, settle: float = _SETTLING_SECONDS
) -> None:
    """Check that source and target are the topics of this progress.

    A message that its broker has deleted meanwhile, by retention or compaction, is not checked.

    Args:
        route: the migration.
        known: the progress by partition.
        roles: the topics to check.
        settle: seconds to wait for the last copies, which can be read a moment after they were committed.

    Raises:
        ChangedTopicError: a topic is missing, or has been replaced.
        BrokerUnavailableError: a broker does not answer.
        BrokerRefusedError, KafkaException: a broker refuses.
    """
    for role in roles:
        kept = {number: one for number, progress in known.items() if (one := _kept(progress, role)) is not None}
        ids = {progress.ids[ROLES.index(role)] for progress in known.values()}
        if kept or ids - {None}:
            _Side(route, role).require(kept, ids, settle)


def _kept(progress: Progress, role: Role) -> Kept | None:
    return progress.read if role == "source" else progress.written


class _Side:
    """One of both topics."""

    def __init__(self, route: Route, role: Role) -> None:
        self._route, self._role = route, role
        side = route.reading if role == "source" else route.writing
        self._topic, self._kafka = (route.source if role == "source" else route.target), side.kafka
        self._cluster = Cluster(side.kafka, self._topic)

    def id(self) -> str | None:
        """The topic's id; None if its broker has no ids. Raises ChangedTopicError if the topic does not exist."""
        there, found = self._cluster.id_of(self._topic)
        if not there:
            raise self._changed("it does not exist any more")
        return found

    def require(self, kept: Mapping[int, Kept], ids: Iterable[str | None], settle: float) -> None:
        """Raises ChangedTopicError if these messages and ids are not the topic's."""
        now = self.id()
        others = {each for each in ids if None not in (each, now)} - {now}
        if others:
            raise self._changed(f"its id is {now}, and was {min(map(str, others))}")
        there = self._settled(kept, settle)
        starts = {number: one.offset for number, one in kept.items() if one.offset >= there[number][0]}
        found = _first(self._kafka, self._topic, starts) if starts else {}
        for number in starts:
            self._compare(number, kept[number], found.get(number), proven=now is not None and None not in ids)

    def _compare(self, number: int, kept: Kept, found: Message | None, *, proven: bool) -> None:
        if found is not None and kept.is_of(found):
            return
        if proven and (found is None or place_of(found)[1] != kept.offset):
            return  # compaction has deleted it
        raise self._changed(f"partition {number} has another message at offset {kept.offset}")

    def _settled(self, kept: Mapping[int, Kept], settle: float) -> Mapping[int, tuple[int, int]]:
        """The topic's offsets, once they include the kept messages."""
        until = time.monotonic() + settle
        while True:
            there = bounds(self._kafka, self._topic)
            late = [number for number, one in kept.items() if there.get(number, (0, 0))[1] <= one.offset]
            if not late:
                return there
            if self._role == "source" or time.monotonic() > until:
                end, number = there.get(late[0], (0, 0))[1], late[0]
                unless = "" if self._role == "source" else "; or another program has a transaction open"
                raise self._changed(f"partition {number} ends at {end}, and had offset {kept[number].offset}{unless}")
            time.sleep(_LOOK_SECONDS)

    def _changed(self, reason: str) -> ChangedTopicError:
        return changed(self._route, self._role, reason)


def changed(route: Route, role: Role, reason: str) -> ChangedTopicError:
    """The error for a topic that has been deleted or replaced since the copy began."""
    left = f"{route.target}, {route.target}.migration-state and {route.target}.dead-letters"
    new = "copy to a new target; or, " if role == "source" else ""
    return ChangedTopicError(
        f"the {role} is not the topic that the copy was begun with: {reason}",
        topic=route.source if role == "source" else route.target,
        hint=f"{new}to copy everything again, delete what there is of the topics {left} first",
    )


def _first(kafka: Mapping[str, Any], topic: str, starts: Mapping[int, int]) -> dict[int, Message]:
    """The first message of each partition from these offsets on."""
    found: dict[int, Message] = {}
    for message in committed_messages(kafka, topic, starts):
        found.setdefault(place_of(message)[0], message)
        if len(found) == len(starts):
            break
    return found


class SameTopics:
    """Source and target of a run, which must not be replaced during the run.

    Args:
        route: the migration; both topics exist.

    Raises:
        ChangedTopicError: a topic does not exist.
        BrokerUnavailableError, BrokerRefusedError: a broker does not answer, or refuses.
    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._sides = [_Side(route, role) for role in ROLES]
        source, target = (side.id() for side in self._sides)
        self.ids = source, target

    def require(self, known: Mapping[int, Progress]) -> None:
        """Check that both topics are the same as before; ``known`` is the last progress. Raises as the class does."""
        newest = sorted(known.items(), key=lambda entry: entry[1].copied + entry[1].bad)[-1:]
        for role, side, before in zip(ROLES, self._sides, self.ids, strict=True):
            now = side.id()
            if now != before:
                raise changed(self._route, role, f"its id is {now}, and was {before} when this run began")
            if now is None:  # its broker has no ids
                require_known(self._route, dict(newest), [role])
