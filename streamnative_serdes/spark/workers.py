"""Worker cache: objects that a worker process reuses from one task to the next.

Spark unpickles a job's objects again for each task. So expensive objects (a deserializer with its compiled schemas, a
producer with its connections) are created once per process and cached by their configuration. Objects from before a
fork are not used after it, since connections and threads do not survive a fork.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar

from pyspark import TaskContext, cloudpickle

from streamnative_serdes._topics.watch import Watch

_MOST: Final = 64  # cached objects; the oldest are evicted
_T = TypeVar("_T")


class Carried(Generic[_T]):
    """A pickled value for workers; each worker process unpickles it only once, for all its tasks.

    A SerDes takes its cached schemas along, so a worker need not fetch them. It does not watch for recreated topics:
    the driver does that.
    """

    def __init__(self, value: _T) -> None:
        self.packed = self.pack(value)
        self._key = blake2b(self.packed).digest()

    def get(self) -> _T:
        """The value; the same object each time within a process."""
        if TaskContext.get() is not None:
            Watch.allowed = False
        return kept(self._key, self.unpack)

    def pack(self, value: _T) -> bytes:
        """The bytes that travel; a subclass may pack otherwise."""
        return _packed(value)

    def unpack(self) -> _T:
        """The value from the bytes."""
        value: _T = pickle.loads(self.packed)  # noqa: S301 - the driver made it
        return value


def key_of(*parts: object) -> bytes:
    """A key for :func:`kept`, equal for equal configurations."""
    return blake2b(_packed(parts)).digest()


def _packed(value: object) -> bytes:
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed


def kept(key: bytes, make: Callable[[], _T]) -> _T:
    """This process's object for ``key``, created on first use."""
    return _shelf_of_process().get(key, make)


class _Shelf:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = threading.RLock()
        self._things: dict[bytes, Any] = {}

    def get(self, key: bytes, make: Callable[[], _T]) -> _T:
        with self._lock:
            thing: _T
            if key in self._things:
                thing = self._things[key]
            else:
                thing = self._things[key] = make()
                while len(self._things) > _MOST:
                    del self._things[next(iter(self._things))]
            return thing


_shelf = _Shelf()
# Keeps the parent's objects alive after a fork: closing a Kafka client would wait for threads that no longer exist.
_inherited: Final[list[_Shelf]] = []


def _shelf_of_process() -> _Shelf:
    global _shelf
    if _shelf.pid != os.getpid():
        _inherited.append(_shelf)
        _shelf = _Shelf()
    return _shelf
