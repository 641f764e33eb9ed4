"""The states of all known topics, and the SerDes that have to know of changes; no I/O.

The states are one bounded map, full topic name -> TopicState. When the map is full, the topic whose last use is
longest ago is dropped. The serializers' own caches answer hits, and a hit does not count as a use here; but after
each round of checks they ask again for every topic (see ``binding``), so topics in use are used again in each round,
and idle ones are dropped first. Topics of which only refusals are known are kept in a second map, so that they never
evict a known topic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol
from weakref import WeakSet

from streamnative_serdes._schema import Limits
from streamnative_serdes.schema_registry import SchemaInfo, TopicName

from .cache import LruMap
from .schema_version import Posted, SchemaVersion, known_from
from .topic_state import Latest, PickledSchema, TopicState


class Topics:
    """The states of topics. Threads share this object: reading takes no lock, a change takes a lock.

    Args:
        capacity: how many topics are kept, and how many versions of each topic.
        ttl: for how many seconds a latest schema is valid.
        limits: how large a schema may be.
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
            return self.get(topic)
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
        """Keep a schema version, parsed if it is new.

        Raises:
            SchemaError: the schema is not valid, or too large.
        """
        known = self.get(topic).schemas.get(info.version)
        if known is None:
            return self._keep(topic, known_from(topic, info, self.limits))
        if known.info.timestamp == 0 != info.timestamp:  # known from another process, where a POST had no timestamp
            return self._keep(topic, replace(known, info=replace(known.info, timestamp=info.timestamp)))
        return known

    def _keep(self, topic: TopicName, known: SchemaVersion) -> SchemaVersion:
        self.change(topic, lambda state: state.with_schema(known, self._capacity))
        return known

    def keep_registered(self, topic: TopicName, posted: Posted, known: SchemaVersion) -> None:
        """Keep the answer to a registration, and forget refusals: the registry may accept such questions now."""
        self.change(
            topic,
            lambda state: state.with_registered(posted, known, self._capacity).without_refusals().answered(),
        )

    def keep_latest(self, topic: TopicName, known: SchemaVersion) -> Latest:
        """Keep the latest schema, which is valid from now on."""
        latest = self.change(topic, lambda state: state.with_latest(known, self.ttl)).latest
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
            for one in ones:
                self._learn(one)
        return {topic: why for topic, why in doubtful.items() if why}

    def _doubt(self, topic: TopicName, learnt: list[PickledSchema]) -> str:
        """Why another process's schemas contradict those of this process; empty if there is no contradiction."""
        state = self.get(topic)
        for posted, version in {one.posted: one.version for one in learnt}.items():  # the last version of each
            here = state.versions.get(posted)
            if here not in (None, version):
                return f"a schema has version {version} in the pickle, and version {here} in this process"
        return next(filter(None, (state.contradiction(one.info, self.limits) for one in learnt)), "")

    def _learn(self, one: PickledSchema) -> None:
        self._states.change(one.topic.path, lambda state: state or TopicState(one.topic))  # not in use until asked for
        self.change(one.topic, lambda state: state.with_posted(one.posted, one.version, self._capacity))
        known = self.keep(one.topic, one.info)
        held = self.get(one.topic).latest
        if one.latest and (held is None or held.known.version < one.version):
            self.keep_latest(one.topic, known)


class User(Protocol):
    """An object that keeps answers of a binding."""

    def rebind(self) -> None:
        """Ask for everything again, each topic with its next message."""


class Users:
    """The users of a binding. Threads share this object, and it keeps no user alive."""

    def __init__(self) -> None:
        self._users: WeakSet[User] = WeakSet()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._users)

    def __contains__(self, user: object) -> bool:
        return user in self._users

    def attach(self, user: User) -> None:
        with self._lock:
            self._users.add(user)

    def detach(self, user: User) -> None:
        with self._lock:
            self._users.discard(user)

    def if_none(self, act: Callable[[], None]) -> None:
        """Call ``act`` if there are no users; no user can be attached meanwhile."""
        with self._lock:
            if not self._users:
                act()

    def rebind(self) -> None:
        with self._lock:
            users = list(self._users)
        for user in users:
            user.rebind()

    def after_fork(self) -> None:
        """In a child process: the thread that held the lock may not exist."""
        self._lock = threading.RLock()
