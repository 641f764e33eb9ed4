"""DataFrames of messages to DataFrames of columns and back: by Arrow's batches, without Python objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.errors import ConfigError, DecodeError, RawMessage

from .decoding import Decoded, Decoder, TopicReader, good
from .encoding import Encoder
from .names import name_of, names_of, pick, quoted, refuse_doubles, refuse_intervals, require
from .options import FAILFAST, ReadOptions
from .pythons import warn_of_workers

# What of a message a dead letter keeps, where the DataFrame has it: the columns of Spark's Kafka source.
_DEAD_LETTER: Final = T.StructType(
    [
        T.StructField("error", T.StringType()),
        T.StructField("key", T.BinaryType()),
        T.StructField("value", T.BinaryType()),
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
    ]
)
_ARROW: Final[Mapping[str, pa.DataType]] = {
    "error": pa.string(),
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
}
_AROUND: Final[Mapping[str, tuple[type[T.DataType], ...]]] = {
    "key": (T.BinaryType, T.StringType),
    "value": (T.BinaryType, T.StringType),
    "topic": (T.StringType,),
    "partition": (T.IntegralType,),
    "offset": (T.IntegralType,),
}
_PLACE: Final = ("partition", "offset")  # names a message in its topic


def decode_df(
    df: DataFrame,
    conf: Mapping[str, Any],
    *,
    topic: str,
    schema: object = None,
    value: str = "value",
    keep: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The messages in a binary column as columns, one for each field of the record; of streams, too.

    Each message is read by the schema version that it names, as one reader's schema, fixed now: the driver asks the
    registry for all versions that the topic has, and workers ask for those that come later, once each.

    Args:
        df: with the messages, as Spark's Kafka source or :meth:`KafkaAvroSource.load` has them.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        topic: the Kafka topic that all messages come from.
        schema: the reader's schema; without one, the topic's latest now.
        value: the column of messages. Null is a tombstone, and gives null in all fields.
        keep: the names of columns that stay, before the new ones.
        options: ``mode``: ``FAILFAST`` (the default) fails the job for a message that cannot be read, ``PERMISSIVE``
            gives nulls, ``DROPMALFORMED`` leaves it out. ``errorColumn``, which makes the mode ``PERMISSIVE``: a name;
            that column is null for what could be read, else a struct of ``error`` and the message as it came, for
            :func:`split_errors`. ``schemaEvolution``: ``none`` (the default) reads newer versions as the reader's
            schema, ``restart`` fails the job for one with SchemaEvolvedError, so that it is planned anew.

    Returns:
        a DataFrame of ``keep``, the record's fields (a column "value" where the schema is no record), and the
        ``errorColumn``. All new columns are nullable, and of the types of :func:`to_spark_type`, with TIME if the
        session has ``spark.sql.timeType.enabled``.

    Raises:
        ConfigError: a bad option, a Column where a name is expected, a column that is not there, one name for two, or
            no column at all.
        SchemaError: Spark has no type for the schema.
        SchemaRegistryError: the registry refuses to answer, or the topic has no schema and none is given.
    """
    value, keep, chosen = name_of("value", value), names_of("keep", keep), ReadOptions.parse(options)
    _require_bytes(df, value)
    warn_of_workers(df.sparkSession)
    decoder, reader = Decoder.plan(df.sparkSession, topic, conf, schema, chosen)
    around = _around(df, value, chosen)
    needed = list(dict.fromkeys([value, *around.values(), *keep]))
    place = {name: number for number, name in enumerate(needed)}
    task = _Decode(
        decoder,
        place[value],
        {name: place[column] for name, column in around.items()},
        tuple(place[name] for name in keep),
        chosen.error_column is not None,
    )
    columns = [*(require(df, name) for name in keep), *_new_columns(reader)]
    if chosen.error_column:
        columns.append(T.StructField(chosen.error_column, _DEAD_LETTER))
    if not columns:
        raise ConfigError(
            "the schema has no fields, so no column would be left", topic=topic, hint="keep one, or name an errorColumn"
        )
    refuse_doubles(df, [column.name for column in columns])
    return pick(df, needed).mapInArrow(task, T.StructType(columns))


def encode_df(
    df: DataFrame,
    conf: Mapping[str, Any],
    *,
    topic: str,
    schema: object = None,
    value: str = "value",
    keep: Sequence[str] = (),
) -> DataFrame:
    """The rows as messages in a binary column; of streams, too.

    Each field of the schema is written from the column of its name. ``keep`` may hold what makes the message's key.

    Args:
        df: with a column for each field, but for those that have a default. Other columns are left out if all fields
            have a column; otherwise the option ``unmatched.columns`` decides. So are fields of structs.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        topic: the Kafka topic that the messages are for.
        schema: of the messages, registered on the topic now; ``to_avro_schema(df.schema)`` makes one. Without one, the
            topic's latest now.
        value: the name of the column of messages.
        keep: the names of columns that stay, before it.

    Raises:
        ConfigError: a bad option, a field without a column or with one in other letters, columns and fields that do
            not match, one name for two, or a column of intervals.
        EncodeError: a column type does not match its field, or the fields of a struct do not match.
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """
    value, keep = name_of("value", value), names_of("keep", keep)
    warn_of_workers(df.sparkSession)
    encoder, writer = Encoder.plan(topic, conf, schema)
    fields = writer.columns_of(df.columns, keep)
    kinds = [require(df, name).dataType for name in fields]
    for name, kind in zip(fields, kinds, strict=True):
        refuse_intervals(name, kind, T.YearMonthIntervalType, T.DayTimeIntervalType)
    writer.try_columns(zip(fields, kinds, strict=True))
    columns = [*(require(df, name) for name in keep), T.StructField(value, T.BinaryType())]
    refuse_doubles(df, [column.name for column in columns])
    needed = list(dict.fromkeys([*fields, *keep]))
    task = _Encode(encoder, tuple(fields), tuple(needed.index(name) for name in keep))
    return pick(df, needed).mapInArrow(task, T.StructType(columns))


