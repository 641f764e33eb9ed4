"""The halves of KEY_VALUE messages with the encoding INLINE: splitting, joining, and the paths of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from streamnative_serdes.errors import DecodeError, EncodeError

_Done = TypeVar("_Done")
_NULL: Final = b"\xff\xff\xff\xff"  # the length of a half that is null
_SIZE: Final = 4  # bytes of a length


def split(data: bytes) -> tuple[bytes | None, bytes | None]:
    """The halves of a message without a header. The message was read before, so it is complete."""
    key, rest = _first(data)
    return key, _first(rest)[0]


def _first(data: bytes) -> tuple[bytes | None, bytes]:
    size = int.from_bytes(data[:_SIZE], signed=True)
    return (None, data[_SIZE:]) if size < 0 else (data[_SIZE : _SIZE + size], data[_SIZE + size :])


def join(key: bytes | None, value: bytes | None) -> bytes:
    return b"".join(_NULL if half is None else len(half).to_bytes(_SIZE) + half for half in (key, value))


def within(name: str, work: Callable[[Any], _Done], data: Any) -> _Done | None:
    """The result of ``work`` for one half; None for None. The paths of errors begin with ``name``."""
    if data is None:
        return None
    try:
        return work(data)
    except (DecodeError, EncodeError) as error:
        raise error.inside(name) from None
