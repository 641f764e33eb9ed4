"""The states of all known topics: schema versions, latest schema, refusals, and objects kept for a topic; no I/O.

A state is immutable. Each change makes a new state, which replaces the old state by a single assignment, so reading a
state needs no lock. The states are one bounded map, full topic name -> TopicState. When the map is full, the topic
whose last use is longest ago is dropped. The serializers' own caches answer hits, and a hit does not count as a use
here; but after each round of checks they ask again for every topic (see ``binding``), so topics in use are used again
in each round, and idle ones are dropped first. Topics of which only refusals are known are kept in a second map, so
that they never evict a known topic.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from streamnative_serdes._schema import Limits
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

from .cache import LruMap
from .schema_version import Posted, SchemaVersion, known_from

_K = TypeVar("_K")
_V = TypeVar("_V")
_T = TypeVar("_T")

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
    """A schema version in a pickle: whether it was the latest, when it was registered, whether it is a witness."""

    topic: TopicName
    version: int
    posted: Posted
    latest: bool
    timestamp: int
    witness: bool = True

    @property
    def info(self) -> SchemaInfo:
        """The schema version as the registry would answer."""
        return self.posted.info(self.version, self.timestamp)


@dataclass(frozen=True, slots=True, eq=False)
class TopicState:
    """The schemas of one topic that this process knows, and their use."""

    topic: TopicName  # as the user who asked last named it
    schemas: Mapping[int, SchemaVersion] = field(default_factory=dict)  # known versions, for reading
    # by registered schema, for writing. Reading does not use it: the registry's text may differ in docs.
    versions: Mapping[Posted, int] = field(default_factory=dict)
    latest: Latest | None = None  # the latest schema as last reported, which may have expired
    newest: SchemaVersion | None = None  # the highest version met
    # The versions that the next check compares with the registry. All other versions were met later than a witness, so
    # they are of the same topic if no witness has changed. Witnesses are: the version that the last check confirmed;
    # the witnesses in pickles; and, while no witness has a time of registration, every version, since the recreated
    # topic may have the same schema again. The first witness has a time if one of them has.
    witnesses: tuple[SchemaVersion, ...] = ()
    refusals: Mapping[Question, Refusal] = field(default_factory=dict)  # by question; some may have expired
    asked: float = -math.inf  # when the registry last answered for this topic, on the monotonic clock
    in_use: bool = False  # whether the topic was used since it was last checked

    def __str__(self) -> str:
        return self.topic.given

    def with_schema(self, known: SchemaVersion, most: int) -> TopicState:
        """The state with one more version to read by; the first of more than ``most`` is dropped."""
        return self._met(known, schemas=_with(self.schemas, known.info.version, known, most))

    def with_registered(self, posted: Posted, registered: SchemaVersion, most: int) -> TopicState:
        """The state with one more version to write by; the first of more than ``most`` is dropped."""
        version = registered.info.version
        return self._met(self.schemas.get(version) or registered, versions=_with(self.versions, posted, version, most))

    def with_posted(self, posted: Posted, version: int, most: int) -> TopicState:
        """The state with one more version to write by, which another process has registered."""
        if self.versions.get(posted) == version:
            return self
        return replace(self, versions=_with(self.versions, posted, version, most))

    def with_latest(self, known: SchemaVersion, seconds: float) -> TopicState:
        """The state with ``known`` as the latest schema, for so many seconds from now on."""
        return replace(self, latest=Latest(known, time.monotonic() + seconds))

    def with_refusal(self, question: Question, refusal: Refusal, most: int) -> TopicState:
        return replace(self, refusals=_with(self.refusals, question, refusal, most))

    def with_witness(self, known: SchemaVersion) -> TopicState:
        """The state whose next check compares this version, too."""
        others = [each for each in self.witnesses if each.info.version != known.info.version]
        return replace(self, witnesses=(*others, known))

    def confirmed(
        self, known: SchemaVersion, compared: tuple[SchemaVersion, ...], latest: Latest | None = None
    ) -> TopicState:
        """The state after a check that compared these versions; ``known`` is the witness for the next check."""
        others: list[SchemaVersion] = []
        if self.witnesses != compared:
            versions = {each.info.version for each in (known, *compared)}
            others = [each for each in self.witnesses if each.info.version not in versions]
        return replace(self, witnesses=(known, *others), asked=time.monotonic(), latest=latest or self.latest)

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

    def _met(self, known: SchemaVersion, **more: Any) -> TopicState:
        newest, witnesses = self.newest, self.witnesses
        if newest is None or newest.info.version <= known.info.version:
            newest = known
        if not witnesses or not witnesses[0].info.timestamp:
            same = bool(witnesses) and witnesses[0].info.version == known.info.version
            witnesses = (known, *witnesses[same:])
        return replace(self, newest=newest, witnesses=witnesses, **more)

    def contradiction(self, info: SchemaInfo, limits: Limits, *, latest: bool = False) -> str:
        """Why the registry's answer contradicts the known schemas of the topic; empty if there is no contradiction.

        ``latest``: the registry says that this is the topic's latest schema.
        """
        if self.newest is None:
            return ""
        highest = self.newest.info.version
        if latest and info.version < highest:
            return f"its latest version is {info.version}, and was {highest} before"
        last = None
        for known in (self.schemas.get(info.version), self.newest, *self.witnesses):
            if known is None or known is last or known.info.version != info.version:
                continue
            last, before = known, known.info.timestamp
            if before and info.timestamp and before != info.timestamp:
                return f"version {info.version} has a different registration time than before"
            if not known.agrees(info, limits):
                return f"version {info.version} has a different schema than before"
        return ""

    def learnt(self) -> tuple[PickledSchema, ...]:
        """All known versions, for a pickle."""
        latest = None if self.latest is None else self.latest.known.version
        witnesses = {known.info.version: known for known in self.witnesses}
        read = {**witnesses, **self.schemas}
        found = {(version, Posted.of(known.info)) for version, known in read.items()}
        found |= {(version, posted) for posted, version in self.versions.items()}
        times = {version: known.info.timestamp for version, known in read.items()}
        return tuple(
            PickledSchema(self.topic, version, posted, version == latest, times.get(version, 0), version in witnesses)
            for version, posted in sorted(found)
        )


def _with(entries: Mapping[_K, _V], key: _K, value: _V, most: int) -> dict[_K, _V]:
    """A copy with this entry, and at most ``most`` entries: the first entries are dropped."""
    copied = {**entries, key: value}
    while len(copied) > most:
        del copied[next(iter(copied))]
    return copied


class Topics:
    """The states of topics. Threads share this object: reading takes no lock; the maps guard each change.

    A change that another thread has made meanwhile is not lost: ``LruMap.change`` then calls the step again.
    ``capacity`` is for topics, and for versions of each; a latest schema is valid for ``ttl`` seconds.
    """

    def __init__(self, capacity: int, ttl: float, limits: Limits) -> None:
        self._states: LruMap[TopicState] = LruMap(capacity)
        self._unknown: LruMap[TopicState] = LruMap(capacity)  # without any schema version
        self._capacity = capacity
        self.ttl, self.limits = ttl, limits

    def __len__(self) -> int:
        return len(self._states)

    def make_room(self, users: int) -> None:
        """Keep up to ``capacity`` topics for each user: each user caches as many, and their topics may differ."""
        self._states.capacity = self._capacity * max(users, 1)

    def get(self, topic: TopicName) -> TopicState:
        """The state of a topic. An unknown topic has an empty state, which is not kept."""
        return self._states.get(topic.path) or self._unknown.get(topic.path) or TopicState(topic, in_use=True)

    def use(self, topic: TopicName) -> TopicState:
        """The state of a topic, which counts as in use, and is dropped later than all topics that were used before."""
        state = self._states.use(topic.path)
        if state is None:
            state = self.get(topic)
            return state if state.topic.given == topic.given else replace(state, topic=topic)
        if state.in_use and state.topic.given == topic.given:
            return state
        return self.change(topic, lambda now: now.used_as(topic))

    def change(self, topic: TopicName, step: Callable[[TopicState], TopicState]) -> TopicState:
        """Replace a topic's state by ``step(state)``; a topic that is new or was forgotten is in use.

        ``step`` may be called more than once.
        """
        known = self._states.change(topic.path, lambda state: state and step(state))
        if known is not None:
            return known
        changed = self._unknown.change(topic.path, lambda state: step(state or TopicState(topic, in_use=True)))
        if changed.newest is None:
            return changed
        try:
            # Another thread may have learnt something else of the topic meanwhile.
            return self._states.change(topic.path, lambda state: step(state) if state else changed)
        finally:
            self._unknown.drop(topic.path)

    def forget(self, topic: TopicName) -> None:
        self._unknown.drop(topic.path)
        self._states.drop(topic.path)

    def forget_all(self) -> None:
        for state in (*self._unknown.values(), *self._states.values()):
            self.forget(state.topic)

    def expire(self) -> None:
        """Mark the latest schema of each topic as out of date, and forget all refusals."""
        for state in (*self._unknown.values(), *self._states.values()):
            self.change(state.topic, TopicState.expired)

    def in_use(self) -> list[TopicState]:
        """Known topics that were used since their last check, the topic with the oldest answer first."""
        known = [state for state in self._states.values() if state.in_use and state.newest is not None]
        return sorted(known, key=lambda state: state.asked)

    def after_fork(self) -> None:
        """In a child process: the thread that held the lock may not exist."""
        self._states.after_fork()
        self._unknown.after_fork()

    # What the registry has answered

    def keep(self, topic: TopicName, info: SchemaInfo) -> SchemaVersion:
        """Keep a schema version, parsed if it is new. Raises SchemaError: the schema is not valid, or too large."""
        known = self.get(topic).schemas.get(info.version)
        if known is None:
            found = known_from(topic, info, self.limits)
        elif known.info.timestamp == 0 != info.timestamp:  # known from another process, where a POST had no timestamp
            found = replace(known, info=replace(known.info, timestamp=info.timestamp))
        else:
            return known
        self.change(topic, partial(TopicState.with_schema, known=found, most=self._capacity))
        return found

    def keep_registered(self, topic: TopicName, posted: Posted, known: SchemaVersion) -> None:
        """Keep the answer to a registration, and forget refusals: the registry may accept such questions now."""
        self.change(
            topic,
            lambda state: state.with_registered(posted, known, self._capacity).without_refusals().answered(),
        )

    def keep_latest(self, topic: TopicName, known: SchemaVersion) -> Latest:
        """Keep the latest schema, which is valid from now on."""
        latest = self.change(topic, partial(TopicState.with_latest, known=known, seconds=self.ttl)).latest
        assert latest is not None
        return latest

    # In a pickle

    def learnt(self, topics: Iterable[TopicName]) -> tuple[PickledSchema, ...]:
        """All known versions of these topics."""
        each = {topic.path: topic for topic in topics}
        return tuple(one for path in sorted(each) for one in self.get(each[path]).learnt())

    def learn(self, learnt: Iterable[PickledSchema]) -> dict[TopicName, str]:
        """Take over the schemas that another process knew; its latest schema is valid here for the usual time.

        Returns the topics whose schemas differ between the two processes, with the reason. Such a topic was deleted and
        recreated after one process had read it, and nothing tells which process, so the topic is forgotten.
        """
        given: dict[TopicName, list[PickledSchema]] = {}
        for one in learnt:
            given.setdefault(one.topic, []).append(one)
        doubtful = {topic: self._doubt(topic, ones) for topic, ones in given.items()}
        for topic, ones in given.items():
            if doubtful[topic]:
                self.forget(topic)
                continue
            before = self.get(topic)
            for one in sorted(ones, key=lambda one: not one.witness):
                known = self._learn(one)
                if one.witness and one.version not in before.schemas and one.posted not in before.versions:
                    self.change(topic, partial(TopicState.with_witness, known=known))
        return {topic: why for topic, why in doubtful.items() if why}

    def _doubt(self, topic: TopicName, learnt: list[PickledSchema]) -> str:
        """Why another process's schemas contradict those of this process; empty if there is no contradiction."""
        state = self.get(topic)
        for posted, version in {one.posted: one.version for one in learnt}.items():  # the last version of each
            here = state.versions.get(posted)
            if here not in (None, version):
                return f"a schema has version {version} in the pickle, and version {here} in this process"
        return next(filter(None, (state.contradiction(one.info, self.limits) for one in learnt)), "")

    def _learn(self, one: PickledSchema) -> SchemaVersion:
        self._states.change(one.topic.path, lambda state: state or TopicState(one.topic))  # not in use until asked for
        self.change(one.topic, lambda state: state.with_posted(one.posted, one.version, self._capacity))
        known = self.keep(one.topic, one.info)
        held = self.get(one.topic).latest
        if one.latest and (held is None or held.known.version < one.version):
            self.keep_latest(one.topic, known)
        return known


