"""What a sink's tasks do: the rows of one partition become messages, row by row or in Arrow's batches, and are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.serializer import KafkaAvroSerializer

from .encoding import Encoder
from .outbox import Outbox, outbox
from .workers import Carried
from .writes import ROW_HEADER, Write

Getter: TypeAlias = Callable[[Any], Any]
_Message: TypeAlias = tuple[bytes | None, str | bytes | None]  # a value and its key

KEY_HINT: Final = "cast the column to string"


@dataclass(frozen=True, slots=True)
class Sending:
    """Where messages go to, and what they have in common.

    Args:
        topic: the Kafka topic.
        kafka: the producer's configuration.
        write: which write this is, where headers are to tell.
        most_reasons: of messages that could not be delivered, how many are named in the error.
    """

    topic: str
    kafka: Mapping[str, Any] = field(repr=False)  # may sign in
    write: Write | None
    most_reasons: int

    def outbox(self) -> AbstractContextManager[Outbox]:
        """The producer of this process, for one task."""
        return outbox(self.kafka, self.topic, self.most_reasons)

    def send(self, out: Outbox, messages: Iterable[_Message], sent: int = 0) -> None:
        """Send messages of a task that has ``sent`` so many before."""
        if self.write is None:
            out.send_all(messages)
            return
        common = self.write.headers()
        for number, (value, key) in enumerate(messages, sent):
            out.send(value, key, headers=[*common, (ROW_HEADER, b"%d" % number)])


@dataclass(frozen=True, slots=True)
class RowTask:
    """What goes to the workers where rows come as Python objects.

    Args:
        to: where messages go to.
        serializer: what makes them.
        key: the column, or the function of the row, that gives the key; None for no keys.
        value: likewise the value; None for the whole row.
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
            for number, row in enumerate(rows):  # noqa: B007 - an error has it
                value = serialize(topic, row if value_of is None else value_of(row))
                yield value, None if key_of is None else _as_key(key_of(row))
        except EncodeError as error:
            _place(error, number)
            raise


@dataclass(frozen=True, slots=True)
class BatchTask:
    """What goes to the workers where rows come as columns: a task for mapInArrow, which gives nothing back.

    Args:
        to: where messages go to.
        encoder: what makes them.
        fields: the first columns, which are the values' fields; None: there is one, of the values themselves.
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
            out: Outbox | None = None  # a task without rows needs none
            for batch in batches:
                if batch.num_rows:
                    out = out or stack.enter_context(self.to.outbox())
                    self._send(batch, out, sent)
                    sent += batch.num_rows
                del batch  # before the next one comes
        return iter(())

    def _send(self, batch: pa.RecordBatch, out: Outbox, sent: int) -> None:
        try:
            for part, messages in in_parts(batch, self._write):
                keys = pieces(part.columns[-1]) if self.keyed else repeat(None, len(messages))
                self.to.send(out, zip(pieces(messages), keys, strict=True), sent)
                sent += len(messages)
        except EncodeError as error:
            if error.row is not None:
                _place(error, sent + error.row)
                error.row = None  # of a part of a batch of Spark's
            raise

    def _write(self, batch: pa.RecordBatch) -> pa.Array:
        if self.fields is None:
            return self.encoder.encode_column(batch.column(0))
        columns = batch.columns[: len(self.fields)]
        return self.encoder.encode(pa.RecordBatch.from_arrays(columns, list(self.fields)))


def pieces(array: pa.Array) -> Iterable[bytes | None]:
    """The bytes of an array of binaries or of text, or of nulls alone: many times as fast as ``to_pylist``."""
    if pa.types.is_null(array.type) or not len(array):  # of which Arrow need not make offsets
        return repeat(None, len(array))
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    first, last = array.offset, array.offset + len(array)
    places = memoryview(offsets).cast("q" if large else "i")[first : last + 1].tolist()
    begin = places[0]
    text = data.slice(begin, places[-1] - begin).to_pybytes() if data is not None else b""
    found = [text[start - begin : end - begin] for start, end in pairwise(places)]
    if not array.null_count:
        return found
    return [each if there else None for each, there in zip(found, array.is_valid().to_pylist(), strict=True)]


def _place(error: EncodeError, number: int) -> None:
    """Have the error tell where its row is."""
    task = TaskContext.get()
    error.message += f" (row {number} of partition {task.partitionId() if task else 0})"


def _getter(part: str | Getter | None) -> Getter | None:
    """What gets ``part`` of rows; None for all of it."""
    return _Column(part) if isinstance(part, str) else part


class _Column:
    """Gets a column of rows. Row itself looks a name up each time, from the first on; most have the same names."""

    def __init__(self, name: str) -> None:
        self._name, self._index = name, 0
        self._names: Sequence[str] | None = None

    def __call__(self, row: Any) -> Any:
        if not isinstance(row, Row):
            return row[self._name]
        names = _names(row)
        if names is not self._names:
            self._names, self._index = names, self._place(names)
        return row[self._index]

    def _place(self, names: Sequence[str]) -> int:
        try:
            return names.index(self._name)
        except ValueError:
            raise ConfigError(
                f"there is no column {self._name!r}", hint=f"the columns are {', '.join(names)}"[:500]
            ) from None


def _names(row: Row) -> Sequence[str]:
    """The columns of a row, of which one that was made without names has none."""
    return getattr(row, "__fields__", ())


def _as_key(key: Any) -> str | bytes | None:
    if key is None or isinstance(key, str | bytes):
        return key
    if isinstance(key, bytearray):
        return bytes(key)
    raise EncodeError(f"expected a key of text or bytes, got {type(key).__name__}", hint=KEY_HINT)
