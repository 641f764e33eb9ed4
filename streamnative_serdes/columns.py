"""Batches of one topic's messages as Arrow columns: how each is read, by the same cases as a single message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import header
from .binding import Binding
from .errors import DecodeError, SchemaError, SchemaNotFoundError, SerdesError
from .foreign import with_hint

if TYPE_CHECKING:
    from .arrow import Columns, Routes
    from .known import Known

HEADERLESS = -1  # the version of a message without a header
_ITS_OWN_FAULT = (DecodeError, SchemaError, SchemaNotFoundError)  # all else is no reason to put a row aside


class BatchReader:
    """Says how the messages of ``topic`` are read while one batch is read, and asks the registry for what is missing.

    Args:
        topic: whose messages they are.
        binding: what is known of it.
        columns: the reader's schema.
        fall_back: the option ``fallback.to.latest``.
    """

    def __init__(self, topic: str, binding: Binding, columns: Columns, *, fall_back: bool) -> None:
        self._topic, self._binding, self._columns, self._fall_back = topic, binding, columns, fall_back
        self.known: dict[int, Known] = {}  # by the version in the header
        self.fell_back: dict[int, Known] = {}  # likewise; with the latest, by which they were read
        self._missing = 0  # versions that the registry did not have
        self._there: frozenset[int] | None = None  # all that it had when a second one was missing

    def find(self, version: int) -> Routes | SerdesError:
        """How messages of this version are read, or the error that each of them gets.

        Raises:
            SchemaRegistryError: the registry is away or refuses to answer, and the messages may be good.
        """
        try:
            return self._headerless() if version == HEADERLESS else self._by_version(version)
        except _ITS_OWN_FAULT as error:
            return error.at(topic=self._topic, version=None if version == HEADERLESS else version)

    def _headerless(self) -> Routes:
        if not self._fall_back:
            raise DecodeError("the message has no schema version header", hint="fallback.to.latest=true would read it")
        known, _ = self._binding.latest(self._topic)
        return self._kept(HEADERLESS, known, 0, whole=True)

    def _by_version(self, version: int) -> Routes:
        try:
            known = self._version(version)
        except SchemaNotFoundError:
            if not self._fall_back:
                raise
            return self._unknown(version)
        return self._kept(version, known, header.SIZE, whole=False)

    def _version(self, version: int) -> Known:
        """Damaged headers name all kinds of versions, and a batch must not ask for each of them.

        So all are asked for once, when a second one is missing: what a batch holds was written before that.
        """
        if self._there is None and self._missing:
            self._there = self._all_versions()
        try:
            return self._binding.version(self._topic, version, self._there)
        except SchemaNotFoundError:
            self._missing += 1
            raise

    def _all_versions(self) -> frozenset[int] | None:
        try:
            return self._binding.versions(self._topic)
        except SchemaError:  # one of them is no Avro: each is asked for on its own
            return None

    def _kept(self, version: int, known: Known, offset: int, *, whole: bool) -> Routes:
        self.known[version] = known
        return ((self._columns.plan(known.schema), offset, whole),)

    def _unknown(self, version: int) -> Routes:
        """By the latest schema on the body, else on the whole message, since bare Avro may begin like a header."""
        latest, _ = self._binding.latest(self._topic)
        self.fell_back[version] = latest
        plan = self._columns.plan(latest.schema)
        return ((None, 0, True), (plan, header.SIZE, True), (plan, 0, True))

    def failed(self, version: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        """What becomes of a message that could not be read: another way to read it, or its error."""
        if version in self.fell_back:
            return self._unreadable(version, errors)
        before = self.known[version]
        error = errors[0].at(topic=self._topic, version=before.version)
        self._binding.doubt(self._topic)  # it may have been recreated, or have a newer schema
        news = self.find(version)
        if self.known[version] is not before:
            return news
        self.fell_back.pop(version, None)  # recreated without this version: the first error holds
        return with_hint(error, message, None if version == HEADERLESS else version)

    def _unreadable(self, version: int, errors: list[DecodeError]) -> DecodeError:
        body, whole = errors
        return DecodeError(
            f"the registry knows no such version, and version {self.fell_back[version].version} does not read the "
            f"message either; behind the header: {body}; as a whole: {whole}",
            topic=self._topic,
            version=version,
        )


def counted(counts: dict[tuple[int, int], int], note: Callable[[int, int], None]) -> tuple[int, int, int, int]:
    """(messages, those without a header, those that fell back, those that could not be read).

    ``note(version, offset)`` is told of versions that fell back, and where their datum began.
    """
    fallbacks = 0
    for (version, way), rows in counts.items():
        if way > 0:
            fallbacks += rows
            note(version, header.SIZE if way == 1 else 0)
    headerless = sum(rows for (version, _), rows in counts.items() if version == HEADERLESS)
    errors = sum(rows for (_, way), rows in counts.items() if way < 0)
    return sum(counts.values()), headerless, fallbacks, errors