Entry: TypeAlias = tuple[TopicState, float, _T]  # until that time of the monotonic clock


class KeptWhileUnchanged(Generic[_T]):
    """Objects made for topics. An object is valid while the topic's state does not change, and for a limited time.

    Threads share it without a lock: an entry is one tuple, and each step on the dict is atomic; ``take``
    gives an object to one of them alone.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[Hashable, Entry[_T]] = {}

    def get(self, key: Hashable, state: TopicState) -> _T | None:
        """Return the object of this key, or None if the object is missing or no longer valid."""
        kept = self._kept.get(key)
        return kept[2] if kept is not None and kept[0] is state and time.monotonic() < kept[1] else None

    def take(self, key: Hashable, state: TopicState) -> Entry[_T] | None:
        """As :meth:`get`, for an object that only one thread may use at a time: it is gone until it is put back."""
        kept = self._kept.pop(key, None)
        return kept if kept is not None and kept[0] is state and time.monotonic() < kept[1] else None

    def put_back(self, key: Hashable, entry: Entry[_T]) -> None:
        """Keep an object that was taken, for as long as before."""
        self._kept[key] = entry

    def keep(self, key: Hashable, state: TopicState, until: float, thing: _T) -> None:
        """Keep an object that was made when the topic had this state, until that time of the monotonic clock."""
        if len(self._kept) >= self._capacity:
            self._kept.clear()
        self._kept[key] = state, until, thing
