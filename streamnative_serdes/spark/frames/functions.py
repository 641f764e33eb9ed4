"""from_avro and to_avro: column functions like Spark's own, with schemas from Pulsar's registry.

With PySpark 4.1 and later they work on Arrow batches, with earlier releases row by row. ``decode_df`` and ``encode_df``
are faster: a function returns a struct, which Spark has to unpack.
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
from streamnative_serdes.spark.session.workers import Carried, warn_of_workers
from streamnative_serdes.spark.types.arrow import Decoded
from streamnative_serdes.spark.types.avro import has_time

from .decoding import DROPMALFORMED, Decoding, ReadOptions, numbered
from .encoding import Encoder
from .reading import TopicReader

_HAS_ARROW_UDF: Final = hasattr(F, "arrow_udf")
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def from_avro(
    col: Column | str,
    conf: Mapping[str, Any],
    *,
    topic: str,
    schema: object = None,
    headers: Column | str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Column:
    """Decode a binary column of messages to a struct; null stays null.

    Args:
        col: the column of messages, or its name.
        conf: options of :class:`KafkaAvroDeserializer`, with ``schema.registry.url``.
        topic: the Kafka topic that all messages come from.
        schema: the reader's schema; by default, the topic's latest schema at this moment.
        headers: the column of headers, or its name, which is needed if a framing is in headers: Spark's
            Kafka source has it with the option ``includeHeaders``.
        options: as for :func:`decode_df`, except ``DROPMALFORMED``: a function cannot drop rows. ``errorColumn``
            names an additional field of the struct, for the error's text.

    Raises:
        ConfigError: an invalid option, or ``errorColumn`` with a schema that is not a record.
        SchemaError: Spark has no type for the schema.
        SchemaRegistryError: the registry refuses or cannot be reached, or ``schema`` is None and the topic has none.
    """
    chosen = ReadOptions.parse(options)
    if chosen.mode == DROPMALFORMED:
        raise ConfigError(
            "from_avro does not support mode DROPMALFORMED: a column function cannot drop rows",
            hint="use decode_df, or PERMISSIVE and a filter",
        )
    session = SparkSession.active()
    warn_of_workers(session)
    reader = TopicReader(topic, conf, schema, restart=chosen.restart, times=has_time(session))
    if reader.reads_pairs():
        raise ConfigError("from_avro has no column for keys, and the topic is of type KEY_VALUE", hint="use decode_df")
    kind, names = reader.spark_type(), None
    if isinstance(kind, T.StructType) and reader.reads_records():
        kind = _with_error(kind, chosen.error_column)
        names = tuple(kind.names)
    elif chosen.error_column is not None:
        raise ConfigError(
            "errorColumn requires a record schema",
            hint="leave it out: messages that cannot be decoded become null",
        )
    if reader.needs_headers() and headers is None:
        raise ConfigError(
            "framings has one that is in headers, so from_avro needs the messages' headers",
            topic=topic,
            hint='pass headers="headers"; Spark\'s Kafka source has that column with the option includeHeaders=true',
        )
    task = _FromAvro(Decoding(topic, Carried(reader), chosen.mode), names, chosen.error_column is not None)
    if reader.needs_headers() and headers is not None:
        return _function("from_avro", task, task.one, kind, tuple[pa.Array, pa.Array])(col, headers)
    return _function("from_avro", task, task.one, kind)(col)


def to_avro(col: Column | str, conf: Mapping[str, Any], *, topic: str, schema: object = None) -> Column:
    """Encode a column to messages; null stays null.

    Args:
        col: the column, or its name; ``F.struct("*")`` combines all columns.
        conf: options of :class:`KafkaAvroSerializer`, with ``schema.registry.url``.
        topic: the Kafka topic that the messages are for.
        schema: the messages' schema, which is registered in the topic now; by default, the topic's latest schema at
            this moment.

    Raises:
        SchemaRegistryError: the registry refuses the schema, or cannot be reached.
    """
    warn_of_workers(SparkSession.active())
    task = _ToAvro(Encoder.plan(topic, conf, schema)[0])
    return _function("to_avro", task, task.one, T.BinaryType())(col)


@dataclass(frozen=True, slots=True)
class _FromAvro:
    """The task of :func:`from_avro`."""

    decoding: Decoding
    names: tuple[str, ...] | None  # of the struct's fields; None if the schema is not a record
    with_errors: bool

    def __call__(self, batches: Iterator[pa.Array | tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        """Decode batches of messages, or of messages and their headers."""
        for given in batches:
            arrays = list(given) if isinstance(given, tuple) else [given]
            for part, decoded in in_parts(numbered(arrays), lambda part: self.decoding.decode(*part.columns)):
                yield decoded.columns[0] if self.names is None else self._struct(self.names, part.column(0), decoded)

    def _struct(self, names: tuple[str, ...], messages: pa.Array, decoded: Decoded) -> pa.StructArray:
        arrays, missing = decoded.columns, pc.is_null(messages)
        if self.with_errors:
            arrays = [*arrays, decoded.errors]
        else:
            missing = pc.or_(missing, pc.is_valid(decoded.errors))
        fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=missing)

    def one(self, message: Any, *headers: Any) -> Any:
        """Decode a single message."""
        (array,) = self(iter([(pa.array([message], pa.binary()), *(pa.array([each], _HEADERS) for each in headers))]))
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
        """Encode a single row."""
        return self.encoder.writer.get().write_one(row)


def _with_error(kind: T.StructType, name: str | None) -> T.StructType:
    """The struct plus a field for the error; all fields are nullable, as Spark requires the exact type returned."""
    if name is not None and name.lower() in [each.lower() for each in kind.names]:
        raise ConfigError(
            f"errorColumn {name!r:.80} is also the name of a field of the record",
            hint="choose another name for errorColumn",
        )
    fields = [T.StructField(each.name, each.dataType) for each in kind.fields]
    return T.StructType(fields if name is None else [*fields, T.StructField(name, T.StringType())])


def _function(
    name: str,
    batches: Callable[[Iterator[Any]], Iterator[pa.Array]],
    one: Callable[..., Any],
    kind: T.DataType,
    batch: Any = pa.Array,
) -> Callable[..., Column]:
    """A user-defined function: by batches if PySpark can, otherwise row by row. Plans show it as ``name``.

    ``batch`` is the type of a batch, which tells Spark the number of columns. The function is marked nondeterministic:
    otherwise Spark would evaluate it again for each filter on its result.
    """

    def arrays(given: Any) -> Any:
        return batches(given)

    def row(*given: Any) -> Any:
        return one(*given)

    arrays.__annotations__ = {"given": Iterator[batch], "return": Iterator[pa.Array]}  # as Spark wants to see them
    arrays.__name__ = row.__name__ = name
    made = F.arrow_udf(arrays, kind) if _HAS_ARROW_UDF else F.udf(row, kind)  # type: ignore[attr-defined]
    found: Callable[..., Column] = made.asNondeterministic()
    return found
