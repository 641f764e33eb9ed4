"""Columns of topics of other types than AVRO, read and written: primitive types, JSON, and halves of KEY_VALUE.

Compiled loops read AVRO and primitive types, and split KEY_VALUE messages. What has a ``form``, such as JSON, is
bytes to them: each message is then read as Python data, which the Avro codec puts into columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from streamnative_serdes import _config as config
from streamnative_serdes._arrow import Plan, Same, WritePlan, decode_batch, encode_batch
from streamnative_serdes._formats.parts import HalfName, HalfNode, PairNode, PairParts, Part, Parts, Plain, named
from streamnative_serdes._schema import Field, Record, resolve
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import DecodeError, EncodeError, SchemaError, SerdesError

from .columns import (
    BatchColumns,
    Columns,
    Dialect,
    Routes,
    RowCounts,
    batch_of,
    default_of,
    encoded,
    first_error,
    layout_of,
    with_errors,
)
from .pieces import array_of_keys, messages_of, pieces_of_columns, pieces_of_messages

_MAX_PLANS: Final = 1_000  # one per writer's schema
_ERRORS: Final = " errors"  # no field of Avro has a space in its name
_Failures = dict[int, DecodeError]  # by row


@dataclass(frozen=True, slots=True)
class _Step:
    """The resolution of a pair: the resolutions of its halves; same interface as Resolution."""

    writer: PairNode
    parts: list[Any]
    fault: None = None
    late_fault: None = None
    added: list[Any] = field(default_factory=list)

    @property
    def reader(self) -> PairNode:
        return self.writer


class TypedColumns(BatchColumns):
    """The columns that messages of other types than AVRO are read into. Threads may share it.

    KEY_VALUE messages have the columns "key" and "value". For JSON these are the fields of the record, and for other
    types there is one column, "value".

    Args:
        target: the parts that messages are read as.
        options: the options of a codec.
        dialect: as for :func:`streamnative_serdes.arrow.arrow_schema_of`.
        large_types: as for :func:`streamnative_serdes.arrow.arrow_schema_of`.

    Raises:
        SchemaError: as for :func:`streamnative_serdes.arrow.arrow_schema_of`.
    """

    def __init__(self, target: Parts, options: config.CodecArguments, dialect: Dialect, large_types: bool) -> None:
        self.target, self._given, self._options = target, options, config.codec_options(options)
        self._layout = layout_of(_node_of(target), self._options["avro.logical.types"], dialect, large_types)
        self._by_parts: dict[object, Plan] = {}
        self._inner = {
            name: Columns(part.schema, options, dialect, large_types)
            for name, part in named(target)
            if part.form is not None and part.schema is not None
        }
        self._compiled_schema = pa.schema(self._layout)
        self.arrow_schema = self._schema_of(self._compiled_schema)

    def _schema_of(self, compiled: pa.Schema) -> pa.Schema:
        if not isinstance(self.target, PairParts):
            return self._inner["value"].arrow_schema if self._inner else compiled
        fields = [
            pa.field(each.name, _type_of(self._inner[each.name])) if each.name in self._inner else each
            for each in compiled
        ]
        return pa.schema(fields)

    def plan_of(self, writer: Parts) -> Plan:
        """Return the plan that reads messages of ``writer``; compiled once and cached.

        Raises:
            SchemaError: ``writer`` is of another type, or none of its messages can be read.
        """
        key = writer.name
        plan = self._by_parts.get(key)
        if plan is None:
            if len(self._by_parts) >= _MAX_PLANS:
                self._by_parts.clear()
            plan = Plan(self._layout, self._step(writer), None, partial(default_of, self._options))
            self._by_parts[key] = plan
        return plan

    def _step(self, writer: Parts) -> Any:
        target = self.target
        if not isinstance(target, PairParts):
            return self._step_of(target, writer)
        if not isinstance(writer, PairParts):
            raise SchemaError(f"expected a schema of type KEY_VALUE, got type {writer.type}")
        steps = []
        for (name, part), (_, wrote) in zip(target.items(), writer.items(), strict=True):
            try:
                steps.append(self._step_of(part, wrote))
            except SchemaError as error:
                error.inside(name)
                raise
        return _Step(PairNode(writer.kind), steps)

    def _step_of(self, target: Part, writer: Parts) -> Any:
        found = writer.type if isinstance(writer, Part) else "KEY_VALUE"
        if not isinstance(writer, Part) or target.type != found:
            raise SchemaError(f"expected a schema of type {target.type}, got type {found}")
        if target.form is not None or target.schema is None or writer.schema is None:
            return Same(target.node)
        if target.schema.same_as(writer.schema):
            return Same(target.schema.root)
        java, logical = self._options["schema.resolution"] == "java", self._options["avro.logical.types"]
        return resolve(writer.schema, target.schema, java=java, logical=logical)

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
        message_keys: Any = None,
    ) -> tuple[pa.RecordBatch, RowCounts, int]:
        """As :meth:`Columns.decode`."""
        schema = with_errors(self.arrow_schema, error_column)
        paired = None if message_keys is None else array_of_keys(message_keys)
        pieces = messages_of(data) if self._inner else pieces_of_messages(data)

        def compiled(name: str | None) -> tuple[pa.RecordBatch, RowCounts, int]:
            array, counts, size = decode_batch(
                self._layout, self._options, framed, *pieces, find, failed, name, signs, keys, paired
            )
            return batch_of(array, with_errors(self._compiled_schema, name)), counts, size

        if not self._inner:
            return compiled(error_column)
        batch, counts, size = compiled(_ERRORS)
        shaped, failures = self._shaped(batch)
        if failures and isinstance(self.target, Part):
            ((key, _), *_) = counts  # the only one, since messages of one type have no header
            failed(key, [failures[min(failures)]], b"")  # the topic may have been recreated
        texts = batch.column(_ERRORS)
        if error_column is None:
            _raise_first(texts, failures, compiled)
        columns = _without(shaped, failures)
        if error_column is not None:
            columns.append(_texts(texts, failures))
        whole = pa.RecordBatch.from_arrays(columns, schema=schema)
        return whole, _with_failures(counts, len(failures)), size

    def _shaped(self, batch: pa.RecordBatch) -> tuple[list[pa.Array], _Failures]:
        """The columns, and errors by row: the bytes of each half with a ``form`` are replaced by the half's data."""
        failures: _Failures = {}
        if not isinstance(self.target, PairParts):
            found = self._formed("value", self.target, batch.column("value"), failures)
            return found.columns, failures
        columns = []
        for name, part in self.target.items():
            column = batch.column(name)
            if name in self._inner:
                found = self._formed(name, part, column, failures)
                whole = pa.StructArray.from_arrays(found.columns, fields=list(found.schema), mask=found.nulls)
                column = whole if part.schema is not None and isinstance(part.schema.root, Record) else found.columns[0]
            columns.append(column)
        return columns, failures

    def _formed(self, name: HalfName, part: Part, messages: pa.Array, failures: _Failures) -> _Formed:
        """Messages as columns; failures are added, with their rows."""
        assert part.form is not None
        assert part.schema is not None
        codec = Codec(part.schema, **self._given)
        data: list[bytes | None] = []
        prefix = name if isinstance(self.target, PairParts) else ""
        for row, message in enumerate(messages.to_pylist()):
            datum: bytes | None = None
            try:
                value = None if message is None else part.form.decode(message)
                datum = None if value is None else codec.encode(value)
            except (DecodeError, EncodeError) as error:
                failures.setdefault(row, _failure(error, part, prefix))
            data.append(datum)
        columns = self._inner[name]
        routes = ((columns.plan(part.schema), 0, False),)
        batch, *_ = columns.decode(data, lambda _: routes, first_error, framed=False)
        nulls = pa.array([datum is None for datum in data], pa.bool_())
        return _Formed(batch.columns, batch.schema, nulls)


