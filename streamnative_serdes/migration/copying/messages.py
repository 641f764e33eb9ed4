"""The copy of one message: another prefix, and the same key, headers and timestamp."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import Message

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
from streamnative_serdes.errors import ConfigError, DecodeError, SchemaError, SchemaNotFoundError
from streamnative_serdes.migration.schemas.canonical import SideSchemas

PLACE: Final = "streamnative.migration.place"  # header of copies without transactions: b"PARTITION:OFFSET:MARK"
_SPECIAL: Final = frozenset({VALUE_HEADER, KEY_HEADER, PLACE})
Keys: TypeAlias = Literal["keep", "strip"]
Copy: TypeAlias = tuple[bytes | None, bytes | None, Headers, int]  # value, key, headers, timestamp in milliseconds
Placed: TypeAlias = tuple[int, int, Copy]  # with its partition, and its offset in the source


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
    """Makes copies of messages: the rewriter makes the values, the rules decide about the other parts.

    ``renewed`` is asked before a schema counts as not copied: for a rewriter that has it meanwhile, or None.
    """

    def __init__(
        self,
        rewriter: Rewriter,
        schemas: SideSchemas,
        rules: Rules,
        renewed: Callable[[Name], Rewriter | None] = lambda _: None,
    ) -> None:
        self._schemas, self._rules, self._renewed = schemas, rules, renewed
        self._use(rewriter)
        self._strips = rules.strips(rewriter.direction, foreign=rewriter.framings is not None)
        self._checks, self._usual = rules.check, not rules.check
        self._keeps_headers = rules.null_headers and rules.raw_headers

    def _use(self, rewriter: Rewriter) -> None:
        self._rewriter, self._prefixes, self._size = rewriter, rewriter.prefixes, rewriter.size

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
            try:
                found = self._schemas.of(name)
            except SchemaNotFoundError:
                raise BadMessageError(f"the source's registry has no schema {name}") from None
            if found.form is None:
                raise SchemaError(f"schema {name}: {found.fault}") from None
            renewed = self._renewed(name)
            if renewed is None:
                raise
            self._use(renewed)
            rewritten = renewed.rewrite(value, headers)
        if self._checks:
            self._check(name, value[start:])
        return rewritten

    def _check(self, name: int | str, datum: bytes) -> None:
        try:
            self._schemas.of(name).check(datum)
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


def mark_of(source: str) -> str:
    """Four characters that tell a source's copies from those of other sources in the same target."""
    return base64.urlsafe_b64encode(blake2b(source.encode(), digest_size=3).digest()).decode()


def with_place(copy: Copy, partition: int, offset: int, mark: str) -> Copy:
    value, key, headers, moment = copy
    return value, key, [*(headers or ()), (PLACE, f"{partition}:{offset}:{mark}".encode())], moment
