"""ArrowConsumer: a topic's messages as Arrow columns, batch by batch, and commits of the rows that were returned.

::

    consume() -> errors apart -> deserialize_batch -> columns of Kafka in front, dead letters behind -> store_offsets()

If a step fails or is interrupted: seek() to where each partition was before, so no message is lost.

The client's store of offsets has the offsets of returned rows only, and forgets those of partitions that are revoked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa
from confluent_kafka import OFFSET_INVALID, OFFSET_STORED, Consumer, KafkaException, TopicPartition, libversion
from confluent_kafka.error import ConsumeError

from streamnative_serdes._closing import Closing
from streamnative_serdes._kafka import POLL_SECONDS, ClientErrors, client, consumed
from streamnative_serdes.arrow.kafka_columns import (
    DEAD_LETTER,
    dead_letters,
    ends_of,
    kafka_columns,
    kafka_schema,
    without_errors,
)
from streamnative_serdes.deserializer import KafkaAvroDeserializer
from streamnative_serdes.errors import ConfigError, SchemaNotFoundError
from streamnative_serdes.integrations.builders import KafkaAvroDeserializerBuilder, serdes_of

_Callback: TypeAlias = Callable[[Consumer, list[TopicPartition]], None]
_Place: TypeAlias = tuple[str, int]  # topic and partition
_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)

_STORE: Final = "enable.auto.offset.store"
# librdkafka waits this long when its queue is full; with its default, a second, the queue runs dry meanwhile. Versions
# before 2.2 do not know the option.
_BACKOFF: Final = {"fetch.queue.backoff.ms": 10} if libversion()[1] >= 0x02020000 else {}
_DEFAULTS: Final[Mapping[str, Any]] = {"enable.auto.commit": False, "enable.partition.eof": True, **_BACKOFF}
_ERRORS: Final = " errors"  # the column of reasons, which becomes that of dead letters
_MOST: Final = 1_000_000  # messages that the client takes at once
_COMMITTED_SECONDS: Final = 5.0  # to wait for committed offsets
_AROUND: Final = ("key", "value", "partition", "offset")  # of a dead letter


class ArrowConsumer(Closing, Consumer):
    """A confluent-kafka Consumer that returns messages as Arrow columns: ``subscribe``, then :meth:`read_batch`.

    Args:
        conf: as that of a DeserializingConsumer: the client's options, with ``value.deserializer`` (a
            :class:`KafkaAvroDeserializer`) or ``value.deserializer.builder``; or with the options of
            KafkaAvroDeserializer themselves. Unless set, ``enable.auto.commit`` is off: :meth:`commit` commits.
        schema: the reader's schema, as for KafkaAvroDeserializer, if ``conf`` has no deserializer.
        keep: columns of the messages, in front of the decoded ones: ``key``, ``value`` (the bytes), ``topic``,
            ``partition``, ``offset``, ``timestamp``, ``timestampType``, ``headers``, in the types of Spark's Kafka
            source. A dict gives them other names: ``{"timestamp": "sent"}``.
        error_column: the name of a last column of dead letters. A message that cannot be read is then null in all
            decoded columns, and that column has ``error``, ``key``, ``value``, ``topic``, ``partition`` and ``offset``;
            :func:`split_errors` takes them apart. Without it, such a message is an error.
        large_types: as for ``deserialize_batch``.

    Raises:
        ConfigError: an invalid option.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        schema: object = None,
        *,
        keep: Iterable[str] | Mapping[str, str] = (),
        error_column: str | None = None,
        large_types: bool = False,
    ) -> None:
        if isinstance(keep, str):
            raise ConfigError(f"keep: expected a list of column names, got {keep!r:.80}")
        self._keep = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
        kafka_schema(tuple(self._keep))  # refuses other names
        names = [*self._keep.values(), *([] if error_column is None else [error_column])]
        for name in names:
            if not isinstance(name, str) or not name:
                raise ConfigError(f"expected a column's name, got {name!r:.80}")
        _refuse_doubles(None, names)
        self._error_column, self._large_types = error_column, large_types
        self._topics: tuple[str, ...] = ()  # that are subscribed to
        self._ends: dict[_Place, int] = {}  # where the client has said that a partition ends
        self._before: dict[_Place, int] = {}  # offsets at the beginning of read_batch
        # By seek(), after which the client has no position until the next message; OFFSET_STORED is still to be done.
        self._sought: dict[_Place, int] = {}
        self._changed: set[_Place] = set()  # partitions that were just assigned or revoked
        self._fault: ConsumeError | None = None
        own = dict(conf)
        if own.pop(_STORE, False):
            raise ConfigError(f"{_STORE}: only the offsets of returned rows are stored", hint="leave it out")
        if "key.deserializer" in own or "key.deserializer.builder" in own:
            raise ConfigError(
                "key.deserializer: keys are a column", hint='keep=["key"]; KEY_VALUE topics have it as it is'
            )
        self._deserializer, new, own = serdes_of(own, KafkaAvroDeserializer, KafkaAvroDeserializerBuilder, schema)
        self._owned = ExitStack()
        if new:
            self._owned.callback(self._deserializer.close)
        self._errors = ClientErrors(own, "")
        try:
            client(super().__init__, {**_DEFAULTS, **own, _STORE: False}, "", self._errors)
        except BaseException:
            self._owned.close()
            raise

    def subscribe(
        self,
        topics: list[str],
        on_assign: _Callback | None = None,
        on_revoke: _Callback | None = None,
        on_lost: _Callback | None = None,
    ) -> None:
        """As ``Consumer.subscribe``; the functions are called while batches are read.

        ``on_revoke`` is the last moment to :meth:`commit` the rows of partitions that are revoked.
        """
        changed = self._changed  # not self, which would be a reference cycle

        def noting(function: _Callback | None) -> _Callback:
            def call(consumer: Consumer, partitions: list[TopicPartition]) -> None:
                if function is not None:
                    function(consumer, partitions)
                changed.update((each.topic, each.partition) for each in partitions)

            return call

        lost = noting(on_lost or on_revoke)
        super().subscribe(topics, on_assign=noting(on_assign), on_revoke=noting(on_revoke), on_lost=lost)
        self._topics, self._errors.topic = tuple(topics), ", ".join(topics)[:200]

    def assign(self, partitions: list[TopicPartition]) -> None:
        """As ``Consumer.assign``."""
        super().assign(partitions)
        patterns = any(topic.startswith("^") for topic in self._topics)
        if not patterns and not {each.topic for each in partitions} <= set(self._topics):
            self._topics = ()  # by hand, so those of a subscription before are not read any more
        for known in (self._before, self._sought, self._ends):
            known.clear()

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """As ``Consumer.incremental_assign``."""
        super().incremental_assign(partitions)
        self._forget({(each.topic, each.partition) for each in partitions})

    def seek(self, partition: TopicPartition) -> None:
        """As ``Consumer.seek``."""
        super().seek(partition)
        place = partition.topic, partition.partition
        self._sought[place] = partition.offset
        self._ends.pop(place, None)

    def unsubscribe(self) -> None:
        """As ``Consumer.unsubscribe``."""
        super().unsubscribe()
        self._topics = ()

    def read_batch(self, num_messages: int, timeout: float = -1) -> pa.RecordBatch:
        """Return up to ``num_messages`` messages of the one topic, a row each, that come within ``timeout`` seconds.

        It returns at once when all partitions have been read to their end (see :attr:`at_end`). An empty batch has the
        same columns; if the topic has no schema yet, it has no decoded columns. A tombstone is null in all decoded
        columns, and its ``value``, if kept, is null. If this raises an error, or is interrupted, the consumer goes back
        to where it was: the next ``read_batch`` or ``read_batches`` reads the same messages again, and may wait five
        seconds for the group's committed offsets. One exception: with ``auto.offset.reset=latest``, before its first
        rows, and if the broker reports no end of a partition, it does not know where it was, and those messages are
        lost.

        Raises:
            ConfigError: the consumer reads several topics or none, which is said before any message is taken; or a
                field has the name of a kept column.
            DecodeError: a message cannot be read, and there is no ``error_column``; ``raw`` has its place.
            BatchTooLargeError: the messages do not fit in one batch: ask for fewer.
            SchemaRegistryError: as ``deserialize_batch`` does.
            ConsumeError: the client reports an error, as in ``poll()``; rows before it are returned first.
            ValueError: ``num_messages`` is below 0.
            RuntimeError: the consumer is closed.
        """
        topic = self._only_topic()
        return self._read(num_messages, timeout, lambda messages: {topic: messages})[topic]

    def read_batches(self, num_messages: int, timeout: float = -1) -> dict[str, pa.RecordBatch]:
        """As :meth:`read_batch`, for any number of topics: a batch for each topic that has messages, by name."""
        return self._read(num_messages, timeout, _by_topic)

    @property
    def at_end(self) -> bool:
        """Whether each assigned partition was read to its end, as the broker has said with ``enable.partition.eof``.

        That is on unless turned off. A KoP does not say it, so there it stays False.
        """
        assigned = {(each.topic, each.partition) for each in self.assignment()}
        return bool(assigned) and assigned <= self._ends.keys()

    def commit(self, *args: Any, **named: Any) -> list[TopicPartition] | None:  # type: ignore[override] # not one by one
        """As ``Consumer.commit``: without ``offsets``, commits those of the rows that were returned.

        Partitions that have been revoked since are left out. With ``asynchronous=False`` it returns what was committed,
        which is nothing if there are no new rows.
        """
        try:
            found: list[TopicPartition] | None = super().commit(*args, **named)
        except KafkaException as error:
            if error.args[0].name() != "_NO_OFFSET":
                raise
            return []
        return None if found is None else [each for each in found if each.offset >= 0 or each.error is not None]

    def close(self) -> None:
        """Leave the group, and close the deserializer if it was made here. Only ``enable.auto.commit`` commits."""
        super().close()
        self._owned.close()

    def _only_topic(self) -> str:
        # While a subscription changes, partitions of the one before are still assigned.
        topics = set(self._topics or (each.topic for each in self.assignment()))
        if len(topics) != 1 or any(topic.startswith("^") for topic in topics):
            found = f"{len(topics)} topics or a pattern" if topics else "no topic yet"
            raise ConfigError(f"read_batch reads one topic, and this consumer has {found}", hint="call read_batches")
        return topics.pop()

    def _read(
        self, most: int, timeout: float, by_topic: Callable[[list[Any]], Mapping[str, list[Any]]]
    ) -> dict[str, pa.RecordBatch]:
        self._raise_fault()
        messages, _ = without_errors(())
        self._seek_committed()
        at = self.position(self.assignment())
        known = {(each.topic, each.partition): each.offset for each in at if each.offset >= 0}
        self._before = {**self._sought, **self._ends, **known}
        try:
            self._take(most, timeout, messages)
            parts = by_topic(messages)
            batches = {topic: self._batch(topic, part) for topic, part in parts.items()}
        except BaseException:
            self._go_back(messages)
            raise
        for topic, part in parts.items():
            self._store(topic, ends_of(part))
        if not messages:
            self._raise_fault()
        return batches

    def _take(self, most: int, timeout: float, found: list[Any]) -> None:
        """Add messages to ``found``, until there are enough, time is up, or the client says that all partitions end."""
        until = math.inf if timeout < 0 else time.monotonic() + timeout
        while True:
            left = until - time.monotonic()
            seconds = max(min(left, POLL_SECONDS), 0.0)
            taken, reports = without_errors(consumed(super().consume, min(most - len(found), _MOST), seconds))
            if self._changed:
                found[:] = [each for each in found if (each.topic(), each.partition()) not in self._changed]
                self._forget_changed()
            found += taken
            if (self._heed(reports) and self.at_end) or len(found) >= most or left <= 0 or self._fault:
                return

    def _batch(self, topic: str, messages: list[Any]) -> pa.RecordBatch:
        decoded = self._decoded(topic, messages)
        if not self._keep and self._error_column is None:
            return decoded
        names = [*self._keep.values(), *decoded.schema.names]
        arrays = [*kafka_columns(messages, tuple(self._keep)).columns, *decoded.columns]
        if self._error_column is not None and decoded.schema.names[-1:] == [_ERRORS]:
            names[-1], arrays[-1] = self._error_column, _letters(topic, messages, arrays[-1])
        _refuse_doubles(topic, names)
        return pa.RecordBatch.from_arrays(arrays, names)

    def _decoded(self, topic: str, messages: list[Any]) -> pa.RecordBatch:
        # Messages have their keys and headers; an empty list does not say that it is one of messages.
        around: dict[str, Any] = {} if messages else {"keys": [], "headers": []}
        errors = None if self._error_column is None else _ERRORS
        try:
            return self._deserializer.deserialize_batch(
                topic, messages, error_column=errors, large_types=self._large_types, **around
            )
        except SchemaNotFoundError:
            if messages:
                raise
            return pa.record_batch([pa.array([], pa.string())], [_ERRORS]) if errors else pa.record_batch([], names=[])

    def _store(self, topic: str, ends: Mapping[int, int]) -> None:
        """Store the offsets of returned rows, to be committed."""
        for partition, end in ends.items():
            if self._ends.get((topic, partition), end) < end:  # there were more messages after the end
                del self._ends[topic, partition]
        try:
            self.store_offsets(offsets=[TopicPartition(topic, *end) for end in ends.items()])
        except KafkaException as error:
            if error.args[0].name() != "_STATE":  # all of these partitions were revoked meanwhile
                raise

    def _go_back(self, messages: Sequence[Any]) -> None:
        """Go back to where each partition was before these messages, and those of a ``consume()`` that failed."""
        first = {(message.topic(), message.partition()): message.offset() for message in reversed(messages)}
        known = {place: first[place] for place in first.keys() - self._changed}
        self._forget_changed()
        known |= self._before
        for each in self.assignment():
            place = each.topic, each.partition
            self._go_to(place, known.get(place, each.offset))

    def _go_to(self, place: _Place, offset: int) -> None:
        if offset == OFFSET_STORED:  # asks a broker, so not during an interrupt
            self._sought[place] = offset
            self._ends.pop(place, None)
            return
        try:
            self.seek(TopicPartition(*place, offset))
        except KafkaException as error:
            if error.args[0].name() != "_STATE":  # nothing was read of it yet, or it was revoked meanwhile
                raise

    def _seek_committed(self) -> None:
        """Go back to the committed offsets of partitions that had no other place before an interrupt."""
        places = [TopicPartition(*place) for place, offset in self._sought.items() if offset == OFFSET_STORED]
        if not places:
            return
        try:
            found = self.committed(places, _COMMITTED_SECONDS)
        except KafkaException as error:
            raise ConsumeError(error.args[0]) from error
        for each in found:
            if each.error is not None:
                raise ConsumeError(each.error)
            place = each.topic, each.partition
            del self._sought[place]
            self._go_to(place, each.offset if each.offset >= 0 else OFFSET_INVALID)  # by auto.offset.reset

    def _forget_changed(self) -> None:
        self._forget(self._changed)
        self._changed.clear()

    def _forget(self, places: Iterable[_Place]) -> None:
        for place in places:
            for known in (self._before, self._sought, self._ends):
                known.pop(place, None)

    def _heed(self, reports: Iterable[Any]) -> bool:
        """Whether a partition ends, as the client reports in place of a message; an error waits for the rows before."""
        ended = False
        for report in reports:
            if report.error().name() == "_PARTITION_EOF":
                self._ends[report.topic(), report.partition()] = report.offset()
                ended = True
            elif self._fault is None:
                self._fault = ConsumeError(report.error(), kafka_message=report)
        return ended

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


