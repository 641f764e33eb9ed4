from collections.abc import Callable, Hashable
from typing import Self, TypeVar

from typing_extensions import disjoint_base

_T = TypeVar("_T")

@disjoint_base
class Flights:
    """Work under way by key; threads share it. A fork's child does not wait for threads of its parent."""

    def __new__(cls) -> Self: ...
    def run(self, key: Hashable, work: Callable[[], _T], seconds: float | None = None) -> _T:
        """What ``work`` returns or raises, here or in the thread that began before; SerdesErrors are copies.

        A leader that is interrupted (KeyboardInterrupt) leaves the work to one of those that wait. Whoever comes in
        the middle of the work that it would wait for (a finalizer, a signal handler) does the work itself.

        Raises:
            TimeoutError: the other thread took longer than ``seconds``.
        """

    def waiting(self, key: Hashable) -> int:
        """How many threads wait for the one at work."""
