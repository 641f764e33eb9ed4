"""An entry from Pulsar's admin API, with metadata in ``X-Pulsar-*`` headers, becomes an entry as stored.

Seen on Pulsar 4.0 (PersistentTopicsBase.generateResponseWithEntry): the payload is decompressed; neither the schema
version nor any number is lost; text comes in ISO 8859-1, with a blank for each character that it does not have, and
blanks at the beginning of a header vanish, as HTTP demands. Properties are a JSON object in one header; before 4.0,
each property was a header.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from streamnative_serdes.errors import DecodeError

from .entry import plain_entry, write_entry
from .kafka_entries import FORMAT, KAFKA_FORMAT
from .metadata import BrokerMetadata
from .pulsar_batches import EXACT_HEADERS
from .wire import number, text

_PREFIX: Final = "X-Pulsar-"
_PROPERTY: Final = f"{_PREFIX}PROPERTY"
_OF_BROKER: Final = f"{_PREFIX}Broker-Entry-METADATA-"
_OF_CHUNKS: Final = frozenset({"TOTAL-CHUNKS", "CHUNK-ID"})  # headers that look like properties, before 4.0
# Java's Instant: years beyond 9999 have a sign, and zeros at the end of the fraction are left out.
_MOMENT: Final = re.compile(r"([+-]?[0-9]{4,10})-([0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,3})?)Z")
_YEARS, _DAYS = 400, 146_097  # after so many years, that is days, the calendar repeats itself
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Field of MessageMetadata -> name of the header, and what it is, in the order in which Pulsar's classes write them.
_NUMBER, _TIME, _TEXT, _BASE64, _FLAG = "a number", "a time", "text", "base64", "true or false"
_FIELDS: Final[tuple[tuple[int, str, str], ...]] = (
    (1, "producer-name", _TEXT),
    (2, "sequence-id", _NUMBER),
    (3, "publish-time", _TIME),
    (4, "", "properties"),
    (6, "partition-key", _TEXT),
    (9, "uncompressed-size", _NUMBER),
    (11, "num-batch-message", _NUMBER),
    (12, "event-time", _TIME),
    (13, "Base64-encryption-keys", _BASE64),
    (16, "Base64-schema-version", _BASE64),
    (17, "partition-key-b64-encoded", _FLAG),
    (18, "Base64-ordering-key", _BASE64),
    (19, "deliver-at-time", _TIME),
    (20, "marker-type", _NUMBER),
    (22, "txnid-least-bits", _NUMBER),
    (23, "txnid-most-bits", _NUMBER),
    (24, "highest-sequence-id", _NUMBER),
    (25, "null-value", _FLAG),
    (26, "uuid", _TEXT),
    (27, "num-chunks-from-msg", _NUMBER),
    (28, "total-chunk-msg-size", _NUMBER),
    (29, "chunk-id", _NUMBER),
    (30, "null-partition-key", _FLAG),
)


def entry_of(headers: Mapping[str, str], payload: bytes, *, blanks: bool = False) -> bytes:
    """The entry whose metadata are in these headers; its payload is not compressed.

    Args:
        headers: of the answer; case does not matter. Text is as http.client reads it.
        payload: body of the answer.
        blanks: take blanks in keys and properties for blanks. They may be other characters (see above).

    Raises:
        DecodeError: a header is not as Pulsar sends it; the text of a key or property may have been lost; or the
            payload is a part of a compressed message, which the broker has decompressed as if it were whole.
    """
    _refuse_part(headers)
    properties = dict(_properties(headers))
    kafka = properties.get(FORMAT) == KAFKA_FORMAT
    if not (blanks or kafka or f"{_PREFIX}num-batch-message" in headers):
        _refuse_blanks(headers, properties)
    metadata = b"".join(_field(headers, *field) if field[0] != 4 else _written(properties) for field in _FIELDS)
    timestamp, index = headers.get(f"{_OF_BROKER}timestamp"), headers.get(f"{_OF_BROKER}index")
    broker = BrokerMetadata(
        None if timestamp is None else _moment(f"{_OF_BROKER}timestamp", timestamp),
        None if index is None else _number(f"{_OF_BROKER}index", index),
    )
    return (plain_entry if kafka else write_entry)(metadata, payload, broker)


def _refuse_part(headers: Mapping[str, str]) -> None:
    chunks = _number("", headers.get(f"{_PREFIX}num-chunks-from-msg", "0"))
    if chunks > 1 and headers.get(f"{_PREFIX}compression", "NONE") != "NONE":
        raise DecodeError(
            f"expected a whole message, got one of {chunks} chunks of a compressed one: the admin API has decompressed "
            "the chunk alone",
            hint="read the topic with a client of Pulsar",
        )


def _refuse_blanks(headers: Mapping[str, str], properties: Mapping[bytes, bytes]) -> None:
    """Raise DecodeError if a blank may stand for a character that the answer could not hold."""
    shown = [] if EXACT_HEADERS in properties else [part for pair in properties.items() for part in pair]
    key = headers.get(f"{_PREFIX}partition-key")
    encoded = headers.get(f"{_PREFIX}partition-key-b64-encoded") == "true"
    doubtful = key is not None and not encoded and (not key or " " in key)
    if doubtful or any(b" " in part for part in shown):
        what = "partition key" if doubtful else "properties"
        raise DecodeError(
            f"expected {what} without blanks, got some: the admin API shows a blank for each character outside "
            "ISO 8859-1",
            hint="blanks=True takes them for blanks; a client of Pulsar reads this message as it is",
        )


def _field(headers: Mapping[str, str], field: int, name: str, kind: str) -> bytes:
    """The field of a protocol buffer; empty if there is no such header."""
    name = f"{_PREFIX}{name}"
    shown = headers.get(name)
    if shown is None:
        return b""
    if kind in (_TEXT, _BASE64):
        return text(field, (_utf8 if kind == _TEXT else _decoded)(name, shown))
    return number(field, {_NUMBER: _number, _TIME: _moment, _FLAG: _flag}[kind](name, shown))


def _written(properties: Mapping[bytes, bytes]) -> bytes:
    return b"".join(text(4, text(1, name) + text(2, value)) for name, value in properties.items())


def _properties(headers: Mapping[str, str]) -> Iterator[tuple[bytes, bytes]]:
    together = headers.get(_PROPERTY)
    if together is not None:
        for name, value in _object(together).items():
            yield _utf8(_PROPERTY, name), _utf8(_PROPERTY, value)
        return
    chunk = f"{_PREFIX}chunk-id" in headers
    for header, value in headers.items():
        name = header[len(_PROPERTY) + 1 :]
        if header.startswith(f"{_PROPERTY}-") and not (chunk and name in _OF_CHUNKS):
            yield _utf8(header, name), _utf8(header, value)


def _object(shown: str) -> dict[str, str]:
    try:
        tree = json.loads(shown)
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or not all(isinstance(value, str) for value in tree.values()):
        raise _odd(_PROPERTY, "a JSON object of text", shown)
    return tree


def _number(name: str, shown: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,20}", shown, re.ASCII):
        raise _odd(name, _NUMBER, shown)
    return int(shown)


def _moment(name: str, shown: str) -> int:
    """Milliseconds since 1970 of a time in the form of Java's Instant, of any year."""
    found = _MOMENT.fullmatch(shown)
    year = int(found[1]) if found else 0
    near = 2000 + year % _YEARS
    try:
        moment = datetime.fromisoformat(f"{near}-{found[2]}+00:00") if found else None
    except ValueError:
        moment = None
    if moment is None:
        raise _odd(name, _TIME, shown)
    passed = moment - _EPOCH
    return (
        (passed.days + (year - near) // _YEARS * _DAYS) * 86_400_000
        + passed.seconds * 1000
        + passed.microseconds // 1000
    )


def _flag(name: str, shown: str) -> int:
    if shown not in ("true", "false"):
        raise _odd(name, _FLAG, shown)
    return shown == "true"


def _decoded(name: str, shown: str) -> bytes:
    try:
        return b64decode(shown, validate=True)
    except (NotBase64, ValueError):
        raise _odd(name, _BASE64, shown) from None


def _utf8(name: str, shown: str) -> bytes:
    try:
        return shown.encode()
    except UnicodeEncodeError:
        raise _odd(name, _TEXT, shown) from None


def _odd(name: str, expected: str, got: str) -> DecodeError:
    return DecodeError(f"header {name}: expected {expected}, got {got!r:.80}")
