"""Mock scopes: the in-process registry behind the address ``mock://SCOPE``, as in Confluent's clients."""

from __future__ import annotations

import atexit
import os
import threading

from .local_registry import LocalRegistry

_started: dict[tuple[int, str], LocalRegistry] = {}
_lock = threading.RLock()  # a finalizer may call registry_of while this thread holds it


def registry_of(scope: str) -> LocalRegistry:
    """This process's registry for ``scope``: started on the first call, stopped when the process ends.

    A forked process has its own registries, which start empty: the parent's server threads do not exist in it.
    """
    key = os.getpid(), scope
    with _lock:
        if key not in _started:
            new = LocalRegistry().start()
            if _started.setdefault(key, new) is new:
                atexit.register(_close, key)
            else:  # a finalizer called this function meanwhile
                new.close()
        return _started[key]


def _close(key: tuple[int, str]) -> None:
    if key[0] == os.getpid():  # a forked process inherits this atexit call too
        _started[key].close()


def _after_fork() -> None:
    """Replace the lock, which a parent's thread may hold. The parent's registries stay: only it may stop them."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
