"""Batches of one topic's messages as Arrow columns, each message by the same attempts as a single message.

The reader of a batch is kept for the next batch of the topic: see :func:`_read_as_before`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from streamnative_serdes import _call_path
from streamnative_serdes.errors import (
    BatchTooLargeError,
    ConfigError,
    DecodeError,
    SchemaError,
    SchemaNotFoundError,
    SerdesError,
)

from .batch_reader import ERRORS, NO_WAY, BatchMessages, BatchReader, Wanted
from .columns import NOTHING, AnyColumns, latest_of_columns, name_checked
from .framings import PACKED
from .guess_format import with_hint
from .messages import received
from .policy import ReadPolicy
from .reader_schema import ReadAgainError, Seen, Target
from .typed_batches import OneTypeReader, PairReader, reader_of

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes._topics.schema_version import SchemaVersion
    from streamnative_serdes._topics.topic_state import TopicState
    from streamnative_serdes.arrow import Dialect
    from streamnative_serdes.arrow.columns import RowCounts

_T = TypeVar("_T")
_MOST_ROUNDS: Final = 1_000  # of reading one batch: each change of the topic's schemas starts another


class _Read(NamedTuple):
    """A decoded batch, its reader, the counts of its rows, and the bytes of its messages."""

    batch: pa.RecordBatch
    reader: BatchReader | PairReader | OneTypeReader
    counts: RowCounts
    size: int


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
    message_keys: Any = None,
    check: Callable[[int], object] | None = None,
    read_as: SchemaVersion | None = None,
) -> pa.RecordBatch:
    """As :meth:`KafkaAvroDeserializer.deserialize_batch`.

    ``message_keys`` is its argument ``keys``. ``check`` is called with each version that headers name and that the
    topic has; if it raises, the batch fails. ``read_as``, a schema that is not of type AVRO, decides the columns in
    place of the policy.
    """
    try:
        policy.binding.attach(serdes)
        if headers is None and message_keys is None and read_as is None and check is None:
            if hasattr(data, "__arrow_c_stream__") and not policy.signs.unpacks:
                data = _repeatable(data)
            batch = _read_as_before(serdes, policy, (topic, dialect, large_types), data, error_column)
            if batch is not None:
                return batch
        wanted = Wanted(policy, topic, dialect, large_types, check, read_as)
        read = _read_first(serdes, wanted, data, headers, error_column, message_keys)
    except BatchTooLargeError as error:
        raise error.at(topic=topic) from None
    except SerdesError as error:
        _call_path.count_error(serdes, topic, error)
        _add_message(error, topic, data)
        raise
    _call_path.count_batch(serdes, topic, read.size, *read.reader.counted(read.counts))
    return read.batch


def _read_as_before(
    serdes: _call_path.Deserializer,
    policy: ReadPolicy,
    key: tuple[str, Dialect, bool],
    data: Any,
    error_column: str | None,
) -> pa.RecordBatch | None:
    """The batch, read by the reader of the batch before; None if something about the topic has changed since.

    Small batches take as long as this function does, so it makes nothing that the batch before has made.
    """
    topic = key[0]
    if type(topic) is not str or topic not in policy.topics:
        return None
    state = policy.binding.state(topic)
    entry = policy.readers.take(key, state)
    if entry is None:
        return None
    reader: BatchReader = entry[2]
    looked_up, signs = reader.looked_up, policy.signs if policy.signs.in_use else None
    try:
        batch, counts, size = reader.columns.decode(
            data, reader.find, reader.failed, error_column=error_column, signs=signs
        )
    except ReadAgainError:
        return None
    if reader.looked_up == looked_up:
        policy.readers.put_back(key, entry)
    else:
        _keep(policy, key, state, reader)
    _call_path.count_batch(serdes, topic, size, *reader.counted(counts))
    return batch


def _unpacked(policy: ReadPolicy, data: Any) -> tuple[Any, int]:
    """The messages, those unpacked that AWS Glue's serializer has compressed, and by how many bytes they have grown."""
    from streamnative_serdes.arrow.pieces import replaced  # pyarrow is not needed otherwise

    return replaced(data, PACKED, policy.signs.unpacked)


def _keep(policy: ReadPolicy, key: tuple[str, Dialect, bool], state: TopicState, reader: BatchReader) -> None:
    """Keep the reader of a batch for the next one; without a known version, the topic may be of another type."""
    if not reader.reusable or state.newest is None:
        return
    until = -math.inf if state.latest is None else state.latest.until  # then it has to be asked for again
    if policy.reading is not None and not reader.asks_latest:
        until = math.inf
    policy.readers.keep(key, state, until, reader)


def _read_first(
    serdes: _call_path.Deserializer,
    wanted: Wanted,
    data: Any,
    headers: Any,
    error_column: str | None,
    message_keys: Any,
) -> _Read:
    """The batch, read without a reader from a batch before; the new reader is kept if it may read the next batch."""
    policy, topic, dialect, large_types, *_ = wanted
    if policy.is_key:
        hint = "for KEY_VALUE, pass keys=... to deserialize_batch of a deserializer for values; read others one by one"
        raise ConfigError("a batch has both halves of its messages", topic=topic, hint=hint)
    name_checked(policy, topic)
    state = policy.binding.use(topic)
    messages = data if _are_messages(data) else None
    keys = _keys(policy, topic, messages if headers is None else headers)
    grown = 0
    if policy.signs.unpacks:
        data, grown = _unpacked(policy, data)
    given = BatchMessages(wanted, data, keys, error_column, message_keys, messages)
    seen = policy.evolution.of_columns()
    if seen is not None:
        read, target = _read_as_seen(given, seen)
        target.count(serdes)
    else:
        read = _read_as_policy(given)
        if isinstance(read.reader, BatchReader) and not (policy.signs.header or policy.signs.unpacks):
            _keep(policy, (topic, dialect, large_types), state, read.reader)
    return read._replace(size=read.size - grown) if grown else read


