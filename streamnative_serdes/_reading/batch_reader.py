"""How the messages of one batch are read: by the same attempts as single messages, with one answer per key."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from streamnative_serdes import _call_path
from streamnative_serdes._config import BY_NAME
from streamnative_serdes.errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError

from .attempts import ITS_OWN_FAULT, UNKNOWN, Attempt, Failure, attempts_of, is_sign
from .columns import AnyColumns, OtherTypeError, columns_by_policy, columns_for, plan_of
from .guess_format import with_hint
from .policy import ReadPolicy
from .reader_schema import ReadAgainError, Target

if TYPE_CHECKING:
    from streamnative_serdes._topics.schema_version import SchemaVersion
    from streamnative_serdes.arrow import Dialect, Routes
    from streamnative_serdes.arrow.columns import RowCounts

NO_WAY: Final = ((None, 0, True),)  # no reader fits: failed() says why
_AMBIGUOUS = -2  # in counts, in place of the number of a route
ERRORS: Final = " errors"  # the error column of a batch that is read only to find out what it holds


class Wanted(NamedTuple):
    """The request that the messages of a batch are read for; ``check`` and ``read_as`` are those of ``read_batch``."""

    policy: ReadPolicy
    topic: str
    dialect: Dialect
    large_types: bool
    check: Callable[[int], object] | None
    read_as: SchemaVersion | None = None

    def columns(self, known: SchemaVersion) -> AnyColumns:
        """Raises: SchemaError: the schema has no Arrow type."""
        return columns_for(self.policy, known, self.dialect, self.large_types)

    def columns_now(self) -> AnyColumns:
        """The columns of a batch that is read now; they change if the topic is recreated."""
        if self.read_as is not None:
            return self.columns(self.read_as)
        return columns_by_policy(self.policy, self.topic, self.dialect, self.large_types)

    def confirm(self, columns: AnyColumns, target: Target | None) -> None:
        """Raise ReadAgainError if the topic's batches now have another target, other columns or no columns."""
        if target is not None:
            target.confirm(self.policy.binding)
            return
        with suppress(*ITS_OWN_FAULT):
            if self.columns_now() is columns:
                return
        raise ReadAgainError


class BatchMessages(NamedTuple):
    """The messages of a batch."""

    wanted: Wanted  # the request that they are read for
    data: Any  # the messages' values
    keys: Any  # the keys of the schemas that headers name
    error_column: str | None
    message_keys: Any = None  # the messages' own keys, for KEY_VALUE topics
    client_keys: Any = None  # a client's messages, whose keys are taken if ``message_keys`` is None


class _Way(NamedTuple):
    """An attempt to read the messages of one key: its schema and its route to columns.

    ``why_not``: the error of an attempt that has no schema. ``apart``: separate columns, for a version of which no
    message could be read so far; they only find out why such a message cannot be read.
    """

    attempt: Attempt
    known: SchemaVersion | None = None
    route: tuple[Any, int, bool] = NO_WAY[0]
    why_not: SerdesError | None = None
    apart: AnyColumns | None = None

    @property
    def reads(self) -> SchemaVersion | None:
        """The schema that reads messages into the batch's columns, if there is any."""
        return None if self.apart is not None or self.why_not is not None else self.known


