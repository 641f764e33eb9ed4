"""KafkaAvroSink: the rows of a DataFrame, or of each batch of a stream, to a Kafka topic as Avro of its schema.

Delivery is **at least once**. A task ends when all its messages are delivered; one that fails, even after that, is run
again by Spark and sends its rows again, and so does a stream that restarts from its checkpoint. Headers tell such
copies: see ``dedup_headers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamnative_serdes.config import refuse_other_tenant
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.schema import load
from streamnative_serdes.serialization import SerializationContext
from streamnative_serdes.serializer import KafkaAvroSerializer

from .encoding import Encoder, TopicWriter
from .names import by_place, place, quoted, refuse_intervals, require
from .outbox import refuse_options, require_broker
from .pythons import warn_of_workers, worker_hints
from .sending import KEY_HINT, BatchTask, RowTask, Sending
from .workers import Carried
from .writes import Write

Part: TypeAlias = str | Column | Callable[[Any], Any] | None  # of a row: a column, an expression, a function

_KEYS: Final = (T.StringType, T.BinaryType, T.CharType, T.VarcharType, T.NullType)
_FUNCTION_HINT: Final = "use write or foreach_batch, where Spark computes it, or give a function of the row"


class KafkaAvroSink:
    """Writes rows to a topic. It is made on the driver, asks the registry there, and takes the answer to the workers.

    Args:
        topic: the Kafka topic.
        kafka: the producer's configuration, with ``bootstrap.servers``. Idempotence is on unless set otherwise;
            transactions and delivery callbacks are refused.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        schema: of the values, registered on the topic; ``to_avro_schema(df.schema)`` makes one of a DataFrame. Without
            one, each write is by the topic's latest as it begins.
        key: what becomes the message's key: the name of a column of strings or binaries (dots are part of it), a Column
            to compute one, or a function of the row that gives text, bytes or None. Without one, messages have no key.
        value: likewise, what the value is made of; its null is a tombstone. Without one it is the whole row.
            Columns that the schema does not have are left out if all fields have one; otherwise they are an error, for
            one was renamed, perhaps: ``unmatched.columns=ignore`` in ``conf`` leaves them out. With ``validate.strict``
            they are always an error. Both go for fields of structs as well.
        to_dict: as of KafkaAvroSerializer. Like functions for ``key`` and ``value``, it takes rows, for which columns
            become Python objects: several times as slow.
        dedup_headers: give each message the headers ``spark.query.id``, ``spark.batch.id`` and ``spark.write.id`` (both
            of streams alone; the latter numbers the writes to this topic in one batch), ``spark.partition.id`` and
            ``spark.row``, its place in that partition. Messages that have all of them in common are copies, so long as
            a batch that is run again writes in the same order, and a task the same rows in the same order; sort the
            rows within partitions where a shuffle comes before.
        most_reasons: of messages that could not be delivered, how many are named in the error.

    Raises:
        ConfigError: a bad option, or a short topic name and a Kafka user of another tenant than ``pulsar.tenant``.
        SchemaError: no valid schema.
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """

    _sent: RowTask | None = None  # all that there is of a sink in a worker

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
        if "/" not in topic:  # a full name is what it is, whoever signs in
            refuse_other_tenant(kafka, conf)
        self._topic, self._kafka, self._most_reasons = topic, dict(kafka), most_reasons
        self._key, self._value, self._dedup = key, value, dedup_headers
        self._conf, self._schema = dict(conf), schema if schema is None or isinstance(schema, type) else load(schema)
        self._converts = to_dict is not None
        self._by_rows = self._converts or _is_function(key) or _is_function(value)
        self._serializer = KafkaAvroSerializer(self._conf, self._schema, to_dict)
        self._serializer.warm_up(topic)

    def foreach_partition(self, rows: Iterable[Any]) -> None:
        """Send the rows of one partition: ``df.foreachPartition(sink.foreach_partition)``.

        Returns when all are delivered.

        Raises:
            ConfigError: ``key`` or ``value`` is a Column.
            EncodeError: a row does not fit the schema, or its columns do not match; it names the row and the field.
            DeliveryError: a message could not be delivered.
        """
        self._plain_task()(rows)

    def foreach_batch(self, df: DataFrame, batch_id: int) -> None:
        """Send one batch of a stream: ``df.writeStream.foreachBatch(sink.foreach_batch)``.

        Raises:
            ConfigError: there is no such column, two have one name, columns and fields do not match, or a key
                cannot have the column's type.
            EncodeError: a column type does not match its field, or the fields of a struct do not match.
            SchemaRegistryError: the registry refuses the schema, or cannot be reached.
            BrokerUnavailableError: no Kafka broker answers the driver, which asks before the first write.
            PySparkException: a task failed; its text holds the error of :meth:`foreach_partition`.
        """
        self._send(df, batch_id)

    def write(self, df: DataFrame) -> None:
        """Send a DataFrame that is no stream.

        Raises:
            ConfigError: there is no such column, two have one name, columns and fields do not match, or a key
                cannot have the column's type.
            EncodeError: a column type does not match its field, or the fields of a struct do not match.
            SchemaRegistryError: the registry refuses the schema, or cannot be reached.
            BrokerUnavailableError: no Kafka broker answers the driver, which asks before the first write.
            PySparkException: a task failed; its text holds the error of :meth:`foreach_partition`.
        """
        self._send(df, None)

    def close(self) -> None:
        """Close idle connections of the driver to the registry."""
        self._serializer.close()

    def _send(self, df: DataFrame, batch: int | None) -> None:
        warn_of_workers(df.sparkSession)
        with worker_hints():
            if self._by_rows:
                self._send_rows(df, batch)
            else:
                self._send_columns(df, batch)

    def _send_columns(self, df: DataFrame, batch: int | None) -> None:
        encoder, writer = Encoder.plan(self._topic, self._conf, self._schema, confirm=False)
        elsewhere = [self._key] if isinstance(self._key, str) else []
        fields = writer.columns_of(df.columns, elsewhere) if self._value is None else []
        parts = [part for part in (self._value, self._key) if part is not None]
        computed = [part.alias("computed") for part in parts if isinstance(part, Column)]
        given = df.select("*", *computed) if computed else df
        beyond = count(len(df.columns))  # where Spark puts them
        places = [place(df, name) for name in fields]
        places += [place(df, part) if isinstance(part, str) else next(beyond) for part in parts]
        columns = by_place(given, places)
        kinds = [field.dataType for field in columns.schema.fields]
        for name, kind in zip(fields or ["value"], kinds, strict=False):
            refuse_intervals(name, kind, T.YearMonthIntervalType, T.DayTimeIntervalType)
        if self._key is not None:
            _require_key(kinds[-1], self._topic)
        if self._value is None:
            writer.try_columns(zip(fields, kinds, strict=False))
        else:
            writer.try_value(kinds[0])
        require_broker(self._kafka, self._topic)
        task = BatchTask(self._sending(batch), encoder, tuple(fields) or None, self._key is not None)
        columns.mapInArrow(task, "nothing int").collect()

    def _send_rows(self, df: DataFrame, batch: int | None) -> None:
        for name in df.columns if self._value is None else ():
            kind = require(df, name).dataType  # once, so that none is taken for another
            refuse_intervals(name, kind, T.YearMonthIntervalType)  # of the others, rows have timedeltas, for to_dict
        for part in (self._key, self._value):
            if isinstance(part, str):
                require(df, part)
        self._serializer.warm_up(self._topic)  # it may have been made anew since
        self._look_at_rows(df)
        key, value = self._key, self._value
        if isinstance(key, Column) or isinstance(value, Column):
            values = F.struct("*") if value is None else _column(value)
            keys = F.lit(None).cast("string") if key is None else _column(key)
            df = df.select(keys.alias("key"), values.alias("value"))
            key, value = "key", "value"
        require_broker(self._kafka, self._topic)
        df.foreachPartition(RowTask(self._sending(batch), Carried(self._serializer), key, value))

    def _look_at_rows(self, df: DataFrame) -> None:
        """What functions make of rows cannot be known; but rows, and structs in them, are written as they are."""
        if self._converts or _is_function(self._value):
            return
        writer = TopicWriter(self._topic, self._conf, self._schema, confirm=False)
        if isinstance(self._value, str):
            writer.refuse_unmatched(require(df, self._value).dataType)
        else:
            writer.columns_of(df.columns)
            writer.refuse_unmatched(df.schema)

    def _sending(self, batch: int | None = None) -> Sending:
        write = Write.here(self._topic, batch) if self._dedup else None
        return Sending(self._topic, self._kafka, write, self._most_reasons)

    def _plain_task(self) -> RowTask:
        if self._sent is not None:
            return self._sent
        key, value = self._key, self._value
        if isinstance(key, Column) or isinstance(value, Column):
            name = "key" if isinstance(key, Column) else "value"
            raise ConfigError(f"{name} is a Column, which rows cannot compute", hint=_FUNCTION_HINT)
        return RowTask(self._sending(), Carried(self._serializer), key, value)

    def __getstate__(self) -> dict[str, Any]:
        return {"_sent": self._plain_task()}


def _column(part: Part) -> Column:
    assert isinstance(part, str | Column)
    return F.col(quoted(part)) if isinstance(part, str) else part


def _require_key(kind: T.DataType, topic: str) -> None:
    if not isinstance(kind, _KEYS):
        raise ConfigError(f"expected a key of text or bytes, got {kind.simpleString()}", topic=topic, hint=KEY_HINT)


def _is_function(part: Part) -> bool:
    return part is not None and not isinstance(part, str | Column)


def _require_part(name: str, part: object) -> None:
    if not (part is None or isinstance(part, str | Column) or callable(part)):
        raise ConfigError(f"{name} takes the name of a column, a Column or a function of the row, got {part!r:.80}")


def _refuse_mixed(key: Part, value: Part) -> None:
    computed = [isinstance(part, Column) for part in (key, value)]
    if any(computed) and (_is_function(key) or _is_function(value)):
        raise ConfigError("key and value are a Column and a function", hint="give two of one kind")
