"""What is known of topics: their schema versions, which was the latest, and what contradicts it; no I/O."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

from .cache import TopicCache
from .codec import Codec
from .config import CodecArguments
from .errors import NestedTooDeeplyError, SchemaError
from .schema import Limits, Schema, Shapes, parse
from .schema_registry import SchemaInfo

_MAX_CODECS = 16  # readers' schemas and sets of options for which one schema is kept compiled
_LATEST, _NEWEST = "latest", "newest"


class Compiled:
    """A schema and the codecs made of it; one for all topics and versions that have the same text."""

    __slots__ = ("__weakref__", "_codecs", "schema")

    _all: ClassVar[WeakValueDictionary[tuple[str, Limits], Compiled]] = WeakValueDictionary()

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._codecs: dict[Hashable, Codec | SchemaError] = {}

    @classmethod
    def of(cls, text: str, limits: Limits) -> Compiled:
        """Raises: SchemaError: it is no Avro schema, or beyond the limits."""
        found = cls._all.get((text, limits))
        return found or cls._all.setdefault((text, limits), cls(parse(text, strict=False, limits=limits)))

    def codec(self, options: CodecArguments, reader: Schema | None = None, shapes: Shapes | None = None) -> Codec:
        """What reads this schema, as ``reader`` if one is given; made once for all who ask alike.

        With ``shapes``, records and enums are objects of classes.

        Raises:
            SchemaError: ``reader`` cannot read it.
        """
        key = (None if reader is None else reader.text, tuple((shapes or {}).values()), *sorted(options.items()))
        found = self._codecs.get(key)
        if found is None:
            if len(self._codecs) >= _MAX_CODECS:
                self._codecs.clear()
            try:
                found = Codec(self.schema, reader, shapes=shapes, **options)
            except NestedTooDeeplyError:  # says more of this call than of the schemas
                raise
            except SchemaError as error:
                found = error.with_traceback(None)
            self._codecs[key] = found
        if isinstance(found, SchemaError):
            raise copy(found)  # to find it out again for each message would take far longer
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A schema version of a topic; ``timestamp`` as of SchemaInfo."""

    version: int
    compiled: Compiled
    timestamp: int = 0

    @property
    def schema(self) -> Schema:
        return self.compiled.schema


class Learnt(NamedTuple):
    """What travels in a pickle: a schema version of a topic, whether it was the latest, and when it was registered."""

    topic: str
    version: int
    text: str
    latest: bool
    timestamp: int

    @property
    def info(self) -> SchemaInfo:
        """As the registry would tell it."""
        return SchemaInfo(self.version, "AVRO", self.text, timestamp=self.timestamp)


