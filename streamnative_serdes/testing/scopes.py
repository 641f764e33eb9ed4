"""Registries by scope: what ``mock://SCOPE`` as an address stands for, as in Confluent's clients."""

from __future__ import annotations

import atexit
import os
import threading

from .local_registry import LocalRegistry

_started: dict[tuple[int, str], LocalRegistry] = {}
_lock = threading.RLock()  # a finalizer may ask while it is held


def registry_of(scope: str) -> LocalRegistry:
    """The registry that this process has for ``scope``: started with the first question, ended with the process.

    A process made by a fork has registries of its own, empty ones: its parent's threads, which would answer, are not
    in it.
    """
    place = os.getpid(), scope
    with _lock:
        if place not in _started:
            new = LocalRegistry().start()
            if _started.setdefault(place, new) is new:
                atexit.register(_end, place)
            else:  # a finalizer asked meanwhile
                new.close()
        return _started[place]


def _end(place: tuple[int, str]) -> None:
    if place[0] == os.getpid():  # a fork inherits this call too
        _started[place].close()


def _after_fork() -> None:
    """A thread of the parent may have held the lock. Its registries are kept: only the parent may stop them."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
