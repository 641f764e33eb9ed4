"""The bounded caches of the SerDes: topic -> schema version or type -> entry, and what can be made again."""

from __future__ import annotations

from typing import TypeVar

from streamnative_serdes._cache import LruMap, TopicCache

__all__ = ["LruMap", "Memo", "TopicCache"]

_K = TypeVar("_K")
_V = TypeVar("_V")


class Memo(dict[_K, _V]):
    """Values that can be made again, by key; emptied when it has ``most`` entries. Needs no lock."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: _K, value: _V) -> _V:
        """Keep and return ``value``."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
