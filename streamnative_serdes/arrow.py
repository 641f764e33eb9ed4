"""Avro messages as Arrow columns: what _arrow compiles, for pyarrow; with pieces.py, the only importer of either."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, Unpack

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError("Arrow columns need pyarrow, from 18 on: pip install pyarrow") from error

from . import config
from ._arrow import Decoder, Layout, Plan, WritePlan, encode_batch
from .codec import Codec
from .errors import BatchTooLargeError, DecodeError, EncodeError, SerdesError
from .pieces import part_of, pieces_of_columns, pieces_of_messages
from .schema import Field, Record, Schema, parse, resolve

__all__ = ["ColumnCodec", "ColumnWriter", "Columns", "Dialect", "Routes", "arrow_schema_of", "in_parts"]

Dialect: TypeAlias = Literal["arrow", "spark", "spark-4.0"]
# How messages of one version are read: plans, where in the message their datum begins, and whether it must end there
# even with ``ignore.trailing.bytes``; tried one after the other. A first plan of None: none is read in the loop.
Routes: TypeAlias = tuple[tuple[Plan | None, int, bool], ...]
_MAX_READ = 1_000  # writers' schemas for which columns keep what is compiled
_MAX_WRITTEN = 16  # Arrow schemas for which a writer does
_WITH_SCHEMA = (pa.RecordBatch, pa.Table, pa.RecordBatchReader)
_Rows = TypeVar("_Rows")
_Done = TypeVar("_Done")


def arrow_schema_of(
    schema: object, *, dialect: Dialect = "arrow", large_types: bool = False, logical_types: bool = True
) -> pa.Schema:
    """The columns that messages of ``schema`` are read into; docs/arrow.md has the table of types.

    Args:
        schema: as for :class:`~streamnative_serdes.codec.Codec`. A record has a column for each field, and all of them
            are nullable: a row may be null as a whole. What is no record has one column, "value".
        dialect: ``"arrow"`` gives times of day and nanoseconds Arrow's own types. ``"spark"`` gives exactly the types
            that Spark takes back: an int for time-millis, a long for nanoseconds; ``"spark-4.0"`` has a long for
            time-micros as well.
        large_types: offsets of text and bytes have 64 bits: ``large_string``, ``large_binary``.
        logical_types: as the option ``avro.logical.types``.

    Raises:
        SchemaError: no valid schema, or Arrow has no such types: a record that contains itself, a decimal of more than
            38 digits.
    """
    return pa.schema(Layout(parse(schema).root, logical_types, dialect, large_types))


def in_parts(rows: _Rows, work: Callable[[_Rows], _Done]) -> Iterator[tuple[_Rows, _Done]]:
    """``rows`` and what ``work`` makes of them; in as many parts as it takes, one after the other.

    All in one, unless they take more than a batch can hold::

        for part, batch in in_parts(messages, lambda part: deserializer.deserialize_batch("topic", part)):

    Args:
        rows: messages to read, or columns to write: whatever ``work`` takes, but for a reader, which can be read once.
        work: reads or writes them.

    Raises:
        SerdesError: as ``work`` does, but for BatchTooLargeError. An error's ``row`` is one of its part.
        TypeError: ``rows`` would have to be cut, and cannot be.
    """
    while True:
        try:
            done = work(rows)
        except BatchTooLargeError as error:
            cut = error.row
        else:
            yield rows, done
            return
        if not cut:
            raise ValueError("work found no room for the first of its rows, which is no fault of their number")
        yield from in_parts(part_of(rows, 0, cut), work)
        rows = part_of(rows, cut, None)


@dataclass(frozen=True, slots=True)
class _Capsules:
    """Arrow data in capsules, for whoever knows the PyCapsule protocol."""

    schema: object
    array: object

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self.schema, self.array


class Columns:
    """The columns of one schema, to which plans read what others wrote. Threads may share it.

    Args:
        schema: the reader's.
        options: those of a codec.
        dialect: as of :func:`arrow_schema_of`.
        large_types: likewise.

    Raises:
        SchemaError: as :func:`arrow_schema_of` says.
    """

    def __init__(self, schema: Schema, options: config.CodecArguments, dialect: Dialect, large_types: bool) -> None:
        self.schema, self._options = schema, config.codec_options(options)
        self._layout = Layout(schema.root, self._options["avro.logical.types"], dialect, large_types)
        self._plans: dict[str, Plan] = {}
        self.arrow_schema: pa.Schema = pa.schema(self._layout)

    def plan(self, writer: Schema) -> Plan:
        """What reads ``writer`` into these columns; made once.

        Raises:
            SchemaError: nothing that it writes can be read.
        """
        plan = self._plans.get(writer.text)
        if plan is None:
            if len(self._plans) >= _MAX_READ:
                self._plans.clear()
            resolution = None
            if not self.schema.same_as(writer):
                java, logical = self._options["schema.resolution"] == "java", self._options["avro.logical.types"]
                resolution = resolve(writer, self.schema, java=java, logical=logical)
            plan = self._plans[writer.text] = Plan(self._layout, resolution, self.schema.root, self._default_of)
        return plan

    def _default_of(self, field: Field) -> tuple[bytes | None, int, str | None]:
        return _default_of(field, self._options)

    def decode(
        self,
        data: Any,
        find: Callable[[int], Routes | SerdesError],
        failed: Callable[[int, list[DecodeError], bytes], Routes | SerdesError],
        *,
        error_column: str | None = None,
        framed: bool = True,
    ) -> tuple[pa.RecordBatch, dict[tuple[int, int], int]]:
        """As ``_arrow.Decoder.decode``."""
        decoder = Decoder(self._layout, self._options, framed)
        capsules, counts = decoder.decode(*pieces_of_messages(data), find, failed, error_column)
        return pa.record_batch(_Capsules(*capsules)), counts


def _default_of(field: Field, options: Mapping[str, Any]) -> tuple[bytes | None, int, str | None]:
    """A default as Avro, and how many values it counts for; or why there is none, or it cannot be read."""
    codec = Codec(Schema("", Record("Default", (field,))), avro_logical_types=options["avro.logical.types"])
    try:
        data = codec.encode({})
        value = codec.decode(data)[field.name]
    except EncodeError as error:
        return None, 0, f": {error.message}"
    except DecodeError as error:  # a decimal of too many digits, say
        return None, 0, f", and the reader's default cannot be read: {error}"
    return data, _weight(value) if isinstance(value, (list, dict, tuple)) else 1, None


def _weight(value: object) -> int:
    """The number of values in ``value``, itself included; long text and bytes count as more, for they are copied."""
    if isinstance(value, (str, bytes)):
        return 1 + len(value) // 64
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return 1 + sum(map(_weight, parts))


class ColumnWriter:
    """Writes batches of Arrow columns as messages of one schema. Threads may share it.

    Args:
        schema: the messages'.
        options: those of a codec.
    """

    def __init__(self, schema: Schema, options: config.CodecArguments) -> None:
        self._schema, self._options = schema, config.codec_options(options)
        self._plans: dict[pa.Schema, WritePlan] = {}

    def encode(self, batch: Any, header: bytes, *, large_types: bool = False) -> pa.Array:
        """A message for each row of ``batch``, which begins with ``header``.

        Raises:
            EncodeError: the columns are not those of the schema, or a value does not fit: with row and path.
            TypeError: ``batch`` is nothing that has Arrow's columns.
        """
        kind, arrays = pieces_of_columns(batch)
        plan = self._plan(batch.schema if isinstance(batch, _WITH_SCHEMA) else None, kind)
        return pa.array(_Capsules(*encode_batch(plan, arrays, header, large_types)))

    def _plan(self, key: pa.Schema | None, kind: object) -> WritePlan:
        plan = None if key is None else self._plans.get(key)
        if plan is None:
            plan = WritePlan(self._schema.root, kind, self._options, self._default_of)
            if key is not None:
                if len(self._plans) >= _MAX_WRITTEN:
                    self._plans.clear()
                self._plans[key] = plan
        return plan

    def _default_of(self, field: Field) -> tuple[bytes | None, int, str | None]:
        return _default_of(field, self._options)


class ColumnCodec:
    """Batches of bare Avro data (no header) of one schema, to Arrow columns and back.

    Args:
        schema: as for :class:`~streamnative_serdes.codec.Codec`. Data is written by it; data that is read was written
            by it.
        reader_schema: what data is read as, if by another schema.
        dialect: as of :func:`arrow_schema_of`.
        large_types: likewise.
        **options: those of a codec.

    Raises:
        SchemaError: no valid schema, one that can read nothing of what ``schema`` writes, or Arrow has no such types.
        ConfigError: a bad value of an option.

    It never changes, so any number of threads may share it, and they run side by side.
    """

    def __init__(
        self,
        schema: object,
        reader_schema: object = None,
        *,
        dialect: Dialect = "arrow",
        large_types: bool = False,
        **options: Unpack[config.CodecArguments],
    ) -> None:
        self.schema = parse(schema)
        self.reader_schema = self.schema if reader_schema is None else parse(reader_schema)
        self._columns = Columns(self.reader_schema, options, dialect, large_types)
        self._routes = ((self._columns.plan(self.schema), 0, False),)
        self._writer = ColumnWriter(self.schema, options)
        self._large_types = large_types

    @property
    def arrow_schema(self) -> pa.Schema:
        """Of what is read."""
        return self._columns.arrow_schema

    def decode(self, data: Any, *, error_column: str | None = None) -> pa.RecordBatch:
        """The columns of ``data``: Arrow data of bytes, one datum each. A null is a row of nulls.

        Args:
            data: as for :meth:`KafkaAvroDeserializer.deserialize_batch`.
            error_column: name of another column, of text, which says why a row could not be read; such a row is null in
                all other columns. Without it, the first such row is an error.

        Raises:
            DecodeError: with the number of the row, path and byte; or the array itself is damaged.
            BatchTooLargeError: all is too much for one batch; :func:`in_parts` cuts it.
            TypeError: ``data`` is something else.
        """
        batch, _ = self._columns.decode(
            data, lambda _version: self._routes, _first_error, error_column=error_column, framed=False
        )
        return batch

    def encode(self, batch: Any) -> pa.Array:
        """A datum for each row of ``batch``: bytes, a null for a row that is null as a whole.

        Args:
            batch: as for :meth:`KafkaAvroSerializer.serialize_batch`. Columns go by their names; docs/arrow.md tells
                which Arrow types an Avro type takes.

        Raises:
            EncodeError: the columns are not those of the schema, or a value does not fit: with row and path; or an
                array is damaged.
            BatchTooLargeError: more than 2 GB of data.
            TypeError: ``batch`` is something else.
        """
        return self._writer.encode(batch, b"", large_types=self._large_types)


def _first_error(_version: int, errors: list[DecodeError], _message: bytes) -> DecodeError:
    return errors[0]
