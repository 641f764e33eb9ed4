"""decode_df and encode_df: convert between a column of Avro messages and typed columns, in Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.connect.decoding import CONNECT_JSON, planned_reader
from streamnative_serdes.spark.session.workers import Carried, warn_of_workers
from streamnative_serdes.spark.types.avro import has_time
from streamnative_serdes.spark.types.names import (
    backticked,
    name_of,
    names_of,
    pick,
    refuse_doubles,
    refuse_intervals,
    require,
    require_headers,
)

from .decoding import DEAD_LETTER, FAILFAST, POSITION, ReadOptions, decoding_of, numbered, result_columns
from .encoding import Encoder
from .reading import TopicReader
from .seen import SeenSchemas, planned

if TYPE_CHECKING:
    from .decoding import Reader

_AROUND: Final[Mapping[str, tuple[type[T.DataType], ...]]] = {
    "key": (T.BinaryType, T.StringType),
    "value": (T.BinaryType, T.StringType),
    "topic": (T.StringType,),
    "partition": (T.IntegralType,),
    "offset": (T.IntegralType,),
}


def decode_df(
    df: DataFrame,
    conf: Mapping[str, Any],
    *,
    topic: str,
    schema: object = None,
    value: str = "value",
    key: str = "key",
    headers: str = "headers",
    keep: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    seen: SeenSchemas | None = None,
    converter: str | None = None,
) -> DataFrame:
    """Decode a binary column of messages to one column per field of the record; works on streams too.

    Each message is decoded with the schema version in its header, and resolved to one reader's schema, which is fixed
    now. The driver fetches all current versions of the topic; workers fetch later versions, once each.

    Args:
        df: a DataFrame of messages, such as from the data source or Spark's own Kafka source.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        topic: the Kafka topic that all messages come from.
        schema: the reader's schema; by default, the topic's latest schema at this moment.
        value: the name of the column of messages. A null is a tombstone, and becomes null in all fields.
        key: the name of the column of the messages' keys, which is used only if the topic is of type KEY_VALUE with the
            encoding SEPARATED.
        headers: the name of the column of headers, which is used only if a framing of ``framings`` is in headers.
        keep: names of columns to keep, in front of the new ones.
        options: ``mode``: for a message that cannot be decoded, ``FAILFAST`` (the default) fails the job,
            ``PERMISSIVE`` returns nulls, and ``DROPMALFORMED`` drops the row. ``errorColumn``: the name of a column for
            errors; it implies ``PERMISSIVE``. The column is null for decoded messages, else a struct of ``error`` and
            the original message, for :func:`split_errors`. ``schemaEvolution``: ``none`` (the default) resolves newer
            versions to the reader's schema, ``restart`` fails the job with SchemaEvolvedError, so that it can restart
            with the new schema.
        seen: how far the query has read, for ``reader.schema.policy=latest.seen``. With that policy, a job finds the
            highest version that ``df`` holds, unless the topic has only one that it can be. ``df`` must not be a
            stream: call ``decode_df`` in a function of ``foreachBatch``.
        converter: ``connect-json`` for messages that Kafka Connect's JsonConverter wrote. No registry is asked:
            ``conf`` has the options of :class:`streamnative_serdes.connect.JsonConverter`, ``schema`` is a schema of
            Connect or its JSON text, and by default the first message's schema. Messages with another schema are
            projected to ``schema`` by Connect's rules; columns have the types of ``spark.connect.types``.

    Returns:
        a DataFrame of ``keep``, the record's fields (one column "value" if the schema is not a record; for KEY_VALUE
        topics the columns "key" and "value", which are structs for records), and the ``errorColumn``. All new columns
        are nullable and have the types of :func:`to_spark_type`, with TIME if the session has
        ``spark.sql.timeType.enabled``.

    Raises:
        ConfigError: an invalid option, a Column instead of a name, a missing column, a duplicate name, no columns at
            all, or a ``reader.schema.policy`` that is not possible here.
        SchemaError: Spark has no type for the schema.
        SchemaRegistryError: the registry refuses or cannot be reached, or ``schema`` is None and the topic has none.
    """
    _refuse_options(df, "decode_df")
    value, keep, chosen = name_of("value", value), names_of("keep", keep), ReadOptions.parse(options)
    _require_bytes(df, value)
    warn_of_workers(df.sparkSession)
    reader = _reader(df, conf, schema, topic, (value, headers), seen, converter, chosen)
    of_headers = require_headers(df, name_of("headers", headers)) if reader.needs_headers() else None
    of_keys = _require_keys(df, name_of("key", key), topic) if reader.needs_keys() else None
    around = _around(df, value, chosen, of_keys or "key")
    task = decoding_of(
        topic, Carried(reader), chosen, value, headers=of_headers, keys=of_keys, around=around, keep=keep
    )
    columns = result_columns((require(df, name) for name in keep), reader, chosen, topic)
    refuse_doubles(df, columns.names)
    return pick(df, task.names).mapInArrow(task, columns)


def encode_df(
    df: DataFrame,
    conf: Mapping[str, Any],
    *,
    topic: str,
    schema: object = None,
    value: str = "value",
    key: str = "key",
    keep: Sequence[str] = (),
) -> DataFrame:
    """Encode the rows to messages in a binary column; works on streams too.

    Each field of the schema is written from the column with its name. Use ``keep`` for the columns of the message key.

    Args:
        df: a DataFrame with a column for each field without a default. Additional columns are ignored if every field
            has a column; otherwise the option ``unmatched.columns`` decides. The same applies to fields of structs.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        topic: the Kafka topic that the messages are for.
        schema: the messages' schema, which is registered in the topic now; ``to_avro_schema(df.schema)`` derives one.
            By default, the topic's latest schema at this moment.
        value: the name of the new column of messages.
        key: the name of the new column of messages' keys, in front of the messages, for topics of type KEY_VALUE. The
            rows have the columns "key" and "value". With the encoding INLINE, keys are part of the values, and the new
            column is null.
        keep: names of columns to keep, in front of the new columns.

    Raises:
        ConfigError: an invalid option, a field without a column or whose column differs in case, columns that do not
            match the fields, a duplicate name, or a column of intervals.
        EncodeError: a column type does not match its field, or the fields of a struct do not match.
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """
    _refuse_options(df, "encode_df")
    value, keep = name_of("value", value), names_of("keep", keep)
    warn_of_workers(df.sparkSession)
    encoder, writer = Encoder.plan(topic, conf, schema, pairs=True)
    fields = writer.fields_of(df.columns, keep)
    kinds = [require(df, name).dataType for name in fields]
    for name, kind in zip(fields, kinds, strict=True):
        refuse_intervals(name, kind, T.YearMonthIntervalType, T.DayTimeIntervalType)
    writer.try_columns(zip(fields, kinds, strict=True))
    made = [name_of("key", key), value] if writer.writes_pairs else [value]
    columns = [*(require(df, name) for name in keep), *(T.StructField(name, T.BinaryType()) for name in made)]
    refuse_doubles(df, [column.name for column in columns])
    needed = list(dict.fromkeys([*fields, *keep]))
    task = _Encode(encoder, tuple(fields), tuple(needed.index(name) for name in keep))
    return pick(df, needed).mapInArrow(task, T.StructType(columns))


def split_errors(df: DataFrame, error_column: str) -> tuple[DataFrame, DataFrame]:
    """Split the result of ``decode_df`` into decoded rows and dead letters.

    Both are computed lazily from ``df``: persist it to avoid decoding twice.

    Args:
        df: from ``decode_df(..., options={"errorColumn": error_column})``.
        error_column: the name of the error column.

    Returns:
        the decoded rows, without ``error_column``; and ``error``, ``key``, ``value``, ``topic``, ``partition`` and
        ``offset`` of the messages that could not be decoded.

    Raises:
        ConfigError: ``df`` does not have this error column.
    """
    error_column = name_of("error_column", error_column)
    found = {field.name: field.dataType for field in df.schema.fields}.get(error_column)
    if not isinstance(found, T.StructType) or found.names != DEAD_LETTER.names:
        raise ConfigError(
            f"expected {error_column!r:.80} to be an error column of decode_df",
            hint='create it with decode_df(..., options={"errorColumn": ...})',
        )
    errors = df[backticked(error_column)]
    dead = [errors[name].alias(name) for name in DEAD_LETTER.names]
    return df.where(errors.isNull()).drop(errors), df.where(errors.isNotNull()).select(dead)


def _reader(
    df: DataFrame,
    conf: Mapping[str, Any],
    schema: object,
    topic: str,
    columns: tuple[str, str],
    seen: SeenSchemas | None,
    converter: str | None,
    options: ReadOptions,
) -> Reader:
    """The reader: by the registry's schemas, or as one of Connect's converters."""
    if converter is None:
        conf, schema = planned(df, conf, schema, topic, columns, seen)
        return TopicReader(topic, conf, schema, restart=options.restart, times=has_time(df.sparkSession))
    if converter != CONNECT_JSON:
        raise ConfigError(f"converter: expected {CONNECT_JSON}, got {converter!r:.80}")
    if seen is not None:
        raise ConfigError(f"seen has no effect with converter={CONNECT_JSON}", hint="leave it out")
    return planned_reader(df, columns[0], topic, conf, schema, restart=options.restart)


@dataclass(frozen=True, slots=True)
class _Encode:
    """The task of :func:`encode_df`."""

    encoder: Encoder
    fields: tuple[str, ...]  # the first columns
    keep: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part, messages in in_parts(batch, self._write):
                made = messages.columns if isinstance(messages, pa.RecordBatch) else [messages]
                yield numbered([*(part.column(number) for number in self.keep), *made])

    def _write(self, batch: pa.RecordBatch) -> pa.Array | pa.RecordBatch:
        columns = batch.columns[: len(self.fields)]
        return self.encoder.encode(pa.RecordBatch.from_arrays(columns, list(self.fields)))


def _refuse_options(df: object, name: str) -> None:
    if isinstance(df, Mapping):
        raise ConfigError("expected a DataFrame, got options", hint=f'{name}(df, conf, topic="orders")')


def _around(df: DataFrame, value: str, options: ReadOptions, key: str = "key") -> dict[str, str]:
    """The columns that identify an undecodable message: field of a dead letter -> column."""
    kinds = {field.name: field.dataType for field in df.schema.fields if field.name in _AROUND}
    if value != "key":  # when decoding the key, the column "value" is kept unchanged
        kinds.pop("value", None)
    if key != "key":  # the column of that name is another one
        kinds.pop("key", None)
    others = [name for name, kind in kinds.items() if not isinstance(kind, _AROUND[name])]
    if options.error_column is not None:
        if others:
            raise ConfigError(
                f"column {others[0]}: expected the type of a Kafka message's {others[0]}, "
                f"got {kinds[others[0]].simpleString()}",
                hint="errorColumn stores a message's key, topic, partition and offset; rename unrelated columns",
            )
        own = {} if value == "key" else {"value": value}
        return {name: name for name in kinds} | own | ({} if key == "key" else {"key": key})
    if options.mode != FAILFAST:
        return {}
    return {name: name for name in POSITION if name in kinds and name not in others}


def _require_keys(df: DataFrame, name: str, topic: str) -> str:
    if name not in df.columns:
        raise ConfigError(
            f"the topic's keys are the messages' keys, and the DataFrame has no column {name!r:.80} with them",
            topic=topic,
            hint='keep the column, or name another one with key="..."',
        )
    _require_bytes(df, name)
    return name


def _require_bytes(df: DataFrame, name: str) -> None:
    kind = require(df, name).dataType
    if kind != T.BinaryType():
        raise ConfigError(f"column {name}: expected messages of type BINARY, got {kind.simpleString()}")
