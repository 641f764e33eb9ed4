"""Functions of columns, as Spark's own from_avro and to_avro, with the schemas of Pulsar's registry.

From PySpark 4.1 on they run on Arrow's batches, before row by row. ``decode_df`` and ``encode_df`` are faster: what
comes back from a function is one struct, which Spark takes apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as F
from pyspark.sql import Column, SparkSession
from pyspark.sql import types as T

from streamnative_serdes.arrow import in_parts
from streamnative_serdes.errors import ConfigError

from .decoding import Decoded, Decoder
from .encoding import Encoder
from .options import DROPMALFORMED, ReadOptions
from .pythons import warn_of_workers

_HAS_ARROW_UDF: Final = hasattr(F, "arrow_udf")


def from_avro(
    col: Column | str,
    conf: Mapping[str, Any],
    *,
    topic: str,
    schema: object = None,
    options: Mapping[str, Any] | None = None,
) -> Column:
    """What the messages in a binary column hold: a struct, null for null.

    Args:
        col: the column of messages, or its name.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        topic: the Kafka topic that all messages come from.
        schema: the reader's schema; without one, the topic's latest now.
        options: as of :func:`decode_df`, but a function cannot leave rows out: no ``DROPMALFORMED``. ``errorColumn``
            names one more field of the struct, with the error's text.

    Raises:
        ConfigError: a bad option, or ``errorColumn`` with a schema that is no record.
        SchemaError: Spark has no type for the schema.
        SchemaRegistryError: the registry refuses to answer, or the topic has no schema and none is given.
    """
    chosen = ReadOptions.parse(options)
    if chosen.mode == DROPMALFORMED:
        raise ConfigError("from_avro cannot leave rows out", hint="use decode_df, or PERMISSIVE and a filter")
    session = SparkSession.active()
    warn_of_workers(session)
    decoder, reader = Decoder.plan(session, topic, conf, schema, chosen)
    kind, names = reader.spark_type(), None
    if isinstance(kind, T.StructType) and reader.reads_records():
        kind = _with_error(kind, chosen.error_column)
        names = tuple(kind.names)
    elif chosen.error_column is not None:
        raise ConfigError("errorColumn is for records", hint="without it, what cannot be read is null")
    task = _FromAvro(decoder, names, chosen.error_column is not None)
    return _function("from_avro", task, task.one, kind)(col)


def to_avro(col: Column | str, conf: Mapping[str, Any], *, topic: str, schema: object = None) -> Column:
    """Messages of what a column holds, null for null.

    Args:
        col: the column, or its name; ``F.struct("*")`` makes one of all columns.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        topic: the Kafka topic that the messages are for.
        schema: of the messages, registered on the topic now; without one, the topic's latest now.

    Raises:
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """
    warn_of_workers(SparkSession.active())
    task = _ToAvro(Encoder.plan(topic, conf, schema)[0])
    return _function("to_avro", task, task.one, T.BinaryType())(col)


@dataclass(frozen=True, slots=True)
class _FromAvro:
    """The task of :func:`from_avro`."""

    decoder: Decoder
    names: tuple[str, ...] | None  # of the struct's fields; None: it is no record
    with_errors: bool

    def __call__(self, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            for messages, decoded in in_parts(batch, self.decoder.decode):
                yield decoded.columns[0] if self.names is None else self._struct(self.names, messages, decoded)

    def _struct(self, names: tuple[str, ...], messages: pa.Array, decoded: Decoded) -> pa.StructArray:
        arrays, missing = decoded.columns, pc.is_null(messages)
        if self.with_errors:
            arrays = [*arrays, decoded.errors]
        else:
            missing = pc.or_(missing, pc.is_valid(decoded.errors))
        fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=missing)

    def one(self, message: Any) -> Any:
        """For one message alone."""
        (array,) = self(iter([pa.array([message], pa.binary())]))
        return array.to_pylist(maps_as_pydicts="lossy")[0]


@dataclass(frozen=True, slots=True)
class _ToAvro:
    """The task of :func:`to_avro`."""

    encoder: Encoder

    def __call__(self, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            for _, messages in in_parts(batch, self.encoder.encode_column):
                yield messages

    def one(self, row: Any) -> bytes | None:
        """For one row alone."""
        return self.encoder.writer.get().write_one(row)


def _with_error(kind: T.StructType, name: str | None) -> T.StructType:
    """With a field for the error, which leaves all others null. Spark wants the types to be exactly what comes."""
    if name is not None and name.lower() in [each.lower() for each in kind.names]:
        raise ConfigError(f"the record has a field {name!r:.80} already", hint="give errorColumn another name")
    fields = [T.StructField(each.name, each.dataType) for each in kind.fields]
    return T.StructType(fields if name is None else [*fields, T.StructField(name, T.StringType())])


def _function(
    name: str,
    batches: Callable[[Iterator[pa.Array]], Iterator[pa.Array]],
    one: Callable[[Any], Any],
    kind: T.DataType,
) -> Callable[..., Column]:
    """A function of a column, called ``name`` in plans and in the columns that it makes.

    It counts as nondeterministic, or Spark would run it again for each filter on what it gives.
    """

    def arrays(given: Iterator[pa.Array]) -> Iterator[pa.Array]:  # what Spark asks for is told by the annotations
        return batches(given)

    def row(given: Any) -> Any:
        return one(given)

    arrays.__name__ = row.__name__ = name
    made = F.arrow_udf(arrays, kind) if _HAS_ARROW_UDF else F.udf(row, kind)  # type: ignore[attr-defined]
    found: Callable[..., Column] = made.asNondeterministic()
    return found
