"""Which schema a topic is written or read with: what one registry has told this process, and how it is asked.

Everything is kept by topic, since a schema version means nothing without one. Each question is asked once: threads
that come while it is under way wait for the same answer.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from weakref import WeakSet

from .cache import TopicCache
from .codec import Codec
from .config import REGISTRY_OPTIONS, CodecArguments
from .errors import NestedTooDeeplyError, SchemaError, SchemaRegistryError
from .schema import Limits, Schema, parse
from .schema_registry import SchemaInfo, SchemaRegistryClient, TopicName

logger = logging.getLogger("streamnative_serdes")

_REGISTRY_KEYS = tuple(option.key for option in REGISTRY_OPTIONS)
_MAX_SHARED = 64  # registries (or sets of options) that one process keeps in mind
_MAX_CODECS = 16  # readers' schemas and sets of options for which one version is kept compiled
_LATEST = "latest"
_REFRESH_SECONDS = 2.0  # patience with a registry that does not answer, where an older answer is at hand
_MISSING_SECONDS = 5.0  # how long a version counts as missing; a broker may lag behind the others for a moment


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A schema version of a topic, and what was compiled of it."""

    version: int
    schema: Schema
    _codecs: dict[Hashable, Codec | SchemaError] = field(default_factory=dict)

    def codec(self, options: CodecArguments, reader: Schema | None = None) -> Codec:
        """What reads this version, as ``reader`` if one is given; made once for all who ask alike.

        Raises:
            SchemaError: ``reader`` cannot read this version.
        """
        key = (None if reader is None else reader.text, *sorted(options.items()))
        found = self._codecs.get(key)
        if found is None:
            if len(self._codecs) >= _MAX_CODECS:
                self._codecs.clear()
            try:
                found = Codec(self.schema, reader, **options)
            except NestedTooDeeplyError:  # says more of this call than of the schemas
                raise
            except SchemaError as error:
                found = error.with_traceback(None)
            self._codecs[key] = found
        if isinstance(found, SchemaError):
            raise copy(found)  # to find it out again for each message would take far longer
        return found


