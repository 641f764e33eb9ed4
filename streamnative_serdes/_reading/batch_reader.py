"""How the messages of one batch are read: by the same attempts as single messages, with one answer per key."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from streamnative_serdes import _call_path
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError

from .attempts import ITS_OWN_FAULT, UNKNOWN, Attempt, by_key, no_framing, unreadable, without_version
from .columns import AnyColumns, columns_for, plan_of
from .framings import is_sign
from .guess_format import look_of, with_hint
from .policy import ReadPolicy
from .reader_schema import ReadAgainError, Target

if TYPE_CHECKING:
    from streamnative_serdes._topics.schema_version import SchemaVersion
    from streamnative_serdes.arrow import Dialect, Routes

# By whether messages without a header are read.
_WITHOUT_VERSION: Final = {whole: without_version(None, whole=whole) for whole in (False, True)}
NO_WAY: Final = ((None, 0, True),)  # no reader fits: failed() says why
_AMBIGUOUS = -2  # in counts, in place of the number of a route
ERRORS: Final = " errors"  # the error column of a batch that is read only to find out what it holds


class Wanted(NamedTuple):
    """The request that the messages of a batch are read for; ``check`` is the argument of ``read_batch``."""

    policy: ReadPolicy
    topic: str
    dialect: Dialect
    large_types: bool
    check: Callable[[int], object] | None

    def columns(self, known: SchemaVersion) -> AnyColumns:
        """Raises: SchemaError: the schema has no Arrow type."""
        return columns_for(self.policy, known, self.dialect, self.large_types)


class BatchMessages(NamedTuple):
    """The messages of a batch.

    Args:
        wanted: the request that they are read for.
        data: the messages' values.
        keys: the keys of the schemas that headers name.
        error_column: the name of the error column.
        message_keys: the messages' own keys, for KEY_VALUE topics.
        client_keys: a client's messages, whose keys are taken if ``message_keys`` is None.
    """

    wanted: Wanted
    data: Any
    keys: Any
    error_column: str | None
    message_keys: Any = None
    client_keys: Any = None


class BatchReader:
    """How the messages of one batch are read; the registry is asked for missing schemas.

    A key stands for a message: the version in its header, LATEST without one, or a sign of Confluent's framings.
    """

    def __init__(self, wanted: Wanted, columns: AnyColumns, target: Target | None) -> None:
        self.wanted, self.columns, self._target = wanted, columns, target
        self._policy, self._topic = wanted.policy, wanted.topic
        self._attempts = _WITHOUT_VERSION[self._policy.signs.headerless]
        self._known: dict[int, SchemaVersion] = {}  # by key
        self._routes: dict[int, Routes] = {}  # by version: the answer of find(), until a message cannot be read
        self._fell_back: dict[int, SchemaVersion] = {}  # by key: the latest schema, by which its messages are read
        # By key of a sign: the schema that it names, and the latest one.
        self._signed: dict[int, tuple[SchemaVersion | None, SchemaVersion | None]] = {}
        self._why_not: dict[int, SerdesError] = {}  # by key: why there is no schema to read messages with
        # By key: a schema by which not even its own messages can be read, its columns and ways to read them.
        self._unreadable: dict[int, tuple[SchemaVersion, AnyColumns, Routes]] = {}
        self._missing = 0  # versions that the registry did not have
        self._there: frozenset[int] | None = None  # all that it had when a second one was missing

    def find(self, key: int) -> Routes | SerdesError:
        """How messages of this key are read, or the error that each of them gets.

        Raises:
            SchemaRegistryError: the registry is away or refuses to answer, and the messages may be good.
            ReadAgainError: the batch holds a higher version than the version that it is read as.
        """
        before = self._routes.get(key)
        if before is not None:
            return before
        try:
            if is_sign(key):
                if self._target is not None and self._target.known is None:
                    return DecodeError("it is not known yet what to read it as")
                return self._by_sign(key)
            known = self._version(key)
            if known is not None and key >= 0 and self.wanted.check is not None:
                self.wanted.check(key)
            return self._without_version(key) if known is None else self._by(key, known)
        except ITS_OWN_FAULT as error:
            error.at(topic=self._topic, version=key if key >= 0 else None)
            if key >= 0:
                return error
            self._why_not[key] = error  # failed() adds what each message looks like
            return NO_WAY

    def _version(self, key: int) -> SchemaVersion | None:
        """The schema of this key; all versions of the topic are asked for at once when a second version is missing.

        Damaged headers name all kinds of versions, and a batch must not ask for each of them. The versions of its
        messages were registered before that request, since the messages were written before.
        """
        if key < 0:
            return self._policy.known(self._topic, key)[0]
        if self._there is None and self._missing:
            self._there = self._all_versions()
        try:
            known, _ = self._policy.known(self._topic, key, self._there)
        except SchemaNotFoundError:
            self._missing += 1
            raise
        self._missing += known is None
        return known

    def _all_versions(self) -> frozenset[int] | None:
        try:
            return self._policy.binding.versions(self._topic)
        except SchemaError:  # one of them is no Avro: each is asked for on its own
            return None

    def _by(self, key: int, known: SchemaVersion) -> Routes:
        self._known[key] = known
        ways = self._ways(key, (by_key(key),), known)
        if not ways:
            return NO_WAY
        self._routes[key] = ways
        return ways

    def _without_version(self, key: int) -> Routes:
        latest, _ = self._policy.known(self._topic, _call_path.LATEST)
        assert latest is not None
        self._fell_back[key] = latest
        return (*NO_WAY, *self._ways(key, self._attempts, latest))

    def _ways(self, key: int, attempts: tuple[Attempt, ...], known: SchemaVersion) -> Routes:
        """The ways to read by ``known`` into the batch's columns; empty if no message of this version could be read."""
        if self._target is None or self._target.takes(known):
            return tuple(self._route(self.columns, attempt, known) for attempt in attempts)
        own = self.wanted.columns(known)
        self._unreadable[key] = known, own, tuple(self._route(own, attempt, known) for attempt in attempts)
        return ()

    def _by_sign(self, key: int, *, anyway: bool = False) -> Routes:
        """The ways to read messages with a sign: by the schema that the sign names, and without a header."""
        policy = self._policy
        latest, bare = self._latest(key) if policy.signs.headerless else (None, ())
        known, ways = None, NO_WAY
        try:
            known = policy.by_sign(self._topic, key, anyway=anyway)[0]
            if known is None:
                self._why_not[key] = policy.unknown(self._topic, key)
            else:
                ways = (self._route(self.columns, by_key(key), known),)
        except (SchemaError, SchemaNotFoundError) as error:
            self._why_not[key] = error
        self._signed[key] = known, latest
        return (*ways, *bare)

    def _latest(self, key: int) -> tuple[SchemaVersion | None, Routes]:
        """The topic's latest schema and the ways to read by it; None if it could read no message of this key."""
        try:
            latest = self._policy.known(self._topic, _call_path.LATEST)[0]
            assert latest is not None
            ways = self._ways(key, (by_key(_call_path.LATEST),), latest)
        except ITS_OWN_FAULT as error:
            self._why_not[_call_path.LATEST] = error
            return None, ()
        return (latest if ways else None), ways

    def _route(self, columns: AnyColumns, attempt: Attempt, known: SchemaVersion) -> tuple[Any, int, bool]:
        return plan_of(columns, self._policy, known), attempt.offset, attempt.whole

    def failed(self, key: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        """The answer to a message that could not be read: other ways to read it, or its error."""
        if is_sign(key):
            return self._failed_by_sign(key, errors, message)
        if key in self._why_not:
            return self._explained(copy(self._why_not[key]), message)
        if key in self._unreadable:
            errors = self._own_errors(key, message)
        if key in self._fell_back:
            failed = list(zip(self._attempts, errors, strict=True))
            return unreadable(self._topic, key, UNKNOWN, self._fell_back[key].version, failed)
        before = self._known[key]
        error = errors[0].at(topic=self._topic, version=before.version)
        self._policy.binding.doubt(self._topic)  # it may have been recreated, or have a newer schema
        self._routes.pop(key, None)
        news = self.find(key)
        if self._known[key] is not before:
            if self._target is not None:
                self._target.begin()
                raise ReadAgainError
            return news
        self._fell_back.pop(key, None)  # recreated without this version: the first error holds
        return self._explained(error, message) if key == _call_path.LATEST else error

    def _explained(self, error: SerdesError, message: bytes) -> SerdesError:
        """The error, with a hint at the format that a message without a header looks like."""
        return with_hint(error, message, None, confluent=self._policy.signs.prefix)

    def _own_errors(self, key: int, message: bytes) -> list[DecodeError]:
        """The errors of all attempts to read a message by its own schema."""
        _, own, ways = self._unreadable[key]
        found: list[DecodeError] = []

        def failed(_key: int, errors: list[DecodeError], _message: bytes) -> DecodeError:
            found.extend(errors)
            return errors[0]

        own.decode([message], lambda _key: ((None, 0, True), *ways), failed, error_column=ERRORS)
        return found

    def _failed_by_sign(self, key: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        before = self._signed[key]
        latest = before[1]
        if latest is not None:
            self._policy.binding.doubt(self._topic)
        news = self._by_sign(key, anyway=True)
        if self._signed[key] != before:
            return news
        why_not = self._why_not.get(key)
        reasons: list[SerdesError] = [*([] if why_not is None else [why_not]), *errors]
        if latest is None and key in self._unreadable:
            latest = self._unreadable[key][0]
            reasons += self._own_errors(key, message)
        if not self._policy.signs.headerless:
            return self._explained(reasons[0].at(topic=self._topic), message)
        if latest is None:
            reasons.append(self._why_not[_call_path.LATEST])
        as_confluent, as_bare = reasons
        if latest is not None:
            as_bare.at(version=latest.version)
        hint = look_of(message, confluent=True)
        return no_framing(self._topic, self._policy.signs.schema_of(key), as_confluent, as_bare, hint)

    @property
    def reusable(self) -> bool:
        """Whether the reader can read another batch: all messages so far had versions of the topic, or no header."""
        only_here = self._signed or self._unreadable or self._missing or self._why_not
        return self._target is None and self.wanted.check is None and not only_here

    @property
    def asks_latest(self) -> bool:
        """Whether messages without a header were read by the topic's latest schema."""
        return _call_path.LATEST in self._known

    def has_read(self, known: SchemaVersion, counts: dict[tuple[int, int], int]) -> bool:
        """Whether a message was read by ``known``."""
        return any(way >= 0 and self._read_by(key, way) is known for key, way in counts)

    def _read_by(self, key: int, way: int) -> SchemaVersion | None:
        if is_sign(key):
            return self._signed[key][1] if way > 0 else None
        return self._fell_back.get(key) or self._known.get(key)

    def counted(self, counts: dict[tuple[int, int], int]) -> tuple[dict[int, int], int, int, int]:
        """The counts (messages by key, fallbacks, ambiguous messages, messages that could not be read).

        Versions that fell back, and ambiguous messages, are logged.

        Args:
            counts: rows by (key, route); route -1: no route has read the row, -2: two routes could.
        """
        if len(counts) == 1:
            (((key, way), rows),) = counts.items()
            if key >= 0 and way == 0:  # as most batches are: all messages were read by the version in their headers
                return {key: rows}, 0, 0, 0
        messages: dict[int, int] = {}
        fallbacks = ambiguous = errors = 0
        for (key, way), rows in counts.items():
            if way == _AMBIGUOUS:
                ambiguous += rows
                self._policy.ambiguous(self._topic, key)
                continue
            by = _call_path.LATEST if is_sign(key) and way > 0 else key
            messages[by] = messages.get(by, 0) + rows
            errors += rows if way < 0 else 0
            if way > 0 and key >= 0:
                fallbacks += rows
                self._policy.warn(self._topic, key, UNKNOWN, self._fell_back[key].version, self._attempts[way - 1])
        return messages, fallbacks, ambiguous, errors
