"""The end of a ``with`` block, for classes that have ``close()``."""

from __future__ import annotations

from typing import Protocol, Self


class _Closes(Protocol):
    def close(self) -> None: ...


class Closing:
    """The base of a context manager that is itself, and is closed at the end."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self: _Closes, *_: object) -> None:
        self.close()
