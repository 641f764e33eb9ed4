"""The copy of one message: another prefix, and the same key, headers and timestamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import Message

from streamnative_serdes._config import schema_limits
from streamnative_serdes._rewriting import (
    KEY_HEADER,
    VALUE_HEADER,
    BadMessageError,
    Direction,
    Headers,
    Name,
    Rewriter,
    UnmappedSchemaError,
    bare_key,
    is_text,
)
from streamnative_serdes._schema import Schema, parse
from streamnative_serdes.codec import Codec
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError, SchemaNotFoundError
from streamnative_serdes.migration.foreign import SourceRegistry, named
from streamnative_serdes.migration.route import Route
from streamnative_serdes.schema_registry import ConfluentRegistryClient, SchemaRegistryClient

_MOST_UNKNOWN: Final = 10_000  # names that the registry does not have
PLACE: Final = "streamnative.migration.place"  # header of copies without transactions: b"PARTITION:OFFSET"
_SPECIAL: Final = frozenset({VALUE_HEADER, KEY_HEADER, PLACE})
Keys: TypeAlias = Literal["keep", "strip"]
Copy: TypeAlias = tuple[bytes | None, bytes | None, Headers, int]  # value, key, headers, timestamp in milliseconds
Placed: TypeAlias = tuple[int, int, Copy]  # with its partition, and its offset in the source


class NamedSchemas:
    """Looks up the schemas that messages of the source name; use it as a context manager. Raises ConfigError."""

    def __init__(self, route: Route) -> None:
        self._topic, options = route.topic, route.reading.options()
        self._limits = schema_limits(options)
        framings, forward = route.framings, route.direction == "forward"
        self._foreign = framings is not None
        self._confluent: SourceRegistry | None = None
        if framings is not None:
            self._confluent = framings.registry()
        elif forward:
            self._confluent = ConfluentRegistryClient(options)
        self._pulsar = None if forward else SchemaRegistryClient(options)
        self._found: dict[Name, Schema] = {}
        self._codecs: dict[Name, Codec] = {}
        self._bytes: dict[Name, bool] = {}
        self._unknown: set[Name] = set()

    def __enter__(self) -> NamedSchemas:
        return self

    def __exit__(self, *_: object) -> None:
        for client in (self._confluent, self._pulsar):
            if client is not None:
                client.close()

    def known(self, name: Name) -> bool:
        """Whether the registry has this schema. Raises SchemaError if the schema is not an Avro schema."""
        return self._schema(name) is not None

    def is_bytes(self, name: Name) -> bool:
        """Whether the root of this schema is ``bytes``; False for a schema that is not Avro. Raises BadMessageError."""
        found = self._bytes.get(name)
        if found is None:
            try:
                schema = self._schema(name)
            except SchemaError:
                found = False
            else:
                if schema is None:
                    raise BadMessageError(f"the source's registry has no schema {name}, which the key names")
                found = schema.root.kind == "bytes"
            self._bytes[name] = found
        return found

    def codec(self, name: Name) -> Codec:
        codec = self._codecs.get(name)
        if codec is None:
            schema = self._schema(name)
            if schema is None:
                raise SchemaNotFoundError(f"the source's registry has no schema {name}")
            codec = self._codecs[name] = Codec(schema)
        return codec

    def _schema(self, name: Name) -> Schema | None:
        found = self._found.get(name)
        if found is not None or name in self._unknown:
            return found
        try:
            text = self._text(name)
        except SchemaNotFoundError:
            if len(self._unknown) >= _MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown.add(name)
            return None
        schema = parse(text, strict=False, limits=self._limits)
        plain = self._confluent is None or self._foreign
        found = self._found[name] = schema if plain else schema.in_confluents_framing()
        return found

    def _text(self, name: Name) -> str:
        if self._confluent is not None:
            return self._confluent.self_contained(named(self._confluent, name))
        assert self._pulsar is not None
        assert isinstance(name, int)
        info = self._pulsar.by_version(self._topic, name)
        if info.type != "AVRO":
            raise SchemaError(f"expected a schema of type AVRO, got type {info.type}", version=name)
        return info.text


class HeaderLossError(BadMessageError):
    """The target's broker would alter or refuse the headers of this message."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for copying the parts of a message.

    Args:
        keys: ``keep`` leaves keys as they are; ``strip`` makes those of Confluent's framing bare Avro.
        check: decode each value; a message whose value cannot be decoded is bad.
        null_headers: whether the target's broker keeps headers whose value is null.
        raw_headers: whether the target's broker keeps headers whose value is not UTF-8.
        allow_header_loss: copy messages with headers that the target's broker does not keep: null becomes empty.
        allow_time_loss: copy messages without a time, or of 1970-01-01T00:00:00.000Z: copies get the time of copying.
    """

    keys: Keys = "keep"
    check: bool = False
    null_headers: bool = True
    raw_headers: bool = True
    allow_header_loss: bool = False
    allow_time_loss: bool = False

    def strips(self, direction: Direction, *, foreign: bool = False) -> bool:
        """Whether keys lose their framing.

        Raises:
            ConfigError: in this direction, or from ``foreign`` framings, keys have no framing to lose.
        """
        if self.keys == "strip" and foreign:
            raise ConfigError("--keys strip is for Confluent's framing", hint="keys of other framings are kept")
        if self.keys == "strip" and direction == "back":
            raise ConfigError(
                "--keys strip is for the way from Confluent's framing",
                hint="on the way back, --keys keep copies keys as they are",
            )
        return self.keys == "strip"

    def keeps(self, headers: Headers) -> bool:
        """Whether the target's broker keeps these headers as they are."""
        return all(
            self.null_headers if data is None else self.raw_headers or is_text(data) for _, data in headers or ()
        )


