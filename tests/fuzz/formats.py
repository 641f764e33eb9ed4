"""Damaged messages of the types that are not AVRO: JSON, primitives, PROTOBUF_NATIVE, and pairs whose lengths lie.

Each must end in a value or a DecodeError, in memory that the size of the message bounds. A value that can be written is
read back the same.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from mutations import mutated
from oracle import MAX_ERROR, NOTHING, Finding, read

from streamnative_serdes import KeyValue, _call_path
from streamnative_serdes._formats import PRIMITIVES, Format, format_of
from streamnative_serdes._schema import Limits, Schema
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import EncodeError, SchemaError
from streamnative_serdes.schema_registry import SchemaInfo

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows
    getrusage = None  # type: ignore[assignment]

MOST_GROWTH = 256 << 10  # kilobytes of memory, by one message of a few hundred bytes
JSON_PIECES = [piece.encode() for piece in (
    "null", "true", "NaN", "-Infinity", "[", "]", "{", "}", "[[[[", '{"a":', ",", ":", '"', '""', "\\u", '"\\ud800"',
    "0", "-", "1e999999999", "-1e-999999999", "1.5", "9" * 30, "9" * 5000, "[9999,99,99]", '"AA=="', "\ufeff",
    '"2020-01-01T00:00:00Z"',
)]  # fmt: skip
LENGTHS = (0, 1, -1, -2, 4, 2**31 - 1, -(2**31), 2**24, 255)

Check = Callable[[bytes], bool]


class Formats:
    """What reads other types than AVRO, for one schema, with valid messages of each to start from.

    Args:
        schema: the schema of JSON messages, and of the keys of pairs.
        data: valid data of it.
        codec: of the schema.
        rng: draws what is mutated, and how.
    """

    def __init__(self, schema: Schema, data: list[Any], codec: Codec, rng: Random) -> None:
        self.rng = Random(rng.random())
        self.json = _json(schema)
        self.texts = [] if self.json is None else [text for datum in data if (text := _written(self.json, datum))]
        self.keys = [key for datum in data if (key := _written(codec, datum)) is not None]
        halves = _call_path.Half(codec), _call_path.Half(None, bytes, bytes)
        self.pair = _call_path.Bound("topic", 0, 0, None, None, pair=_call_path.Pair(*halves, KeyValue))
        self.codec = codec

    def mutant(self) -> tuple[Check, bytes]:
        """A way to read, and a damaged message for it."""
        makers = [self._primitive, self._inline]
        makers += [self._text] * 2 if self.texts else []
        makers += [self._protobuf] if protobuf() is not None else []
        return self.rng.choice(makers)()

    def _text(self) -> tuple[Check, bytes]:
        text = self.rng.choice(self.texts)
        if self.rng.random() < 0.5:
            text = mutated(text, self.rng, self.texts)
        for _ in range(self.rng.randrange(3)):
            at, end = sorted(self.rng.randrange(len(text) + 1) for _ in range(2))
            text = text[:at] + self.rng.choice(JSON_PIECES) + text[self.rng.choice((at, end)) :]
        return self.check_json, text

    def _primitive(self) -> tuple[Check, bytes]:
        kind = self.rng.choice(PRIMITIVES)
        data = self.rng.choice((b"", b"\0" * 8, b"\xff" * 8, b"\x7f" + b"\xff" * 15, self.rng.randbytes(8)))
        size = self.rng.choice((len(data), 1, 2, 4, 8, 12, 16))

        def check_primitive(data: bytes) -> bool:
            return checked(primitive(kind), data, again=True)

        return check_primitive, mutated(data[:size], self.rng, [data])

    def _protobuf(self) -> tuple[Check, bytes]:
        format, seeds = protobuf() or (None, [])
        assert format is not None

        def check_protobuf(data: bytes) -> bool:
            return checked(format, data, again=True)

        return check_protobuf, mutated(self.rng.choice(seeds), self.rng, seeds)

    def _inline(self) -> tuple[Check, bytes]:
        """A pair, one of whose lengths was replaced."""
        key = self.rng.choice(self.keys or [b""])
        lengths = [len(key), 3]
        lengths[self.rng.randrange(2)] = self.rng.choice((*LENGTHS, len(key) + 3, len(key) - 1))
        first, second = (length.to_bytes(4, signed=True) for length in lengths)
        return self.check_inline, first + key + second + b"abc"[: self.rng.randrange(4)]

    def check_json(self, data: bytes) -> bool:
        assert self.json is not None
        return checked(self.json, data)

    def check_inline(self, data: bytes) -> bool:
        """The compiled split, against slices."""
        got = read(lambda data: _call_path.read_by(self.pair, data, 0), data)
        expected = self._split(data)
        if repr(got) != repr(expected):
            raise Finding(f"a pair is read as {got!r:.200}, by slices as {expected!r:.200}: {data.hex()}")
        return got is not NOTHING

    def _split(self, data: bytes) -> Any:
        halves: list[bytes | None] = []
        for _ in range(2):
            length = int.from_bytes(data[:4], signed=True)
            if len(data) < 4 or not -1 <= length <= len(data) - 4:
                return NOTHING
            halves.append(None if length < 0 else data[4 : 4 + length])
            data = data[4 + max(length, 0) :]
        key, value = halves
        datum = None if key is None else read(self.codec.decode, key)
        return NOTHING if data or datum is NOTHING else KeyValue(datum, value)


def checked(format: Format, data: bytes, *, again: bool = False) -> bool:
    """Read ``data``, and return whether it was read; ``again``: what was read can be written."""
    before = _most_memory()
    value = read(format.decode, data)
    if _most_memory() - before > MOST_GROWTH:
        raise Finding(f"{len(data)} bytes took {(_most_memory() - before) >> 10} MB")
    if value is NOTHING:
        return False
    try:
        written = format.encode(value)
    except EncodeError as error:
        if again or len(str(error)) > MAX_ERROR:
            raise Finding(f"what was read cannot be written: {error!s:.500}") from error
        return True
    if repr(read(format.decode, written)) != repr(value) and again:
        raise Finding(f"{value!r:.200} is written, and read as {read(format.decode, written)!r:.200}")
    return True


def _most_memory() -> int:
    """Kilobytes that the process has had at most; 0 where it cannot be told."""
    return 0 if getrusage is None else getrusage(RUSAGE_SELF).ru_maxrss


def _json(schema: Schema) -> Format | None:
    try:
        return format_of(SchemaInfo(0, "JSON", schema.text), Limits(), {})
    except SchemaError:
        return None  # one that only a registry accepts


def _written(by: Format | Codec, datum: Any) -> bytes | None:
    try:
        return by.encode(datum)
    except EncodeError:
        return None  # as data without any


@cache
def primitive(kind: str) -> Format:
    return format_of(SchemaInfo(0, kind, ""), Limits(), {})


@cache
def protobuf() -> tuple[Format, list[bytes]] | None:
    """The format of a message with all kinds of fields, and valid messages; None without the library."""
    if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.protobuf") is None:
        return None
    from google.protobuf.struct_pb2 import Struct

    from streamnative_serdes._formats import protobuf_native_text

    format = format_of(SchemaInfo(0, "PROTOBUF_NATIVE", protobuf_native_text(Struct) or ""), Limits(), {})
    one, two = Struct(), Struct()
    one.update({"a": 1.5, "b": None, "c": "text", "d": [True, {"e": [1, "2"]}]})
    two.update({"nested": {"nested": {"nested": {}}}, "": ""})
    return format, [message.SerializeToString(deterministic=True) for message in (one, two, Struct())]
