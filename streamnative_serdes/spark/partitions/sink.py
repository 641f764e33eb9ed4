"""KafkaAvroSink: writes a DataFrame, or each batch of a stream, to a Kafka topic as Avro.

Delivery is **at least once**. A task succeeds when all its messages are delivered. If it fails, even after that, Spark
retries it and its rows are sent again; the same happens when a stream restarts from its checkpoint. Headers can
identify such duplicates: see ``dedup_headers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final, Self, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.utils import is_remote

from streamnative_serdes._call_path import policy_of
from streamnative_serdes._config import refuse_other_tenant
from streamnative_serdes._schema import load
from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer
from streamnative_serdes.spark.datasource.writing.outbox import ValueAndKey, refuse_options, require_broker
from streamnative_serdes.spark.datasource.writing.sink_columns import SinkColumns
from streamnative_serdes.spark.datasource.writing.sink_messages import Sending, add_position, filled, send_batches
from streamnative_serdes.spark.datasource.writing.writes import Write
from streamnative_serdes.spark.frames.encoding import Encoder, TopicWriter
from streamnative_serdes.spark.session.workers import Carried, warn_of_workers, worker_hints
from streamnative_serdes.spark.types.names import backticked, by_index, column_index, refuse_intervals, require

Getter: TypeAlias = Callable[[Any], Any]
Part: TypeAlias = str | Column | Callable[[Any], Any] | None  # of a row: a column's name, an expression, a function

KEY_HINT: Final = "cast the column to string"
_KEYS: Final = (T.StringType, T.BinaryType, T.CharType, T.VarcharType, T.NullType)
_FUNCTION_HINT: Final = "use write or foreach_batch, where Spark can compute it, or pass a function of the row"


class KafkaAvroSink:
    """Writes rows to a topic. Create it on the driver: it queries the registry there and ships the result to workers.

    Args:
        topic: the Kafka topic.
        kafka: the producer's configuration, with ``bootstrap.servers``. Idempotence is on unless set otherwise;
            transactions and delivery callbacks are refused.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        schema: the values' schema, which is registered in the topic; ``to_avro_schema(df.schema)`` derives one. By
            default, each write uses the topic's latest schema when the write starts.
        key: the message's key: the name of a column of strings or binaries (dots are part of the name), a Column
            expression, or a function of the row that returns str, bytes or None. By default, messages have no key.
        value: the message's value: a column's name, a Column expression, or a function of the row; null becomes a
            tombstone. By default, the value is the whole row. Columns without a field in the schema are ignored if all
            fields have a column; otherwise they are an error, since one may have been renamed, unless ``conf`` has
            ``unmatched.columns=ignore``. With ``validate.strict`` they are always an error. The same applies to fields
            of structs.
        to_dict: as for KafkaAvroSerializer. Like functions for ``key`` and ``value``, it needs rows as Python objects,
            which is several times slower.
        dedup_headers: add headers to each message: ``spark.query.id``; for streams, ``spark.batch.id`` and
            ``spark.write.id``, the number of the write to this topic within the batch; ``spark.partition.id``; and
            ``spark.row``, the row's number within the partition. Messages with equal headers are duplicates, provided
            that a retried batch writes in the same order and a retried task has the same rows in the same order: after
            a shuffle, sort the rows within partitions.
        most_reasons: how many undelivered messages the error explains at most.

    Raises:
        ConfigError: an invalid option, or a short topic name with a Kafka user whose tenant is not ``pulsar.tenant``.
        SchemaError: the schema is not valid.
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """

    _sent: RowTask | None = None  # set in a worker, where only the task exists

    def __init__(
        self,
        topic: str,
        kafka: Mapping[str, Any],
        conf: Mapping[str, Any],
        schema: object = None,
        *,
        key: Part = None,
        value: Part = None,
        to_dict: Callable[[Any, SerializationContext], Any] | None = None,
        dedup_headers: bool = False,
        most_reasons: int = 5,
    ) -> None:
        _require_part("key", key)
        _require_part("value", value)
        _refuse_mixed(key, value)
        refuse_options(kafka, topic)
        if "/" not in topic:  # only a short name depends on the user's tenant
            refuse_other_tenant(kafka, conf)
        self._topic, self._kafka, self._most_reasons = topic, dict(kafka), most_reasons
        self._key, self._value, self._dedup = key, value, dedup_headers
        self._conf, self._schema = dict(conf), schema if schema is None or isinstance(schema, type) else load(schema)
        self._converts = to_dict is not None
        self._by_rows = self._converts or _is_function(key) or _is_function(value)
        self._serializer = KafkaAvroSerializer(self._conf, self._schema, to_dict)
        self._confirm()
        self._serializer.warm_up(topic)

    def foreach_partition(self, rows: Iterable[Any]) -> None:
        """Send the rows of one partition: ``df.foreachPartition(sink.foreach_partition)``.

        Returns when all messages are delivered.

        Raises:
            ConfigError: ``key`` or ``value`` is a Column.
            EncodeError: a row does not fit the schema, or its columns do not match; the error names row and field.
            DeliveryError: a message could not be delivered.
        """
        self._plain_task()(rows)

    def foreach_batch(self, df: DataFrame, batch_id: int) -> None:
        """Send one batch of a stream: ``df.writeStream.foreachBatch(sink.foreach_batch)``.

        Raises:
            ConfigError: a column is missing or ambiguous, columns and fields do not match, or the key's column has an
                unsupported type.
            EncodeError: a column type does not match its field, or the fields of a struct do not match.
            SchemaRegistryError: the registry refuses the schema, or cannot be reached.
            BrokerUnavailableError: no Kafka broker answers the driver, which checks before the first write.
            PySparkException: a task failed; its message contains the error of :meth:`foreach_partition`.
        """
        self._send(df, batch_id)

    def write(self, df: DataFrame) -> None:
        """Send a batch (non-streaming) DataFrame.

        Raises:
            ConfigError: a column is missing or ambiguous, columns and fields do not match, or the key's column has an
                unsupported type.
            EncodeError: a column type does not match its field, or the fields of a struct do not match.
            SchemaRegistryError: the registry refuses the schema, or cannot be reached.
            BrokerUnavailableError: no Kafka broker answers the driver, which checks before the first write.
            PySparkException: a task failed; its message contains the error of :meth:`foreach_partition`.
        """
        self._send(df, None)

    def close(self) -> None:
        """Close the driver's idle connections to the registry."""
        self._serializer.close()

    def _send(self, df: DataFrame, batch: int | None) -> None:
        warn_of_workers(df.sparkSession)
        with worker_hints():
            if self._by_rows:
                self._send_rows(df, batch)
            else:
                self._send_columns(df, batch)

    def _send_columns(self, df: DataFrame, batch: int | None) -> None:
        encoder, writer = Encoder.plan(self._topic, self._conf, self._schema)
        elsewhere = [self._key] if isinstance(self._key, str) else []
        fields = writer.fields_of(df.columns, elsewhere) if self._value is None else []
        parts = [part for part in (self._value, self._key) if part is not None]
        computed = [part.alias("computed") for part in parts if isinstance(part, Column)]
        given = df.select("*", *computed) if computed else df
        appended = count(len(df.columns))  # indexes of the computed columns
        indexes = [column_index(df, name) for name in fields]
        indexes += [column_index(df, part) if isinstance(part, str) else next(appended) for part in parts]
        columns = by_index(given, indexes)
        kinds = [field.dataType for field in columns.schema.fields]
        for name, kind in zip(fields or ["value"], kinds, strict=False):
            refuse_intervals(name, kind, T.YearMonthIntervalType, T.DayTimeIntervalType)
        if self._key is not None:
            _require_key(kinds[-1], self._topic)
        if self._value is None:
            writer.try_columns(zip(fields, kinds, strict=False))
        else:
            writer.try_value(kinds[0])
        self._kafka |= require_broker(self._kafka, self._topic)
        values = len(fields) or 1
        sink_columns = SinkColumns(
            {} if self._key is None else {"key": values}, tuple(fields), tuple(range(values)), encoder
        )
        columns.mapInArrow(ColumnsTask(self._sending(batch), sink_columns), "nothing int").collect()

    def _send_rows(self, df: DataFrame, batch: int | None) -> None:
        for name in df.columns if self._value is None else ():
            kind = require(df, name).dataType  # names must be unique, since rows are accessed by name
            refuse_intervals(name, kind, T.YearMonthIntervalType)  # day-time intervals are timedeltas, for to_dict
        for part in (self._key, self._value):
            if isinstance(part, str):
                require(df, part)
        self._look_at_rows(df)
        self._serializer.warm_up(self._topic)  # the topic may have been recreated meanwhile
        key, value = self._key, self._value
        if isinstance(key, Column) or isinstance(value, Column):
            values = F.struct("*") if value is None else _column(value)
            keys = F.lit(None).cast("string") if key is None else _column(key)
            df = df.select(keys.alias("key"), values.alias("value"))
            key, value = "key", "value"
        self._kafka |= require_broker(self._kafka, self._topic)
        df.foreachPartition(RowTask(self._sending(batch), Carried(self._serializer), key, value))

    def _look_at_rows(self, df: DataFrame) -> None:
        """Check the columns of rows that are serialized directly; the results of functions cannot be checked here.

        In both cases, the registry is asked for the latest schema.
        """
        if self._converts or _is_function(self._value):
            self._confirm()
            return
        writer = TopicWriter(self._topic, self._conf, self._schema)
        writer.refuse_pairs()
        if isinstance(self._value, str):
            writer.refuse_unmatched(require(df, self._value).dataType)
        else:
            writer.fields_of(df.columns)
            writer.refuse_unmatched(df.schema)

    def _confirm(self) -> None:
        """Ask for the latest schema, since what this process knows of the topic may be older."""
        policy_of(self._serializer).binding.confirm(self._topic)

    def _sending(self, batch: int | None = None) -> Sending:
        write = Write.here(self._topic, batch) if self._dedup else None
        return Sending(self._topic, self._kafka, write, self._most_reasons)

    def _plain_task(self) -> RowTask:
        if self._sent is not None:
            return self._sent
        key, value = self._key, self._value
        if isinstance(key, Column) or isinstance(value, Column):
            name = "key" if isinstance(key, Column) else "value"
            raise ConfigError(f"{name} is a Column, which foreach_partition cannot compute", hint=_FUNCTION_HINT)
        return RowTask(self._sending(), Carried(self._serializer), key, value)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        if not is_remote():
            return {"_sent": self._plain_task()}
        # A server of Spark Connect runs foreach_batch, for which it needs everything.
        columns = isinstance(self._key, Column) or isinstance(self._value, Column)
        serializer = Carried(self._serializer)
        sent = None if columns else self._plain_task()
        return {**vars(self), "_sent": sent, "_serializer": serializer}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if isinstance(state.get("_serializer"), Carried):
            self._serializer = state["_serializer"].get()


