"""DecodeTask: turns batches of messages into batches of columns, inside a Spark task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.errors import DecodeError, RawMessage

from .connect.decoding import ConnectDecoder, ConnectReader
from .decoding import Decoded, Decoder, TopicReader, good
from .message_rows import MessageRows

# The columns of Spark's Kafka source that a dead letter keeps, if the DataFrame has them.
DEAD_LETTER: Final = T.StructType(
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


# A batch of messages: a DataFrame's columns, or what a client returned.
Rows: TypeAlias = pa.RecordBatch | MessageRows


@dataclass(frozen=True, slots=True)
class DecodeTask:
    """The task of :func:`decode_df` and of the data source. Columns are addressed by index.

    Args:
        decoder: what reads the messages.
        value: the column of messages.
        headers: the column of their headers, where the reader needs them.
        keys: the column of their keys, where the reader needs them.
        around: field of a dead letter -> its column.
        keep: columns to keep, in front of the new ones.
        with_errors: whether there is a column of errors behind them.
    """

    decoder: Decoder | ConnectDecoder
    value: int
    headers: int | None
    keys: int | None
    around: Mapping[str, int]
    keep: tuple[int, ...]
    with_errors: bool

    def __call__(self, batches: Iterator[Rows]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part, decoded in in_parts(batch, self._read):
                arrays = [*(part.column(number) for number in self.keep), *decoded.columns]
                if self.with_errors:
                    arrays.append(self._dead_letters(part, decoded))
                out = numbered(arrays)
                yield out.filter(good(decoded.errors)) if self.decoder.drops(decoded) else out

    def _read(self, batch: Rows) -> Decoded:
        try:
            return self.decoder.decode(*(_part(batch, number) for number in (self.value, self.headers, self.keys)))
        except DecodeError as error:
            if error.row is not None:
                found = {name: batch.column(number)[error.row].as_py() for name, number in self.around.items()}
                data = batch.column(self.value)[error.row].as_py()
                error.raw = RawMessage(data, self.decoder.topic, found.get("partition"), found.get("offset"))
                error.hint = error.hint or "set errorColumn to keep messages that cannot be decoded"
            raise

    def _dead_letters(self, batch: Rows, decoded: Decoded) -> pa.Array:
        kind = pa.struct(list(_ARROW.items()))
        if not decoded.failed:
            return pa.nulls(batch.num_rows, kind)
        well = good(decoded.errors)
        found = {name: batch.column(number) for name, number in self.around.items()}
        found.setdefault("topic", pa.array([self.decoder.topic] * batch.num_rows))
        # Nulls for decoded messages, so that only dead letters are copied back to Spark. By take(), since if_else of
        # pyarrow 20 returns an invalid array for a slice of binaries.
        dead = pc.if_else(well, None, pa.array(range(batch.num_rows)))
        raw = {name: array.take(dead).cast(_ARROW[name]) for name, array in found.items()}
        raw["error"] = decoded.errors
        arrays = [raw.get(name, pa.nulls(batch.num_rows, kind)) for name, kind in _ARROW.items()]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=well)


def _part(batch: Rows, number: int | None) -> Any:
    """Values, headers or keys of messages, as the decoder takes them: a client's messages have all three."""
    if number is None:
        return None
    return batch.messages if isinstance(batch, MessageRows) else batch.column(number)


def numbered(arrays: list[pa.Array]) -> pa.RecordBatch:
    """A batch with numbers for names: Spark matches the columns by position."""
    return pa.RecordBatch.from_arrays(arrays, [str(number) for number in range(len(arrays))])


def new_columns(reader: TopicReader | ConnectReader) -> list[T.StructField]:
    """The columns of the decoded fields; all are nullable, since a tombstone has no fields."""
    kind = reader.spark_type()
    if not reader.reads_records() and not reader.reads_pairs():
        return [T.StructField("value", kind)]
    assert isinstance(kind, T.StructType)
    return [T.StructField(field.name, field.dataType) for field in kind.fields]
