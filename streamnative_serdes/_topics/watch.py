"""A background thread that calls a function at regular intervals, while the owner of the function exists."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar
from weakref import WeakMethod

from streamnative_serdes._log import logger


class Watch:
    """Calls ``look`` every ``seconds`` from a daemon thread, until :meth:`stop` or until the owner of ``look`` is gone.

    :meth:`ensure` starts the thread, also after a stop. Errors of ``look`` are logged, once per type, and do not end
    the thread. With ``allowed`` set to False, no thread starts in this process: the driver of a Spark worker watches
    for all its workers.
    """

    allowed: ClassVar[bool] = True

    def __init__(self, seconds: float, look: Callable[[], object]) -> None:
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._look = WeakMethod(look, self._gone)
        self._told: set[type] = set()  # types of errors that were logged
        self.reset()

    def reset(self) -> None:
        """Forget the thread: after a fork, the child has none."""
        self._running: _Thread | None = None

    def ensure(self) -> None:
        """Start the thread, if it is not running."""
        running = self._running
        if self.allowed and (running is None or not running.is_alive()):
            self._start()

    def stop(self) -> None:
        """Tell the thread to end, without waiting for it."""
        running, self._running = self._running, None
        if running is not None:
            running.ending.set()

    def _gone(self, _look: WeakMethod[Callable[[], object]]) -> None:
        self.stop()

    def _start(self) -> None:
        # Assigned before it starts: after an interrupt in between, ensure() finds it not alive and starts another one.
        # If two start at once, the one that is not assigned ends by itself. So no lock is needed.
        self._running = thread = _Thread(self._run)
        try:
            thread.start()
        except RuntimeError as error:  # the system refuses another thread, or the interpreter is ending
            logger.warning("cannot start the thread that checks for recreated topics: %s", error)

    def _run(self, thread: _Thread) -> None:
        while not thread.ending.wait(self._seconds) and self._running is thread:
            look = self._look()
            if look is None:
                return
            try:
                look()
            except Exception as error:  # noqa: BLE001 - the next look may succeed
                self._tell(error)
            del look  # keeps its owner alive otherwise, while waiting

    def _tell(self, error: Exception) -> None:
        if type(error) not in self._told:
            self._told.add(type(error))
            logger.error(
                "checking the topics in use failed; the next attempt is in %g s", self._seconds, exc_info=error
            )


class _Thread(threading.Thread):
    def __init__(self, work: Callable[[_Thread], None]) -> None:
        super().__init__(name="streamnative_serdes watch", daemon=True)
        self.ending = threading.Event()
        self._work = work

    def run(self) -> None:
        self._work(self)