class Memory:
    """Topics go by their full name, as TopicName.path has it. Threads share it.

    Args:
        capacity: topics, and versions of each, that are kept.
        ttl: for how many seconds a latest schema holds.
        limits: how large a schema may be.
    """

    def __init__(self, capacity: int, ttl: float, limits: Limits) -> None:
        self.ttl, self._limits = ttl, limits
        self._versions = TopicCache(capacity)  # topic -> schema text -> version
        self._schemas = TopicCache(capacity)  # topic -> version -> Known
        self._latest = TopicCache(capacity)  # topic -> "latest" -> (Known, when that ends to hold)
        self._newest = TopicCache(capacity)  # topic -> "newest" -> Known: the highest version met

    def registered(self, name: str, schema: Schema) -> int | None:
        """The version under which the topic has this very text."""
        found: int | None = self._versions.get(name, schema.text)
        return found

    def known(self, name: str, version: int) -> Known | None:
        found: Known | None = self._schemas.get(name, version)
        return found

    def latest(self, name: str) -> tuple[Known, float] | None:
        """The latest as it was last told, and until when it holds, on the monotonic clock; it may be past."""
        found: tuple[Known, float] | None = self._latest.get(name, _LATEST)
        return found

    def newest(self, name: str) -> Known | None:
        """The highest version met."""
        found: Known | None = self._newest.get(name, _NEWEST)
        return found

    def keep(self, name: str, known: Known) -> Known:
        self._schemas.set(name, known.version, known)
        self._see(name, known)
        return known

    def keep_registered(self, name: str, schema: Schema, version: int) -> None:
        """It is not kept for reading: the registry's text may have another doc."""
        self._versions.set(name, schema.text, version)
        self._see(name, self.known(name, version) or Known(version, Compiled(schema)))

    def _see(self, name: str, known: Known) -> None:
        newest = self.newest(name)
        if newest is None or newest.version <= known.version:
            self._newest.set(name, _NEWEST, known)

    def keep_latest(self, name: str, known: Known) -> tuple[Known, float]:
        """It holds from now on."""
        fresh = known, time.monotonic() + self.ttl
        self._latest.set(name, _LATEST, fresh)
        return fresh

    def take(self, topic: str, name: str, info: SchemaInfo) -> Known:
        """What the registry told, parsed if it is new.

        Raises:
            SchemaError: the topic's schema is not of type AVRO, or no Avro.
        """
        known = self.known(name, info.version)
        if known is None:
            return self.keep(name, Known(info.version, _compiled(topic, info, self._limits), info.timestamp))
        if known.timestamp == 0 != info.timestamp:  # learnt from a process that knew it from a POST alone
            return self.keep(name, replace(known, timestamp=info.timestamp))
        return known

    # When a topic was made anew

    def contradiction(self, name: str, info: SchemaInfo) -> str:
        """Why what the registry tells cannot be of the topic that is known, in words; empty if it can."""
        known = self.known(name, info.version) or self.newest(name)
        if known is None or known.version != info.version:
            return ""
        if known.timestamp and info.timestamp and known.timestamp != info.timestamp:
            return f"version {info.version} was registered at another time than before"
        return (
            "" if holds(info, known.schema, self._limits) else f"version {info.version} has another schema than before"
        )

    def forget(self, name: str) -> None:
        """All that is known of the topic."""
        for cache in (self._versions, self._schemas, self._latest, self._newest):
            cache.drop(name)

    def forget_registered(self, name: str) -> None:
        """What is written is to be registered anew, and there is no latest; what is known still reads."""
        self._versions.drop(name)
        self._latest.drop(name)

    def after_fork(self) -> None:
        for cache in (self._versions, self._schemas, self._latest, self._newest):
            cache.after_fork()

    # In a pickle

    def learnt(self, names: set[str]) -> tuple[Learnt, ...]:
        """All that is known of these topics."""
        latest = {name: known.version for name, _, (known, _) in self._latest.items()}
        found = {(name, known.version, known.schema.text) for name, _, known in self._schemas.items()}
        found |= {(name, version, text) for name, text, version in self._versions.items()}
        times = {(name, known.version): known.timestamp for name, _, known in self._schemas.items()}
        return tuple(
            Learnt(name, version, text, latest.get(name) == version, times.get((name, version), 0))
            for name, version, text in sorted(found)
            if name in names
        )

    def learn(self, learnt: Iterable[Learnt]) -> dict[str, str]:
        """Take over what another process knew. What was the latest schema there is so here, for the usual time.

        Gives the topics of which the two know different things, with why. One of the two knew a topic that was deleted
        and made anew, and nothing says which, so both are forgotten: the registry is to be asked.
        """
        given: dict[str, list[Learnt]] = {}
        for one in learnt:
            given.setdefault(one.topic, []).append(one)
        doubtful = {}
        for name, ones in given.items():
            why = self._doubt(name, ones)
            if why:
                self.forget(name)
                doubtful[name] = why
            else:
                for one in ones:
                    self._learn(one)
        return doubtful

    def _doubt(self, name: str, learnt: list[Learnt]) -> str:
        """Why what another process knew of a topic cannot be of the one known here; empty if it can."""
        for text, version in {one.text: one.version for one in learnt}.items():  # the last version of each text
            here = self._versions.get(name, text)
            if here not in (None, version):
                return f"one schema has version {version}, and version {here} before"
        return next(filter(None, (self.contradiction(name, one.info) for one in learnt)), "")

    def _learn(self, one: Learnt) -> None:
        name, version, text, latest, timestamp = one
        self._versions.set(name, text, version)
        known = self.known(name, version)
        if known is None:
            known = self.keep(name, Known(version, Compiled.of(text, self._limits), timestamp))
        elif known.timestamp == 0 != timestamp:
            known = self.keep(name, replace(known, timestamp=timestamp))
        held = self.latest(name)
        if latest and (held is None or held[0].version < version):
            self.keep_latest(name, known)


def holds(info: SchemaInfo, schema: Schema, limits: Limits) -> bool:
    """Whether what the registry tells is this schema; what is no Avro, or too large, is none."""
    if info.type != "AVRO" or info.text == schema.text:
        return info.type == "AVRO"
    try:
        return Compiled.of(info.text, limits).schema.same_as(schema)
    except SchemaError:
        return False


def _compiled(topic: str, info: SchemaInfo, limits: Limits) -> Compiled:
    if info.type != "AVRO":
        raise SchemaError(
            f"expected a schema of type AVRO, the topic's is {info.type}", topic=topic, version=info.version
        )
    try:
        return Compiled.of(info.text, limits)
    except SchemaError as error:
        error.at(topic=topic, version=info.version)
        raise


def schema_limits(conf: Mapping[str, Any]) -> Limits:
    """How large a schema may be, by checked options."""
    return Limits(conf["max.schema.size"], conf["max.schema.names"], conf["max.schema.depth"])
