"""Columns of the sink: which columns of a DataFrame are the parts of messages, and which are fields of their values.

::

    encode=false      key, value, headers, topic, partition, timestamp, as in Spark's Kafka sink; others are unused
    encode=value      the same, but the value is encoded by the topic's schema; for KEY_VALUE topics, the key too
    encode=columns    columns are fields of the record; ``keep`` names those that are parts of the message instead
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from pyspark.sql import types as T

from streamnative_serdes._nearest import nearest
from streamnative_serdes._schema import Record
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.user_options.options import CarriedWithSecrets, Options
from streamnative_serdes.spark.frames.encoding import Encoder, TopicWriter
from streamnative_serdes.spark.types.names import refuse_intervals, refuse_other_headers

RAW: Final = "false"
VALUE: Final = "value"
COLUMNS: Final = "columns"

PARTS: Final = ("key", "value", "headers", "topic", "partition", "timestamp")
_OF_THE_SOURCE: Final = ("offset", "timestampType")  # a DataFrame that was read has them too; they cannot be written
_BYTES: Final = (T.StringType, T.BinaryType, T.CharType, T.VarcharType, T.NullType)
_KINDS: Final[Mapping[str, tuple[tuple[type[T.DataType], ...], str]]] = {
    "key": (_BYTES, "string or binary"),
    "value": (_BYTES, "string or binary"),
    "topic": ((T.StringType, T.CharType, T.VarcharType), "string"),
    "partition": ((T.IntegerType,), "int"),
    "timestamp": ((T.TimestampType,), "timestamp"),
}
_ALIKE: Final = 0.75  # a column with a name that is as much like a part's was probably meant to be that part


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """The columns of a message's parts, by index."""

    parts: Mapping[str, int]  # index by name of the part; parts without a column are missing
    fields: tuple[str, ...] = ()  # names of the columns that are encoded together
    indexes: tuple[int, ...] = ()  # the indexes of these columns
    # encodes these columns to the value; for topics of type KEY_VALUE, to the key, too
    encoder: Encoder | None = field(default=None, repr=False)

    @property
    def plain(self) -> bool:
        """Whether messages have nothing but a value and a key."""
        return self.parts.keys() <= {"key", "value"}

    @property
    def used(self) -> list[int]:
        """The indexes of the columns that are written; the sink ignores others."""
        return [*self.parts.values(), *self.indexes]

    def encode(self, batch: pa.RecordBatch) -> pa.Array | pa.RecordBatch:
        """The messages' values; for topics of type KEY_VALUE, their keys and values."""
        if self.encoder is None:
            return batch.column(self.parts["value"])
        if not self.fields:
            return self.encoder.encode_column(batch.column(self.indexes[0]))
        arrays = [batch.column(index) for index in self.indexes]
        return self.encoder.encode(pa.RecordBatch.from_arrays(arrays, list(self.fields)))


def match_columns(schema: T.StructType, topic: str | None, encode: str, options: Options) -> SinkColumns:
    """Look at the columns of a DataFrame, on the driver.

    Args:
        schema: of the DataFrame.
        topic: where all messages go; None if the column ``topic`` says it.
        encode: ``RAW``, ``VALUE`` or ``COLUMNS``.
        options: ``keep``, ``schema`` and those of the serializer.
    """
    keep = kept_parts(options, all_columns=encode == COLUMNS)
    parts = _parts_of(schema, encode, keep)
    if topic is not None:
        parts.pop("topic", None)  # Spark's sink ignores the column, too, if there is the option
    elif "topic" not in parts:
        raise ConfigError("there is neither the option topic nor a column topic", hint='.option("topic", "orders")')
    if encode == RAW:
        _require(parts, "value", schema)
        _require_kinds(schema, parts)
        return SinkColumns(parts)
    if topic is None:
        raise no_topic()
    encoder, writer = _encoder(topic, options)
    refuse_kept_key(keep, topic, pairs=writer.writes_pairs)
    names: tuple[str, ...] = ()
    indexes: tuple[int, ...]
    if encode == VALUE and not writer.writes_pairs:
        index = _require(parts, "value", schema)
        del parts["value"]
        indexes = (index,)
        _refuse_intervals(schema, indexes)
        writer.refuse_unmatched(schema[index].dataType)
        writer.try_value(schema[index].dataType)
    else:
        halves = {"key", "value"} if encode == VALUE else set(schema.names) - set(keep)
        names = tuple(writer.fields_of([name for name in schema.names if name in halves]))
        indexes = tuple(schema.names.index(name) for name in names)
        if encode == COLUMNS:
            _refuse_lost_parts(schema, {*keep, *names})
        if writer.writes_pairs:
            parts = {name: index for name, index in parts.items() if name not in ("key", "value")}
        _refuse_intervals(schema, indexes)
        writer.try_columns((schema[index].name, schema[index].dataType) for index in indexes)
    _require_kinds(schema, parts)
    return SinkColumns(parts, names, indexes, encoder)


