"""The bounded caches of the SerDes: topic -> schema version or type -> entry; memos."""

from __future__ import annotations

from typing import TypeVar

from streamnative_serdes._cache import LruMap, TopicCache

__all__ = ["LruMap", "Memo", "TopicCache"]

_K = TypeVar("_K")
_V = TypeVar("_V")


class Memo(dict[_K, _V]):
    """A bounded dict of entries that can be made again: a full one is emptied. It needs no lock, nor care at a fork.

    Threads share it: each step on the dict is atomic. Two that miss at the same time make an entry each, and both
    entries are good; of threads that find it full, each may empty it, and some may put one entry more than it holds.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: _K, value: _V) -> _V:
        """Keep and return ``value``."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
