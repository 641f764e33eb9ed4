"""Batches of one topic's messages as Arrow columns, each message by the same attempts as a single one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from streamnative_serdes import _call_path
from streamnative_serdes import _config as config
from streamnative_serdes.errors import BatchTooLargeError, ConfigError, SerdesError

from .batch_reader import ERRORS, BatchReader, Given
from .client_messages import received
from .columns import NOTHING, AnyColumns, OtherTypeError, columns_by_policy, name_checked
from .framings import HEADER
from .policy import ReadPolicy
from .seen import Seen
from .target import ReadAgainError, Target
from .typed_batches import OneTypeReader, PairReader, reader_of

if TYPE_CHECKING:
    import pyarrow as pa

    from streamnative_serdes._topics.known import Known
    from streamnative_serdes.arrow import Dialect


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
    read_as: Known | None = None,
) -> pa.RecordBatch:
    """As :meth:`KafkaAvroDeserializer.deserialize_batch`.

    ``message_keys`` is its argument ``keys``. ``check`` is called with each version that headers name and that the
    topic has; if it raises, the batch fails. ``read_as``, a schema that is not of type AVRO, decides the columns in
    place of the policy.
    """
    try:
        policy.binding.attach(serdes)
        if policy.is_key:
            hint = "pass keys=... to deserialize_batch of a deserializer for values"
            raise ConfigError("a batch has both halves of its messages", topic=topic, hint=hint)
        name_checked(policy, topic)
        messages = data if _are_messages(data) else None
        keys = _keys(policy, topic, messages if headers is None else headers)
        given = Given(policy, topic, data, keys, error_column, dialect, large_types, check, message_keys, messages)
        seen = policy.evolution.of_columns()
        if seen is not None:
            read, target = _read_as_seen(given, seen)
            target.count(serdes)
        elif read_as is not None:
            read = _read(given, given.columns(read_as))
        else:
            read = _read_as_policy(given)
    except BatchTooLargeError as error:
        raise error.at(topic=topic) from None
    except SerdesError as error:
        _call_path.count_batch(serdes, {}, 0, 0, 1)
        _add_message(error, topic, data)
        raise
    _call_path.count_batch(serdes, *read.reader.counted(read.counts))
    return read.batch


def _add_message(error: SerdesError, topic: str, data: Any) -> None:
    """Add the message that could not be read, if ``data`` has a client's messages: its partition and offset."""
    if error.row is not None and error.raw is None and _are_messages(data):
        error.raw = received(data[error.row], topic).raw


def _are_messages(data: Any) -> bool:
    """Whether ``data`` is a list of a client's messages, which have keys and headers beside their values."""
    if not isinstance(data, list | tuple):
        return False
    from streamnative_serdes.arrow.pieces import has_client_messages  # pyarrow is not needed otherwise

    return has_client_messages(data)


def held_version(policy: ReadPolicy, seen: Seen, topic: str, data: Any, headers: Any, dialect: Dialect) -> int | None:
    """The highest version of the batch's messages that is higher than all that were seen before; None if none is.

    The version does not count as seen yet.

    Raises:
        SchemaError: it has no Arrow type.
        SchemaRegistryError: the registry is away or refuses to answer.
    """
    keys = _keys(policy, topic, headers)
    _, target = _read_as_seen(Given(policy, topic, data, keys, ERRORS, dialect, False, None), seen)
    return target.known.version if target.claimed and target.known is not None else None


def _read_as_policy(given: Given) -> _Read:
    """The batch as the policy says. The first messages may show that the topic is of another type than AVRO."""
    policy, where = given.policy, (given.topic, given.dialect, given.large_types)
    if policy.reading is not None and policy.binding.kind(given.topic) is None:
        given = _repeatable(given)
        with suppress(OtherTypeError):
            return _read(given, columns_by_policy(policy, *where))
    return _read(given, columns_by_policy(policy, *where))


def _repeatable(given: Given) -> Given:
    from streamnative_serdes.arrow.pieces import messages_of  # pyarrow is not needed otherwise

    return replace(given, data=messages_of(given.data))


class _Read(NamedTuple):
    """A batch, what read it, and its rows by (key, which of its routes read it); -1: none did, -2: two could."""

    batch: pa.RecordBatch
    reader: BatchReader | PairReader | OneTypeReader
    counts: dict[tuple[int, int], int]


def _read(given: Given, columns: AnyColumns, target: Target | None = None) -> _Read:
    signs = given.policy.signs
    reader = reader_of(given, columns, target)
    batch, counts = columns.decode(
        given.data,
        reader.find,
        reader.failed,
        error_column=given.error_column,
        framed=not isinstance(reader, OneTypeReader),
        signs=signs if signs.in_use and not isinstance(reader, OneTypeReader) else None,
        keys=given.keys,
        message_keys=_message_keys(given, reader),
    )
    return _Read(batch, reader, counts)


def _message_keys(given: Given, reader: object) -> Any:
    return given.client_keys if given.message_keys is None and isinstance(reader, PairReader) else given.message_keys


def _read_as_seen(given: Given, seen: Seen) -> tuple[_Read, Target]:
    """The batch as the highest version that was read before or that it holds, and that version."""
    given, target = _repeatable(given), Target(seen, given.topic)
    while True:
        with suppress(ReadAgainError):
            known = target.known
            if known is None:
                _read(replace(given, error_column=ERRORS), given.columns(NOTHING), target)
                target.fall_back(given.policy.binding.latest(given.topic)[0])
                continue
            read = _read(given, given.columns(known), target)
            if not target.claimed or read.reader.has_read(known, read.counts):
                return read, target
            target.refuse()


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
    from streamnative_serdes.arrow.pieces import keys_of  # pyarrow is not needed otherwise

    return keys_of(headers, HEADER, policy.signs.header_key)
