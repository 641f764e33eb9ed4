"""Avro messages to Arrow columns and back, by one reader's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, Unpack, get_args

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError("Arrow columns need pyarrow 18 or later: pip install pyarrow") from error

from streamnative_serdes import _config as config
from streamnative_serdes._arrow import Layout, Plan, WritePlan, address_of, decode_batch, encode_batch
from streamnative_serdes._schema import Field, Record, Schema, parse, resolve
from streamnative_serdes.codec import Codec, weight
from streamnative_serdes.errors import BatchTooLargeError, ConfigError, DecodeError, EncodeError, SerdesError

from .pieces import array_of_batch, part_of, pieces_of_columns, pieces_of_messages

__all__ = ["ColumnCodec", "ColumnWriter", "Columns", "Dialect", "Routes", "arrow_schema_of", "in_parts"]

Dialect: TypeAlias = Literal["arrow", "spark", "spark-4.0"]
# How to read messages of one version: (plan, offset of the datum in the message, whether trailing bytes are an error
# even with ``ignore.trailing.bytes``), tried in order. A first plan of None keeps the version out of the compiled loop.
Routes: TypeAlias = tuple[tuple[Plan | None, int, bool], ...]
# Rows by key and the number of their route; in its place, -2: two could read them, or the name of the error's class.
RowCounts: TypeAlias = dict[tuple[int, int | str], int]
_MAX_READ = 1_000  # plans (one per writer's schema) cached by Columns
_MAX_WRITTEN = 16  # plans (one per Arrow schema) cached by a writer
_WITH_SCHEMA = (pa.RecordBatch, pa.Table, pa.RecordBatchReader)
_SIZED = Codec("bytes")
_Rows = TypeVar("_Rows")
_Done = TypeVar("_Done")


def arrow_schema_of(
    schema: object, *, dialect: Dialect = "arrow", large_types: bool = False, logical_types: bool = True
) -> pa.Schema:
    """Return the Arrow schema that messages of ``schema`` are read into; docs/arrow-types.md has the table of types.

    Args:
        schema: as for :class:`~streamnative_serdes.codec.Codec`. A record has a column for each field, and all of them
            are nullable: a row may be null as a whole. Any other type has one column, "value".
        dialect: ``"arrow"`` uses Arrow's own types for times of day and nanoseconds. ``"spark"`` uses exactly the
            types that Spark accepts: an int for time-millis, a long for nanoseconds; ``"spark-4.0"`` also has a long
            for time-micros.
        large_types: use 64-bit offsets for text and bytes: ``large_string``, ``large_binary``.
        logical_types: as the option ``avro.logical.types``.

    Raises:
        SchemaError: the schema is invalid, or Arrow has no type for it: a record that contains itself, a decimal of
            more than 38 digits.
        ConfigError: there is no such dialect.
    """
    return pa.schema(layout_of(parse(schema).root, logical_types, dialect, large_types))


def layout_of(root: Any, logical_types: bool, dialect: Dialect, large_types: bool) -> Layout:
    """The columns of a type. Raises ConfigError if there is no such dialect."""
    if dialect not in get_args(Dialect):
        raise ConfigError(f"dialect: expected one of {', '.join(get_args(Dialect))}, got {dialect!r:.80}")
    return Layout(root, logical_types, dialect, large_types)


def in_parts(rows: _Rows, work: Callable[[_Rows], _Done]) -> Iterator[tuple[_Rows, _Done]]:
    """Yield (rows, result of ``work``), for all rows or for as many consecutive parts as needed.

    Rows are split only if they do not fit in one batch::

        for part, batch in in_parts(messages, lambda part: deserializer.deserialize_batch("topic", part)):

    Args:
        rows: messages to read or columns to write: anything ``work`` accepts, except a reader, which can be read only
            once.
        work: reads or writes them.

    Raises:
        SerdesError: as ``work`` does, except BatchTooLargeError. An error's ``row`` counts within its part.
        TypeError: ``rows`` has to be split, but is of a type that cannot be sliced.
        ValueError: the first row alone exceeds the batch limit, so splitting cannot help.
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
            raise ValueError("the first row alone exceeds the batch limit, so splitting cannot help")
        yield from in_parts(part_of(rows, 0, cut), work)
        rows = part_of(rows, cut, None)


@dataclass(frozen=True, slots=True)
class Capsules:
    """Arrow data in capsules, for consumers of Arrow's PyCapsule protocol."""

    schema: object
    array: object

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self.schema, self.array


