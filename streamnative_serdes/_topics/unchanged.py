"""What was made for a topic, kept as long as nothing that is known about the topic has changed."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from .topic_state import TopicState

_T = TypeVar("_T")


class Unchanged(Generic[_T]):
    """Things that were made for topics. Each is valid while the topic's state is the same object, and for a time.

    Args:
        capacity: how many are kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: dict[Hashable, tuple[TopicState, float, _T]] = {}

    def get(self, key: Hashable, state: TopicState) -> _T | None:
        """Return the thing of this key, or None if it is missing or no longer valid."""
        return _valid(self._kept.get(key), state)

    def take(self, key: Hashable, state: TopicState) -> _T | None:
        """As :meth:`get`, for things that only one thread may use at a time: it is gone until it is kept again."""
        return _valid(self._kept.pop(key, None), state)

    def keep(self, key: Hashable, state: TopicState, until: float, thing: _T) -> None:
        """Keep a thing that was made when the topic had this state, until that time of the monotonic clock."""
        if len(self._kept) >= self._capacity:
            self._kept.clear()
        self._kept[key] = state, until, thing


def _valid(kept: tuple[TopicState, float, _T] | None, state: TopicState) -> _T | None:
    if kept is None:
        return None
    before, until, thing = kept
    return thing if before is state and time.monotonic() < until else None
