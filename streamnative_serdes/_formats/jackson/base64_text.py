"""Bytes as base64 text, as Jackson writes byte arrays: the standard alphabet, padded, in one line."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from streamnative_serdes.errors import DecodeError

from ..faults import described, not_decodable


def from_base64(value: Any, size: int | None = None) -> bytes:
    """The bytes; exactly ``size``, if given.

    Raises:
        DecodeError: the value is no text, or the text no base64.
    """
    if type(value) is not str:
        raise not_decodable("bytes as base64 text", value)
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        hint = "pulsar-client's JsonSchema for Python writes bytes as plain text"
        raise not_decodable("bytes as base64 text", value, hint) from None
    if size is not None and len(data) != size:
        raise DecodeError(f"expected {size} bytes as base64 text, got {len(data)}: {described(value)}")
    return data


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
