from collections.abc import Callable, Hashable
from typing import Self, TypeVar

from typing_extensions import disjoint_base

_T = TypeVar("_T")

@disjoint_base
class Flights:
    """Running flights, by key; shared by threads. A forked child does not wait for threads of its parent."""

    def __new__(cls) -> Self: ...
    def run(self, key: Hashable, work: Callable[[], _T], seconds: float | None = None) -> _T:
        """Return (or raise) the result of ``work``, run here or by the thread that came first; errors are copied.

        If the leading thread is interrupted (KeyboardInterrupt), a waiting thread takes over. A call that would wait
        for work that it interrupts (from a finalizer or a signal handler) does the work itself.

        Raises:
            TimeoutError: the other thread took longer than ``seconds``.
        """

    def waiting(self, key: Hashable) -> int:
        """Return the number of threads that wait for the flight of ``key``."""