class _Formed(NamedTuple):
    columns: list[pa.Array]
    schema: pa.Schema
    nulls: pa.Array


def _node_of(parts: Parts) -> Any:
    if isinstance(parts, Part):
        return parts.node
    return Record("KEY_VALUE", tuple(Field(name, part.node) for name, part in parts.items()))


def _type_of(columns: Columns) -> pa.DataType:
    """The type of one column for a half: a struct of a record's fields."""
    if isinstance(columns.schema.root, Record):
        return pa.struct(list(columns.arrow_schema))
    return columns.arrow_schema.field("value").type


def _failure(error: DecodeError | EncodeError, part: Part, prefix: str) -> DecodeError:
    """The error of a row; ``error`` is an EncodeError of the codec if the data does not fit its column."""
    found = error
    if isinstance(error, EncodeError):
        found = DecodeError(f"the value does not fit its column: {error.message}", path=error.path)
    assert isinstance(found, DecodeError)
    return found.inside(prefix).at(topic=part.topic, version=part.version)


def _raise_first(texts: pa.Array, failures: _Failures, compiled: Callable[[str | None], object]) -> None:
    """Raise the error of the first row that cannot be read, if there is such a row."""
    first = min(failures, default=None)
    bad = pc.index(pc.is_valid(texts), True).as_py()
    if bad >= 0 and (first is None or bad < first):
        compiled(None)
    if first is not None:
        failures[first].row = first
        raise failures[first]


