"""Writers of the data source, which Spark runs on the driver and in tasks to write a batch, or a batch of a stream.

::

    driver, once per batch     options, columns, schema of the topic, a broker answers    -> pickled for tasks
    task                       batches of columns -> messages -> producer or transaction   -> a commit message
    driver                     logs the commit messages
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)

from streamnative_serdes import _config as config
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.user_options.client_config import client_config
from streamnative_serdes.spark.datasource.user_options.options import Options
from streamnative_serdes.spark.frames.decoding import new_columns
from streamnative_serdes.spark.frames.reading import TopicReader
from streamnative_serdes.spark.types.arrow import WITH_HEADERS

from .outbox import refuse_options, require_broker
from .sink_columns import (
    COLUMNS,
    PARTS,
    RAW,
    VALUE,
    SinkColumns,
    kept_parts,
    match_columns,
    no_topic,
    refuse_kept_key,
)
from .sink_messages import MessageBatches, Sending, filled, send_batches
from .transactions import (
    Identity,
    OtherRowsError,
    Rows,
    committed_rows,
    require_timeout,
    require_transactions,
    transaction,
)
from .trial import try_write
from .writes import Sent, Write, partition_of_task, report, report_failure

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:
    try:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter
    except ImportError:  # before PySpark 4.1, streams are written as rows
        DataSourceStreamArrowWriter = None

AT_LEAST_ONCE: Final = "at-least-once"
TRANSACTIONAL: Final = "transactional"
_MOST_REASONS: Final = 5  # undelivered messages that an error explains
_ROWS: Final = 10_000  # of a stream before PySpark 4.1, which become one batch of columns
_COMMITS: Final = "pyspark.sql.worker.python_streaming_sink_runner"  # the process that commits a batch of a stream
_PARTS: Final = T.StructType([WITH_HEADERS[name] for name in PARTS])
_READERS: Final = frozenset(option.key for option in config.DESERIALIZER_OPTIONS)
_FRAMES: Final = 8  # of calls in which that process is looked for
_LOST: Final = (
    "saveAsTable and CREATE TABLE ... USING lose the options of a Python data source in Spark; use "
    "df.write.format('streamnative-kafka').options(...).mode('append').save(), or in SQL: CREATE TEMPORARY VIEW name "
    "USING `streamnative-kafka` OPTIONS (...)"
)


def writer(given: Mapping[str, str], schema: T.StructType, overwrite: bool) -> DataSourceWriter:
    """For ``df.write``: plans the write on the driver.

    Raises:
        ConfigError: an option or a column is missing or wrong, or the mode is overwrite.
        EncodeError: the type of a column does not match its field.
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
        BrokerUnavailableError: no Kafka broker answers.
        BrokerRefusedError: the user may not write the topic.
        TransactionError: with ``delivery=transactional``, the broker does not support transactions.
    """
    options = _parsed(given)
    if overwrite:
        raise ConfigError(
            "mode overwrite is not supported: messages of a topic cannot be replaced", hint='.mode("append") adds to it'
        )
    return BatchWriter(_planned(options, schema, uuid4().hex), schema)


def stream_writer(given: Mapping[str, str], schema: T.StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG001
    """For ``df.writeStream``: plans each batch. In the mode complete (``overwrite``), each appends all its rows."""
    options = _parsed(given)
    # Spark makes a writer again to commit a batch, which needs no plan, and asks neither registry nor broker.
    task = None if _commits() else _planned(options, schema, None)
    kind: Any = StreamRowWriter if DataSourceStreamArrowWriter is None else StreamBatchWriter
    made: DataSourceStreamWriter = kind(task, schema)
    return made


def columns_to_write(given: Mapping[str, str]) -> T.StructType:
    """The columns of a view for INSERT: parts of messages, or fields of the topic's schema."""
    if not _has_options(given):
        return _PARTS  # of a table that has lost its options; writing to it says so
    options = Options.parse(given, "write")
    topic = _topic(options)
    parts = [part for part in _PARTS if part.name != "topic" or topic is None]
    encode = options.one_of("encode", RAW, VALUE, COLUMNS, "true", default=RAW)
    if encode == RAW:
        return T.StructType(parts)
    if topic is None:
        raise no_topic()
    keep = kept_parts(options, all_columns=encode != VALUE)
    reader = TopicReader(topic, _for_reading(options.conf()), options.text("schema"), restart=False, times=False)
    if encode != VALUE:
        refuse_kept_key(keep, topic, pairs=reader.reads_pairs())
        fields = (
            _with_defaults(new_columns(reader), reader.schema_text()) if reader.reads_records() else new_columns(reader)
        )
        return T.StructType([*(part for part in parts if part.name in keep), *fields])
    encoded = new_columns(reader) if reader.reads_pairs() else [T.StructField("value", reader.spark_type())]
    by_name = {field.name: field for field in (*parts, *encoded)}
    return T.StructType([by_name[part.name] for part in parts])


