from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar

from typing_extensions import disjoint_base

_T = TypeVar("_T")
_S = TypeVar("_S")

@disjoint_base
class TopicCache:
    """A bounded two-level cache, topic -> key -> entry; evicts the oldest first. Lookups take no lock.

    ``capacity`` is the maximum number of topics, and of keys per topic.
    """

    def __new__(cls, capacity: int) -> Self: ...
    @property
    def capacity(self) -> int: ...
    def get(self, topic: str, key: Hashable) -> Any | None: ...
    def set(self, topic: str, key: Hashable, entry: Any) -> None: ...
    def drop(self, topic: str) -> None: ...
    def after_fork(self) -> None: ...
    def clear(self) -> None: ...
    def items(self) -> list[tuple[str, Any, Any]]: ...
    def __len__(self) -> int: ...

@disjoint_base
class LruMap(Generic[_T]):
    """A bounded map: when it is full, the entry whose last use is longest ago is dropped. Reading takes no lock."""

    def __new__(cls, capacity: int) -> Self: ...
    @property
    def capacity(self) -> int:
        """Entries kept at most; a smaller one takes effect with the next change."""

    @capacity.setter
    def capacity(self, capacity: int) -> None: ...
    def get(self, key: Hashable) -> _T | None: ...
    def use(self, key: Hashable) -> _T | None:
        """Return an entry or None. All others are dropped before it from now on. Takes the lock."""

    def change(self, key: Hashable, step: Callable[[_T | None], _S], used: bool = False) -> _S:
        """Replace an entry by ``step(entry)``, or by ``step(None)`` if there is no entry; ``used`` counts as its use.

        ``step`` runs without a lock, and again if the entry was changed meanwhile. Nothing changes if it returns None,
        or the entry that it was given.
        """

    def drop(self, key: Hashable) -> None: ...
    def values(self) -> list[_T]:
        """The one used longest ago first."""

    def after_fork(self) -> None: ...
    def __len__(self) -> int: ...
