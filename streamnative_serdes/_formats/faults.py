"""The texts of formats' errors: the expected and the actual value, never at length."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Final
from uuid import UUID

from streamnative_serdes._missing import hint_of
from streamnative_serdes.errors import DecodeError, EncodeError

from .json_number import JsonNumber

_MOST: Final = 60  # characters of a value that errors show
_SHOWN: Final = (bool, float, type(None), dt.datetime, dt.date, dt.time, Decimal, UUID)


def described(value: object) -> str:
    """Type and value, without calling methods of users' classes."""
    name = type(value).__name__
    if type(value) is JsonNumber:  # in JSON it is no text
        return f"the number {value[:_MOST]}{'...' if len(value) > _MOST else ''}"
    if isinstance(value, str):
        return _quoted(name, str.__getitem__(value, slice(_MOST + 1)))
    if type(value) is bytes:
        return _quoted(name, value[: _MOST + 1])
    if type(value) is int:
        return f"int {value}" if abs(value) < 1 << 256 else "an int of more than 256 bits"
    return f"{name} {value!r:.{_MOST}}" if type(value) in _SHOWN else name


def _quoted(name: str, start: str | bytes) -> str:
    return f"{name} {start[:_MOST]!r}{'...' if len(start) > _MOST else ''}"


def not_encodable(expected: str, value: object, hint: str | None = None) -> EncodeError:
    return EncodeError(f"expected {expected}, got {described(value)}", hint=hint_of(value, hint))


def not_decodable(expected: str, value: object, hint: str | None = None) -> DecodeError:
    return DecodeError(f"expected {expected}, got {described(value)}", hint=hint)


def check_size(name: str, size: int, data: bytes) -> None:
    """Raises DecodeError if ``data`` does not have ``size`` bytes."""
    if len(data) != size:
        raise DecodeError(f"expected {size} bytes for {name}, got {len(data)}", offset=min(size, len(data)))