def batch_of_capsules(capsules: tuple[object, object]) -> pa.RecordBatch:
    """The record batch of capsules (schema, array) of a struct."""
    return pa.record_batch(Capsules(*capsules))


def batch_of(array: object, schema: pa.Schema) -> pa.RecordBatch:
    """The record batch of the capsule of a struct's array, whose schema is known.

    By the protocol of capsules, pyarrow would build the schema again, which takes longer than a small batch.
    """
    return pa.RecordBatch._import_from_c(address_of(array), schema)  # noqa: SLF001 (tools/private_members.toml)


def encoded(array: object, *, large: bool) -> pa.Array:
    """The messages of the capsule of an array, with 64-bit offsets if ``large``; without a schema, as above."""
    kind = pa.large_binary() if large else pa.binary()
    return pa.Array._import_from_c(address_of(array), kind)  # noqa: SLF001 (tools/private_members.toml)


def with_errors(schema: pa.Schema, error_column: str | None) -> pa.Schema:
    """The columns of a batch: those of ``schema``, and a last column of errors if ``error_column`` is given.

    Raises:
        ConfigError: ``schema`` has a column of that name.
    """
    if error_column is None:
        return schema
    if error_column in schema.names:
        raise ConfigError(
            f"error_column {error_column!r:.80} is also the name of a column of the messages",
            hint="choose another name for error_column",
        )
    return schema.append(pa.field(error_column, pa.string()))


class BatchColumns:
    """The Arrow columns that batches of messages are read into.

    Args:
        arrow_schema: the names and types of the columns.
    """

    arrow_schema: pa.Schema


class Columns(BatchColumns):
    """The Arrow columns of a reader's schema, and the plans that read writers' schemas into them. Threads may share it.

    Args:
        schema: the reader's schema.
        options: the options of a codec.
        dialect: as for :func:`arrow_schema_of`.
        large_types: as for :func:`arrow_schema_of`.
        compares: whether plans can also tell that another plan could read a message.

    Raises:
        SchemaError: as :func:`arrow_schema_of`.
    """

    def __init__(
        self,
        schema: Schema,
        options: config.CodecArguments,
        dialect: Dialect,
        large_types: bool,
        *,
        compares: bool = False,
    ) -> None:
        self.schema, self._options, self._compares = schema, config.codec_options(options), compares
        self._default_of = partial(default_of, self._options)
        self._layout = layout_of(schema.root, self._options["avro.logical.types"], dialect, large_types)
        self._plans: dict[tuple[str, bool], Plan] = {}
        self.arrow_schema = pa.schema(self._layout)

    def plan(self, writer: Schema) -> Plan:
        """Return the plan that reads data of ``writer`` into these columns; compiled once and cached.

        Raises:
            SchemaError: nothing that ``writer`` writes can be read.
        """
        key = writer.text, writer.unsized
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MAX_READ:
                self._plans.clear()
            resolution = None
            if not self.schema.same_as(writer):
                java, logical = self._options["schema.resolution"] == "java", self._options["avro.logical.types"]
                resolution = resolve(writer, self.schema, java=java, logical=logical)
            plan = Plan(
                self._layout, resolution, self.schema.root, self._default_of, self._compares, unsized=writer.unsized
            )
            self._plans[key] = plan
        return plan

    def decode(
        self,
        data: Any,
        find: Callable[[int], Routes | SerdesError],
        failed: Callable[[int, list[DecodeError], bytes], Routes | SerdesError],
        *,
        error_column: str | None = None,
        framed: bool = True,
        signs: Any = None,
        keys: Any = None,
        message_keys: Any = None,  # noqa: ARG002 - of KEY_VALUE topics
    ) -> tuple[pa.RecordBatch, RowCounts, int]:
        """As ``_arrow.decode_batch``. ``message_keys`` are messages' keys, in any form that messages have."""
        schema = with_errors(self.arrow_schema, error_column)
        kind, arrays = pieces_of_messages(data)
        array, counts, size = decode_batch(
            self._layout, self._options, framed, kind, arrays, find, failed, error_column, signs, keys
        )
        return batch_of(array, schema), counts, size


def default_of(options: Mapping[str, Any], field: Field) -> tuple[bytes | None, int, str | None]:
    """Return (Avro bytes of the default, number of values in it, None), or (None, 0, why there are none)."""
    codec = Codec(Schema("", Record("Default", (field,))), avro_logical_types=options["avro.logical.types"])
    try:
        data = codec.encode({})
        value = codec.decode(data)[field.name]
    except EncodeError as error:
        return None, 0, f": {error.message}"
    except DecodeError as error:  # a date beyond the year 9999, say
        return None, 0, f", and the reader's default cannot be read: {error.message}"
    return data, weight(value) if isinstance(value, (list, dict, tuple)) else 1, None


