"""The state of one topic: its schema versions, its latest, what the registry refused, and what is kept of it; no I/O.

A state is immutable. Each change makes a new one, which takes the place of the old one by a single assignment (see
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
        """As the registry would answer."""
        return self.posted.info(self.version, self.timestamp)


@dataclass(frozen=True, slots=True, eq=False)
class TopicState:
    """What this process knows about one topic.

    Args:
        topic: as the user who asked last named it.
        schemas: known versions, for reading.
        versions: by registered schema, for writing. Reading does not use it: the registry's text may differ in docs.
        latest: as last reported; it may have expired.
        newest: the highest version met, by which a recreated topic is noticed.
        refusals: by question; some may have expired.
        asked: when the registry last answered for this topic, on the monotonic clock.
        in_use: whether it was used since it was last checked.
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
        """With one more version to read by; the first of more than ``most`` is dropped."""
        return replace(self, schemas=_with(self.schemas, known.version, known, most), newest=self._newer(known))

    def with_registered(self, posted: Posted, registered: SchemaVersion, most: int) -> TopicState:
        """With one more version to write by; the first of more than ``most`` is dropped."""
        known = self.schemas.get(registered.version) or registered
        return replace(self, versions=_with(self.versions, posted, known.version, most), newest=self._newer(known))

    def with_posted(self, posted: Posted, version: int, most: int) -> TopicState:
        """With one more version to write by, which another process has registered."""
        return replace(self, versions=_with(self.versions, posted, version, most))

    def with_latest(self, known: SchemaVersion, seconds: float) -> TopicState:
        """With ``known`` as the latest schema, for so many seconds from now on."""
        return replace(self, latest=Latest(known, time.monotonic() + seconds))

    def with_refusal(self, question: Question, refusal: Refusal, most: int) -> TopicState:
        return replace(self, refusals=_with(self.refusals, question, refusal, most))

    def expired(self) -> TopicState:
        """With a latest schema that is out of date and without refusals, so that the registry is asked again."""
        return replace(self, latest=self.latest and self.latest._replace(until=-math.inf), refusals={})

    def without_refusals(self) -> TopicState:
        """Without refusals, so that the next question reaches the registry at once."""
        return replace(self, refusals={})

    def without_registrations(self) -> TopicState:
        """After the topic has lost its schemas: writers register again; known versions still read old messages."""
        return replace(self, versions={}, latest=None, refusals={})

    def answered(self) -> TopicState:
        """The registry has answered for this topic just now."""
        return replace(self, asked=time.monotonic())

    def used_as(self, topic: TopicName) -> TopicState:
        """In use, by the name that its user gives it."""
        if self.in_use and self.topic.given == topic.given:
            return self
        return replace(self, topic=topic, in_use=True)

    def checked(self) -> TopicState:
        """Not in use until it is used again."""
        return replace(self, in_use=False)

    def _newer(self, known: SchemaVersion) -> SchemaVersion:
        newest = self.newest
        return known if newest is None or newest.version <= known.version else newest

    def contradiction(self, info: SchemaInfo, limits: Limits) -> str:
        """Why the registry's answer contradicts what is known of the topic; empty if it does not."""
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
    """A copy with this entry, at most ``most`` in all: the first ones are dropped."""
    copied = {**entries, key: value}
    while len(copied) > most:
        del copied[next(iter(copied))]
    return copied


_T = TypeVar("_T")


class KeptWhileUnchanged(Generic[_T]):
    """Things that were made for topics. Each is valid while the topic's state is the same object, and for a time.

    Args:
        capacity: how many are kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[Hashable, tuple[TopicState, float, _T]] = {}

    def get(self, key: Hashable, state: TopicState) -> _T | None:
        """Return the thing of this key, or None if it is missing or no longer valid."""
        return _valid(self._kept.get(key), state)

    def take(self, key: Hashable, state: TopicState) -> _T | None:
        """As :meth:`get`, for things that only one thread may use at a time: it is gone until it is kept again."""
        return _valid(self._kept.pop(key, None), state)

    def keep(self, key: Hashable, state: TopicState, until: float, thing: _T) -> None:
        """Keep a thing that was made when the topic had this state, until that time of the monotonic clock."""
        if len(self._kept) >= self._capacity:
            self._kept.clear()
        self._kept[key] = state, until, thing


def _valid(kept: tuple[TopicState, float, _T] | None, state: TopicState) -> _T | None:
    if kept is None:
        return None
    before, until, thing = kept
    return thing if before is state and time.monotonic() < until else None
