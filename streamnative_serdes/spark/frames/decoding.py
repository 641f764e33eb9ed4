"""Decoding: a topic's messages become columns in a task; the mode decides about unreadable messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from streamnative_serdes._nearest import did_you_mean
from streamnative_serdes.arrow import in_parts
from streamnative_serdes.arrow.kafka_columns import DEAD_LETTER as _DEAD_LETTER
from streamnative_serdes.arrow.kafka_columns import dead_letters, kafka_columns
from streamnative_serdes.errors import ConfigError, DecodeError, RawMessage
from streamnative_serdes.spark.session.workers import Carried
from streamnative_serdes.spark.types.arrow import KAFKA_COLUMNS, Decoded

if TYPE_CHECKING:
    from confluent_kafka import Message

    from streamnative_serdes.spark.connect.decoding import ConnectReader

    from .reading import TopicReader

    Reader: TypeAlias = TopicReader | ConnectReader

FAILFAST: Final = "FAILFAST"
PERMISSIVE: Final = "PERMISSIVE"
DROPMALFORMED: Final = "DROPMALFORMED"
# The columns of Spark's Kafka source that a dead letter keeps, if the DataFrame has them.
DEAD_LETTER: Final = T.StructType(
    [
        T.StructField("error", T.StringType()),
        *(KAFKA_COLUMNS[name] for name in ("key", "value", "topic", "partition", "offset")),
    ]
)
POSITION: Final = ("partition", "offset")  # identify a message within its topic
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "mode": (FAILFAST, PERMISSIVE, DROPMALFORMED),
    "schemaEvolution": ("none", "restart"),
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Validated options."""

    # a message that cannot be decoded fails the job (``FAILFAST``), becomes nulls (``PERMISSIVE``), or is dropped
    # (``DROPMALFORMED``)
    mode: str = FAILFAST
    error_column: str | None = None  # the column for errors; only with ``PERMISSIVE``
    # a schema version newer than the plan fails the job, so that it can restart with the new schema
    restart: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, Any] | None) -> ReadOptions:
        """Parse ``mode``, ``errorColumn`` and ``schemaEvolution``; values ignore case."""
        if options is not None and not isinstance(options, Mapping):
            raise ConfigError(f"expected the options as a dict, got {type(options).__name__}")
        given: dict[str, Any] = dict(options or {})
        column = given.pop("errorColumn", None)
        mode = _choice("mode", given.pop("mode", FAILFAST if column is None else PERMISSIVE))
        evolution = _choice("schemaEvolution", given.pop("schemaEvolution", "none"))
        _refuse_unknown(given)
        if column is not None and (not isinstance(column, str) or not column):
            raise ConfigError(f"errorColumn: expected a column name, got {column!r:.80}")
        if column is not None and mode != PERMISSIVE:
            raise ConfigError(f"errorColumn requires mode PERMISSIVE, got {mode}")
        return cls(mode, column, evolution == "restart")


def _choice(name: str, given: object) -> str:
    for word in _CHOICES[name]:
        if isinstance(given, str) and given.lower() == word.lower():
            return word
    raise ConfigError(f"{name}: expected {' or '.join(_CHOICES[name])}, got {given!r:.80}")


def _refuse_unknown(given: Mapping[str, Any]) -> None:
    known = (*_CHOICES, "errorColumn")
    for name in given:
        hint = did_you_mean(str(name), known) or f"the options are {', '.join(known)}"
        raise ConfigError(f"unknown option {name!r:.80}", hint=hint)


@dataclass(frozen=True, slots=True)
class MessageRows:
    """The methods of a record batch that a task uses, for a client's messages, which are decoded in place.

    ``names`` are the columns of Spark's Kafka source that the task knows, by number.
    """

    messages: Sequence[Message]
    names: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        return len(self.messages)

    def column(self, number: int) -> pa.Array:
        """A column, made at each call."""
        return kafka_columns(self.messages, (self.names[number],)).column(0)

    def slice(self, offset: int, length: int | None = None) -> MessageRows:
        """Some of the rows, as ``pa.RecordBatch.slice`` does."""
        end = None if length is None else offset + length
        return MessageRows(self.messages[offset:end], self.names)


# A batch of messages: a DataFrame's columns, or what a client returned.
Rows: TypeAlias = pa.RecordBatch | MessageRows


