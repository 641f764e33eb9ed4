"""A batch of messages as Arrow columns: those of Spark's Kafka source, as many as are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import pyarrow as pa

from .columns_of_kafka import ARROW

if TYPE_CHECKING:
    from confluent_kafka import Message

_Headers: TypeAlias = list[tuple[str, bytes | None]]
_NO_TIME: Final = -1  # as Java's client and Spark have it


def to_arrow(messages: Sequence[Message], names: Sequence[str]) -> pa.RecordBatch:
    """The columns ``names`` of ``messages``, all of one topic and partition."""
    return pa.RecordBatch.from_arrays([_COLUMNS[name](messages) for name in names], list(names))


def _keys(messages: Sequence[Message]) -> pa.Array:
    return pa.array([message.key() for message in messages], ARROW["key"])


def _values(messages: Sequence[Message]) -> pa.Array:
    return pa.array([message.value() for message in messages], ARROW["value"])


def _topics(messages: Sequence[Message]) -> pa.Array:
    return pa.repeat(pa.scalar(messages[0].topic(), ARROW["topic"]), len(messages))


def _partitions(messages: Sequence[Message]) -> pa.Array:
    return pa.repeat(pa.scalar(messages[0].partition(), ARROW["partition"]), len(messages))


def _offsets(messages: Sequence[Message]) -> pa.Array:
    return pa.array([message.offset() for message in messages], ARROW["offset"])


def _times(messages: Sequence[Message]) -> pa.Array:
    stamps = [message.timestamp() for message in messages]  # (kind, milliseconds); kind 0: no timestamp
    return pa.array([(at if kind else _NO_TIME) * 1000 for kind, at in stamps], pa.int64()).cast(ARROW["timestamp"])


def _kinds(messages: Sequence[Message]) -> pa.Array:
    # Kafka's numbers: 0 for CreateTime, 1 for LogAppendTime, -1 for neither; the client's are higher by one.
    return pa.array([message.timestamp()[0] - 1 for message in messages], ARROW["timestampType"])


def _headers(messages: Sequence[Message]) -> pa.Array:
    """Null for a message without headers, as Spark has it."""
    found = [message.headers() for message in messages]
    rows = [[{"key": k, "value": v} for k, v in cast(_Headers, each)] if each else None for each in found]
    return pa.array(rows, ARROW["headers"])


_COLUMNS: Final[Mapping[str, Callable[[Sequence[Message]], pa.Array]]] = {
    "key": _keys,
    "value": _values,
    "topic": _topics,
    "partition": _partitions,
    "offset": _offsets,
    "timestamp": _times,
    "timestampType": _kinds,
    "headers": _headers,
}
