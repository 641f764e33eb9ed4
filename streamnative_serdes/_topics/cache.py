"""The bounded caches of the SerDes: topic -> schema version or type -> entry; memos; answers of registries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from streamnative_serdes._cache import LruMap, TopicCache

__all__ = ["ForkSafeLock", "LruMap", "Memo", "Shared", "TopicCache"]

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


_MOST = 64  # registries (or sets of options) that one process keeps in mind


class Forkable(Protocol):
    """An object that stays usable in a forked child."""

    def after_fork(self) -> None:
        """In the child: threads that held locks or were waited for do not exist."""


_T = TypeVar("_T", bound=Forkable)


class _Same:
    """A value without a hash, such as a user's function that is a dataclass; it equals only itself."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def _hashable(value: object) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return value


class ForkSafeLock:
    """Gives a reentrant lock: ``with lock():``. A forked child gets a new one: a thread may have held the old one.

    Lives with the process.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()  # reentrant: a finalizer may take it meanwhile

    def __call__(self) -> AbstractContextManager[object]:
        return self._lock


class Shared(Generic[_T]):
    """Objects by options; the oldest of more than 64 is dropped, and stays with its users. Lives with the process.

    ``made`` has the objects. Those that still have users are told of a fork, dropped or not.
    """

    def __init__(self) -> None:
        self.made: dict[Hashable, _T] = {}
        self._lock = ForkSafeLock()
        self._alive: WeakValueDictionary[int, _T] = WeakValueDictionary()  # by id
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def of(self, conf: Mapping[str, object], make: Callable[[], _T]) -> _T:
        """The object for these options; creates it at the first call."""
        key = frozenset((name, _hashable(value)) for name, value in conf.items())
        with self._lock():
            if key not in self.made:
                while len(self.made) >= _MOST:
                    del self.made[next(iter(self.made))]
                new = make()
                self._alive[id(new)] = new
                self.made.setdefault(key, new)  # a finalizer may have asked for the same meanwhile
            return self.made[key]

    def alive(self) -> list[_T]:
        """All objects that are in use, also those that were dropped."""
        references = (
            self._alive.valuerefs()
        )  # one step; a walk would fail where a finalizer asks for an object meanwhile
        return [each for reference in references if (each := reference()) is not None]

    def forget(self) -> None:
        """Forget all objects; users keep theirs."""
        with self._lock():
            self.made.clear()

    def _after_fork(self) -> None:
        for each in self.alive():
            each.after_fork()
