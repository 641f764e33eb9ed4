"""Which schema a topic is written or read with: what one registry has told this process, and how it is asked.

Everything is kept by topic, since a schema version means nothing without one. Each question is asked once: threads
that come while it is under way wait for the same answer.

Versions never change, but a topic may be deleted and made anew, and then counts from 0 again; Pulsar itself deletes
idle topics. So each topic in use is looked at again once per ``cache.latest.ttl.sec``, in a thread of its own, and
when a message cannot be read. It was made anew if a version has another schema or was registered at another time than
before, or if the latest is below a known one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import WeakSet

from .cache import TopicCache
from .config import REGISTRY_OPTIONS
from .errors import (
    IncompatibleSchemaError,
    InvalidSchemaError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from .flights import Flights
from .memory import Known, Learnt, Memory, holds, schema_limits
from .schema import Schema
from .schema_registry import SchemaInfo, SchemaRegistryClient, TopicName
from .watch import Watch

logger = logging.getLogger("streamnative_serdes")

_T = TypeVar("_T")

_REGISTRY_KEYS = tuple(option.key for option in REGISTRY_OPTIONS)
_MAX_SHARED = 64  # registries (or sets of options) that one process keeps in mind
_REFRESH_SECONDS = 2.0  # patience with a registry that does not answer, where an older answer is at hand
_MOST_LOOKS = 600  # topics that are looked at in one round; with more in use, the rest come first in the next
_LEAST_SECONDS = 1.0  # between two looks at one topic, however many messages cannot be read
_ASKED = "asked"
# What says something about schemas, and is asked for again by each message. Rights and tokens may change at any time.
_REFUSALS = (SchemaNotFoundError, IncompatibleSchemaError, InvalidSchemaError, SchemaError)


class User(Protocol):
    """Who holds on to what a binding tells."""

    def rebind(self) -> None:
        """Ask for everything again, each topic with its next message."""


class Binding:
    """What one registry has told this process.

    Args:
        conf: the checked options of a serializer or a deserializer.
    """

    _shared: ClassVar[dict[Hashable, Binding]] = {}
    _shared_lock: ClassVar[threading.RLock] = threading.RLock()  # a finalizer may make a serializer meanwhile
    _alive: ClassVar[WeakSet[Binding]] = WeakSet()

    def __init__(self, conf: Mapping[str, Any]) -> None:
        self.client = SchemaRegistryClient(conf)
        self._place = conf["pulsar.tenant"], conf["pulsar.namespace"]
        self._limits = schema_limits(conf)
        self._capacity: int = conf["cache.capacity"]
        self._memory = Memory(self._capacity, conf["cache.latest.ttl.sec"], self._limits)
        self._flights = Flights()
        self._missing_ttl: float = conf["cache.missing.ttl.sec"]
        self._refused = TopicCache(self._capacity)  # topic -> question -> (error, until when it holds)
        self._asked = TopicCache(self._capacity)  # topic -> "asked" -> when the registry last told something
        self._users: WeakSet[User] = WeakSet()
        self._users_lock = threading.RLock()
        self._in_use: dict[str, str] = {}  # since the last look: full name -> as the user has it
        self._watch = Watch(max(self._memory.ttl, _LEAST_SECONDS), self._look)
        Binding._alive.add(self)

    @classmethod
    def shared(cls, conf: Mapping[str, Any]) -> Binding:
        """The binding of this process for these registry options."""
        key = tuple(conf[name] for name in _REGISTRY_KEYS)
        with cls._shared_lock:
            if key not in cls._shared:
                while len(cls._shared) >= _MAX_SHARED:
                    del cls._shared[next(iter(cls._shared))]
                new = cls(conf)
                cls._shared.setdefault(key, new)  # a finalizer may have asked for the same meanwhile
            return cls._shared[key]

    @classmethod
    def forget(cls) -> None:
        """Forget all that this process has learnt; serializers and deserializers at work keep their own."""
        with cls._shared_lock:
            cls._shared.clear()

    def attach(self, user: User) -> None:
        """From now on, ``user`` is told when to :meth:`User.rebind`."""
        with self._users_lock:
            self._users.add(user)

    def detach(self, user: User) -> None:
        """``user`` is closed. With the last one, the thread goes."""
        with self._users_lock:
            self._users.discard(user)
            if not self._users:
                self._watch.stop()

    # Questions

    def registered(self, topic: str, schema: Schema, *, new: bool = True) -> int:
        """The version of this schema on the topic: one POST, which registers it if it is new.

        Without ``new``, one GET of all versions instead, for which the right to read is enough.

        Raises:
            IncompatibleSchemaError: it is new, and the topic's strategy refuses it.
            SchemaNotFoundError: it is new, and must not be.
            SchemaRegistryError: as :class:`SchemaRegistryClient` says.
        """
        name = self._use(topic)
        version = self._memory.registered(name, schema)
        if version is None:
            version = self._ask(name, ("register", new, schema.text), lambda: self._register(topic, name, schema, new))
        return version

    def version(self, topic: str, version: int, there: frozenset[int] | None = None) -> Known:
        """A version of the topic's schema: one GET, since versions never change.

        ``there``, if given, are all that the topic has: what is not among them is not asked for.

        Raises:
            SchemaNotFoundError: the topic has no such version.
            SchemaError: the topic's schema is not of type AVRO, or no Avro.
        """
        name = self._use(topic)
        known = self._memory.known(name, version)
        if known is None and there is not None and version not in there:
            raise SchemaNotFoundError("the topic has no such schema version", topic=topic, version=version)
        return known or self._ask(name, ("version", version), lambda: self._fetch(topic, name, version))

    def latest(self, topic: str) -> tuple[Known, float]:
        """The topic's latest schema, and for how many seconds that holds.

        When the registry cannot be asked, what it said last goes on to hold.
        """
        known, expires = self._latest_until(topic)
        return known, max(expires - time.monotonic(), 0.0)

    def warm_up(self, topic: str) -> None:
        """Get to know all versions of the topic, and so the latest one, with one GET.

        Raises:
            SchemaError: one of them is not of type AVRO, or no Avro.
        """
        self.versions(topic)

    def versions(self, topic: str) -> frozenset[int]:
        """All versions that the topic has now; one GET, and all are known then.

        Raises:
            SchemaError: one of them is not of type AVRO, or no Avro.
        """
        name = self._use(topic)
        return self._ask(name, ("all",), lambda: self._fetch_all(topic, name))

    def missing_seconds(self, topic: str, version: int) -> float:
        """For how many seconds more a version that was not found counts as missing."""
        refused: tuple[SerdesError, float] | None = self._refused.get(self._name(topic), ("version", version))
        return 0.0 if refused is None else max(refused[1] - time.monotonic(), 0.0)

    def learnt(self, topics: Iterable[str]) -> tuple[Learnt, ...]:
        """All that is known of these topics, to be pickled."""
        return self._memory.learnt({self._name(topic) for topic in topics})

    def learn(self, learnt: Iterable[Learnt]) -> None:
        """Take over what another process knew; where that contradicts what is known here, the registry is asked."""
        for name, why in self._memory.learn(learnt).items():
            logger.warning("topic %s was made anew for one of two processes, so the registry is asked: %s", name, why)
            self._refused.drop(name)
            self._let_rebind()

    def _ask(self, name: str, question: tuple[Hashable, ...], work: Callable[[], _T]) -> _T:
        """What ``work`` gives, in one thread at a time; an answer that is a no holds for a moment."""
        refused: tuple[SerdesError, float] | None = self._refused.get(name, question)
        if refused is not None and time.monotonic() < refused[1]:
            raise copy(refused[0])
        try:
            answer: _T = self._flights.run((name, *question), work)
        except _REFUSALS as error:
            self._refused.set(name, question, (copy(error), time.monotonic() + self._missing_ttl))
            raise
        return answer

    # How they are asked; who comes here is the only one

    def _register(self, topic: str, name: str, schema: Schema, new: bool) -> int:
        version = self._memory.registered(name, schema)  # another thread may have landed in between
        if version is None:
            version = self.client.register(topic, schema.text) if new else self._find(topic, schema)
            why = self._memory.contradiction(name, SchemaInfo(version, "AVRO", schema.text))
            if why:
                self._made_anew(topic, name, why)
            self._memory.keep_registered(name, schema, version)
            self._refused.drop(name)  # what was missing may be there now
            self._heard_of(name)
        return version

    def _find(self, topic: str, schema: Schema) -> int:
        for info in reversed(self.client.all_versions(topic)):
            if holds(info, schema, self._limits):
                return info.version
        raise SchemaNotFoundError(
            "the topic has no such schema",
            topic=topic,
            hint="auto.register.schemas=false: it has to be registered first",
        )

    def _fetch(self, topic: str, name: str, version: int) -> Known:
        known = self._memory.known(name, version)
        if known is None:
            known = self._memory.take(topic, name, self.client.by_version(topic, version))
            self._heard_of(name)
        return known

    def _fetch_all(self, topic: str, name: str) -> frozenset[int]:
        infos = self.client.all_versions(topic)
        if infos:
            self._compare(topic, name, infos[-1])
            known = [self._memory.take(topic, name, info) for info in infos]
            self._memory.keep_latest(name, known[-1])
            self._refused.drop(name)
            self._heard_of(name)
        elif self._memory.newest(name) is not None:
            self._lost(topic, name)
        return frozenset(info.version for info in infos)

    def _latest_until(self, topic: str) -> tuple[Known, float]:
        name = self._use(topic)
        held = self._memory.latest(name)
        if held is not None and time.monotonic() < held[1]:
            return held
        return self._ask(name, ("latest",), lambda: self._fetch_latest(topic, name, held))

    def _fetch_latest(self, topic: str, name: str, held: tuple[Known, float] | None) -> tuple[Known, float]:
        now = self._memory.latest(name)
        if now is not None and now is not held and time.monotonic() < now[1]:
            return now  # another thread landed in between
        try:
            # Who holds an answer does not wait long for a new one.
            known = self._ask_latest(topic, name, None if held is None else _REFRESH_SECONDS)
        except SchemaRegistryError as error:
            if held is None or not error.retriable:
                raise
            logger.warning("topic %s keeps schema version %d as its latest: %s", topic, held[0].version, error)
            known = held[0]
        return self._memory.keep_latest(name, known)

    def _ask_latest(self, topic: str, name: str, patience: float | None) -> Known:
        info = self.client.latest(topic, patience=patience)
        self._compare(topic, name, info)
        self._heard_of(name)  # only now: who doubts the topic meanwhile waits for this
        return self._memory.take(topic, name, info)

    def _name(self, topic: str) -> str:
        return TopicName.parse(topic, *self._place).path

    def _use(self, topic: str) -> str:
        """The topic's full name. That it is in use is noted for the watch."""
        name = self._name(topic)
        if len(self._in_use) < self._capacity:  # what is beyond is soon forgotten anyway
            self._in_use[name] = topic
        self._watch.ensure()
        return name

    # Whether topics are still the ones that were met

    def doubt(self, topic: str) -> None:
        """After a message could not be read: look at its topic again, at most once a second."""
        name = self._name(topic)
        asked = self._asked.get(name, _ASKED)
        if self._memory.newest(name) is None or (asked is not None and time.monotonic() < asked + _LEAST_SECONDS):
            return
        self._flights.run(("look", name), lambda: self._look_at(topic, name))

    def confirm(self, topic: str) -> None:
        """Look at a topic that is known: one GET. When the registry cannot be asked, what it said last holds."""
        name = self._use(topic)
        if self._memory.newest(name) is not None:
            self._flights.run(("look", name), lambda: self._look_at(topic, name))

    def _look(self) -> None:
        """What the watch does: look at all topics used since the last time, and have their use noted anew."""
        in_use, self._in_use = self._in_use, {}
        known = [(name, topic) for name, topic in list(in_use.items()) if self._memory.newest(name) is not None]
        known.sort(key=lambda use: self._asked.get(use[0], _ASKED) or 0.0)  # the longest unasked first
        rest = dict(known)
        try:
            for name, topic in known[:_MOST_LOOKS]:
                del rest[name]
                self._look_at(topic, name)
        finally:  # also after what nobody foresaw: the next round comes
            for name, topic in rest.items():
                self._in_use.setdefault(name, topic)
            self._let_rebind()
        with self._users_lock:
            if not self._users:
                self._watch.stop()

    def _look_at(self, topic: str, name: str) -> None:
        try:
            known = self._ask_latest(topic, name, _REFRESH_SECONDS)
        except SchemaNotFoundError:
            self._lost(topic, name)
        except SerdesError as error:  # no reason to stop what goes well
            self._heard_of(name)
            logger.warning("topic %s keeps the schemas that it had: %s", topic, error)
        else:
            if self._memory.latest(name) is not None:
                self._memory.keep_latest(name, known)

    def _compare(self, topic: str, name: str, latest: SchemaInfo) -> None:
        """Forget the topic if ``latest`` cannot be its latest."""
        newest = self._memory.newest(name)
        if newest is None:
            return
        if latest.version < newest.version:
            self._made_anew(topic, name, f"its latest version is {latest.version}, after {newest.version}")
            return
        known = latest
        if latest.version > newest.version:
            try:
                known = self.client.by_version(topic, newest.version, patience=_REFRESH_SECONDS)
            except SchemaNotFoundError:
                self._lost(topic, name)
                return
        why = self._memory.contradiction(name, known)
        if why:
            self._made_anew(topic, name, why)
        else:
            self._memory.take(topic, name, known)  # its time of registration, which a POST does not tell

    def _made_anew(self, topic: str, name: str, why: str) -> None:
        logger.warning("topic %s was deleted and made anew, so what was known of it is forgotten: %s", topic, why)
        self._memory.forget(name)
        self._refused.drop(name)
        self._let_rebind()

    def _lost(self, topic: str, name: str) -> None:
        """Its schemas were deleted. Those that are known still read what was written by them."""
        logger.warning("topic %s has lost its schemas; what is written next is registered anew", topic)
        self._memory.forget_registered(name)
        self._refused.drop(name)
        self._heard_of(name)
        self._let_rebind()

    def _heard_of(self, name: str) -> None:
        self._asked.set(name, _ASKED, time.monotonic())

    def _let_rebind(self) -> None:
        with self._users_lock:
            users = list(self._users)
        for user in users:
            user.rebind()

    # Forks

    def _in_child(self) -> None:
        """The parent's threads are not here: nobody is waited for, and the watch starts with the next question."""
        self._watch.reset()
        self._memory.after_fork()
        self._asked.after_fork()
        self._refused.after_fork()
        self._users_lock = threading.RLock()
        self._let_rebind()

    @classmethod
    def after_fork(cls) -> None:
        """In a child process: the threads that held locks, or were waited for, are not there."""
        cls._shared_lock = threading.RLock()
        for binding in list(cls._alive):
            binding._in_child()  # noqa: SLF001 - its own class


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Binding.after_fork)
