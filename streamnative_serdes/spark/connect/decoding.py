"""Batches of the JsonConverter's messages to columns of one schema, which is fixed when the query is planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from streamnative_serdes._formats.jackson.parsing import parse
from streamnative_serdes.connect import Schema, SchemaProjector, Type
from streamnative_serdes.connect.json_converter import JsonOptions
from streamnative_serdes.connect.json_schema import Envelopes, KnownSchema, from_json
from streamnative_serdes.connect.json_values import reader
from streamnative_serdes.errors import BatchTooLargeError, ConfigError, DecodeError, EncodeError, SchemaError
from streamnative_serdes.spark.types.arrow import Decoded
from streamnative_serdes.spark.types.names import backticked

from .columns import MOST_BYTES, NotReadError, can_read, column_of, converter, read_payloads
from .types import to_spark_type

CONNECT_JSON: Final = "connect-json"
_MOST_SCHEMAS: Final = 16  # in one batch, that are read by the fast way
_FEW: Final = 64  # messages that are read one by one, rather than by half as many again


class ConnectReader:
    """Reads messages as values of one schema; made again, without its caches, in each worker process."""

    def __init__(self, topic: str, target: Schema, options: JsonOptions) -> None:
        self._topic, self._target, self._options = topic, target, options
        self._envelopes = Envelopes(options.form, options.cache_size, options.max_depth)
        self._bare: KnownSchema | None = None  # for messages without an envelope
        if not options.schemas or options.schema_content is not None:
            self._bare = KnownSchema(target, reader(target, options.form))
        self._convert = converter(target)
        # A field that is optional and missing in the message's schema is not set after projection.
        self._convert_projected = converter(target, fill=options.form.replace_null)
        self._is_fast = can_read(target)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConnectReader, (self._topic, self._target, self._options)

    def spark_type(self) -> T.DataType:
        return to_spark_type(self._target)

    def reads_pairs(self) -> bool:
        return False

    def reads_records(self) -> bool:
        return self._target.type is Type.STRUCT

    def needs_keys(self) -> bool:
        return False

    def needs_headers(self) -> bool:
        return False

    def decode(self, messages: pa.Array, headers: None, keys: None, fail: bool) -> Decoded:  # noqa: ARG002
        """As :meth:`TopicReader.decode`; headers and keys are not needed."""
        if not pa.types.is_binary(messages.type):
            messages = messages.cast(pa.binary())
        errors: dict[int, str] | None = None if fail else {}
        found = self.read(messages, errors)
        texts = pa.array([errors.get(row) for row in range(len(messages))] if errors else [None] * len(messages))
        return Decoded(found.flatten() if self.reads_records() else [found], texts.cast(pa.string()))

    def read(self, messages: pa.Array, errors: dict[int, str] | None) -> pa.Array:
        """The values, null where a message is null or cannot be read; None for ``errors`` raises the first error.

        Raises:
            DecodeError: with the row.
            BatchTooLargeError: the messages are too large to read at once.
        """
        if messages.nbytes > MOST_BYTES and len(messages) > 1:
            too_large = BatchTooLargeError("the batch has too many bytes")
            too_large.row = len(messages) // 2
            raise too_large
        parts = _Parts(len(messages))
        waiting = messages.is_valid()
        for _ in range(_MOST_SCHEMAS):
            at = pc.index(waiting, True).as_py()
            if at < 0 or not self._is_fast:
                break
            prefix = self._prefix(messages[at].as_py())
            if prefix is None:  # an error, or another schema, by its message
                rows = pa.array([at])
                parts.add(rows, self._one_by_one(messages, rows, errors))
            else:
                rows = pc.indices_nonzero(pc.and_(waiting, pc.starts_with(messages, prefix)))
                self._read_alike(messages, rows, len(prefix), parts, errors)
            if len(rows) == len(messages):
                return parts.joined(column_of(self._target, []))
            waiting = pc.and_(waiting, pc.invert(_mask(len(messages), rows)))
        rest = pc.indices_nonzero(waiting)
        if len(rest):
            parts.add(rest, self._one_by_one(messages, rest, errors))
        return parts.joined(column_of(self._target, []))

    def _prefix(self, data: bytes) -> bytes | None:
        """The bytes in front of the payload, if the payload's schema is the target's; otherwise None."""
        if self._bare is not None:
            return b""
        try:
            known, _ = self._envelopes.split(data)
        except (DecodeError, RecursionError):
            return None
        found = self._envelopes.known(data)
        return found[0] if found and known.schema is not None and known.schema.fits(self._target) else None

    def _read_alike(
        self, messages: pa.Array, rows: pa.Array, start: int, parts: _Parts, errors: dict[int, str] | None
    ) -> None:
        """Read messages that begin with the same bytes: at once if possible, otherwise by halves."""
        try:
            alike = messages if len(rows) == len(messages) else messages.take(rows)
            parts.add(rows, read_payloads(self._target, self._payloads(alike, start), self._options.form))
        except NotReadError:
            if len(rows) <= _FEW:
                parts.add(rows, self._one_by_one(messages, rows, errors))
                return
            half = len(rows) // 2
            self._read_alike(messages, rows[:half], start, parts, errors)
            self._read_alike(messages, rows[half:], start, parts, errors)

    def _payloads(self, messages: pa.Array, start: int) -> pa.Array:
        if self._bare is not None:
            return messages
        if not pc.all(pc.ends_with(messages, b"}")).as_py():
            raise NotReadError("space after an envelope")
        return pc.binary_slice(messages, start, -1)

    def _one_by_one(self, messages: pa.Array, rows: pa.Array, errors: dict[int, str] | None) -> pa.Array:
        found = []
        for row in rows.to_pylist():
            try:
                found.append(self._value(messages[row].as_py()))
            except (DecodeError, RecursionError) as error:
                failed = error if isinstance(error, DecodeError) else DecodeError("nested too deeply")
                if errors is None:
                    failed.row = row
                    raise failed.at(topic=self._topic) from None
                errors[row] = str(failed.at(topic=self._topic))
                found.append(None)
        return column_of(self._target, found)

    def _value(self, data: bytes) -> Any:
        known, payload = self._parsed(data)
        value = known.read(payload)
        if known.schema is None:
            raise DecodeError("expected a message with a schema, got one with null for it")
        if known.schema is not self._target and not known.schema.fits(self._target):
            return self._convert_projected(_projected(known.schema, value, self._target))
        if value is None and not self._target.optional:
            value = self._target.default
        return self._convert(value)

    def _parsed(self, data: bytes) -> tuple[KnownSchema, Any]:
        if self._bare is None:
            return self._envelopes.split(data)
        return self._bare, parse(data, self._options.max_depth)


def _projected(source: Schema, value: Any, target: Schema) -> Any:
    try:
        return SchemaProjector.project(source, value, target)
    except (SchemaError, EncodeError) as error:
        raise DecodeError(
            f"the message's schema is not compatible with the query's: {error.message}",
            path=error.path,
            hint="pass a schema that all messages can become",
        ) from None


def _mask(count: int, rows: pa.Array) -> pa.Array:
    return pc.is_in(pa.array(range(count), pa.uint64()), rows.cast(pa.uint64()))


class _Parts:
    """Columns of some rows each, to be joined in the order of the rows."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._rows: list[pa.Array] = []
        self._columns: list[pa.Array] = []

    def add(self, rows: pa.Array, column: pa.Array) -> None:
        self._rows.append(rows)
        self._columns.append(column)

    def joined(self, empty: pa.Array) -> pa.Array:
        """All rows; null for rows that no part has. ``empty``: a column of this type."""
        if len(self._columns) == 1 and len(self._columns[0]) == self._count:
            return self._columns[0]
        places: list[int | None] = [None] * self._count
        for place, row in enumerate(row for rows in self._rows for row in rows.to_pylist()):
            places[row] = place
        return pa.concat_arrays([empty, *self._columns]).take(pa.array(places, pa.int64()))


