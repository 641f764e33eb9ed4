"""The schema that messages are returned as: the policy for the reader's schema, and the highest version that was read.

The policy latest.seen remembers the highest version of each topic. A version counts once a message of that version
has been read, so a damaged header changes nothing. From then on, no later message is returned as a lower version.
Readers that were bound before would still return the lower version; hence two steps: the version is marked, all bound
readers are dropped, and only then the mark is settled. Until then, each thread that reads a message of this version
takes both steps itself, so no thread returns such a message while another thread can still use an earlier reader.

The columns of a batch are those of one version, which has to be known before the first row is read. So a batch is read
as the highest version that was seen before, and again from its beginning if it holds a higher version. A version of
which no message can be read does not count: the batch is then read once more, without this version.

| reader.schema.policy | objects                                    | columns                                       |
|----------------------|--------------------------------------------|-----------------------------------------------|
| writer               | as they were written                       | an error: columns need one schema             |
| latest.seen          | the highest version that was read so far   | the same, counting those that the batch holds |
| latest               | the topic's latest version                 | the same                                      |
| fixed                | the schema that the deserializer was given | the same                                      |
| not given            | fixed if there is a schema, else writer    | fixed if there is a schema, else latest       |

``use.latest.version`` is ``latest``, unless there is a schema. A message counts with the version in its header; a
message without a header counts with the version that reads it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any, Final, NamedTuple

from streamnative_serdes import _call_path
from streamnative_serdes._config import FIXED, LATEST, LATEST_SEEN, WRITER, schema_limits
from streamnative_serdes._schema import Limits
from streamnative_serdes._topics.binding import Binding, Topic
from streamnative_serdes._topics.cache import LruMap
from streamnative_serdes._topics.schema_version import SchemaVersion
from streamnative_serdes._topics.watch import User
from streamnative_serdes.errors import ConfigError, SchemaError, SchemaNotFoundError
from streamnative_serdes.schema_registry import SchemaInfo

from .attempts import is_sign

_KEYS: Final = " keys"  # no path has a space


class Mark(NamedTuple):
    """How far a topic has been read."""

    path: str  # the topic's full name
    info: SchemaInfo | None  # the highest version of which a message was read; None if the topic was recreated since
    settled: bool  # whether no reader that was bound before is in use any more

    @property
    def version(self) -> int:
        return -1 if self.info is None else self.info.version


class Seen:
    """The highest version of each topic that was read; threads share this object.

    No topic is ever dropped: its messages would go back to a lower version. With ``unversioned``, messages of another
    registry are read too, and may be bound before any version was read.
    """

    def __init__(self, binding: Binding, limits: Limits, *, unversioned: bool) -> None:
        self._binding, self._limits, self._unversioned = binding, limits, unversioned
        self._marks: LruMap[Mark] = LruMap(sys.maxsize)
        self._suffix = ""  # of paths

    def of_keys(self) -> Seen:
        """The versions seen of the keys of KEY_VALUE topics, which are kept, and pickled, beside those of values."""
        found = copy(self)
        found._suffix = _KEYS  # noqa: SLF001 - of the same class
        return found

    def highest(self, topic: Topic) -> SchemaVersion | None:
        """The highest version that was read; None if no version was read, or if the topic was recreated since."""
        mark = self._marks.get(self._path(topic))
        if mark is None or mark.info is None:
            return None
        known = self._still(topic, mark.info)
        if known is None:
            nothing = mark._replace(info=None)
            self._marks.change(mark.path, lambda now: nothing if now is mark else now)
        return known

    def _still(self, topic: Topic, info: SchemaInfo) -> SchemaVersion | None:
        """The schema of this version as the topic has it now; None if it differs, so the topic was recreated."""
        try:
            known = self._binding.version(topic, info.version)
        except (SchemaNotFoundError, SchemaError):
            return None
        times = {info.timestamp, known.info.timestamp} - {0}
        return known if len(times) < 2 and known.agrees(info, self._limits) else None

    def awaits(self, topic: str, version: int) -> bool:
        """Whether a message of this version has to be read before its reader may be kept."""
        mark = self._marks.get(self._path(topic))
        return mark is None or version > mark.version or (version == mark.version and not mark.settled)

    def advance(self, user: User, topic: str, known: SchemaVersion) -> None:
        """Note that a message was read, or columns were returned, by this version; ``user`` drops earlier readers."""
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

    def _path(self, topic: Topic) -> str:
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


class ReadAgainError(Exception):
    """The batch has to be read again, since its target version or its columns have changed. Never reaches a user."""


class Target:
    """The version that one batch is read as."""

    def __init__(self, seen: Seen, topic: str) -> None:
        self._seen, self._topic = seen, topic
        self._unreadable: set[SchemaVersion] = set()
        self.begin()

    def begin(self) -> None:
        """Begin with the highest version seen before; begin again if the topic was recreated meanwhile."""
        self.known = self._seen.highest(self._topic)
        self.claimed = False  # by messages of the batch, of which one has to be readable

    def confirm(self, binding: Binding) -> None:
        """Choose the target again and raise ReadAgainError if the topic no longer has it."""
        known = self.known
        with suppress(SchemaNotFoundError, SchemaError):
            if known is None or binding.version(self._topic, known.version) is known:
                return
        self.begin()
        raise ReadAgainError

    def takes(self, known: SchemaVersion) -> bool:
        """Whether messages of this version are converted to the target; False if no such message could be read.

        Raises:
            ReadAgainError: the version is higher than the target, and is the target now.
        """
        if known in self._unreadable:
            return False
        if self.is_below(known):
            self.known, self.claimed = known, True
            raise ReadAgainError
        return True

    def is_below(self, known: SchemaVersion) -> bool:
        """Whether this version is higher than the target, and counts."""
        return known not in self._unreadable and (self.known is None or self.known.version < known.version)

    def refuse(self) -> None:
        """Drop the target, which does not count: no message of its own version could be read."""
        assert self.known is not None
        self._unreadable.add(self.known)
        self.begin()

    def fall_back(self, latest: SchemaVersion) -> None:
        """Take the topic's latest version as the target, since no message has a version."""
        self.known, self.claimed = latest, False

    def count(self, user: User) -> None:
        """Note that the batch was read: its version counts as seen from now on."""
        if self.known is not None and self._seen.awaits(self._topic, self.known.version):
            self._seen.advance(user, self._topic, self.known)