@dataclass(frozen=True, slots=True)
class RowTask:
    """The task for rows as Python objects, which is pickled for the workers."""

    to: Sending
    serializer: Carried[KafkaAvroSerializer]
    key: str | Getter | None
    value: str | Getter | None

    def __call__(self, rows: Iterable[Any]) -> None:
        """Send the rows of one partition."""
        remaining = iter(rows)
        for first in remaining:
            with self.to.outbox() as out:
                self.to.send(out, self._messages(chain((first,), remaining)))

    def _messages(self, rows: Iterable[Any]) -> Iterator[ValueAndKey]:
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
class ColumnsTask:
    """The task for rows as Arrow columns: a function for mapInArrow that returns no rows."""

    to: Sending
    columns: SinkColumns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Send the rows of one partition; raises as :func:`send_batches` does."""
        rows = filled(batches)
        if rows is not None:
            send_batches(rows, self.columns, self.to)
        return iter(())


def _getter(part: str | Getter | None) -> Getter | None:
    """A function that gets ``part`` of a row; None for the whole row."""
    if not isinstance(part, str):
        return part

    def get(row: Any) -> Any:
        try:
            return row[part]
        except (ValueError, AttributeError):  # the latter of a Row that was created without names
            names = getattr(row, "__fields__", ())
            raise ConfigError(
                f"the row has no column {part!r}", hint=f"its columns are {', '.join(names)}"[:500]
            ) from None

    return get


def _as_key(key: Any) -> str | bytes | None:
    if key is None or isinstance(key, str | bytes):
        return key
    if isinstance(key, bytearray):
        return bytes(key)
    raise EncodeError(f"expected a key of type str or bytes, got {type(key).__name__}", hint=KEY_HINT)


def _column(part: Part) -> Column:
    assert isinstance(part, str | Column)
    return F.col(backticked(part)) if isinstance(part, str) else part


def _require_key(kind: T.DataType, topic: str) -> None:
    if not isinstance(kind, _KEYS):
        raise ConfigError(
            f"expected a key of type string or binary, got {kind.simpleString()}", topic=topic, hint=KEY_HINT
        )


def _is_function(part: Part) -> bool:
    return part is not None and not isinstance(part, str | Column)


def _require_part(name: str, part: object) -> None:
    if not (part is None or isinstance(part, str | Column) or callable(part)):
        raise ConfigError(f"{name}: expected a column name, a Column or a function of the row, got {part!r:.80}")


def _refuse_mixed(key: Part, value: Part) -> None:
    computed = [isinstance(part, Column) for part in (key, value)]
    if any(computed) and (_is_function(key) or _is_function(value)):
        raise ConfigError("key and value cannot mix a Column with a function", hint="use Columns or functions for both")
