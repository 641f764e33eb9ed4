"""Batches of one topic's messages as Arrow columns, each message by the same attempts as a single one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes._lifecycle import refuse_no_topic
from streamnative_serdes.errors import (
    BatchTooLargeError,
    ConfigError,
    DecodeError,
    SchemaError,
    SchemaNotFoundError,
    SerdesError,
)

from .attempts import ITS_OWN_FAULT, UNKNOWN, Attempt, by_key, no_framing, unreadable, without_version
from .foreign import look_of, with_hint
from .framings import HEADER, is_sign
from .policy import ReadPolicy

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes._topics.known import Known
    from streamnative_serdes.arrow import Columns, Dialect, Routes

_AMBIGUOUS = -2  # in counts, in place of the number of a route
_MAX_COLUMNS = 64  # readers' schemas whose columns are kept


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
        columns = kept[key] = Columns(
            schema, config.codec_arguments(policy.conf), dialect, large_types, compares=policy.signs.compares
        )
    return columns


def read_batch(
    serdes: _call_path.Deserializer,
    policy: ReadPolicy,
    topic: str,
    data: Any,
    headers: Any,
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
        batch, counts = columns.decode(
            data,
            reader.find,
            reader.failed,
            error_column=error_column,
            signs=policy.signs if policy.signs.in_use else None,
            keys=_keys(policy, topic, headers),
        )
    except BatchTooLargeError as error:
        raise error.at(topic=topic) from None
    except SerdesError:
        _call_path.count_batch(serdes, {}, 0, 0, 1)
        raise
    _call_path.count_batch(serdes, *reader.counted(counts))
    return batch


def _keys(policy: ReadPolicy, topic: str, headers: Any) -> Any:
    """The keys of the schemas that headers name, as a buffer; None if headers do not matter."""
    if not policy.signs.header:
        return None
    if headers is None:
        raise ConfigError(
            f"framings has {config.CONFLUENT_HEADER}, so the messages' headers are needed",
            topic=topic,
            hint="pass headers=...; Spark's Kafka source has that column with the option includeHeaders=true",
        )
    from streamnative_serdes._pieces import keys_of  # pyarrow is not needed otherwise

    return keys_of(headers, HEADER, policy.signs.header_key)


class _BatchReader:
    """How the messages of one batch are read; it asks the registry for what is missing.

    A key stands for a message: the version in its header, LATEST without one, or a sign of Confluent's framings.
    """

    def __init__(self, policy: ReadPolicy, topic: str, columns: Columns, check: Callable[[int], object] | None) -> None:
        self._policy, self._topic, self._columns, self._check = policy, topic, columns, check
        self._attempts = without_version(None, whole=policy.signs.headerless)
        self._known: dict[int, Known] = {}  # by key
        self._fell_back: dict[int, Known] = {}  # by key; with the latest, by which they are read
        # By key of a sign: the schema that it names, the latest one, and why the first cannot read at all.
        self._signed: dict[int, tuple[Known | None, Known | None]] = {}
        self._why_not: dict[int, SerdesError] = {}
        self._missing = 0  # versions that the registry did not have
        self._there: frozenset[int] | None = None  # all that it had when a second one was missing

    def find(self, key: int) -> Routes | SerdesError:
        """How messages of this key are read, or the error that each of them gets.

        Raises:
            SchemaRegistryError: the registry is away or refuses to answer, and the messages may be good.
        """
        try:
            if is_sign(key):
                return self._by_sign(key)
            known = self._version(key)
            if known is not None and key >= 0 and self._check is not None:
                self._check(key)
            return self._without_version(key) if known is None else self._by(key, known)
        except ITS_OWN_FAULT as error:
            return error.at(topic=self._topic, version=key if key >= 0 else None)

    def _version(self, key: int) -> Known | None:
        """Damaged headers name all kinds of versions, and a batch must not ask for each of them.

        So all are asked for once, when a second one is missing: what a batch holds was written before that.
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

    def _by(self, key: int, known: Known) -> Routes:
        self._known[key] = known
        return (self._route(by_key(key), known),)

    def _without_version(self, key: int) -> Routes:
        latest, _ = self._policy.known(self._topic, _call_path.LATEST)
        assert latest is not None
        self._fell_back[key] = latest
        return ((None, 0, True), *(self._route(attempt, latest) for attempt in self._attempts))

    def _by_sign(self, key: int, *, anyway: bool = False) -> Routes:
        """By the schema that the sign names, and without a header."""
        policy = self._policy
        latest = self._latest() if policy.signs.headerless else None
        known, ways = None, [(None, 0, True)]
        try:
            known = policy.by_sign(self._topic, key, anyway=anyway)[0]
            if known is None:
                self._why_not[key] = policy.unknown(self._topic, key)
            else:
                ways = [self._route(by_key(key), known)]
        except SchemaError as error:
            if latest is None:
                raise
            self._why_not[key] = error
        self._signed[key] = known, latest
        if latest is None and known is None:
            raise self._why_not[key]
        return (*ways, *(() if latest is None else (self._route(by_key(_call_path.LATEST), latest),)))

    def _latest(self) -> Known | None:
        """The topic's latest schema; None if it has none that could read a message."""
        try:
            latest = self._policy.known(self._topic, _call_path.LATEST)[0]
            assert latest is not None
            self._columns.plan(latest.schema)
        except ITS_OWN_FAULT:
            return None
        return latest

    def _route(self, attempt: Attempt, known: Known) -> tuple[Any, int, bool]:
        return self._columns.plan(known.schema), attempt.offset, attempt.whole

    def failed(self, key: int, errors: list[DecodeError], message: bytes) -> Routes | SerdesError:
        """What becomes of a message that could not be read: another way to read it, or its error."""
        if is_sign(key):
            return self._failed_by_sign(key, errors, message)
        if key in self._fell_back:
            failed = list(zip(self._attempts, errors, strict=True))
            return unreadable(self._topic, key, UNKNOWN, self._fell_back[key].version, failed)
        before = self._known[key]
        error = errors[0].at(topic=self._topic, version=before.version)
        self._policy.binding.doubt(self._topic)  # it may have been recreated, or have a newer schema
        news = self.find(key)
        if self._known[key] is not before:
            return news
        self._fell_back.pop(key, None)  # recreated without this version: the first error holds
        in_header = None if key == _call_path.LATEST else key
        return with_hint(error, message, in_header, confluent=self._policy.signs.prefix)

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
        if latest is None:
            return reasons[0].at(topic=self._topic)
        as_confluent, as_bare = reasons
        as_bare.at(version=latest.version)
        hint = look_of(message, confluent=True)
        return no_framing(self._topic, self._policy.signs.schema_of(key), as_confluent, as_bare, hint)

    def counted(self, counts: dict[tuple[int, int], int]) -> tuple[dict[int, int], int, int, int]:
        """(messages by key, those that fell back, those that were ambiguous, those that could not be read).

        Versions that fell back, and ambiguous messages, are logged.

        Args:
            counts: rows by (key, which of its routes read it); -1: none did, -2: two could.
        """
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