_WITHHELD: Final = b""  # the header of the result of withholding(); no other Bound for reading has one


class ReaderSchemaPolicy:
    """The policy of one deserializer for the reader's schema.

    With ``unversioned``, messages of another registry are read too.

    Raises:
        ConfigError: the policy contradicts the schema, or needs a schema and none was given.
    """

    def __init__(self, conf: Mapping[str, Any], binding: Binding, *, has_schema: bool, unversioned: bool) -> None:
        given = conf["reader.schema.policy"]
        _refuse_contradictions(given, has_schema)
        self._latest: bool = given == LATEST or conf["use.latest.version"]
        self._writer: bool = given == WRITER
        self.lenient: bool = conf["reader.schema.incompatible"] == WRITER
        self._binding = binding
        self._missing_ttl: float = conf["cache.missing.ttl.sec"]
        limits = schema_limits(conf)
        self.seen = Seen(binding, limits, unversioned=unversioned) if given == LATEST_SEEN else None

    def of_columns(self) -> Seen | None:
        """The versions seen, which decide the columns with ``latest.seen``; None with another policy.

        Raises:
            ConfigError: the policy is ``writer``.
        """
        if self._writer:
            raise ConfigError(
                "columns need one schema, so they cannot be read with reader.schema.policy=writer",
                hint="leave the option out, or set it to latest or fixed",
            )
        return self.seen

    def reader(self, topic: Topic, version: int | None) -> tuple[SchemaVersion | None, float]:
        """The version that messages are returned as if no schema was given, and for how many seconds that holds.

        The version is None if messages are returned as they were written. ``version`` wrote the messages; None if their
        schema is of another registry.
        """
        if self._latest:
            try:
                return self._binding.latest(topic)
            except SchemaNotFoundError:
                if version is not None:
                    raise
                return None, self._missing_ttl  # the topic's producers are still with the other registry
        if self.seen is None:
            return None, math.inf
        highest = self.seen.highest(topic)
        older = highest is not None and (version is None or version < highest.version)
        return (highest if older else None), math.inf

    # A version counts as seen once a message of it has been read: until then no reader of it is kept

    def admitted(self, bound: _call_path.Bound) -> _call_path.Bound:
        """``bound``, or a Bound that reads nothing and expires at once, so that the policy reads the message."""
        if bound.missing or not self.awaits(bound):
            return bound
        return self.withholding(bound.topic, bound.key, bound.version)

    def withholding(self, topic: str, key: int, version: int) -> _call_path.Bound:
        """Return a Bound that reads nothing and expires at once, so that the policy is asked for each message."""
        return _call_path.Bound(topic, key, version, _WITHHELD, None, 0.0)

    def withheld(self, bound: _call_path.Bound) -> bool:
        """Whether ``bound`` was made by :meth:`withholding`."""
        return bound.header is not None

    def note(self, serdes: _call_path.Deserializer, bound: _call_path.Bound) -> None:
        """Note that ``bound`` has read a message, which may be the first message of its version."""
        if self.seen is None or not self.awaits(bound):
            return
        with suppress(SchemaNotFoundError):  # the topic was recreated a moment ago
            self.seen.advance(serdes, bound.topic, self._binding.version(bound.topic, bound.version))

    def awaits(self, bound: _call_path.Bound) -> bool:
        """Whether a message has to be read by ``bound`` before it may be kept."""
        if self.seen is None or bound.version < 0 or is_sign(bound.key):  # bare keys have a schema of their own
            return False
        return self.seen.awaits(bound.topic, bound.version)


def _refuse_contradictions(policy: str | None, has_schema: bool) -> None:
    if has_schema and policy not in (None, FIXED):
        raise ConfigError(
            f"cannot use both a reader's schema and reader.schema.policy={policy}",
            hint="a schema given to the deserializer is reader.schema.policy=fixed",
        )
    if policy == FIXED and not has_schema:
        raise ConfigError(
            "reader.schema.policy=fixed requires a schema",
            hint="give the deserializer the reader's schema, or set value.type",
        )
