"""Arrow and confluent-kafka: the client's messages as the columns of Spark's Kafka source, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from streamnative_serdes._arrow import Deliveries, Layout, Taken, bytes_list, ends_of, produce_all
from streamnative_serdes._arrow import kafka_columns as _columns_of
from streamnative_serdes._schema import parse
from streamnative_serdes.errors import ConfigError

from .columns import batch_of

_HEADER: Final = {
    "type": "record",
    "name": "Header",
    "fields": [{"name": "key", "type": ["null", "string"]}, {"name": "value", "type": ["null", "bytes"]}],
}
_TYPES: Final = {
    "key": "bytes",
    "value": "bytes",
    "topic": "string",
    "partition": "int",
    "offset": "long",
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestampType": "int",
    "headers": {"type": "array", "items": ["null", _HEADER]},
}
KAFKA_COLUMNS: Final = tuple(_TYPES)
__all__ = [
    "KAFKA_COLUMNS",
    "Deliveries",
    "bytes_of",
    "ends_of",
    "kafka_columns",
    "kafka_schema",
    "produce_all",
    "without_errors",
]


def kafka_schema(names: Sequence[str] = KAFKA_COLUMNS) -> pa.Schema:
    """The types of :func:`kafka_columns`: those of Spark's Kafka source. All columns are nullable.

    Raises:
        ConfigError: as :func:`kafka_columns` says.
    """
    return _layout(tuple(names))[1]


def kafka_columns(messages: Iterable[Any], names: Sequence[str] = KAFKA_COLUMNS) -> pa.RecordBatch:
    """Return messages as these columns of Spark's Kafka source, a row each, in a fifth of the time of plain Python.

    As in Spark, ``headers`` is null for a message without headers, and a message without a timestamp has -1 ms and
    type -1. The batch owns its memory: the messages may be dropped.

    Args:
        messages: the result of ``consumer.consume()`` of confluent-kafka, without errors (:func:`without_errors`).
        names: columns of Spark's Kafka source, in any order.

    Raises:
        ConfigError: a column does not exist, or is named twice.
        DecodeError: a message is an error of the client, or has parts of other types; has ``row``.
        BatchTooLargeError: keys, values or headers take more than 2 GB; ``row`` is the first that does not fit.
    """
    layout, schema = _layout(tuple(names))
    return batch_of(_columns_of(layout, list(messages)), schema)


def bytes_of(array: pa.Array) -> list[bytes | None]:
    """The rows of a binary or text array as bytes, for a client's producer; faster than ``to_pylist``.

    Raises:
        DecodeError: the array is damaged.
        TypeError: the array has another type.
    """
    return bytes_list(*array.__arrow_c_array__())


def without_errors(messages: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """Split the result of ``consumer.consume()`` into (messages, errors): errors have an ``error()``, such as ends."""
    taken = Taken(messages)
    return taken, taken.errors


@lru_cache(64)
def _layout(names: tuple[str, ...]) -> tuple[Layout, pa.Schema]:
    odd = [name for name in names if name not in _TYPES]
    if odd or len(set(names)) < len(names):
        what = f"no column {odd[0]!r:.80}" if odd else "a column twice"
        raise ConfigError(f"expected columns of Spark's Kafka source, got {what}", hint=f"use {', '.join(_TYPES)}")
    fields = [{"name": name, "type": ["null", _TYPES[name]]} for name in names]
    root = parse({"type": "record", "name": "Message", "fields": fields}).root
    layout = Layout(root, True, "spark", False)
    return layout, pa.schema(layout)
