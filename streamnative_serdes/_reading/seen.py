"""The highest schema version of each topic that a deserializer has read: what the policy latest.seen remembers.

A version counts once a message of it has been read, so that a damaged header changes nothing. From then on no message
that is begun comes out as a lower version. What was bound before would still read it so; hence two steps: the version
is marked, all that is bound is dropped, and only then the mark is settled. Until then each thread that reads a message
of this version takes both steps itself, so no thread returns one while another can still use what was bound before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from copy import copy
from typing import Final, NamedTuple

from streamnative_serdes._schema import Limits
from streamnative_serdes._topics.binding import Binding
from streamnative_serdes._topics.cache import LruMap
from streamnative_serdes._topics.known import Known
from streamnative_serdes._topics.users import User
from streamnative_serdes.errors import SchemaError, SchemaNotFoundError
from streamnative_serdes.schema_registry import SchemaInfo

_KEYS: Final = " keys"  # no path has a space


class Mark(NamedTuple):
    """How far a topic has been read.

    Args:
        path: the topic's full name.
        info: the highest version of which a message was read; None if the topic was recreated since.
        settled: whether nothing that was bound before is in use any more.
    """

    path: str
    info: SchemaInfo | None
    settled: bool

    @property
    def version(self) -> int:
        return -1 if self.info is None else self.info.version


class Seen:
    """Threads share it. No topic is ever dropped: its messages would go back to a lower version.

    Args:
        binding: tells whether a topic is still the one that was read.
        limits: how large a schema may be.
        unversioned: messages of another registry are read too, and may be bound before any version was read.
    """

    def __init__(self, binding: Binding, limits: Limits, *, unversioned: bool) -> None:
        self._binding, self._limits, self._unversioned = binding, limits, unversioned
        self._marks: LruMap[Mark] = LruMap(sys.maxsize)
        self._suffix = ""  # of paths

    def of_keys(self) -> Seen:
        """What is seen of the keys of KEY_VALUE topics; it is kept, and pickled, beside what is seen of values."""
        found = copy(self)
        found._suffix = _KEYS  # noqa: SLF001 - of the same class
        return found

    def highest(self, topic: str) -> Known | None:
        """The highest version that was read; None if none was, or if the topic was recreated since.

        Raises:
            SchemaRegistryError: the registry has to be asked whether it is the same topic, and cannot be.
        """
        mark = self._marks.get(self._path(topic))
        if mark is None or mark.info is None:
            return None
        known = self._still(topic, mark.info)
        if known is None:
            nothing = mark._replace(info=None)
            self._marks.change(mark.path, lambda now: nothing if now is mark else now)
        return known

    def _still(self, topic: str, info: SchemaInfo) -> Known | None:
        """The version as the topic has it now; None if that is another one, so the topic was recreated."""
        try:
            known = self._binding.version(topic, info.version)
        except (SchemaNotFoundError, SchemaError):
            return None
        times = {info.timestamp, known.info.timestamp} - {0}
        return known if len(times) < 2 and known.agrees(info, self._limits) else None

    def awaits(self, topic: str, version: int) -> bool:
        """Whether a message of this version has to be read before what reads it may be kept."""
        mark = self._marks.get(self._path(topic))
        return mark is None or version > mark.version or (version == mark.version and not mark.settled)

    def advance(self, user: User, topic: str, known: Known) -> None:
        """A message was read, or columns were returned, by this version; ``user`` drops what was bound before."""
        path = self._path(topic)

        def step(now: Mark | None) -> Mark:
            if now is not None and now.version >= known.version:
                return now
            nothing_bound = now is None and not self._unversioned
            return Mark(path, known.info, settled=nothing_bound)

        mark = self._marks.change(path, step)
        if not mark.settled:
            user.rebind()
            settled = mark._replace(settled=True)
            self._marks.change(path, lambda now: settled if now is mark else now)

    def _path(self, topic: str) -> str:
        return self._binding.named(topic).path + self._suffix

    # In a pickle

    def learnt(self) -> tuple[Mark, ...]:
        """How far all topics have been read."""
        return tuple(mark._replace(settled=True) for mark in self._marks.values())

    def learn(self, marks: Iterable[Mark]) -> None:
        """Take over how far another deserializer has read, before the first message is read here."""
        for mark in marks:
            self._mark(mark)

    def _mark(self, mark: Mark) -> None:
        self._marks.change(mark.path, lambda now: mark if now is None else now)
