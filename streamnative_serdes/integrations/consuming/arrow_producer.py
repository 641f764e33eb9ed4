"""ArrowProducer: the rows of tables, batches and data frames to messages of a topic, and the reports on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from itertools import repeat
from typing import Any, Final, Self

import pyarrow as pa

from streamnative_serdes._kafka import Sender, delivery_seconds
from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes._writing.batches import fields_of
from streamnative_serdes.arrow import in_parts
from streamnative_serdes.arrow.kafka_columns import (
    ANY_PARTITION,
    NOW,
    bytes_of,
    moments_of,
    named_headers_of,
    partitions_of,
)
from streamnative_serdes.arrow.pieces import table_of
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.integrations.builders import KafkaAvroSerializerBuilder, serdes_of
from streamnative_serdes.serializer import KafkaAvroSerializer

_MORE_SECONDS: Final = 5.0  # than the client needs to give a message up
# The types that the column of each part of a message may have; large_string, string_view and the like, too.
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "key": ("string", "binary"),
    "headers": ("list<", "list_view<"),
    "partition": ("int",),
    "timestamp": ("timestamp",),
}
_HEADERS: Final = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
_REFUSED: Final = ("on_delivery", "dr_cb", "key.serializer", "key.serializer.builder", "transactional.id")


class ArrowProducer:
    """Sends columns to a topic, a message for each row; use it as a context manager, or close it.

    Args:
        conf: as that of a SerializingProducer: the client's options, with ``value.serializer`` (a
            :class:`KafkaAvroSerializer`) or ``value.serializer.builder``; or with the options of KafkaAvroSerializer
            themselves.
        topic: the Kafka topic.
        schema: of the values, as for KafkaAvroSerializer, if ``conf`` has no serializer.
        key: the column of keys, of text or bytes, also categorical. It is also a field of the value if the schema has
            a field of its name; so are the columns below. Topics of type KEY_VALUE have the columns ``key`` and
            ``value`` instead.
        headers: the column of headers: lists of structs (key, value), as Spark's Kafka source and ``keep`` have them.
        partition: the column of partitions; null leaves the choice to the client.
        timestamp: the column of timestamps; null is the present time.

    Attributes:
        client: the confluent-kafka Producer.
        topic: the Kafka topic.

    Raises:
        ConfigError: an invalid option.

    For one thread. Delivery is at least once.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        topic: str,
        schema: object = None,
        *,
        key: str | None = None,
        headers: str | None = None,
        partition: str | None = None,
        timestamp: str | None = None,
    ) -> None:
        given = {"key": key, "headers": headers, "partition": partition, "timestamp": timestamp}
        self.topic, self._parts = topic, {part: name for part, name in given.items() if name is not None}
        own = dict(conf)
        for name in own.keys() & set(_REFUSED):
            raise ConfigError(f"{name} is not supported by an ArrowProducer", topic=topic)
        self._serializer, new, own = serdes_of(own, KafkaAvroSerializer, KafkaAvroSerializerBuilder, schema)
        self._owned = ExitStack()
        if new:
            self._owned.callback(self._serializer.close)
        try:
            self._sender = Sender(own, topic, delivery_seconds(own) + _MORE_SECONDS)
        except BaseException:
            self._owned.close()
            raise
        self.client, self._closed = self._sender.client, False

    @property
    def delivered(self) -> int:
        """How many messages the broker has confirmed so far."""
        return self._sender.counts.total()

    def write(self, data: Any) -> int:
        """Hand the rows of ``data`` to the client, which sends them meanwhile; waits while its queue is full.

        Args:
            data: a record batch, a table, a data frame of polars or pandas, or anything else that ``serialize_batch``
                takes; an array of structs has no columns for keys, headers, partitions and timestamps.

        Returns:
            the number of messages. :meth:`flush` or :meth:`close` tell whether they were delivered.

        Raises:
            EncodeError: a row does not fit the schema; ``row`` is its number. No row of ``data`` is sent.
            ConfigError: there is no such column, or several, or the topic's schema encodes the keys.
            RefusedMessageError: earlier messages were not delivered.
            BrokerUnavailableError: the queue is full, and nothing is reported any more.
            KafkaException: the client does not take a message, which is too large for it, say.
            RuntimeError: the producer is closed.
        """
        if self._closed:
            raise RuntimeError("Producer has been closed")
        rows = table_of(data) if self._parts else data
        messages = [each for part, encoded in in_parts(rows, self._encoded) for each in self._messages(part, encoded)]
        return self._sender.send_all(self.topic, messages)

    def flush(self) -> None:
        """Wait until all messages are delivered.

        Raises:
            RefusedMessageError: some were not; it has their number, and the first of them.
            BrokerUnavailableError: nothing is reported any more.
        """
        self._sender.flush()

    def close(self) -> None:
        """Wait until all messages are delivered; raises as :meth:`flush` does."""
        try:
            self.flush()
        finally:
            self._discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Close; after an error, drop the messages that are not sent yet."""
        if kind is None:
            self.close()
        else:
            self._discard()

    def _discard(self) -> None:
        self._closed = True
        self._sender.discard()
        self._owned.close()

    def _encoded(self, rows: Any) -> Any:
        return self._serializer.serialize_batch(self.topic, self._values(rows))

    def _values(self, rows: Any) -> Any:
        """The columns of values: without those of other parts of messages, unless the schema has them as fields."""
        if not self._parts:
            return rows
        for name in self._parts.values():
            if (count := rows.schema.names.count(name)) != 1:
                found = f"{count} columns" if count else "no column"
                hint = None if count else did_you_mean(name, rows.schema.names)
                raise ConfigError(f"the rows have {found} {name!r:.80}", topic=self.topic, hint=hint)
        fields = fields_of(self._serializer, self.topic)
        return rows.drop_columns([name for name in set(self._parts.values()) if name not in fields])

    def _messages(self, rows: Any, encoded: Any) -> Iterable[tuple[Any, Any, int, int, Any]]:
        keys, pairs = None, isinstance(encoded, pa.RecordBatch)
        if pairs and "key" in self._parts:
            raise ConfigError("key: the schema of a KEY_VALUE topic encodes the column key", topic=self.topic)
        if pairs:
            keys, encoded = bytes_of(encoded.column(0)), encoded.column(1)
        count = len(encoded)
        try:
            return zip(
                bytes_of(encoded),
                keys or self._part(rows, "key", bytes_of) or repeat(None, count),
                self._part(rows, "partition", partitions_of) or repeat(ANY_PARTITION, count),
                self._part(rows, "timestamp", moments_of) or repeat(NOW, count),
                self._part(rows, "headers", named_headers_of) or repeat(None, count),
                strict=True,
            )
        except EncodeError as error:
            raise error.at(topic=self.topic) from None

    def _part(self, rows: Any, part: str, read: Callable[[pa.Array], Iterable[Any]]) -> list[Any] | None:
        """A part of each message; None if no column has it, or there is no row."""
        if part not in self._parts:
            return None
        name = self._parts[part]
        column = rows.column(name)
        if part == "key" and pa.types.is_dictionary(column.type):  # a Categorical; pyarrow cannot cast all of them
            column = pa.array(column.to_pylist(), column.type.value_type)
        if pa.types.is_null(column.type):
            return None
        if not str(column.type).removeprefix("large_").startswith(_KINDS[part]):
            raise self._refused(part, column.type)
        if part == "headers":
            if "list_view<" in str(column.type):  # pyarrow's cast of views loses rows
                column = pa.array(column.to_pylist(), pa.list_(column.type.value_type))
            try:
                column = column.cast(_HEADERS)
            except pa.ArrowException:
                raise self._refused(part, column.type) from None
        return list(read(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column))

    def _refused(self, part: str, kind: pa.DataType) -> ConfigError:
        expected = "list of structs (key: string, value: binary)" if part == "headers" else " or ".join(_KINDS[part])
        found = f"{part}: expected a column of type {expected}, got {self._parts[part]!r:.80} of type {kind}"
        return ConfigError(found[:500], topic=self.topic, hint="cast it")