def _add_message(error: SerdesError, topic: str, data: Any) -> None:
    """Add the unreadable message, with partition and offset, to its error, if ``data`` has a client's messages."""
    if error.row is not None and error.raw is None and _are_messages(data):
        error.raw = received(data[error.row], topic).raw


def _are_messages(data: Any) -> bool:
    """Whether ``data`` is a list of a client's messages, which have keys and headers beside their values."""
    if not isinstance(data, list | tuple):
        return False
    from streamnative_serdes.arrow.pieces import has_client_messages  # pyarrow is not needed otherwise

    return has_client_messages(data)


def held_version(policy: ReadPolicy, seen: Seen, topic: str, data: Any, headers: Any, dialect: Dialect) -> int | None:
    """The highest version of the batch's messages, if it is higher than all versions seen before; otherwise None.

    The version does not count as seen yet.
    """
    keys = _keys(policy, topic, headers)
    _, target = _read_as_seen(BatchMessages(Wanted(policy, topic, dialect, False, None), data, keys, ERRORS), seen)
    return target.known.version if target.claimed and target.known is not None else None


def _read_as_policy(given: BatchMessages) -> _Read:
    """The batch, read as the policy says. Its messages may show that the topic is of another type than was known."""
    given = given._replace(data=_repeatable(given.data))
    for _ in range(_MOST_ROUNDS):
        with suppress(ReadAgainError):
            return _read(given, _found(given, given.wanted.columns_now))
    raise _changes_too_often(given)


def _changes_too_often(given: BatchMessages) -> SchemaError:
    return SchemaError(
        f"the schemas of the topic changed {_MOST_ROUNDS} times while a batch was read",
        topic=given.wanted.topic,
        hint="a larger cache.capacity keeps more of them",
    )


def _found(given: BatchMessages, find: Callable[[], _T]) -> _T:
    """The result of ``find``; if the topic has no schema, the error is that of the first message."""
    try:
        return find()
    except SchemaNotFoundError as error:
        fault, read = error, given.wanted.policy.signs.names

        def failed(key: int, _errors: list[DecodeError], message: bytes) -> SerdesError:
            return with_hint(fault, message, key if key >= 0 else None, read)

        given.wanted.columns(NOTHING).decode(given.data, lambda _key: NO_WAY, failed)
        raise


def _repeatable(data: Any) -> Any:
    """The messages, in a form that can be read several times: a stream of Arrow may end with its first reader."""
    if not hasattr(data, "__arrow_c_stream__"):
        return data
    from streamnative_serdes.arrow.pieces import messages_of  # pyarrow is not needed otherwise

    return messages_of(data)


def _read(given: BatchMessages, columns: AnyColumns, target: Target | None = None) -> _Read:
    return _decoded(given, columns, reader_of(given, columns, target))


def _decoded(given: BatchMessages, columns: AnyColumns, reader: BatchReader | PairReader | OneTypeReader) -> _Read:
    signs, framed = given.wanted.policy.signs, not isinstance(reader, OneTypeReader)
    of_client = given.message_keys is None and isinstance(reader, PairReader)
    keys = given.client_keys if of_client else given.message_keys
    batch, counts, size = columns.decode(
        given.data,
        reader.find,
        reader.failed,
        error_column=given.error_column,
        framed=framed,
        signs=signs if framed and signs.in_use else None,
        keys=given.keys,
        message_keys=keys,
    )
    return _Read(batch, reader, counts, size)


def _read_as_seen(given: BatchMessages, seen: Seen) -> tuple[_Read, Target]:
    """The batch, read as the highest version of its own and of earlier messages, and the target with that version."""
    given, wanted = given._replace(data=_repeatable(given.data)), given.wanted
    target = Target(seen, wanted.topic)
    for _ in range(_MOST_ROUNDS):
        with suppress(ReadAgainError):
            known = target.known
            if known is None:
                _read(given._replace(error_column=ERRORS), wanted.columns(NOTHING), target)
                target.fall_back(_found(given, lambda: latest_of_columns(wanted.policy, wanted.topic)))
                continue
            read = _read(given, wanted.columns(known), target)
            if not target.claimed or read.reader.has_read(known, read.counts):
                return read, target
            target.refuse()
    raise _changes_too_often(given)


def _keys(policy: ReadPolicy, topic: str, headers: Any) -> Any:
    """The keys of the schemas that headers name, as a buffer; None if headers do not matter."""
    if not policy.signs.header:
        return None
    if headers is None:
        raise ConfigError(
            f"framings has {policy.signs.by_header}, so the messages' headers are needed",
            topic=topic,
            hint="pass headers=...; Spark's Kafka source has that column with the option includeHeaders=true",
        )
    from streamnative_serdes.arrow.pieces import keys_of  # pyarrow is not needed otherwise

    return keys_of(headers, policy.signs.header_keys)