def planned_reader(
    df: DataFrame, value: str, topic: str, conf: Mapping[str, Any], schema: object, *, restart: bool
) -> ConnectReader:
    """On the driver: the reader by the given schema, or by the first message's schema."""
    if restart:
        raise ConfigError("schemaEvolution=restart needs a registry", hint="leave it out for connect-json")
    parsed = JsonOptions.parse(conf, strict=True)
    target = _target(df, value, topic, schema, parsed)
    to_spark_type(target)
    return ConnectReader(topic, target, parsed)


def _target(df: DataFrame, value: str, topic: str, schema: object, options: JsonOptions) -> Schema:
    if isinstance(schema, Schema):
        return schema
    text = schema if schema is not None else options.schema_content
    if text is not None:
        if not isinstance(text, str):
            raise ConfigError(f"expected a schema of Connect or its JSON text, got {type(text).__name__}", topic=topic)
        return from_json(parse(text.encode(), options.max_depth), options.form)
    if df.isStreaming or not options.schemas:
        what = "a stream" if df.isStreaming else "schemas.enable=false"
        raise ConfigError(f"{what} needs a schema", topic=topic, hint="pass schema=, a schema of Connect")
    column = df[backticked(value)]
    first = df.where(column.isNotNull()).select(column).first()
    if first is None:
        raise ConfigError("there is no message to take the schema from", topic=topic, hint="pass schema=")
    known, _ = Envelopes(options.form, 1, options.max_depth).split(bytes(first[0]))
    if known.schema is None:
        raise ConfigError("the first message has null for its schema", topic=topic, hint="pass schema=")
    return known.schema
