"""MessageRows: messages of confluent-kafka as rows of Spark's Kafka columns, each made only if a task needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from streamnative_serdes.arrow.kafka_columns import kafka_columns

if TYPE_CHECKING:
    from confluent_kafka import Message


@dataclass(frozen=True, slots=True)
class MessageRows:
    """What a task uses of a record batch, for messages that are decoded where they are.

    Args:
        messages: none of them an error of the client.
        names: the columns of Spark's Kafka source that the task knows, by number.
    """

    messages: Sequence[Message]
    names: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        return len(self.messages)

    def column(self, number: int) -> pa.Array:
        """One column, made now."""
        return kafka_columns(self.messages, (self.names[number],)).column(0)

    def slice(self, offset: int, length: int | None = None) -> MessageRows:
        """Some of the rows, as ``pa.RecordBatch.slice`` does."""
        end = None if length is None else offset + length
        return MessageRows(self.messages[offset:end], self.names)
