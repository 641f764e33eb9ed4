"""KafkaAvroSink: the rows of a DataFrame, or of each batch of a stream, to a Kafka topic as Avro of its schema.

Delivery is **at least once**. A task ends when all its messages are delivered; one that fails, even after that, is run
again by Spark and sends its rows again, and so does a stream that restarts from its checkpoint. Headers tell such
copies: see ``dedup_headers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, TypeAlias

from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamnative_serdes.errors import ConfigError, EncodeError
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer

from .names import quoted, refuse_intervals, require
from .outbox import Outbox, outbox, refuse_options
from .workers import Carried
from .writes import ROW_HEADER, Write

Part: TypeAlias = str | Column | Callable[[Any], Any] | None  # of a row: a column, an expression, a function

_FUNCTION_HINT: Final = "use write or foreach_batch, where Spark computes it, or give a function of the row"


class KafkaAvroSink:
    """Writes rows to a topic. It is made on the driver, asks the registry there, and takes the answer to the workers.

    Args:
        topic: the Kafka topic.
        kafka: the producer's configuration, with ``bootstrap.servers``. Idempotence is on unless set otherwise;
            transactions and delivery callbacks are refused.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        schema: of the values, registered on the topic; ``to_avro_schema(df.schema)`` makes one of a DataFrame. Without
            one, rows are written by the topic's latest.
        key: what becomes the message's key: the name of a column of strings or binaries (dots are part of it), a Column
            to compute one, or a function of the row that gives text, bytes or None. Without one, messages have no key.
        value: likewise, what the value is made of; its null is a tombstone. Without one it is the whole row.
            Columns that the schema does not have are left out.
        to_dict: as of KafkaAvroSerializer.
        dedup_headers: give each message the headers ``spark.query.id``, ``spark.batch.id`` and ``spark.write.id`` (both
            of streams alone; the latter numbers the writes to this topic in one batch), ``spark.partition.id`` and
            ``spark.row``, its place in that partition. Messages that have all of them in common are copies, so long as
            a batch that is run again writes in the same order, and a task the same rows in the same order; sort the
            rows within partitions where a shuffle comes before.
        most_reasons: of messages that could not be delivered, how many are named in the error.

    Raises:
        ConfigError: a bad option.
        SchemaError: no valid schema.
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """

    _sent: SinkTask | None = None  # all that there is of a sink in a worker

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
        _refuse_mixed(key, value)
        refuse_options(kafka, topic)
        self._topic, self._kafka, self._most_reasons = topic, dict(kafka), most_reasons
        self._key, self._value, self._dedup = key, value, dedup_headers
        self._serializer = KafkaAvroSerializer(conf, schema, to_dict)
        self._serializer.warm_up(topic)

    def foreach_partition(self, rows: Iterable[Any]) -> None:
        """Send the rows of one partition: ``df.foreachPartition(sink.foreach_partition)``.

        Returns when all are delivered.

        Raises:
            ConfigError: ``key`` or ``value`` is a Column.
            EncodeError: a row does not fit the schema; it names the row and the field.
            DeliveryError: a message could not be delivered.
        """
        self._plain_task().foreach_partition(rows)

    def foreach_batch(self, df: DataFrame, batch_id: int) -> None:
        """Send one batch of a stream: ``df.writeStream.foreachBatch(sink.foreach_batch)``.

        Raises:
            ConfigError: there is no such column, or two have one name.
            SchemaRegistryError: the registry refuses the schema, or cannot be reached.
            PySparkException: a task failed; its text holds the error of :meth:`foreach_partition`.
        """
        self._send(df, batch_id)

    def write(self, df: DataFrame) -> None:
        """Send a DataFrame that is no stream.

        Raises:
            ConfigError: there is no such column, or two have one name.
            SchemaRegistryError: the registry refuses the schema, or cannot be reached.
            PySparkException: a task failed; its text holds the error of :meth:`foreach_partition`.
        """
        self._send(df, None)

    def close(self) -> None:
        """Close idle connections of the driver to the registry."""
        self._serializer.close()

    def _send(self, df: DataFrame, batch: int | None) -> None:
        for name in df.columns if self._value is None else ():
            kind = require(df, name).dataType  # once, so that none is taken for another
            refuse_intervals(name, kind, T.YearMonthIntervalType)  # of the others, rows have timedeltas, for to_dict
        for part in (self._key, self._value):
            if isinstance(part, str):
                require(df, part)
        self._serializer.warm_up(self._topic)  # it may have been made anew since
        if isinstance(self._key, Column) or isinstance(self._value, Column):
            value = F.struct("*") if self._value is None else _column(self._value)
            key = F.lit(None).cast("string") if self._key is None else _column(self._key)
            df.select(key.alias("key"), value.alias("value")).foreachPartition(
                self._task("key", "value", batch).foreach_partition
            )
        else:
            df.foreachPartition(self._task(self._key, self._value, batch).foreach_partition)

    def _task(self, key: Any, value: Any, batch: int | None = None) -> SinkTask:
        return SinkTask(
            self._topic,
            self._kafka,
            Carried(self._serializer),
            key,
            value,
            Write.here(self._topic, batch) if self._dedup else None,
            self._most_reasons,
        )

    def _plain_task(self) -> SinkTask:
        if self._sent is not None:
            return self._sent
        for name, part in (("key", self._key), ("value", self._value)):
            if isinstance(part, Column):
                raise ConfigError(f"{name} is a Column, which rows cannot compute", hint=_FUNCTION_HINT)
        return self._task(self._key, self._value)

    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._plain_task()}


@dataclass(frozen=True, slots=True)
class SinkTask:
    """What goes to the workers: sends the rows of one partition."""

    topic: str
    kafka: Mapping[str, Any] = field(repr=False)  # may sign in
    serializer: Carried[KafkaAvroSerializer]
    key: str | Callable[[Any], Any] | None
    value: str | Callable[[Any], Any] | None
    write: Write | None
    most_reasons: int

    def foreach_partition(self, rows: Iterable[Any]) -> None:
        """As :meth:`KafkaAvroSink.foreach_partition`."""
        remaining = iter(rows)
        for first in remaining:
            with outbox(self.kafka, self.topic, self.most_reasons) as out:
                self._send(chain((first,), remaining), out, _getter(self.key), _getter(self.value))

    def _send(self, rows: Iterable[Any], out: Outbox, key_of: _Getter | None, value_of: _Getter | None) -> None:
        serialize, topic, send = self.serializer.get().serialize, self.topic, out.send
        common = None if self.write is None else self.write.headers()
        number = -1
        try:
            for number, row in enumerate(rows):
                value = serialize(topic, row if value_of is None else value_of(row))
                key = None if key_of is None else _as_key(key_of(row))
                send(value, key, None if common is None else [*common, (ROW_HEADER, b"%d" % number)])
        except EncodeError as error:
            task = TaskContext.get()
            error.message += f" (row {number} of partition {task.partitionId() if task else 0})"
            raise


_Getter: TypeAlias = Callable[[Any], Any]


def _getter(part: str | _Getter | None) -> _Getter | None:
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
    raise EncodeError(f"expected a key of text or bytes, got {type(key).__name__}", hint="cast the column to string")


def _column(part: Part) -> Column:
    assert isinstance(part, str | Column)
    return F.col(quoted(part)) if isinstance(part, str) else part


def _refuse_mixed(key: Part, value: Part) -> None:
    computed = [isinstance(part, Column) for part in (key, value)]
    functions = [part is not None and not isinstance(part, str | Column) for part in (key, value)]
    if any(computed) and any(functions):
        raise ConfigError("key and value are a Column and a function", hint="give two of one kind")
