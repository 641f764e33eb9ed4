"""KEY_VALUE messages as columns, compared with what the call path reads: lengths of halves are not to be trusted."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
from arrow_values import NOT_HELD, as_object, equal, plain_numbers
from clients import Sent
from columns import same_batch
from oracle import NOTHING, Finding, read

from streamnative_serdes import KeyValue, _call_path
from streamnative_serdes._formats import PRIMITIVES, format_of
from streamnative_serdes._formats.parts import PairParts, Part
from streamnative_serdes._schema import Limits, Schema
from streamnative_serdes.arrow.typed_columns import TypedColumns, TypedColumnWriter
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

# Types whose values in columns are those of Python, whatever the bytes.
TYPES = tuple(kind for kind in PRIMITIVES if kind not in ("NONE", "INSTANT", "LOCAL_DATE_TIME"))


class Pairs:
    """Messages whose key has the schema, and whose value is of a primitive type.

    Raises:
        SchemaError: Arrow has no types for the schema.
    """

    def __init__(self, schema: Schema, codec: Codec, rng: Random, **options: Any) -> None:
        self.root, self.rng = schema.root, Random(rng.random())
        kind = self.rng.choice(TYPES)
        form = format_of(SchemaInfo(0, kind, ""), Limits(), {})
        self.form = form
        halves = _call_path.Half(codec), _call_path.Half(None, form.encode, form.decode)
        pair = _call_path.Pair(*halves, KeyValue)
        self.bound = _call_path.Bound("topic", 0, 0, None, None, pair=pair)
        parts = Part("AVRO", schema), Part(kind)
        self.inline, self.separated = (PairParts(how, *parts) for how in ("INLINE", "SEPARATED"))
        self.columns = TypedColumns(self.inline, options, "spark", False)
        self.writers = [TypedColumnWriter(each, options) for each in (self.inline, self.separated)]

    def check(self, data: bytes) -> bool:
        """Check ``data`` as the key of a message, as its value, and as the whole message."""
        other = self.rng.choice((b"", data, self.rng.randbytes(self.rng.choice((1, 4, 8, 12, 16)))))
        good = join(data, other)
        at = self.rng.randrange(len(good) + 1)
        messages = [data, good, join(None, data), join(data, None), good[:at], good[:at] + data + good[at:]]
        read = [self._check_inline(message) for message in messages]
        self._check_separated(data, other)
        return any(read)

    def _check_inline(self, message: bytes) -> bool:
        expected = read(lambda data: _call_path.read_by(self.bound, data, 0), message)
        plan = self.columns.plan_of(self.inline)
        batch, *_ = self.columns.decode(
            pa.array([message, None, message], pa.binary()), lambda _: ((plan, 0, True),), first, error_column=""
        )
        return self._compare(batch, expected, message)

    def _check_separated(self, key: bytes, value: bytes) -> None:
        halves = (
            read(self.bound.pair.key.codec.decode, key),  # type: ignore[union-attr]
            read(self.form.decode, value),
        )
        expected = NOTHING if NOTHING in halves else KeyValue(*halves)
        plan = self.columns.plan_of(self.separated)
        batch, *_ = self.columns.decode(
            pa.array([value, None, value], pa.binary()), lambda _: ((plan, 0, True),), first,
            error_column="", framed=False, message_keys=pa.array([key, None, key], pa.binary()),
        )  # fmt: skip
        self._compare(batch, expected, key)
        messages = [Sent({"value": value, "key": key}, []) for value, key in ((value, key), (None, None), (value, key))]
        again, *_ = self.columns.decode(
            messages, lambda _: ((plan, 0, True),), first, error_column="", framed=False, message_keys=messages
        )
        if not same_batch(again, batch):
            raise Finding(f"as a client's messages {again.to_pylist()!r:.300}, as arrays {batch.to_pylist()!r:.300}")

    def _compare(self, batch: pa.RecordBatch, expected: Any, message: bytes) -> bool:
        batch.validate(full=True)
        one, null, last = batch.to_pylist()
        refused = one.pop("")
        if last.pop("") != refused or repr(one) != repr(last) or any(part is not None for part in null.values()):
            raise Finding(f"rows of one batch change each other: {one!r:.200} and {last!r:.200}")
        if refused is not None and NOT_HELD in refused:
            return False
        if (refused is None) != (expected is not NOTHING):
            raise Finding(f"as columns {refused or 'read'}, as a pair {expected!r:.200}: {message.hex()}")
        if refused is not None:
            return False
        got = one["key"] if one["key"] is None else as_object(one["key"], self.root)
        if not equal(got, plain_numbers(expected.key, self.root)) or not equal(one["value"], expected.value):
            raise Finding(f"as columns {one!r:.300}, as a pair {expected!r:.300}")
        self._check_written(batch.slice(0, 1).drop_columns([""]), one)
        return True

    def _check_written(self, batch: pa.RecordBatch, row: dict[str, Any]) -> None:
        for writer, parts in zip(self.writers, (self.inline, self.separated), strict=True):
            written = writer.encode(batch, b"")
            plan = self.columns.plan_of(parts)
            again, *_ = self.columns.decode(
                written["value"], lambda _, plan=plan: ((plan, 0, True),), first, framed=False,
                message_keys=written["key"],
            )  # fmt: skip
            if repr(again.to_pylist()) != repr([row]):
                raise Finding(f"columns that are written read as others: {row!r:.300}")


def first(_key: int, errors: list[Any], _message: bytes) -> Any:
    return errors[0]


def join(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(b"\xff" * 4 if half is None else len(half).to_bytes(4) + half for half in (key, value))


def pairs_of(schema: Schema, codec: Codec, rng: Random, **options: Any) -> Pairs | None:
    """None if Arrow has no types for the schema."""
    try:
        return Pairs(schema, codec, rng, **options)
    except SchemaError:
        return None