class Learnt(NamedTuple):
    """What travels in a pickle: one schema version of a topic, and whether it was the latest."""

    topic: str
    version: int
    text: str
    latest: bool


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
        self._ttl: float = conf["cache.latest.ttl.sec"]
        capacity: int = conf["cache.capacity"]
        self._versions = TopicCache(capacity)  # topic -> schema text -> version
        self._schemas = TopicCache(capacity)  # topic -> version -> Known
        self._latest = TopicCache(capacity)  # topic -> "latest" -> (Known, when that ends to hold)
        self._flights = _Flights()
        Binding._alive.add(self)

    @classmethod
    def shared(cls, conf: Mapping[str, Any]) -> Binding:
        """The binding of this process for these registry options."""
        key = tuple(conf[name] for name in _REGISTRY_KEYS)
        with cls._shared_lock:
            if key not in cls._shared:
                while len(cls._shared) >= _MAX_SHARED:
                    del cls._shared[next(iter(cls._shared))]
                cls._shared[key] = cls(conf)
            return cls._shared[key]

    @classmethod
    def forget(cls) -> None:
        """Forget all that this process has learnt; serializers and deserializers at work keep their own."""
        with cls._shared_lock:
            cls._shared.clear()

    def registered(self, topic: str, schema: Schema) -> int:
        """The version of this schema on the topic: one POST, which registers it if it is new.

        Raises:
            IncompatibleSchemaError: it is new, and the topic's strategy refuses it.
            SchemaRegistryError: as :class:`SchemaRegistryClient` says.
        """
        name, text = self._name(topic), schema.text
        version: int | None = self._versions.get(name, text)
        if version is None:
            version = self._flights.run(("register", name, text), lambda: self._register(topic, name, text))
        return version

    def version(self, topic: str, version: int) -> Known:
        """A version of the topic's schema: one GET, since versions never change.

        Raises:
            SchemaNotFoundError: the topic has no such version.
            SchemaError: the topic's schema is not of type AVRO, or no Avro.
        """
        name = self._name(topic)
        known: Known | None = self._schemas.get(name, version)
        return known or self._flights.run(("version", name, version), lambda: self._fetch(topic, name, version))

    def latest(self, topic: str) -> tuple[Known, float]:
        """The topic's latest schema, and for how many seconds that holds.

        When the registry cannot be asked, what it said last goes on to hold.
        """
        known, expires = self._latest_until(topic)
        return known, max(expires - time.monotonic(), 0.0)

    def _latest_until(self, topic: str) -> tuple[Known, float]:
        name = self._name(topic)
        held: tuple[Known, float] | None = self._latest.get(name, _LATEST)
        if held is not None and time.monotonic() < held[1]:
            return held
        fresh: tuple[Known, float] = self._flights.run(("latest", name), lambda: self._fetch_latest(topic, name, held))
        return fresh

    def missing_seconds(self) -> float:
        """For how many seconds a version that was not found counts as missing."""
        return min(self._ttl, _MISSING_SECONDS)

    def learnt(self, topics: Iterable[str]) -> tuple[Learnt, ...]:
        """All that is known of these topics, to be pickled."""
        names = {self._name(topic) for topic in topics}
        latest = {name: known.version for name, _, (known, _) in self._latest.items()}
        found = {(name, known.version, known.schema.text) for name, _, known in self._schemas.items()}
        found |= {(name, version, text) for name, text, version in self._versions.items()}
        return tuple(
            Learnt(name, version, text, latest.get(name) == version)
            for name, version, text in sorted(found)
            if name in names
        )

    def learn(self, learnt: Iterable[Learnt]) -> None:
        """Take over what another process knew. What was the latest schema there is so here, for the usual time."""
        for name, version, text, latest in learnt:
            self._versions.set(name, text, version)
            if self._schemas.get(name, version) is None:
                self._schemas.set(name, version, Known(version, parse(text, strict=False, limits=self._limits)))
            if latest and self._latest.get(name, _LATEST) is None:
                self._latest.set(name, _LATEST, (self._schemas.get(name, version), time.monotonic() + self._ttl))

    def _register(self, topic: str, name: str, text: str) -> int:
        known: int | None = self._versions.get(name, text)  # another thread may have landed in between
        if known is None:
            known = self.client.register(topic, text)
            self._versions.set(name, text, known)
        return known

    def _fetch(self, topic: str, name: str, version: int) -> Known:
        return self._schemas.get(name, version) or self._take(topic, name, self.client.by_version(topic, version))

    def _fetch_latest(self, topic: str, name: str, held: tuple[Known, float] | None) -> tuple[Known, float]:
        now: tuple[Known, float] | None = self._latest.get(name, _LATEST)
        if now is not None and now is not held and time.monotonic() < now[1]:
            return now  # another thread landed in between
        try:
            # Who holds an answer does not wait long for a new one.
            patience = None if held is None else _REFRESH_SECONDS
            known = self._take(topic, name, self.client.latest(topic, patience=patience))
        except SchemaRegistryError as error:
            if held is None or not error.retriable:
                raise
            logger.warning("topic %s keeps schema version %d as its latest: %s", topic, held[0].version, error)
            known = held[0]
        fresh = known, time.monotonic() + self._ttl
        self._latest.set(name, _LATEST, fresh)
        return fresh

    def _take(self, topic: str, name: str, info: SchemaInfo) -> Known:
        known: Known | None = self._schemas.get(name, info.version)
        if known is None:
            known = Known(info.version, _parsed(topic, info, self._limits))
            self._schemas.set(name, info.version, known)
        return known

    def _name(self, topic: str) -> str:
        return TopicName.parse(topic, *self._place).path

    @classmethod
    def after_fork(cls) -> None:
        """In a child process: the threads that held locks, or were waited for, are not there."""
        cls._shared_lock = threading.RLock()
        for binding in list(cls._alive):
            binding._flights.reset()  # noqa: SLF001 - its own class


def _parsed(topic: str, info: SchemaInfo, limits: Limits) -> Schema:
    if info.type != "AVRO":
        raise SchemaError(
            f"expected a schema of type AVRO, the topic's is {info.type}", topic=topic, version=info.version
        )
    try:
        return parse(info.text, strict=False, limits=limits)
    except SchemaError as error:
        error.at(topic=topic, version=info.version)
        raise


def schema_limits(conf: Mapping[str, Any]) -> Limits:
    """How large a schema may be, by checked options."""
    return Limits(conf["max.schema.size"], conf["max.schema.names"], conf["max.schema.depth"])


class _Flights:
    """Work under way by key: who comes later waits for the first one's result, or its error."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.RLock()  # a finalizer or a signal handler may serialize while it is held
        self._under_way: dict[Hashable, tuple[Future[Any], int]] = {}

    def run(self, key: Hashable, work: Callable[[], Any]) -> Any:
        """What ``work`` gives, here or in the thread that was first."""
        while True:
            own, thread = Future[Any](), threading.get_ident()
            with self._lock:
                future, leader = self._under_way.setdefault(key, (own, thread))
            if future is own:
                return self._lead(key, own, work)
            if leader == thread:  # from a signal handler, say, in the middle of the same question
                return work()
            try:
                return future.result()
            except CancelledError:  # its leader was interrupted, which is no answer for others
                continue

    def _lead(self, key: Hashable, future: Future[Any], work: Callable[[], Any]) -> Any:
        try:
            result = work()
        except BaseException as error:
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        else:
            future.set_result(result)
            return result
        finally:
            with self._lock:
                self._under_way.pop(key, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Binding.after_fork)
