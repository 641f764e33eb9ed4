"""Messages of other types than AVRO from columns: the counterpart of typed_columns.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from streamnative_serdes import _config as config
from streamnative_serdes._arrow import WritePlan, encode_batch
from streamnative_serdes._formats.parts import HalfName, HalfNode, PairNode, PairParts, Part, Parts, Plain, named
from streamnative_serdes._schema import Field
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError

from .columns import Capsules, default_of
from .pieces import pieces_of_columns


class TypedColumnWriter:
    """Writes columns as messages of other types than AVRO. Threads may share it.

    Args:
        parts: as what messages are written.
        options: those of a codec.
    """

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
        plan = WritePlan(node, pieces.kind, self._options, self._default_of)
        return pa.array(Capsules(*encode_batch(plan, pieces.arrays, header, large)))

    def _default_of(self, part: Field) -> tuple[bytes | None, int, str | None]:
        return default_of(self._options, part)


class _Columns(NamedTuple):
    """Columns that can be read several times."""

    kind: object
    arrays: list[object]

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> _Columns:
        kind, array = batch.__arrow_c_array__()
        return cls(kind, [array])
