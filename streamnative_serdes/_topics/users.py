"""The serializers and deserializers that use a binding, and are told when to ask it for everything again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet


class User(Protocol):
    """Keeps answers of a binding."""

    def rebind(self) -> None:
        """Ask for everything again, each topic with its next message."""


class Users:
    """Keeps no user alive. Threads share it."""

    def __init__(self) -> None:
        self._users: WeakSet[User] = WeakSet()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._users)

    def __contains__(self, user: object) -> bool:
        return user in self._users

    def attach(self, user: User) -> None:
        with self._lock:
            self._users.add(user)

    def detach(self, user: User) -> None:
        with self._lock:
            self._users.discard(user)

    def if_none(self, act: Callable[[], None]) -> None:
        """Call ``act`` if there are no users; none can be attached meanwhile."""
        with self._lock:
            if not self._users:
                act()

    def rebind(self) -> None:
        with self._lock:
            users = list(self._users)
        for user in users:
            user.rebind()

    def after_fork(self) -> None:
        """In a child process: the thread that held the lock may not exist."""
        self._lock = threading.RLock()
