"""Checksums of messages: BLAKE2b, 16 bytes, over the parts that have to be equal in source and target.

::

    key size, int32 | headers, int32 | timestamp type, int8 | timestamp, int64 | value size, int32
    key | for each header: name size, int32; value size, int32; name; value | schema's fingerprint, 16 bytes | value

All numbers are little-endian; a size of -1 means null. A null value has no fingerprint.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

Pairs: TypeAlias = tuple[tuple[str, bytes | None], ...]

SIZE: Final = 16  # bytes
NO_SCHEMA: Final = bytes(16)  # in place of the fingerprint of a value that names no schema
_HEAD: Final = struct.Struct("<iibqi")
_PAIR: Final = struct.Struct("<ii")


class Value(NamedTuple):
    """The value of a message.

    Args:
        schema: the fingerprint of its schema.
        data: the datum, in canonical form if it can be decoded, otherwise unchanged.
        decoded: whether the datum can be decoded.
    """

    schema: bytes
    data: bytes
    decoded: bool


class Content(NamedTuple):
    """The parts of a message that have to be equal in source and target.

    Args:
        key: of the copy.
        headers: of the copy.
        timestamp: of the copy: confluent-kafka's number of the type, and milliseconds since 1970 UTC.
        value: None is a tombstone.
    """

    key: bytes | None
    headers: Pairs
    timestamp: tuple[int, int]
    value: Value | None


class Checksum:
    """The checksum of messages in their order."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=SIZE)

    def add(self, content: Content) -> None:
        """Add a message."""
        self.add_packed(packed(content))

    def add_packed(self, data: bytes) -> None:
        """Add the bytes of :func:`packed` for a message."""
        self._hash.update(data)

    def text(self) -> str:
        """The checksum, in hexadecimal digits."""
        return self._hash.hexdigest()


def packed(content: Content) -> bytes:
    """The bytes of a message for its checksum."""
    key, headers, (kind, moment), value = content
    size = -1 if value is None else len(value[1])
    head = _HEAD.pack(-1 if key is None else len(key), len(headers), kind, moment, size)
    body = b"" if value is None else value[0] + value[1]
    return head + (key or b"") + (_packed_headers(headers) if headers else b"") + body


def digest(content: Content) -> bytes:
    """The checksum of one message."""
    return blake2b(packed(content), digest_size=SIZE).digest()


def _packed_headers(headers: Pairs) -> bytes:
    parts = bytearray()
    for name, data in headers:
        encoded = name.encode("utf-8", "surrogatepass")
        parts += _PAIR.pack(len(encoded), -1 if data is None else len(data)) + encoded + (data or b"")
    return bytes(parts)