def _with_defaults(columns: Iterable[T.StructField], schema: str) -> Iterator[T.StructField]:
    """Columns with the defaults of their fields, which Spark inserts where an INSERT names other columns only."""
    defaults = {field["name"]: field.get("default") for field in json.loads(schema).get("fields", ())}
    for column in columns:
        literal = _literal(column.dataType, defaults.get(column.name))
        more = {} if literal is None else {"CURRENT_DEFAULT": literal}  # Spark's name for it
        yield T.StructField(column.name, column.dataType, metadata=more)


def _literal(kind: T.DataType, default: object) -> str | None:
    """A default in SQL; None for null and for types whose JSON is not their value, such as dates."""
    if isinstance(default, str) and isinstance(kind, T.StringType):
        return f"string(X'{default.encode().hex()}')"  # sessions differ in what a backslash means
    if isinstance(default, bool):
        return str(default)
    numbers = (T.IntegerType, T.LongType, T.FloatType, T.DoubleType)
    return str(default) if isinstance(default, int | float) and isinstance(kind, numbers) else None


def _topic(options: Options) -> str | None:
    """The topic of all messages; None if the column ``topic`` names the topic. Raises ConfigError: it is blank."""
    topic = options.text("topic")
    if topic is not None and not topic.strip():
        raise ConfigError(f"the option topic: a topic cannot have the name {topic!r:.80}")
    return topic


