"""What a worker process keeps from one task to the next.

Spark unpickles what a job carries again for each task. So what takes time to make (a deserializer with its plans, a
producer with its connections) is made once per process and found again by what it was made of. Nothing made before a
fork is used after it: connections and threads do not go along.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, Generic, TypeVar

from pyspark import TaskContext, cloudpickle

from streamnative_serdes.watch import Watch

_MOST: Final = 64  # things kept; beyond, the oldest go
_T = TypeVar("_T")


class Carried(Generic[_T]):
    """A value on its way to workers; each unpickles it once, with however many tasks it comes.

    What a SerDes knows of its topics goes with it, so a worker need not ask the registry for that; and it does not
    watch whether topics are made anew, which its driver does.
    """

    def __init__(self, value: _T) -> None:
        self._packed = _packed(value)
        self._key = blake2b(self._packed).digest()

    def get(self) -> _T:
        """The value, the same one each time in a process."""
        if TaskContext.get() is not None:
            Watch.allowed = False
        value: _T = kept(self._key, lambda: pickle.loads(self._packed))  # noqa: S301 - the driver made it
        return value


def key_of(*parts: object) -> bytes:
    """A key for :func:`kept`, the same for equal configurations."""
    return blake2b(_packed(parts)).digest()


def _packed(value: object) -> bytes:
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed


def kept(key: bytes, make: Callable[[], _T]) -> _T:
    """What this process keeps under ``key``, made if there is nothing yet."""
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
# A client that was made before a fork cannot even be closed after it: its threads are not there to take part.
_inherited: Final[list[_Shelf]] = []


def _shelf_of_process() -> _Shelf:
    global _shelf
    if _shelf.pid != os.getpid():
        _inherited.append(_shelf)
        _shelf = _Shelf()
    return _shelf