def _encoder(topic: str, options: Options) -> tuple[Encoder, TopicWriter]:
    """The encoder and writer of a topic. Registers the option ``schema``, if set; pickles have no secrets."""
    writer = TopicWriter(topic, options.conf(), options.text("schema"))
    return Encoder(topic, CarriedWithSecrets(writer, options), isinstance(writer.root, Record)), writer


def _parts_of(schema: T.StructType, encode: str, keep: Sequence[str]) -> dict[str, int]:
    """The columns that are parts of messages, by name."""
    names = schema.names
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two columns have the name {name!r:.80}", hint="rename or drop one of them")
    if encode == COLUMNS:
        return {name: _kept(schema, name) for name in keep}
    for name in names:
        near = None if name in (*PARTS, *_OF_THE_SOURCE) else nearest(name.lower(), PARTS, _ALIKE)
        if near is not None and near not in names:
            raise ConfigError(
                f"the sink has no column {name!r:.80}; did you mean {near}?", hint="rename the column, or drop it"
            )
    return {name: names.index(name) for name in PARTS if name in names}


def _refuse_lost_parts(schema: T.StructType, used: Collection[str]) -> None:
    for name in ("key", "headers"):
        if name in schema.names and name not in used:
            raise ConfigError(
                f"the column {name} is neither a field nor in keep: messages would have no {name}",
                hint=f"keep={name} writes it; or drop the column",
            )


def kept_parts(options: Options, *, all_columns: bool) -> tuple[str, ...]:
    """The option ``keep``; ``all_columns`` with ``encode=columns``.

    Raises:
        ConfigError: the option has no effect, or a name is not the name of a part.
    """
    keep = options.words("keep")
    if keep and not all_columns:
        raise ConfigError(
            "keep has an effect with encode=columns alone",
            hint="otherwise each column with the name of a part is that part",
        )
    for name in keep:
        if name not in PARTS or name == "value":
            allowed = ", ".join(part for part in PARTS if part != "value")
            raise ConfigError(f"keep: messages have no part {name!r:.80}", hint=f"their parts are {allowed}")
    return keep


def refuse_kept_key(keep: Sequence[str], topic: str, *, pairs: bool) -> None:
    """Raises ConfigError if ``keep`` has the key of a KEY_VALUE topic, whose schema encodes the key."""
    if pairs and "key" in keep:
        raise ConfigError(
            "keep: the schema of a topic of type KEY_VALUE encodes the key", topic=topic, hint="leave key out of keep"
        )


def no_topic() -> ConfigError:
    """The error if there is no topic whose schema could encode values."""
    return ConfigError("values are encoded by the schema of one topic, so the option topic is required")


def _kept(schema: T.StructType, name: str) -> int:
    if name not in schema.names:
        raise ConfigError(
            f"keep: there is no column {name!r:.80}", hint=f"the columns are {', '.join(schema.names)}"[:500]
        )
    return schema.names.index(name)


def _require(parts: Mapping[str, int], name: str, schema: T.StructType) -> int:
    if name not in parts:
        raise ConfigError(
            f"there is no column {name}, which the sink needs",
            hint=f"the columns are {', '.join(schema.names)}; encode=columns makes a message of them"[:500],
        )
    return parts[name]


def _require_kinds(schema: T.StructType, parts: Mapping[str, int]) -> None:
    for name, index in parts.items():
        kind = schema[index].dataType
        if name == "headers":
            refuse_other_headers("column headers", kind)
            continue
        kinds, expected = _KINDS[name]
        if not isinstance(kind, kinds):
            hint = "cast it" if name != "value" else "encode=value encodes it by the topic's schema"
            raise ConfigError(f"column {name}: expected type {expected}, got {kind.simpleString()}"[:500], hint=hint)


def _refuse_intervals(schema: T.StructType, indexes: Sequence[int]) -> None:
    for index in indexes:
        refuse_intervals(schema[index].name, schema[index].dataType, T.YearMonthIntervalType, T.DayTimeIntervalType)