def _for_reading(conf: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a serializer that are also options of a deserializer.

    Options of Confluent's registry are left out: with ``framing=confluent``, writing requires the option ``schema``.
    """
    return {name: value for name, value in conf.items() if name in _READERS and not name.startswith("confluent.")}


def _has_options(given: Mapping[str, str]) -> bool:
    return any(name.lower().startswith("kafka.") for name in given)


def _commits() -> bool:
    """Whether this process commits or aborts a batch of a stream."""
    frame = inspect.currentframe()
    for _ in range(_FRAMES):
        frame = frame and frame.f_back
        if frame is not None and frame.f_globals.get("__name__") == _COMMITS:
            return True
    return False


def _parsed(given: Mapping[str, str]) -> Options:
    if not _has_options(given):
        raise ConfigError("the option kafka.bootstrap.servers is missing", hint=_LOST)
    return Options.parse(given, "write")


def _planned(options: Options, schema: T.StructType, write: str | None) -> Task:
    """Plan the tasks; checks everything that can be wrong before a task runs."""
    topic = _topic(options)
    delivery = options.one_of("delivery", AT_LEAST_ONCE, TRANSACTIONAL, default=AT_LEAST_ONCE)
    dedup = options.flag("dedupHeaders", default=False)
    encode = options.one_of("encode", RAW, VALUE, COLUMNS, "true", default=RAW)
    if encode == RAW:
        options.refuse_idle(("schema", "keep"), "encode", '.option("encode", "columns")')
    kafka = client_config(options)
    if delivery == TRANSACTIONAL:
        _require_one_topic(topic)
        require_timeout(kafka)
    refuse_options(kafka, topic or "")
    columns = match_columns(schema, topic, COLUMNS if encode == "true" else encode, options)
    more: Mapping[str, Any] = {}
    if delivery == TRANSACTIONAL:
        require_transactions(kafka, topic or "")
    else:
        more = require_broker(kafka, topic or "")
    try_write({**kafka, **more}, topic, transactional=delivery == TRANSACTIONAL)
    return Task(options, columns, topic, write, dedup, delivery == TRANSACTIONAL, more)


def _require_one_topic(topic: str | None) -> None:
    """Raises ConfigError if rows name their topics, since the marker of a committed task belongs to a single topic."""
    if topic is None:
        raise ConfigError(
            "delivery=transactional requires the option topic: a column topic is not supported with it",
            hint="write each topic with a query of its own, or use delivery=at-least-once with dedupHeaders=true",
        )


@dataclass(frozen=True)
class Task:
    """The work of each task, which is pickled for the workers."""

    options: Options  # the client's; references are resolved in the task
    columns: SinkColumns  # the columns of the messages' parts
    topic: str | None  # the topic of all messages; None if the column ``topic`` names the topic
    write: str | None  # the id of a batch write; None for streams, whose tasks know the query and the batch
    dedup: bool  # add headers that tell copies of a message
    transactional: bool  # send in a transaction
    more: Mapping[str, Any]  # configuration of the client that the driver has added

    def run(self, batches: Iterator[pa.RecordBatch]) -> Sent:
        """Send the rows of one partition."""
        rows = filled(batches)
        if rows is None:
            return self._without_rows()
        return self._in_transaction(rows) if self.transactional else self._at_least_once(rows)

    def _without_rows(self) -> Sent:
        """Report no rows. In a stream with transactions, an earlier attempt must not have committed rows."""
        if self.transactional and self.write is None:
            identity, topic = self._identity(), self.topic or ""
            committed = committed_rows(client_config(self.options), topic, identity)
            if committed is not None:
                _require_same(committed, Rows(), identity, topic)
        return Sent(partition_of_task())

    def _identity(self) -> Identity:
        write = self._write()
        return Identity(write.query, write.batch or 0, partition_of_task())

    def _at_least_once(self, batches: Iterator[pa.RecordBatch]) -> Sent:
        write = self._write() if self.dedup else None
        kafka, topic = {**client_config(self.options), **self.more}, self.topic or ""
        to = Sending(topic, kafka, write, _MOST_REASONS)
        return send_batches(batches, self.columns, to)

    def _in_transaction(self, batches: Iterator[pa.RecordBatch]) -> Sent:
        write, identity = self._write(), self._identity()
        topic = self.topic or ""  # there is one: see _planned
        kafka, rows = client_config(self.options), Rows()
        with transaction(kafka, topic, identity) as (mine, consumer):
            committed = mine.begin(consumer)
            to = Sending(topic, kafka, write if self.dedup else None, _MOST_REASONS)
            messages = MessageBatches(self.columns, to, mine.out)
            for batch in batches:
                rows.add(batch.select(self.columns.used))
                if committed is None:
                    messages.send(batch)
            if committed is not None:
                _require_same(committed, rows, identity, topic)
                return Sent(identity.partition, rows.rows, again=True)
            mine.commit(consumer, rows)
            return Sent(identity.partition, rows.rows)

    def _write(self) -> Write:
        return Write(self.write) if self.write is not None else Write.of_task()


def _require_same(committed: Rows, rows: Rows, identity: Identity, topic: str) -> None:
    if committed != rows:
        raise OtherRowsError(
            f"batch {identity.batch} was committed in task partition {identity.partition} with {committed.rows} rows, "
            f"and gives {rows.rows} {'' if committed.rows != rows.rows else 'other '}rows when it is run again",
            topic=topic,
            hint="run it with the same number of partitions and the same order of rows as before, or once with "
            "delivery=at-least-once, which sends all its rows again",
        )


class _Writer:
    """A writer of a batch or of a stream; only batches of a stream have a number."""

    def __init__(self, task: Task | None, schema: T.StructType) -> None:
        self._planned, self._schema = task, schema

    @property
    def _task(self) -> Task:
        assert self._planned is not None, "this writer commits"
        return self._planned

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self._task.run(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int | None = None) -> None:  # noqa: N803 (Spark's name)
        report(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int | None = None) -> None:  # noqa: N803 (Spark's name)
        report_failure(messages, batchId)


class BatchWriter(_Writer, DataSourceArrowWriter):
    """Spark's writer of a batch."""


class StreamRowWriter(_Writer, DataSourceStreamWriter):
    """Spark's writer of a stream before PySpark 4.1, which passes rows; the rows become columns again."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return super().write(self._batches(iterator))

    def _batches(self, rows: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        from pyspark.sql.conversion import LocalDataToArrowConversion

        while chunk := list(islice(rows, _ROWS)):
            table = LocalDataToArrowConversion.convert(chunk, self._schema, use_large_var_types=False)
            yield from table.to_batches()


if DataSourceStreamArrowWriter is not None:

    class StreamBatchWriter(_Writer, DataSourceStreamArrowWriter):
        """Spark's writer of a stream, which passes columns."""
