"""Messages as Arrow columns, compared with the values of Codec."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import pyarrow as pa
from arrow_values import as_object, equal, plain_numbers
from oracle import NOTHING, Finding

from streamnative_serdes._schema import Schema
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.errors import SchemaError


def columns_of(schema: Schema, reader: Schema | None = None, **options: Any) -> ColumnCodec | None:
    """Return a ColumnCodec; None if Arrow has no types for the schema."""
    try:
        return ColumnCodec(schema, reader, dialect="spark", **options)
    except SchemaError:
        return None


def check_columns(codec: ColumnCodec, data: bytes, value: Any) -> bool:
    """Check ``data`` between other rows, which a discarded row must not affect; ``value`` is that of Codec."""
    batch = codec.decode(pa.array([data, None, data], pa.binary()), error_column="")
    batch.validate(full=True)
    first, null, last = batch.to_pylist()
    refused = first.pop("")
    if last.pop("") != refused or repr(first) != repr(last) or any(part is not None for part in null.values()):
        raise Finding(f"rows of one batch change each other: {first!r:.200} and {last!r:.200}")
    if (refused is None) != (value is not NOTHING):
        raise Finding(f"as columns {refused or 'read'}, as an object {'refused' if value is NOTHING else 'read'}")
    if refused is None:
        check_values(codec, batch, first, value)
    return refused is None


def check_values(codec: ColumnCodec, batch: pa.RecordBatch, row: dict[str, Any], value: Any) -> None:
    root = codec.reader_schema.root
    got = as_object(row if root.kind == "record" else row["value"], root)
    if not equal(got, plain_numbers(value, root)):
        raise Finding(f"as columns {got!r:.300}, as an object {value!r:.300}")
    if codec.reader_schema is codec.schema:
        first = batch.slice(0, 1)
        if not same_batch(codec.decode(codec.encode(first), error_column=""), first):
            raise Finding(f"columns that are written read as others: {row!r:.300}")


def same_batch(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    return one.equals(other) or repr(one.to_pylist()) == repr(other.to_pylist())  # nan
