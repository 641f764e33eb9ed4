"""Messages of either side as they are compared: their parts, checksums and differences.

Checksums are BLAKE2b, 16 bytes, over the parts that have to be equal in source and target.

::

    key size, int32 | headers, int32 | timestamp type, int8 | timestamp, int64 | value size, int32
    key | for each header: name size, int32; value size, int32; name; value | schema's fingerprint, 16 bytes | value

All numbers are little-endian; a size of -1 means null. A null value has no fingerprint.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import Message

Pairs: TypeAlias = tuple[tuple[str, bytes | None], ...]

SIZE: Final = 16  # bytes
NO_SCHEMA: Final = bytes(16)  # in place of the fingerprint of a value that names no schema
_HEAD: Final = struct.Struct("<iibqi")
_PAIR: Final = struct.Struct("<ii")


class Value(NamedTuple):
    schema: bytes  # the fingerprint of its schema
    data: bytes  # the datum, in canonical form if it can be decoded, otherwise unchanged
    decoded: bool  # whether the datum can be decoded


class Content(NamedTuple):
    """The parts of a message that have to be equal in source and target."""

    key: bytes | None  # of the copy
    headers: Pairs  # of the copy
    timestamp: tuple[int, int]  # of the copy: confluent-kafka's number of the type, and milliseconds since 1970 UTC
    value: Value | None  # None is a tombstone


class Item(NamedTuple):
    """A message of one side: the parts to compare, and the message's offset."""

    content: Content
    offset: int
    message: Message


class Checksum:
    def __init__(self) -> None:
        self._hash = blake2b(digest_size=SIZE)

    def add(self, content: Content) -> None:
        self.add_packed(packed(content))

    def add_packed(self, data: bytes) -> None:
        """Add the bytes of :func:`packed` for a message."""
        self._hash.update(data)

    def text(self) -> str:
        return self._hash.hexdigest()


def packed(content: Content) -> bytes:
    key, headers, (kind, moment), value = content
    size = -1 if value is None else len(value[1])
    head = _HEAD.pack(-1 if key is None else len(key), len(headers), kind, moment, size)
    body = b"" if value is None else value[0] + value[1]
    return head + (key or b"") + (_packed_headers(headers) if headers else b"") + body


def digest(content: Content) -> bytes:
    return blake2b(packed(content), digest_size=SIZE).digest()


def _packed_headers(headers: Pairs) -> bytes:
    parts = bytearray()
    for name, data in headers:
        encoded = name.encode("utf-8", "surrogatepass")
        parts += _PAIR.pack(len(encoded), -1 if data is None else len(data)) + encoded + (data or b"")
    return bytes(parts)


_MOST_SHOWN: Final = 120  # characters of a value
_BEFORE: Final = 40  # of them, those before the first difference
_TYPES: Final = ("none", "create time", "log append time")


@dataclass(frozen=True, slots=True)
class Difference:
    partition: int  # of both topics
    source_offset: int | None  # of the message in the source; None for a message that only the target has
    target_offset: int | None  # of the copy in the target; None if there is no copy
    # the different part: ``key``, ``headers``, ``timestamp``, ``schema``, ``value``, ``order``, several of these,
    # ``missing``, ``unexpected``, ``copied twice`` or ``dead letter``
    part: str
    expected: str  # the expected copy, shortened
    got: str  # the copy found, shortened


class Differences:
    """The first differences of all partitions; ``describe`` shows schema and value of either side's messages."""

    def __init__(
        self, most: int, describe: tuple[Callable[[Item], tuple[str, str]], Callable[[Item], tuple[str, str]]]
    ):
        self.most, self._describe = most, describe
        self.partition = 0
        self.first: list[Difference] = []

    def add(self, difference: Difference) -> None:
        if len(self.first) < self.most:
            self.first.append(difference)

    def of_pair(self, left: Item, right: Item) -> Difference:
        parts = {}
        for name, one, other in zip(Content._fields[:3], left.content, right.content, strict=False):
            if one != other:
                parts[name] = _shown(name, one), _shown(name, other)
        if left.content.value != right.content.value:
            name, *both = self._values(left, right)
            parts[name] = both[0], both[1]
        pairs = [apart(one, other) for one, other in parts.values()]
        names = list(parts)
        if len(names) == 1:
            return self._difference(left, right, names[0], *pairs[0])
        expected, got = (
            "; ".join(f"{name} {pair[side]}" for name, pair in zip(names, pairs, strict=True)) for side in (0, 1)
        )
        return self._difference(left, right, ", ".join(names), expected, got)

    def of_order(self, left: Item, right: Item) -> Difference:
        return self._difference(
            left, right, "order", "the order of the source", f"its copy is at offset {right.offset}"
        )

    def missing(self, left: Item) -> Difference:
        return self._difference(left, None, "missing", self._message(left, 0), "no copy")

    def unexpected(self, right: Item, original: Item | None) -> Difference:
        part = "unexpected" if original is None else "copied twice"
        expected = "no message" if original is None else "one copy"
        return self._difference(original, right, part, expected, self._message(right, 1))

    def dead_letter(self, offset: int, expected: str, got: str) -> Difference:
        return Difference(self.partition, offset, None, "dead letter", expected, got)

    def _difference(self, left: Item | None, right: Item | None, part: str, expected: str, got: str) -> Difference:
        offsets = left and left.offset, right and right.offset
        return Difference(self.partition, *offsets, part, expected, got)

    def _values(self, left: Item, right: Item) -> tuple[str, str, str]:
        one, other = left.content.value, right.content.value
        (schema, value), (other_schema, other_value) = self._describe[0](left), self._describe[1](right)
        if one is None or other is None or one.schema == other.schema:
            if value == other_value:  # such as NaN with other bits
                value, other_value = _hex(one), _hex(other)
            return "value", value, other_value
        return "schema", f"{schema}: {value}", f"{other_schema}: {other_value}"

    def _message(self, item: Item, side: int) -> str:
        schema, value = self._describe[side](item)
        return apart(f"key {_shown('key', item.content.key)}, {schema}: {value}", "")[0]


def apart(one: str, other: str) -> tuple[str, str]:
    """Both texts, shortened around the place where they begin to differ."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    begin = max(0, same - _BEFORE) if max(len(one), len(other)) > _MOST_SHOWN else 0
    return _cut(one, begin), _cut(other, begin)


def _cut(text: str, begin: int) -> str:
    end = begin + _MOST_SHOWN
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if len(text) > end else ''}"


def _shown(name: str, part: Any) -> str:
    if name == "timestamp":
        kind, moment = part
        return f"{moment} ({_TYPES[kind] if 0 <= kind < len(_TYPES) else kind})"
    return "null" if part is None else repr(part) if name == "key" else repr(list(part))


def _hex(value: Value | None) -> str:
    return "null" if value is None else value.data.hex(" ")