def _without(columns: list[pa.Array], failures: _Failures) -> list[pa.Array]:
    """The columns, with null in all columns of rows that cannot be read."""
    if not failures or not columns:
        return list(columns)
    rows = pa.array([None if row in failures else row for row in range(len(columns[0]))], pa.int64())
    return [column.take(rows) for column in columns]


def _texts(texts: pa.Array, failures: _Failures) -> pa.Array:
    if not failures:
        return texts
    return pa.array([str(failures[row]) if row in failures else text for row, text in enumerate(texts.to_pylist())])


def _with_failures(counts: RowCounts, failures: int) -> RowCounts:
    """The counts, with ``failures`` rows moved to errors, though a plan has read them."""
    found, kind = dict(counts), DecodeError.__qualname__
    for way, key in sorted((way, key) for key, way in counts if isinstance(way, int) and way >= 0):
        moved = min(failures, counts[key, way])
        if moved:
            found[key, way] -= moved
            found[key, kind] = found.get((key, kind), 0) + moved
            failures -= moved
    return {key: rows for key, rows in found.items() if rows}


class TypedColumnWriter:
    """Writes columns as messages of other types than AVRO. Threads may share it."""

    def __init__(self, parts: Parts, options: config.CodecArguments) -> None:
        self._parts, self._options = parts, config.codec_options(options)
        self._codecs = {
            name: Codec(part.schema, **options)
            for name, part in named(parts)
            if part.form is not None and part.schema is not None
        }

    def encode(self, batch: Any, header: bytes, *, large_types: bool = False) -> pa.Array | pa.RecordBatch:
        """Return an array with a message for each row; for KEY_VALUE, a batch with the columns "key" and "value".

        Each value begins with ``header``. With the encoding INLINE, both halves are in the value, and keys are null.

        Raises:
            EncodeError: the columns do not match the schema, or a value does not fit; has row and path.
            TypeError: ``batch`` is not a type with Arrow columns.
        """
        kind, arrays = pieces_of_columns(batch)
        pieces = _Columns(kind, list(arrays))
        if isinstance(self._parts, Part):
            return self._messages("value", self._parts, pieces, None, header, large_types)
        if self._parts.kind == "INLINE":
            values = self._joined(self._parts, pieces, header, large_types)
            keys = pa.nulls(len(values), values.type)
        else:
            keys = self._half("key", self._parts.key, pieces, b"", large_types)
            values = self._half("value", self._parts.value, pieces, header, large_types)
        return pa.RecordBatch.from_arrays([keys, values], ["key", "value"])

    def _joined(self, parts: PairParts, pieces: _Columns, header: bytes, large: bool) -> pa.Array:
        if not self._codecs:
            return self._compiled(PairNode("INLINE", parts.key.node, parts.value.node), pieces, header, large)
        halves = [self._half(name, part, pieces, b"", large) for name, part in parts.items()]
        payloads = _Columns.of(pa.RecordBatch.from_arrays(halves, ["key", "value"]))
        return self._compiled(PairNode("INLINE", Plain("BYTES"), Plain("BYTES")), payloads, header, large)

    def _half(self, name: HalfName, part: Part, pieces: _Columns, header: bytes, large: bool) -> pa.Array:
        try:
            return self._messages(name, part, pieces, name, header, large)
        except EncodeError as error:
            if error.row is not None:  # otherwise it is about the columns, and its path is that of one of them
                error.inside(name)
            raise

    def _messages(
        self, name: HalfName, part: Part, pieces: _Columns, column: HalfName | None, header: bytes, large: bool
    ) -> pa.Array:
        """Messages of one schema, from the column of a half or from all columns."""
        node = part.node if part.form is None or part.schema is None else part.schema.root
        if column is not None:
            node = HalfNode(column, node)
        if part.form is None:
            return self._compiled(node, pieces, header, large)
        codec, form = self._codecs[name], part.form
        data: list[bytes | None] = []
        for row, datum in enumerate(self._compiled(node, pieces, b"", True).to_pylist()):
            try:
                data.append(None if datum is None else header + form.encode(codec.decode(datum)))
            except EncodeError as error:
                error.row = row
                raise
        return pa.array(data, pa.large_binary() if large else pa.binary())

    def _compiled(self, node: Any, pieces: _Columns, header: bytes, large: bool) -> pa.Array:
        plan = WritePlan(node, pieces.kind, self._options, partial(default_of, self._options))
        return encoded(encode_batch(plan, pieces.arrays, header, large), large=large)


class _Columns(NamedTuple):
    """Columns that can be read several times."""

    kind: object
    arrays: list[object]

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> _Columns:
        kind, array = batch.__arrow_c_array__()
        return cls(kind, [array])
