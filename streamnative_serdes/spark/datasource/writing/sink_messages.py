"""Messages of a task: turns batches of columns into messages, and hands them to the task's producer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import pyarrow as pa

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.arrow.kafka_columns import (
    ANY_PARTITION,
    NOW,
    bytes_of,
    moments_of,
    named_headers_of,
    partitions_of,
    row_error,
)
from streamnative_serdes.errors import EncodeError

from .outbox import Outbox, ValueAndKey, outbox
from .sink_columns import SinkColumns
from .writes import ROW_HEADER, Sent, Write, partition_of_task


@dataclass(frozen=True, slots=True)
class Sending:
    """The destination of messages, and their common headers."""

    topic: str
    kafka: Mapping[str, Any] = field(repr=False)  # may contain credentials
    write: Write | None
    most_reasons: int

    def outbox(self) -> AbstractContextManager[Outbox]:
        """This process's producer, for one task."""
        return outbox(self.kafka, self.topic, self.most_reasons)

    def send(self, out: Outbox, messages: Iterable[ValueAndKey], sent: int = 0) -> None:
        """Send messages of a task that has sent ``sent`` messages before."""
        if self.write is None:
            out.send_all(messages)
            return
        common = self.write.headers()
        for number, (value, key) in enumerate(messages, sent):
            out.send(value, key, headers=[*common, (ROW_HEADER, b"%d" % number)])


def filled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch] | None:
    """The batches that have rows; None if no batch has rows, since a task without rows needs no producer."""
    some = (batch for batch in batches if batch.num_rows)
    first = next(some, None)
    return None if first is None else chain((first,), some)


def send_batches(batches: Iterator[pa.RecordBatch], columns: SinkColumns, to: Sending) -> Sent:
    """Send the rows of one partition: at least once, since Spark may run a task again."""
    with to.outbox() as out:
        messages = MessageBatches(columns, to, out)
        for batch in batches:
            messages.send(batch)
            del batch  # free it before the next one is read
        out.flush()
        return Sent(partition_of_task(), messages.sent)


class MessageBatches:
    """Sends the batches of one task; counts their rows. The topic of ``to`` is empty if each row has its own."""

    def __init__(self, columns: SinkColumns, to: Sending, out: Outbox) -> None:
        self._columns, self._to, self._out = columns, to, out
        self._common: Sequence[tuple[str, bytes]] = to.write.headers() if to.write is not None else ()
        self.sent = 0

    def send(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch."""
        try:
            for part, encoded in in_parts(batch, self._columns.encode):
                self._send(part, encoded)
                self.sent += part.num_rows
        except EncodeError as error:
            if error.row is not None:
                add_position(error, self.sent + error.row)
                error.row = None  # it counts within a part of a Spark batch, which means nothing to the user
            raise

    def _send(self, batch: pa.RecordBatch, encoded: pa.Array | pa.RecordBatch) -> None:
        keys: Iterable[bytes | None] = repeat(None, batch.num_rows)
        if isinstance(encoded, pa.RecordBatch):  # of a topic of type KEY_VALUE
            made, encoded = encoded.columns
            keys = bytes_of(made)
        elif "key" in self._columns.parts:
            keys = bytes_of(batch.column(self._columns.parts["key"]))
        messages = zip(bytes_of(encoded), keys, strict=True)
        if self._columns.plain:
            self._to.send(self._out, messages, self.sent)
            return
        send = self._out.send
        around = zip(*self._around(batch), strict=True)
        for number, ((value, key), (headers, topic, partition, moment)) in enumerate(
            zip(messages, around, strict=True), self.sent
        ):
            if self._common:
                headers = [*(headers or ()), *self._common, (ROW_HEADER, b"%d" % number)]  # noqa: PLW2901
            send(value, key, headers, partition, moment, topic)

    def _around(self, batch: pa.RecordBatch) -> Iterator[Iterable[Any]]:
        """Headers, topics, partitions and timestamps of the rows."""
        parts, rows = self._columns.parts, batch.num_rows
        yield named_headers_of(batch.column(parts["headers"])) if "headers" in parts else repeat(None, rows)
        yield _topics(batch.column(parts["topic"])) if "topic" in parts else repeat(None, rows)
        yield partitions_of(batch.column(parts["partition"])) if "partition" in parts else repeat(ANY_PARTITION, rows)
        yield moments_of(batch.column(parts["timestamp"])) if "timestamp" in parts else repeat(NOW, rows)


def _topics(array: pa.Array) -> list[str]:
    topics: list[str] = array.to_pylist()
    if array.null_count or "" in topics:
        number = next(number for number, topic in enumerate(topics) if not topic)
        raise row_error("the row has no topic", number, "the option topic sets one for all rows")
    return topics


def add_position(error: EncodeError, number: int) -> None:
    """Add the row's number and partition to the error's message."""
    error.message += f" (row {number} of partition {partition_of_task()})"