class BatchReader:
    """How the messages of one batch are read; the registry is asked for missing schemas.

    A key stands for a message: the version in its header, LATEST without one, or a sign of Confluent's framings.
    """

    def __init__(self, wanted: Wanted, columns: AnyColumns, target: Target | None) -> None:
        self.wanted, self.columns, self._target = wanted, columns, target
        self._policy, self._topic = wanted.policy, wanted.topic
        self._ways: dict[int, tuple[_Way, ...]] = {}  # by key: the attempts, of which the first is by the key itself
        self._routes: dict[int, Routes] = {}  # by key: the same, as columns take them
        self._why_not: dict[int, SerdesError] = {}  # by key: why messages without a header are read in no way
        self._missing = 0  # versions that the registry did not have
        self._there: frozenset[int] | None = None  # all that it had when a second one was missing

    def find(self, key: int) -> Routes | SerdesError:
        """How messages of this key are read, or the error that each of them gets.

        Raises:
            SchemaRegistryError: the registry is away or refuses to answer, and the messages may be good.
            ReadAgainError: the batch holds a higher version than the version that it is read as, or the topic is of
                another type by now.
        """
        before = self._routes.get(key)
        if before is not None:
            return before
        if is_sign(key) and self._target is not None and self._target.known is None:
            return DecodeError("it is not known yet what to read it as")
        try:
            return self._look_up(key)
        except ITS_OWN_FAULT as error:
            error.at(topic=self._topic, version=key if key >= 0 else None)
            if key >= 0:
                return error
            self._why_not[key] = error  # failed() adds what each message looks like
            return NO_WAY

    def _look_up(self, key: int, *, anyway: bool = False) -> Routes:
        """The ways to read messages of this key; ``anyway``: also by an id that is probably unknown."""
        sign, whole = is_sign(key), self._policy.signs.headerless
        known = None if sign else self._version(key)
        if known is not None and key >= 0 and self.wanted.check is not None:
            self.wanted.check(key)
        attempts = attempts_of(key, sign=key if sign else None, known=known is not None, whole=whole)
        if sign:
            ways = tuple(self._by_sign_or_bare(attempt, anyway) for attempt in attempts)
        elif known is not None:
            ways = (self._way(attempts[0], known),)
        else:
            latest = self._policy.known(self._topic, _call_path.LATEST)[0]
            ways = (_Way(attempts[0]), *(self._way(attempt, latest) for attempt in attempts[1:]))
        first = NO_WAY[0] if ways[0].reads is None else ways[0].route
        routes = first, *(way.route for way in ways[1:] if way.reads is not None)
        self._ways[key], self._routes[key] = ways, routes
        return routes

    def _version(self, key: int) -> SchemaVersion | None:
        """The schema of this key; all versions of the topic are asked for at once when a second version is missing.

        Damaged headers name all kinds of versions, and a batch must not ask for each of them. The versions of its
        messages were registered before that request, since the messages were written before.
        """
        if key < 0:
            return self._policy.known(self._topic, key)[0]
        if self._there is None and self._missing:
            with suppress(SchemaError):  # one of them is no Avro: each is asked for on its own
                self._there = self._policy.binding.versions(self._topic)
        try:
            known, _ = self._policy.known(self._topic, key, self._there)
        except SchemaNotFoundError:
            self._missing += 1
            raise
        self._missing += known is None
        return known

    def _by_sign_or_bare(self, attempt: Attempt, anyway: bool) -> _Way:
        """The way to read messages with a sign: by the schema that the sign names, or without a header."""
        policy, key = self._policy, attempt.key
        known = None
        try:
            if not is_sign(key):
                return self._way(attempt, policy.known(self._topic, key)[0])
            known = policy.by_sign(self._topic, key, anyway=anyway)[0]
            if known is None:
                return _Way(attempt, why_not=policy.unknown(self._topic, key))
            return _Way(attempt, known, self._route(self.columns, attempt, known))
        except ITS_OWN_FAULT as error:
            return _Way(attempt, known, why_not=error)

    def _way(self, attempt: Attempt, known: SchemaVersion | None) -> _Way:
        """The way to read by ``known`` into the batch's columns."""
        assert known is not None
        if self._target is None or self._target.takes(known):
            return _Way(attempt, known, self._route(self.columns, attempt, known))
        own = self.wanted.columns(known)
        return _Way(attempt, known, self._route(own, attempt, known), apart=own)

    def _route(self, columns: AnyColumns, attempt: Attempt, known: SchemaVersion) -> tuple[Any, int, bool]:
        try:
            return plan_of(columns, self._policy, known), attempt.offset, attempt.whole
        except OtherTypeError:
            self.wanted.confirm(columns, self._target)
            raise

    def failed(self, key: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        """The answer to a message that could not be read: other ways to read it, or its error."""
        if key in self._why_not:
            return self._explained(copy(self._why_not[key]), message, key)
        if is_sign(key):
            return self._news_by_sign(key) or self._refused_by_sign(key, errors, message)
        before, failed = self._ways[key][0].known, self._failures(key, errors, message)
        if len(failed) > 1:
            return self._policy.refused(self._topic, failed, message)
        error = failed[0].error
        assert error is not None
        error.at(topic=self._topic, version=failed[0].version)
        self._policy.binding.doubt(self._topic)  # it may have been recreated, or have a newer schema
        known = before
        with suppress(*ITS_OWN_FAULT):  # recreated without this version: the first error holds
            known = self._version(key)
        if known is not None and known is not before:
            if self._target is not None:
                self._target.begin()
                raise ReadAgainError
            self.wanted.confirm(self.columns, None)
            self._routes.pop(key, None)  # it is missing if an earlier message had this error
            return self.find(key)
        return self._explained(error, message, key) if key == _call_path.LATEST else error

    def _failures(self, key: int, errors: list[DecodeError], message: bytes) -> list[Failure]:
        """Each attempt with its reason; ``errors`` are those of the attempts into the batch's columns."""
        ways = self._ways[key]
        unread = iter([*errors, *self._own_errors([way for way in ways if way.apart is not None], message)])
        return [
            Failure(
                way.attempt,
                -1 if way.known is None else way.known.version,
                copy(way.why_not) or (None if way.known is None else next(unread)),
            )
            for way in ways
        ]

    def _own_errors(self, ways: list[_Way], message: bytes) -> list[DecodeError]:
        """The errors of all attempts to read a message by its own schema."""
        found: list[DecodeError] = []

        def failed(_key: int, errors: list[DecodeError], _message: bytes) -> DecodeError:
            found.extend(errors)
            return errors[0]

        if ways and ways[0].apart is not None:
            routes = (*NO_WAY, *(way.route for way in ways))
            ways[0].apart.decode([message], lambda _key: routes, failed, error_column=ERRORS)
        return found

    def _explained(self, error: SerdesError, message: bytes, key: int) -> SerdesError:
        """The error, with a hint at the format that a message without a header looks like."""
        return with_hint(error, message, None, frozenset(BY_NAME) if is_sign(key) else self._policy.signs.names)

    def _news_by_sign(self, key: int) -> Routes | None:
        """Other ways to read messages with a sign: by an id that was not asked for, or a newer schema of the topic."""
        before = self._ways[key]
        if any(way.attempt.fresh and way.reads is not None for way in before[1:]):
            self._policy.binding.doubt(self._topic)
        routes = self._look_up(key, anyway=True)
        same = [way.reads for way in before] == [way.reads for way in self._ways[key]]
        return None if same else routes

    def _refused_by_sign(self, key: int, errors: list[DecodeError], message: bytes) -> SerdesError:
        failed = self._failures(key, errors, message)
        error = failed[0].error
        if len(failed) > 1 or error is None:
            return self._policy.refused(self._topic, failed, message)
        return self._explained(error.at(topic=self._topic), message, key)

    @property
    def looked_up(self) -> int:
        """The number of keys that were looked up. If it is as before, so are ``reusable`` and ``asks_latest``."""
        return len(self._ways) + len(self._why_not)

    @property
    def reusable(self) -> bool:
        """Whether the reader can read another batch: all messages so far had versions of the topic, or no header."""
        only_here = self._missing or self._why_not or min(self._ways, default=0) < _call_path.UNFRAMED
        return self._target is None and self.wanted.check is None and not only_here

    @property
    def asks_latest(self) -> bool:
        """Whether messages without a header were read by the topic's latest schema."""
        return _call_path.LATEST in self._ways

    def has_read(self, known: SchemaVersion, counts: RowCounts) -> bool:
        """Whether a message was read by ``known``, and not by a sign."""
        read = [self._ways[key][way] for key, way in counts if isinstance(way, int) and way >= 0]
        return any(way.known is known and not is_sign(way.attempt.key) for way in read)

    def counted(self, counts: RowCounts) -> tuple[dict[int, int], int, int, dict[str, int]]:
        """The counts (messages by key, fallbacks, ambiguous messages, messages that were not read by error's class).

        Versions that fell back, and ambiguous messages, are logged.

        Args:
            counts: rows by (key, route); in place of the route, -2: two routes could read them, or the error's class.
        """
        if len(counts) == 1:
            (((key, way), rows),) = counts.items()
            if key >= 0 and way == 0:  # as most batches are: all messages were read by the version in their headers
                return {key: rows}, 0, 0, {}
        messages: dict[int, int] = {}
        errors: dict[str, int] = {}
        fallbacks = ambiguous = 0
        for (key, way), rows in counts.items():
            if way == _AMBIGUOUS:
                ambiguous += rows
                self._policy.ambiguous(self._topic, key)
                continue
            number = way if isinstance(way, int) else 0
            by = _call_path.LATEST if is_sign(key) and number > 0 else key
            messages[by] = messages.get(by, 0) + rows
            if isinstance(way, str):
                errors[way] = errors.get(way, 0) + rows
            elif number > 0 and key >= 0:
                fallbacks += rows
                by_latest = self._ways[key][number]
                assert by_latest.known is not None
                self._policy.warn(self._topic, key, UNKNOWN, by_latest.known.version, by_latest.attempt)
        return messages, fallbacks, ambiguous, errors
