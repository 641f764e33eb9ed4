"""Batches of one topic's messages as Arrow columns, each message by the same attempts as a single one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._lifecycle import refuse_no_topic
from streamnative_serdes.errors import BatchTooLargeError, DecodeError, SchemaError, SchemaNotFoundError, SerdesError

from .attempts import UNKNOWN, Attempt, by_key, unreadable, without_version
from .hints import with_hint
from .policy import ReadPolicy

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes._topics.known import Known
    from streamnative_serdes.arrow import Columns, Dialect, Routes

_MAX_COLUMNS = 64  # readers' schemas whose columns are kept
_ITS_OWN_FAULT = (DecodeError, SchemaError, SchemaNotFoundError)  # all else is no reason to put a row aside


def columns_of(policy: ReadPolicy, topic: str, dialect: Dialect, large_types: bool) -> Columns:
    """What messages of ``topic`` are read into: columns of the reader's schema, or else of the topic's latest."""
    from streamnative_serdes.arrow import Columns  # pyarrow is not needed otherwise

    refuse_no_topic(topic, DecodeError)
    policy.binding.named(topic)  # refuses what is not a topic's name
    policy.topics.add(topic)
    reading = policy.reading
    schema = policy.binding.latest(topic)[0].schema if reading is None else reading.target.schema
    kept, key = policy.columns, (schema.text, dialect, large_types)
    columns = kept.get(key)
    if columns is None:
        if len(kept) >= _MAX_COLUMNS:
            kept.clear()
        columns = kept[key] = Columns(schema, config.codec_arguments(policy.conf), dialect, large_types)
    return columns


def read_batch(
    serdes: _call_path.Deserializer,
    policy: ReadPolicy,
    topic: str,
    data: Any,
    *,
    error_column: str | None,
    dialect: Dialect,
    large_types: bool,
    check: Callable[[int], object] | None = None,
) -> pa.RecordBatch:
    """As :meth:`KafkaAvroDeserializer.deserialize_batch`.

    ``check`` is called with each version that headers name and that the topic has. If it raises, the batch fails.
    """
    try:
        policy.binding.attach(serdes)
        columns = columns_of(policy, topic, dialect, large_types)
        reader = _BatchReader(policy, topic, columns, check)
        batch, counts = columns.decode(data, reader.find, reader.failed, error_column=error_column)
    except BatchTooLargeError as error:
        raise error.at(topic=topic) from None
    except SerdesError:
        _call_path.count_read(serdes, 0, 0, 0, 1)
        raise
    _call_path.count_read(serdes, *reader.counted(counts))
    return batch


class _BatchReader:
    """How the messages of one batch are read; it asks the registry for what is missing.

    The header's version stands for a message, and LATEST for one without a header.
    """

    def __init__(self, policy: ReadPolicy, topic: str, columns: Columns, check: Callable[[int], object] | None) -> None:
        self._policy, self._topic, self._columns, self._check = policy, topic, columns, check
        self._known: dict[int, Known] = {}  # by what stands for a message
        self._fell_back: dict[int, Known] = {}  # the same; with the latest, by which they are read
        self._missing = 0  # versions that the registry did not have
        self._there: frozenset[int] | None = None  # all that it had when a second one was missing

    def find(self, key: int) -> Routes | SerdesError:
        """How messages of this version are read, or the error that each of them gets.

        Raises:
            SchemaRegistryError: the registry is away or refuses to answer, and the messages may be good.
        """
        try:
            known = self._version(key)
            if known is not None and key >= 0 and self._check is not None:
                self._check(key)
            return self._without_version(key) if known is None else self._by(key, known)
        except _ITS_OWN_FAULT as error:
            return error.at(topic=self._topic, version=None if key == _call_path.LATEST else key)

    def _version(self, key: int) -> Known | None:
        """Damaged headers name all kinds of versions, and a batch must not ask for each of them.

        So all are asked for once, when a second one is missing: what a batch holds was written before that.
        """
        if key == _call_path.LATEST:
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

    def _by(self, key: int, known: Known) -> Routes:
        self._known[key] = known
        return (self._route(by_key(key), known),)

    def _without_version(self, key: int) -> Routes:
        attempts = without_version(None)
        latest, _ = self._policy.known(self._topic, attempts[0].key)
        assert latest is not None
        self._fell_back[key] = latest
        return ((None, 0, True), *(self._route(attempt, latest) for attempt in attempts))

    def _route(self, attempt: Attempt, known: Known) -> tuple[Any, int, bool]:
        return self._columns.plan(known.schema), attempt.offset, attempt.whole

    def failed(self, key: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        """What becomes of a message that could not be read: another way to read it, or its error."""
        if key in self._fell_back:
            failed = list(zip(without_version(None), errors, strict=True))
            return unreadable(self._topic, key, UNKNOWN, self._fell_back[key].version, failed)
        before = self._known[key]
        error = errors[0].at(topic=self._topic, version=before.version)
        self._policy.binding.doubt(self._topic)  # it may have been recreated, or have a newer schema
        news = self.find(key)
        if self._known[key] is not before:
            return news
        self._fell_back.pop(key, None)  # recreated without this version: the first error holds
        return with_hint(error, message, None if key == _call_path.LATEST else key)

    def counted(self, counts: dict[tuple[int, int], int]) -> tuple[int, int, int, int]:
        """(messages, those without a header, those that fell back, those that could not be read).

        Versions that fell back are logged.

        Args:
            counts: rows by (what stands for a message, which of its routes read it); -1: none did.
        """
        fallbacks = 0
        for (key, way), rows in counts.items():
            if way > 0:
                fallbacks += rows
                attempt = without_version(None)[way - 1]
                self._policy.warn(self._topic, key, UNKNOWN, self._fell_back[key].version, attempt)
        headerless = sum(rows for (key, _), rows in counts.items() if key == _call_path.LATEST)
        errors = sum(rows for (_, way), rows in counts.items() if way < 0)
        return sum(counts.values()), headerless, fallbacks, errors
