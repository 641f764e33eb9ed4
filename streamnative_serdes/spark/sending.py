"""Sink tasks: serialize the rows of one partition, row by row or in Arrow batches, and send them to Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row

from streamnative_serdes.arrow import in_parts, kafka_columns
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.serializer import KafkaAvroSerializer

from .encoding import Encoder
from .outbox import Outbox, outbox
from .workers import Carried
from .writes import ROW_HEADER, Write

Getter: TypeAlias = Callable[[Any], Any]
_Message: TypeAlias = tuple[bytes | None, str | bytes | None]  # value and key

KEY_HINT: Final = "cast the column to string"


@dataclass(frozen=True, slots=True)
class Sending:
    """The destination of messages, and their common headers.

    Args:
        topic: the Kafka topic.
        kafka: the producer's configuration.
        write: identifies this write in the headers; None for no headers.
        most_reasons: how many undelivered messages the error explains at most.
    """

    topic: str
    kafka: Mapping[str, Any] = field(repr=False)  # may contain credentials
    write: Write | None
    most_reasons: int

    def outbox(self) -> AbstractContextManager[Outbox]:
        """This process's producer, for one task."""
        return outbox(self.kafka, self.topic, self.most_reasons)

    def send(self, out: Outbox, messages: Iterable[_Message], sent: int = 0) -> None:
        """Send messages of a task that has sent ``sent`` messages before."""
        if self.write is None:
            out.send_all(messages)
            return
        common = self.write.headers()
        for number, (value, key) in enumerate(messages, sent):
            out.send(value, key, headers=[*common, (ROW_HEADER, b"%d" % number)])


@dataclass(frozen=True, slots=True)
class RowTask:
    """The task for rows as Python objects, which is pickled for the workers.

    Args:
        to: the destination.
        serializer: serializes the values.
        key: the column or function of the row for the key; None for no keys.
        value: the column or function of the row for the value; None for the whole row.
    """

    to: Sending
    serializer: Carried[KafkaAvroSerializer]
    key: str | Getter | None
    value: str | Getter | None

    def __call__(self, rows: Iterable[Any]) -> None:
        """Send the rows of one partition.

        Raises:
            EncodeError: a row does not fit the schema.
            DeliveryError: a message could not be delivered.
        """
        remaining = iter(rows)
        for first in remaining:
            with self.to.outbox() as out:
                self.to.send(out, self._messages(chain((first,), remaining)))

    def _messages(self, rows: Iterable[Any]) -> Iterator[_Message]:
        serialize, topic = self.serializer.get().serialize, self.to.topic
        key_of, value_of = _getter(self.key), _getter(self.value)
        number = -1
        try:
            for number, row in enumerate(rows):  # noqa: B007 - used in the except clause
                value = serialize(topic, row if value_of is None else value_of(row))
                yield value, None if key_of is None else _as_key(key_of(row))
        except EncodeError as error:
            add_position(error, number)
            raise


@dataclass(frozen=True, slots=True)
class BatchTask:
    """The task for rows as Arrow columns: a function for mapInArrow that returns no rows.

    Args:
        to: the destination.
        encoder: encodes the values.
        fields: names of the first columns, which are the values' fields; None if the first column is the value itself.
        keyed: whether one more column has the keys.
    """

    to: Sending
    encoder: Encoder
    fields: tuple[str, ...] | None
    keyed: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Send the rows of one partition.

        Raises:
            EncodeError: a row does not fit the schema.
            DeliveryError: a message could not be delivered.
        """
        sent = 0
        with ExitStack() as stack:
            out: Outbox | None = None  # a task without rows needs no producer
            for batch in batches:
                if batch.num_rows:
                    out = out or stack.enter_context(self.to.outbox())
                    self._send(batch, out, sent)
                    sent += batch.num_rows
                del batch  # free it before the next one is read
        return iter(())

    def _send(self, batch: pa.RecordBatch, out: Outbox, sent: int) -> None:
        try:
            for part, messages in in_parts(batch, self._write):
                keys = bytes_of(part.columns[-1]) if self.keyed else repeat(None, len(messages))
                self.to.send(out, zip(bytes_of(messages), keys, strict=True), sent)
                sent += len(messages)
        except EncodeError as error:
            if error.row is not None:
                add_position(error, sent + error.row)
                error.row = None  # it counts within a part of a Spark batch, which means nothing to the user
            raise

    def _write(self, batch: pa.RecordBatch) -> pa.Array:
        if self.fields is None:
            return self.encoder.encode_column(batch.column(0))
        columns = batch.columns[: len(self.fields)]
        return self.encoder.encode(pa.RecordBatch.from_arrays(columns, list(self.fields)))


def bytes_of(array: pa.Array) -> Iterable[bytes | None]:
    """The values of a binary, string or null array as bytes."""
    return repeat(None, len(array)) if pa.types.is_null(array.type) else kafka_columns.bytes_of(array)


def add_position(error: EncodeError, number: int) -> None:
    """Add the row's number and partition to the error's message."""
    task = TaskContext.get()
    error.message += f" (row {number} of partition {task.partitionId() if task else 0})"


def _getter(part: str | Getter | None) -> Getter | None:
    """A function that gets ``part`` of a row; None for the whole row."""
    return _Column(part) if isinstance(part, str) else part


class _Column:
    """Gets a column of a Row. It caches the column's index, which Row would search for each time."""

    def __init__(self, name: str) -> None:
        self._name, self._index = name, 0
        self._names: Sequence[str] | None = None

    def __call__(self, row: Any) -> Any:
        if not isinstance(row, Row):
            return row[self._name]
        names = _names(row)
        if names is not self._names:
            self._names, self._index = names, self._index_in(names)
        return row[self._index]

    def _index_in(self, names: Sequence[str]) -> int:
        try:
            return names.index(self._name)
        except ValueError:
            raise ConfigError(
                f"the row has no column {self._name!r}", hint=f"its columns are {', '.join(names)}"[:500]
            ) from None


def _names(row: Row) -> Sequence[str]:
    """The column names of a row; empty if it was created without names."""
    return getattr(row, "__fields__", ())


def _as_key(key: Any) -> str | bytes | None:
    if key is None or isinstance(key, str | bytes):
        return key
    if isinstance(key, bytearray):
        return bytes(key)
    raise EncodeError(f"expected a key of type str or bytes, got {type(key).__name__}", hint=KEY_HINT)