def split_errors(df: DataFrame, error_column: str) -> tuple[DataFrame, DataFrame]:
    """What ``decode_df`` could read, and the dead letters.

    Both are computed from ``df``, each when it is used: persist it where decoding twice is not wanted.

    Args:
        df: from ``decode_df(..., options={"errorColumn": error_column})``.
        error_column: its name.

    Returns:
        the rows that could be read, without ``error_column``; and ``error``, ``key``, ``value``, ``topic``,
        ``partition`` and ``offset`` of the messages that could not.

    Raises:
        ConfigError: ``df`` has no such column.
    """
    error_column = name_of("error_column", error_column)
    found = {field.name: field.dataType for field in df.schema.fields}.get(error_column)
    if not isinstance(found, T.StructType) or found.names != _DEAD_LETTER.names:
        raise ConfigError(
            f"{error_column!r:.80} is no column of decode_df's errors",
            hint='decode_df(..., options={"errorColumn": ...}) makes it',
        )
    errors = df[quoted(error_column)]
    dead = [errors[name].alias(name) for name in _DEAD_LETTER.names]
    return df.where(errors.isNull()).drop(errors), df.where(errors.isNotNull()).select(dead)


@dataclass(frozen=True, slots=True)
class _Decode:
    """The task of :func:`decode_df`. Columns go by number: :func:`pick` has them in order."""

    decoder: Decoder
    value: int
    around: Mapping[str, int]  # by what they are of a dead letter
    keep: tuple[int, ...]
    with_errors: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part, decoded in in_parts(batch, self._read):
                arrays = [*(part.column(number) for number in self.keep), *decoded.columns]
                if self.with_errors:
                    arrays.append(self._dead_letters(part, decoded))
                out = _numbered(arrays)
                yield out.filter(good(decoded.errors)) if self.decoder.drops(decoded) else out

    def _read(self, batch: pa.RecordBatch) -> Decoded:
        try:
            return self.decoder.decode(batch.column(self.value))
        except DecodeError as error:
            if error.row is not None:
                found = {name: batch.column(number)[error.row].as_py() for name, number in self.around.items()}
                data = batch.column(self.value)[error.row].as_py()
                error.raw = RawMessage(data, self.decoder.topic, found.get("partition"), found.get("offset"))
                error.hint = error.hint or "an errorColumn keeps messages that cannot be read"
            raise

    def _dead_letters(self, batch: pa.RecordBatch, decoded: Decoded) -> pa.Array:
        kind = pa.struct(list(_ARROW.items()))
        if not decoded.failed:
            return pa.nulls(batch.num_rows, kind)
        well = good(decoded.errors)
        found = {name: batch.column(number) for name, number in self.around.items()}
        found.setdefault("topic", pa.array([self.decoder.topic] * batch.num_rows))
        # Nothing but what is dead goes back to Spark: nulls take no room. By numbers, since if_else of pyarrow 20 makes
        # an invalid array of a part of binaries.
        dead = pc.if_else(well, None, pa.array(range(batch.num_rows)))
        raw = {name: array.take(dead).cast(_ARROW[name]) for name, array in found.items()}
        raw["error"] = decoded.errors
        arrays = [raw.get(name, pa.nulls(batch.num_rows, kind)) for name, kind in _ARROW.items()]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=well)


@dataclass(frozen=True, slots=True)
class _Encode:
    """The task of :func:`encode_df`."""

    encoder: Encoder
    fields: tuple[str, ...]  # the first columns
    keep: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part, messages in in_parts(batch, self._write):
                yield _numbered([*(part.column(number) for number in self.keep), messages])

    def _write(self, batch: pa.RecordBatch) -> pa.Array:
        columns = batch.columns[: len(self.fields)]
        return self.encoder.encode(pa.RecordBatch.from_arrays(columns, list(self.fields)))


def _numbered(arrays: list[pa.Array]) -> pa.RecordBatch:
    """Spark takes columns by their place."""
    return pa.RecordBatch.from_arrays(arrays, [str(number) for number in range(len(arrays))])


def _around(df: DataFrame, value: str, options: ReadOptions) -> dict[str, str]:
    """The columns that tell which messages cannot be read, by what they are of a dead letter."""
    kinds = {field.name: field.dataType for field in df.schema.fields if field.name in _AROUND}
    if value != "key":  # else the value is not what is read, and kept as it is
        kinds.pop("value", None)
    others = [name for name, kind in kinds.items() if not isinstance(kind, _AROUND[name])]
    if options.error_column is not None:
        if others:
            raise ConfigError(
                f"expected {others[0]} to be that of a message, got {kinds[others[0]].simpleString()}",
                hint="errorColumn keeps a message's key, topic, partition and offset; rename columns of other things",
            )
        return {name: name for name in kinds} | ({} if value == "key" else {"value": value})
    return {name: name for name in _PLACE if name in kinds and name not in others} if options.mode == FAILFAST else {}


def _new_columns(reader: TopicReader) -> list[T.StructField]:
    """Each may be null: a tombstone has none of them."""
    kind = reader.spark_type()
    if not reader.reads_records():
        return [T.StructField("value", kind)]
    assert isinstance(kind, T.StructType)
    return [T.StructField(field.name, field.dataType) for field in kind.fields]


def _require_bytes(df: DataFrame, name: str) -> None:
    kind = require(df, name).dataType
    if kind != T.BinaryType():
        raise ConfigError(f"expected {name} to be a column of messages, BINARY, got {kind.simpleString()}")
