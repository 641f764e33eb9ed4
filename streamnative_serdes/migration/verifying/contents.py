"""Contents of messages to compare between source and target, read from each side separately, and their differences.

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

from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from streamnative_serdes._rewriting import (
    BadMessageError,
    Direction,
    Framings,
    Headers,
    Name,
    Rewriter,
    bare_key,
)
from streamnative_serdes.errors import DecodeError, SchemaNotFoundError, SchemaRegistryError
from streamnative_serdes.migration.copying.messages import PLACE, HeaderLossError, Rules
from streamnative_serdes.migration.schemas.canonical import KnownSchema, SideSchemas, Value

Pairs: TypeAlias = tuple[tuple[str, bytes | None], ...]

SIZE: Final = 16  # bytes
NO_SCHEMA: Final = bytes(16)  # in place of the fingerprint of a value that names no schema
_HEAD: Final = struct.Struct("<iibqi")
_PAIR: Final = struct.Struct("<ii")
_MOST_SHOWN: Final = 120  # characters of a value
_BEFORE: Final = 40  # of them, those before the first difference
_TYPES: Final = ("none", "create time", "log append time")
TIME_LOST: Final = TIMESTAMP_CREATE_TIME, 0  # of a copy that has the time of copying instead of its own


class Content(NamedTuple):
    key: bytes | None  # of the copy
    headers: Pairs  # of the copy
    timestamp: tuple[int, int]  # of the copy: confluent-kafka's number of the type, and milliseconds since 1970 UTC
    value: Value | None  # None is a tombstone


class Item(NamedTuple):
    content: Content
    offset: int
    message: Message


def checksum() -> blake2b:
    """The checksum of no content; update it with :func:`packed` contents."""
    return blake2b(digest_size=SIZE)


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
            if one != other and one != TIME_LOST:
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


class _Contents:
    def __init__(self, direction: Direction, schemas: SideSchemas, framings: Framings | None = None) -> None:
        self._rewriter, self._schemas = Rewriter(direction, {}, framings=framings), schemas
        self._size = self._rewriter.size
        self._by_prefix: dict[bytes, KnownSchema] = {}

    def schema_of(self, message: Message) -> KnownSchema | None:
        """The schema that a message names; None if the message has no value, or names no schema of the registry."""
        value: Any = message.value()
        headers: Any = message.headers()
        try:
            return None if value is None else self._schemas.of(self._rewriter.name_of(value, headers)[0])
        except (BadMessageError, SchemaNotFoundError):
            return None


class SourceContents(_Contents):
    """The expected copies of the source's messages; ``mapped`` are the names of the schemas that were copied."""

    def __init__(
        self,
        direction: Direction,
        mapped: frozenset[Name],
        schemas: SideSchemas,
        rules: Rules,
        framings: Framings | None = None,
    ) -> None:
        super().__init__(direction, schemas, framings)
        self._mapped, self._rules = mapped, rules
        self._strips = rules.strips(direction, foreign=framings is not None)
        self._keeps_headers = rules.null_headers and rules.raw_headers
        self.unmapped: set[Name] = set()  # schemas that messages name, and that were not copied

    def of(self, message: Message) -> Item:
        key: Any = message.key()
        headers: Any = message.headers()
        value: Any = message.value()
        timestamp: Any = message.timestamp()
        offset: Any = message.offset()
        if timestamp[0] != TIMESTAMP_CREATE_TIME or timestamp[1] <= 0:
            timestamp = self._time(timestamp[1])
        body = None
        if value is not None:
            # In most messages, the prefix alone names the schema.
            known = None if headers or self._rules.check else self._by_prefix.get(value[: self._size])
            if known is not None:
                body = known.value(value[self._size :])
            else:
                body, headers = self._value(value, headers)
        if self._strips:
            key, headers = bare_key(key, headers, self._schemas.is_bytes)
        pairs = _pairs(headers)
        if not self._keeps_headers:
            pairs = tuple([(name, self._kept_header(name, data)) for name, data in pairs])
        return Item(Content(key, pairs, timestamp, body), offset, message)

    def _time(self, moment: int) -> tuple[int, int]:
        if moment > 0:
            return TIMESTAMP_CREATE_TIME, moment
        if not self._rules.allow_time_loss:
            raise BadMessageError(f"expected a timestamp after 1970-01-01T00:00:00.000Z, got {moment} ms")
        return TIME_LOST

    def _kept_header(self, name: str, data: bytes | None) -> bytes | None:
        """The value of a header as the target's broker keeps it: null becomes empty, and bad UTF-8 becomes U+FFFD."""
        kept = data
        if data is None and not self._rules.null_headers:
            kept = b""
        elif data is not None and not self._rules.raw_headers:
            kept = data.decode("utf-8", "replace").encode()
        if kept != data and not self._rules.allow_header_loss:
            raise HeaderLossError(f"the target's broker does not keep header {name!r:.80}")
        return kept

    def _value(self, value: bytes, headers: Headers) -> tuple[Value, Headers]:
        value = self._rewriter.opened(value)
        name, start = self._rewriter.name_of(value, headers)
        known = self._known(name)
        if start:
            self._by_prefix[value[:start]] = known
            return self._checked(known, value[start:]), headers
        return self._checked(known, value), self._rewriter.unnamed(headers)

    def _checked(self, known: KnownSchema, datum: bytes) -> Value:
        if self._rules.check:
            try:
                known.check(datum)
            except DecodeError as error:
                raise BadMessageError(f"the value cannot be decoded: {error}") from None
        return known.value(datum)

    def _known(self, name: Name) -> KnownSchema:
        try:
            known = self._schemas.of(name)
        except SchemaNotFoundError as error:
            if name in self._mapped:
                fault = f"the source's registry has lost schema {name}, which was copied: {error.message}"
                raise SchemaRegistryError(fault, status=error.status, url=error.url) from error
            raise BadMessageError(f"the registry does not have schema {name}") from error
        if name not in self._mapped:
            self.unmapped.add(name)
        return known


class TargetContents(_Contents):
    """The target's messages, for comparing, by the schemas of the target."""

    def __init__(self, direction: Direction, schemas: SideSchemas) -> None:
        super().__init__("back" if direction == "forward" else "forward", schemas)

    def of(self, message: Message) -> Item:
        key: Any = message.key()
        headers: Any = message.headers()
        value: Any = message.value()
        timestamp: Any = message.timestamp()
        offset: Any = message.offset()
        body = None
        if value is not None:
            known = None if headers else self._by_prefix.get(value[: self._size])
            body = self._value(value, headers) if known is None else known.value(value[self._size :])
        return Item(Content(key, _pairs(headers), timestamp, body), offset, message)

    def _value(self, value: bytes, headers: Headers) -> Value:
        try:
            name, start = self._rewriter.name_of(value, headers)
            known = self._schemas.of(name)
        except (BadMessageError, SchemaNotFoundError):  # a difference from any message that can be copied
            return Value(NO_SCHEMA, value, False)
        if start:
            self._by_prefix[value[:start]] = known
        return known.value(value[start:])


def _pairs(headers: Headers) -> Pairs:
    """Headers without the header for the place, which copies without transactions have."""
    return tuple([pair for pair in headers if pair[0] != PLACE]) if headers else ()