class ColumnWriter:
    """Encodes batches of Arrow columns as messages of one schema. Threads may share it."""

    def __init__(self, schema: Schema, options: config.CodecArguments) -> None:
        self._schema, self._options = schema, config.codec_options(options)
        self._default_of = partial(default_of, self._options)
        self._plans: tuple[tuple[pa.Schema, WritePlan], ...] = ()  # the newest first

    def encode(self, batch: Any, header: bytes, *, large_types: bool = False) -> pa.Array:
        """Return an array with a message for each row of ``batch``; each message begins with ``header``.

        Raises:
            EncodeError: the columns do not match the schema, or a value does not fit; has row and path.
            TypeError: ``batch`` is not a type with Arrow columns.
        """
        whole = isinstance(batch, pa.RecordBatch)
        kind, arrays = (None, [array_of_batch(batch)]) if whole else pieces_of_columns(batch)
        plan = self._plan(batch.schema if isinstance(batch, _WITH_SCHEMA) else None, kind)
        if not self._schema.unsized:
            return encoded(encode_batch(plan, arrays, header, large_types), large=large_types)
        data = encoded(encode_batch(plan, arrays, b"", large_types), large=large_types)
        messages = (None if datum is None else header + _SIZED.decode(datum) for datum in data.to_pylist())
        return pa.array(messages, data.type)

    def _plan(self, key: pa.Schema | None, kind: object) -> WritePlan:
        """The plan for columns of the schema ``key``, or of the capsule ``kind``; at most one of them is None."""
        known = self._plans
        if key is not None:
            for schema, plan in known:
                if schema.equals(key):  # by comparison, since the hash of a schema takes longer than a small batch
                    return plan
        if kind is None:
            assert key is not None
            kind = key.__arrow_c_schema__()
        plan = WritePlan(self._schema.root, kind, self._options, self._default_of)
        if key is not None:
            self._plans = ((key, plan), *known[: _MAX_WRITTEN - 1])
        return plan


class ColumnCodec:
    """Decodes batches of Avro data without a header into Arrow columns, and encodes columns, for one schema.

    Args:
        schema: as for :class:`~streamnative_serdes.codec.Codec`: the writer's schema of data that is read, and the
            schema of data that is written.
        reader_schema: the reader's schema, if it differs.
        dialect: as for :func:`arrow_schema_of`.
        large_types: as for :func:`arrow_schema_of`.
        **options: those of a codec.

    Raises:
        SchemaError: a schema is invalid, ``reader_schema`` cannot read anything that ``schema`` writes, or Arrow has no
            type for it.
        ConfigError: an option has an invalid value.

    It is immutable, so threads may share it, and they run in parallel.
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
        """The Arrow schema of the columns that :meth:`decode` returns."""
        return self._columns.arrow_schema

    def decode(self, data: Any, *, error_column: str | None = None) -> pa.RecordBatch:
        """Decode ``data``, Arrow data of bytes with one datum each, into columns. A null gives a row of nulls.

        Args:
            data: as for :meth:`KafkaAvroDeserializer.deserialize_batch`.
            error_column: name of an additional text column that says why a row could not be read; such a row is null in
                all other columns. Without it, the first such row raises.

        Raises:
            ConfigError: ``error_column`` is the name of another column.
            DecodeError: a row cannot be read (has row, path and byte offset), or the array is damaged.
            BatchTooLargeError: the rows do not fit in one batch; :func:`in_parts` splits them.
            TypeError: ``data`` is of another type.
        """
        batch, *_ = self._columns.decode(
            data, lambda _version: self._routes, first_error, error_column=error_column, framed=False
        )
        return batch

    def encode(self, batch: Any) -> pa.Array:
        """Encode each row of ``batch`` as bytes; a row that is null as a whole gives a null.

        Args:
            batch: as for :meth:`KafkaAvroSerializer.serialize_batch`. Columns are matched to fields by name;
                docs/arrow-types.md lists the Arrow types that each Avro type accepts.

        Raises:
            EncodeError: the columns do not match the schema, a value does not fit (has row and path), or an array is
                damaged.
            BatchTooLargeError: the messages take more than 2 GB.
            TypeError: ``batch`` is of another type.
        """
        return self._writer.encode(batch, b"", large_types=self._large_types)


def first_error(_version: int, errors: list[DecodeError], _message: bytes) -> DecodeError:
    return errors[0]