def split_errors(batch: _Rows, error_column: str) -> tuple[_Rows, _Rows]:
    """The rows of a batch or table that could be read, without ``error_column``, and the dead letters as columns.

    Raises:
        ConfigError: the batch does not have this column of dead letters.
    """
    if error_column not in batch.schema.names or batch.schema.field(error_column).type != DEAD_LETTER:
        raise ConfigError(
            f"expected {error_column!r:.80} to be a column of dead letters",
            hint="ArrowConsumer(..., error_column=...) makes it",
        )
    letters = batch.column(error_column)
    good = batch.filter(letters.is_null()).drop_columns([error_column])
    return good, type(batch).from_struct_array(letters.drop_null())


def _letters(topic: str, messages: list[Any], errors: pa.Array) -> pa.Array:
    if errors.null_count == len(errors):
        return pa.nulls(len(errors), DEAD_LETTER)
    around = kafka_columns(messages, _AROUND)
    return dead_letters(errors, topic, dict(zip(_AROUND, around.columns, strict=True)))


def _by_topic(messages: Iterable[Any]) -> dict[str, list[Any]]:
    parts: dict[str, list[Any]] = {}
    for message in messages:
        parts.setdefault(message.topic(), []).append(message)
    return parts


def _refuse_doubles(topic: str | None, names: Sequence[str]) -> None:
    doubles = [name for name in names if names.count(name) > 1]
    if doubles:
        raise ConfigError(
            f"two columns would have the name {doubles[0]!r:.80}",
            topic=topic,
            hint='keep={"offset": "kafka_offset"} gives a kept column another name',
        )