@dataclass(frozen=True, slots=True)
class Decoding:
    """Decodes the messages of a topic to columns, for :func:`decode_df`, :func:`from_avro` and the data source.

    The object goes to the workers. Columns are addressed by index.
    """

    topic: str  # the Kafka topic
    reader: Carried[Any]  # the topic's Reader
    mode: str  # of ReadOptions
    value: int = 0  # the column of messages
    headers: int | None = None  # the column of the messages' headers, if the reader needs headers
    keys: int | None = None  # the column of the messages' keys, if the reader needs keys
    around: Mapping[str, int] = field(default_factory=dict)  # field of a dead letter -> column of the field
    keep: tuple[int, ...] = ()  # columns to keep, in front of the new columns
    with_errors: bool = False  # whether a column of errors follows the new columns
    # the names of the columns; if messages come from a client, those of Spark's Kafka source
    names: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for columns in self.columns(batch):
                yield numbered(columns)

    def columns(self, batch: Rows) -> Iterator[list[pa.Array]]:
        """The columns of a batch, or of as many consecutive parts as needed."""
        for part, decoded in in_parts(batch, self._read):
            found = [*map(part.column, self.keep), *decoded.columns]
            if self.with_errors:
                found.append(self._dead_letters(part, decoded))
            if self.mode == DROPMALFORMED and decoded.failed:
                good = pc.is_null(decoded.errors)
                found = [column.filter(good) for column in found]
            yield found

    def decode(self, messages: Any, headers: Any = None, keys: Any = None) -> Decoded:
        """As :meth:`TopicReader.decode`, in this mode."""
        reader: Reader = self.reader.get()
        return reader.decode(messages, headers, keys, self.mode == FAILFAST)

    def _read(self, batch: Rows) -> Decoded:
        # A client's messages have values, headers and keys.
        client = batch.messages if isinstance(batch, MessageRows) else None
        columns = (self.value, self.headers, self.keys)
        parts = [None if number is None else batch.column(number) if client is None else client for number in columns]
        try:
            return self.decode(*parts)
        except DecodeError as error:
            if error.row is not None:
                found = {name: batch.column(number)[error.row].as_py() for name, number in self.around.items()}
                data = batch.column(self.value)[error.row].as_py()
                error.raw = RawMessage(data, self.topic, found.get("partition"), found.get("offset"))
                error.hint = error.hint or "set errorColumn to keep messages that cannot be decoded"
            raise

    def _dead_letters(self, batch: Rows, decoded: Decoded) -> pa.Array:
        if not decoded.failed:
            return pa.nulls(batch.num_rows, _DEAD_LETTER)
        return dead_letters(
            decoded.errors, self.topic, {name: batch.column(number) for name, number in self.around.items()}
        )


def numbered(arrays: list[pa.Array]) -> pa.RecordBatch:
    """A batch whose columns have numbers as names: Spark matches the columns by position."""
    return pa.RecordBatch.from_arrays(arrays, [str(number) for number in range(len(arrays))])


def decoding_of(
    topic: str,
    reader: Carried[Any],
    options: ReadOptions,
    value: str = "value",
    *,
    headers: str | None,
    keys: str | None,
    around: Mapping[str, str],
    keep: Sequence[str],
) -> Decoding:
    """The decoding of the columns with these names, which are its ``names``; the arguments are as for Decoding."""
    needed = [value, headers, keys, *around.values(), *keep]
    names = tuple(dict.fromkeys(name for name in needed if name is not None))
    place = {name: number for number, name in enumerate(names)}
    return Decoding(
        topic,
        reader,
        options.mode,
        place[value],
        None if headers is None else place[headers],
        None if keys is None else place[keys],
        {name: place[column] for name, column in around.items()},
        tuple(place[name] for name in keep),
        options.error_column is not None,
        names,
    )


def result_columns(kept: Iterable[T.StructField], reader: Reader, options: ReadOptions, topic: str) -> T.StructType:
    """Return ``kept``, the decoded fields and the error column. Raises ConfigError if the result has no columns."""
    columns = [*kept, *new_columns(reader)]
    if options.error_column:
        columns.append(T.StructField(options.error_column, DEAD_LETTER))
    if not columns:
        raise ConfigError(
            "the schema has no fields, so the result would have no columns",
            topic=topic,
            hint="keep a column, or set errorColumn",
        )
    return T.StructType(columns)


def new_columns(reader: Reader) -> list[T.StructField]:
    """The columns of the decoded fields; all are nullable, since a tombstone has no fields."""
    kind = reader.spark_type()
    if not reader.reads_records() and not reader.reads_pairs():
        return [T.StructField("value", kind)]
    assert isinstance(kind, T.StructType)
    return [T.StructField(field.name, field.dataType) for field in kind.fields]
