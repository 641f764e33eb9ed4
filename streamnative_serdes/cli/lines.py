"""Messages as JSON lines: the output of ``decode`` and the input of ``produce``.

::

    {"topic": "users", "partition": 0, "offset": 7, "timestamp": "2026-11-23T13:45:00.123Z", "key": "ada",
     "headers": [["trace", "a1"]], "framing": "snip42", "version": 3, "value": {"name": "Ada"}}

Keys and values of headers are text where they are UTF-8, otherwise ``{"base64": "..."}``. In KEY_VALUE topics the key
is data, as the value is; with the encoding INLINE, ``message_key`` is that of the message, if it has one.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Message

from streamnative_serdes.errors import EncodeError
from streamnative_serdes.key_value import INLINE

from .avro_json import read_moment, show_moment

_BASE64: Final = "base64"
# Members of decode's lines for the place of a message; they do not matter for writing the message again.
_ORIGIN: Final = frozenset({"topic", "offset", "framing", "version", "header_version"})
_WRITTEN: Final = frozenset({"key", "headers", "partition", "timestamp", "value"})
_MESSAGE_KEY: Final = "message_key"  # of encoding INLINE, whose key is the half of the value
ABSENT: Final = object()  # in the place of a member that a line does not have
_MOST_PARTITION: Final = 2**31 - 1
_MOST_TIME: Final = 2**63 - 1


def place_of(message: Message) -> dict[str, Any]:
    kind, millis = message.timestamp()
    headers: Any = (
        message.headers() or []
    )  # the type stubs allow str and a dict, which the client takes but never gives
    key: Any = message.key()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": show_moment(millis, 3, True) if kind else None,
        "key": show_bytes(key),
        "headers": [[name, show_bytes(value)] for name, value in headers],
    }


def show_bytes(data: bytes | None) -> Any:
    """Bytes as text if they are UTF-8, otherwise as base64 in an object, which is never text."""
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {_BASE64: base64.b64encode(data).decode("ascii")}


def read_bytes(name: str, value: Any) -> bytes | None:
    """The bytes of a JSON value, as :func:`show_bytes` writes it. Raises EncodeError if the value has another form."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return value.encode("utf-8")
        if isinstance(value, dict) and set(value) == {_BASE64}:
            return base64.b64decode(value[_BASE64], validate=True)
    except (UnicodeEncodeError, binascii.Error, TypeError, ValueError):
        pass
    raise EncodeError(f'{name}: expected text, null or {{"base64": "..."}}, got {value!r:.60}')


@dataclass(frozen=True, slots=True)
class Line:
    """A message to write; ``value`` is JSON, not yet data."""

    value: Any
    key: bytes | None = None  # of the message
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp: int | None = None  # milliseconds since 1970, UTC
    half: Any = ABSENT  # of KEY_VALUE topics: the key, as JSON


def parse_line(text: str | bytes, *, values: bool = False, halves: str | None = None) -> Line:
    """Read a line; with ``values``, a line is the value alone. ``halves``: the encoding of a KEY_VALUE topic."""
    try:
        tree = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise EncodeError(f"not a line of JSON: {error or 'nested too deeply'}") from None
    if not values:
        return _line(tree, halves)
    if halves != INLINE or tree is None:
        return Line(tree)
    if not isinstance(tree, dict) or tree.keys() != {"key", "value"}:
        raise EncodeError(f'expected {{"key": ..., "value": ...}}, since the encoding is INLINE, got {tree!r:.60}')
    return Line(tree["value"], half=tree["key"])


def _line(tree: Any, halves: str | None) -> Line:
    if not isinstance(tree, dict):
        raise EncodeError(f'expected {{"value": ...}}, got {tree!r:.60}', hint="--values takes lines of values alone")
    if "error" in tree:
        raise EncodeError(f"decode could not read this message: {tree['error']!s:.200}", hint="leave the line out")
    written = _WRITTEN | {_MESSAGE_KEY} if halves == INLINE else _WRITTEN
    unknown = sorted(set(tree) - _ORIGIN - written)
    if unknown or "value" not in tree:
        fault = f"it has {unknown[0]!r}" if unknown else "it has no value"
        raise EncodeError(
            f"expected a line with value and perhaps {', '.join(sorted(written - {'value'}))}; {fault}",
            hint="--values takes lines of values alone; a value of null is a tombstone",
        )
    name = "key" if halves is None else _MESSAGE_KEY
    return Line(
        tree["value"],
        read_bytes(name, tree.get(name)),
        _headers(tree.get("headers")),
        _number("partition", tree.get("partition"), _MOST_PARTITION),
        _number("timestamp", _time(tree.get("timestamp")), _MOST_TIME),
        ABSENT if halves is None else tree.get("key", ABSENT),
    )


def _headers(value: Any) -> tuple[tuple[str, bytes | None], ...]:
    if value is None:
        return ()
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
    ):
        raise EncodeError(f'headers: expected [["name", "value"], ...], got {value!r:.60}')
    return tuple((name, read_bytes(f"header {name}", item)) for name, item in pairs)


def _time(value: Any) -> Any:
    try:
        return read_moment(value, 3, True)
    except ValueError as expected:
        raise EncodeError(f"timestamp: expected {expected} or milliseconds, got {value!r:.60}") from None


def _number(name: str, value: Any, most: int) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= most:
        raise EncodeError(f"{name}: expected a whole number from 0 to {most}, got {value!r:.60}")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f'{name} is not JSON: write "{name}"')


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.60} occurs twice in an object")
    return tree
