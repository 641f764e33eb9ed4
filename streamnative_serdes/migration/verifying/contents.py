"""Contents to compare between source and target, read from the messages of each side separately."""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from streamnative_serdes import header
from streamnative_serdes.errors import DecodeError, SchemaNotFoundError, SchemaRegistryError
from streamnative_serdes.migration.copying.messages import PLACE, HeaderLossError, Rules
from streamnative_serdes.migration.framing import (
    VALUE_HEADER,
    BadMessageError,
    Headers,
    Name,
    Rewriter,
    bare_key,
    without,
)
from streamnative_serdes.migration.route import Direction

from .items import NO_SCHEMA, Content, Item, Pairs, Value
from .values import KnownSchema, SideSchemas

TIME_LOST: Final = TIMESTAMP_CREATE_TIME, 0  # of a copy that has the time of copying instead of its own
_PREFIX: Final = {"forward": 5, "back": header.SIZE}  # bytes in front of a datum of the source


class SourceContents:
    """The expected copies of the source's messages; ``mapped`` are the names of the schemas that were copied."""

    def __init__(
        self,
        direction: Direction,
        mapped: frozenset[Name],
        schemas: SideSchemas,
        rules: Rules,
    ) -> None:
        self._rewriter = Rewriter(direction, {})
        self._mapped, self._schemas, self._rules = mapped, schemas, rules
        self._strips, self._keeps_headers = rules.strips(direction), rules.null_headers and rules.raw_headers
        self._size = _PREFIX[direction]
        self._by_prefix: dict[bytes, KnownSchema] = {}
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
            key, headers = bare_key(key, headers, self._is_bytes)
        pairs = _pairs(headers)
        return Item(Content(key, pairs if self._keeps_headers else self._kept(pairs), timestamp, body), offset, message)

    def schema_of(self, message: Message) -> KnownSchema | None:
        """The schema that a message names; None if the message has no value."""
        value: Any = message.value()
        headers: Any = message.headers()
        return None if value is None else self._known(self._rewriter.name_of(value, headers)[0])

    def _time(self, moment: int) -> tuple[int, int]:
        """The time of a copy, if the message's time is not that of its creation, or cannot be written."""
        if moment > 0:
            return TIMESTAMP_CREATE_TIME, moment
        if not self._rules.allow_time_loss:
            raise BadMessageError(f"expected a timestamp after 1970-01-01T00:00:00.000Z, got {moment} ms")
        return TIME_LOST

    def _kept(self, pairs: Pairs) -> Pairs:
        return tuple([(name, self._kept_header(name, data)) for name, data in pairs])

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

    def _is_bytes(self, name: Name) -> bool:
        try:
            form = self._schemas.of(name).form
        except SchemaNotFoundError as error:
            raise BadMessageError(f"the registry does not have schema {name}, which the key names") from error
        return form is not None and form.schema.root.kind == "bytes"

    def _value(self, value: bytes, headers: Headers) -> tuple[Value, Headers]:
        name, start = self._rewriter.name_of(value, headers)
        known = self._known(name)
        if start:
            self._by_prefix[value[:start]] = known
            return self._checked(known, value[start:]), headers
        return self._checked(known, value), without(VALUE_HEADER, headers)

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


class TargetContents:
    """The target's messages, for comparing, by the schemas of the target."""

    def __init__(self, direction: Direction, schemas: SideSchemas) -> None:
        self._rewriter = Rewriter("back" if direction == "forward" else "forward", {})
        self._size = _PREFIX["back" if direction == "forward" else "forward"]
        self._schemas = schemas
        self._by_prefix: dict[bytes, KnownSchema] = {}

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

    def schema_of(self, message: Message) -> KnownSchema | None:
        """The schema that a message names; None if the message has no value, or names no schema of the registry."""
        value: Any = message.value()
        headers: Any = message.headers()
        try:
            return None if value is None else self._schemas.of(self._rewriter.name_of(value, headers)[0])
        except (BadMessageError, SchemaNotFoundError):
            return None

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
