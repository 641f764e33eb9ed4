"""The state of one topic: its schema versions, its latest schema, refusals, and objects kept for it; no I/O.

A state is immutable. Each change makes a new state, which replaces the old state by a single assignment (see
``topics``), so reading a state needs no lock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

from .schema_version import Posted, SchemaVersion

_K = TypeVar("_K")
_V = TypeVar("_V")

Question = tuple[Hashable, ...]


class Latest(NamedTuple):
    """The latest schema as the registry last reported it, valid until that time of the monotonic clock."""

    known: SchemaVersion
    until: float

    @property
    def valid(self) -> bool:
        return time.monotonic() < self.until


class Refusal(NamedTuple):
    """A question that the registry refused; the error is raised again until that time of the monotonic clock."""

    error: SerdesError
    until: float

    @property
    def valid(self) -> bool:
        return time.monotonic() < self.until


class PickledSchema(NamedTuple):
    """One schema version in a pickle: whether it was the topic's latest, and when it was registered."""

    topic: TopicName
    version: int
    posted: Posted
    latest: bool
    timestamp: int

    @property
    def info(self) -> SchemaInfo:
        """The schema version as the registry would answer."""
        return self.posted.info(self.version, self.timestamp)


@dataclass(frozen=True, slots=True, eq=False)
class TopicState:
    """The schemas of one topic that this process knows, and their use.

    Args:
        topic: as the user who asked last named it.
        schemas: known versions, for reading.
        versions: by registered schema, for writing. Reading does not use it: the registry's text may differ in docs.
        latest: the latest schema as last reported, which may have expired.
        newest: the highest version met, by which a recreated topic is noticed.
        refusals: by question; some may have expired.
        asked: when the registry last answered for this topic, on the monotonic clock.
        in_use: whether the topic was used since it was last checked.
    """

    topic: TopicName
    schemas: Mapping[int, SchemaVersion] = field(default_factory=dict)
    versions: Mapping[Posted, int] = field(default_factory=dict)
    latest: Latest | None = None
    newest: SchemaVersion | None = None
    refusals: Mapping[Question, Refusal] = field(default_factory=dict)
    asked: float = -math.inf
    in_use: bool = False

    def with_schema(self, known: SchemaVersion, most: int) -> TopicState:
        """The state with one more version to read by; the first of more than ``most`` is dropped."""
        return replace(self, schemas=_with(self.schemas, known.version, known, most), newest=self._newer(known))

    def with_registered(self, posted: Posted, registered: SchemaVersion, most: int) -> TopicState:
        """The state with one more version to write by; the first of more than ``most`` is dropped."""
        known = self.schemas.get(registered.version) or registered
        return replace(self, versions=_with(self.versions, posted, known.version, most), newest=self._newer(known))

    def with_posted(self, posted: Posted, version: int, most: int) -> TopicState:
        """The state with one more version to write by, which another process has registered."""
        return replace(self, versions=_with(self.versions, posted, version, most))

    def with_latest(self, known: SchemaVersion, seconds: float) -> TopicState:
        """The state with ``known`` as the latest schema, for so many seconds from now on."""
        return replace(self, latest=Latest(known, time.monotonic() + seconds))

    def with_refusal(self, question: Question, refusal: Refusal, most: int) -> TopicState:
        return replace(self, refusals=_with(self.refusals, question, refusal, most))

    def expired(self) -> TopicState:
        """The state without refusals and with an outdated latest schema, so that the registry is asked again."""
        return replace(self, latest=self.latest and self.latest._replace(until=-math.inf), refusals={})

    def without_refusals(self) -> TopicState:
        """The state without refusals, so that the next question reaches the registry at once."""
        return replace(self, refusals={})

    def without_registrations(self) -> TopicState:
        """The state after a loss of all schemas: writers register again; known versions still read old messages."""
        return replace(self, versions={}, latest=None, refusals={})

    def answered(self) -> TopicState:
        """The state after the registry has just answered for this topic."""
        return replace(self, asked=time.monotonic())

    def used_as(self, topic: TopicName) -> TopicState:
        """The state in use, with the topic's name as its user gives it."""
        if self.in_use and self.topic.given == topic.given:
            return self
        return replace(self, topic=topic, in_use=True)

    def checked(self) -> TopicState:
        """The state of a topic that was checked, and is not in use until it is used again."""
        return replace(self, in_use=False)

    def _newer(self, known: SchemaVersion) -> SchemaVersion:
        newest = self.newest
        return known if newest is None or newest.version <= known.version else newest

    def contradiction(self, info: SchemaInfo, limits: Limits) -> str:
        """Why the registry's answer contradicts the known schemas of the topic; empty if there is no contradiction."""
        known = self.schemas.get(info.version) or self.newest
        if known is None or known.version != info.version:
            return ""
        before = known.info.timestamp
        if before and info.timestamp and before != info.timestamp:
            return f"version {info.version} has a different registration time than before"
        if not known.agrees(info, limits):
            return f"version {info.version} has a different schema than before"
        return ""

    def learnt(self) -> tuple[PickledSchema, ...]:
        """All known versions, for a pickle."""
        latest = None if self.latest is None else self.latest.known.version
        times = {version: known.info.timestamp for version, known in self.schemas.items()}
        found = {(version, Posted.of(known.info)) for version, known in self.schemas.items()}
        found |= {(version, posted) for posted, version in self.versions.items()}
        return tuple(
            PickledSchema(self.topic, version, posted, version == latest, times.get(version, 0))
            for version, posted in sorted(found)
        )


def _with(entries: Mapping[_K, _V], key: _K, value: _V, most: int) -> dict[_K, _V]:
    """A copy with this entry, and at most ``most`` entries: the first entries are dropped."""
    copied = {**entries, key: value}
    while len(copied) > most:
        del copied[next(iter(copied))]
    return copied


_T = TypeVar("_T")


class KeptWhileUnchanged(Generic[_T]):
    """Objects made for topics. An object is valid while the topic's state does not change, and for a limited time.

    Args:
        capacity: how many objects are kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[Hashable, tuple[TopicState, float, _T]] = {}

    def get(self, key: Hashable, state: TopicState) -> _T | None:
        """Return the object of this key, or None if the object is missing or no longer valid."""
        return _valid(self._kept.get(key), state)

    def take(self, key: Hashable, state: TopicState) -> _T | None:
        """As :meth:`get`, for an object that only one thread may use at a time: it is gone until it is kept again."""
        return _valid(self._kept.pop(key, None), state)

    def keep(self, key: Hashable, state: TopicState, until: float, thing: _T) -> None:
        """Keep an object that was made when the topic had this state, until that time of the monotonic clock."""
        if len(self._kept) >= self._capacity:
            self._kept.clear()
        self._kept[key] = state, until, thing


def _valid(kept: tuple[TopicState, float, _T] | None, state: TopicState) -> _T | None:
    if kept is None:
        return None
    before, until, thing = kept
    return thing if before is state and time.monotonic() < until else None
