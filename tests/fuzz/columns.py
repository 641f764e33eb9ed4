"""Messages as Arrow columns, compared with the values of Codec."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import pyarrow as pa
from arrow_values import NOT_HELD, as_object, equal, plain_numbers
from oracle import NOTHING, Beyond, Finding

from streamnative_serdes._schema import Schema, parse
from streamnative_serdes.arrow import ColumnCodec
from streamnative_serdes.errors import BatchTooLargeError, SchemaError

# What is before and behind a message in each form.
BODIES = {"plain": (b"", b""), "optional": (b"\2", b"\4"), "items": (b"\2", b"\4\0")}
AROUND = 6  # messages before one, and behind it; more than eight neighbours are read in blocks


def columns_of(schema: Schema, reader: Schema | None = None, **options: Any) -> ColumnCodec | None:
    """Return a ColumnCodec; None if Arrow has no types for the schema."""
    try:
        return ColumnCodec(schema, reader, dialect="spark", **options)
    except SchemaError:
        return None


class Neighbours:
    """Reads a message among others that can be read, as a field of a record: all but the first one are a block.

    In turn it is a field as it is, of a record that may be null, and of the items of an array.
    """

    def __init__(self, schema: Schema, reader: Schema | None = None, **options: Any) -> None:
        kinds = [json.loads(each.text) for each in (schema, reader) if each is not None]
        self.forms = [Form(kinds, name, options) for name in BODIES]

    def check(self, data: bytes) -> None:
        """Check that the message and those around it are read as they are alone."""
        self.forms.append(self.forms.pop(0))
        self.forms[0].check(data)


class Form:
    """One of the forms."""

    def __init__(self, kinds: list[Any], name: str, options: dict[str, Any]) -> None:
        self.before, self.behind = BODIES[name]
        schemas = [parse(in_a_record(kind, name), strict=False) for kind in kinds]
        self.codec = ColumnCodec(*schemas, dialect="spark", **options)
        self.others: tuple[bytes, pa.RecordBatch] | None = None  # the first message that could be read, and its rows

    def check(self, data: bytes) -> None:
        message = b"\x54\4ab\0\0" + self.before + data + self.behind + b"\0\0\0\1\2\6"
        row = self.codec.decode(pa.array([message]), error_column="")
        if self.others is None and row.column("")[0].as_py() is None:
            self.others = message, row.take([0] * AROUND)
        if self.others is None:
            return
        other, rows = self.others
        try:
            batch = self.codec.decode(pa.array([other] * AROUND + [message] + [other] * AROUND), error_column="")
        except BatchTooLargeError:
            return
        batch.validate(full=True)
        for start, expected in ((AROUND, row), (0, rows), (AROUND + 1, rows)):
            found = batch.slice(start, expected.num_rows)
            if not same_batch(found, expected):
                told = f"{found.to_pylist()!r:.300}, alone: {expected.to_pylist()!r:.300}"
                raise Finding(f"among {other.hex()}, {message.hex()} is read as {told}")
        if self.codec.reader_schema is self.codec.schema and row.column("")[0].as_py() is None:
            self.check_written(batch)

    def check_written(self, batch: pa.RecordBatch) -> None:
        """Check that rows, which are a block, are encoded as the first and the changed one are alone."""
        first, middle = (self.codec.encode(batch.slice(row, 1)).to_pylist() for row in (0, AROUND))
        if self.codec.encode(batch).to_pylist() != [*first * AROUND, *middle, *first * AROUND]:
            raise Finding(f"{batch.to_pylist()!r:.300} are encoded as others than each alone")


def in_a_record(kind: Any, form: str) -> Any:
    """A record with a field of this type among others, so many that it is read in blocks whatever the type is."""
    holder = {"type": "record", "name": "Holder", "fields": [{"name": "v", "type": kind}, {"name": "w", "type": "int"}]}
    forms: dict[str, Any] = {"plain": kind, "optional": ["null", holder], "items": {"type": "array", "items": holder}}
    some: list[Any] = [["null", "int"]] * 5
    fields = dict(zip(("n", "text", "a", "b", "x"), ("long", "string", *some[:2], forms[form]), strict=True))
    fields |= dict(zip(("c", "d", "e", "flag", "last"), (*some[2:], "boolean", ["null", "int"]), strict=True))
    return {
        "type": "record",
        "name": "Among",
        "fields": [{"name": name, "type": each} for name, each in fields.items()],
    }


def neighbours_of(*schemas: Schema, **options: Any) -> Neighbours | None:
    """Return what reads messages among others; None if Arrow has no types for that."""
    try:
        return Neighbours(*schemas, **options)
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
    if refused is not None and NOT_HELD in refused:
        raise Beyond
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