class MessageCopier:
    """Makes copies of messages: the rewriter makes the values, the rules decide about the other parts."""

    def __init__(self, rewriter: Rewriter, schemas: NamedSchemas, rules: Rules) -> None:
        self._rewriter, self._schemas, self._rules = rewriter, schemas, rules
        self._prefixes, self._size = rewriter.prefixes, rewriter.size
        self._strips = rules.strips(rewriter.direction, foreign=rewriter.framings is not None)
        self._checks, self._usual = rules.check, not rules.check
        self._keeps_headers = rules.null_headers and rules.raw_headers

    def copy(self, message: Message) -> Copy:
        value: bytes | None = message.value()
        key: bytes | None = message.key()
        headers: Any = message.headers()
        _, moment = message.timestamp()
        if moment <= 0:
            moment = self._untimed(moment)
        if self._strips:
            key, headers = bare_key(key, headers, self._schemas.is_bytes)
        usual, special = self._usual, False
        if headers is not None:
            for name, _ in headers:
                if name in _SPECIAL or not self._keeps_headers:
                    usual, special = False, True
                    break
        if value is not None:
            prefix = self._prefixes.get(value[: self._size]) if usual else None
            if prefix is not None:
                value = prefix + value[self._size :]  # most messages need no more than this
            else:
                value, headers = self._rewritten(value, headers)
        if special:
            headers = self._kept(headers)  # of the copy: one that the rewriter takes off cannot be lost
        return value, key, headers, moment

    def _rewritten(self, value: bytes, headers: Headers) -> tuple[bytes, Headers]:
        value = self._rewriter.opened(value)
        name, start = self._rewriter.name_of(value, headers)
        try:
            rewritten = self._rewriter.rewrite(value, headers)
        except UnmappedSchemaError:
            if not self._schemas.known(name):
                raise BadMessageError(f"the source's registry has no schema {name}") from None
            raise
        if self._checks:
            self._check(name, value[start:])
        return rewritten

    def _check(self, name: int | str, datum: bytes) -> None:
        try:
            self._schemas.codec(name).decode(datum)
        except DecodeError as error:
            raise BadMessageError(f"the value cannot be decoded by schema {name}: {error}") from None

    def _kept(self, headers: Headers) -> Headers:
        """The headers of the copy, without the header that an earlier copy has added for its place."""
        kept: list[tuple[str, bytes | None]] = [pair for pair in headers or () if pair[0] != PLACE]
        for place, (name, data) in enumerate(kept):
            if data is None and not self._rules.null_headers:
                self._refuse_header_loss(f"header {name!r:.80} is null")
                kept[place] = (name, b"")
            elif data is not None and not self._rules.raw_headers and not is_text(data):
                self._refuse_header_loss(f"header {name!r:.80} is not UTF-8")
        return kept or None

    def _refuse_header_loss(self, reason: str) -> None:
        if not self._rules.allow_header_loss:
            raise HeaderLossError(f"{reason}, which the target's broker does not keep")

    def _untimed(self, moment: int) -> int:
        """The timestamp for a copy of a message without a time; 0 means the present time to the client."""
        if not self._rules.allow_time_loss:
            raise BadMessageError(
                f"expected a timestamp after 1970-01-01T00:00:00.000Z, got {moment} ms: the client cannot write it",
                hint="--allow-time-loss copies it with the present time",
            )
        return 0


def with_place(copy: Copy, partition: int, offset: int) -> Copy:
    value, key, headers, moment = copy
    return value, key, [*(headers or ()), (PLACE, b"%d:%d" % (partition, offset))], moment
