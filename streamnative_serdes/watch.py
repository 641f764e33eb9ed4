"""A thread that looks after something every so often, for as long as there is something to look after."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import ClassVar
from weakref import WeakMethod

logger = logging.getLogger("streamnative_serdes")


class Watch:
    """Calls ``look`` every ``seconds`` from a daemon thread, until :meth:`stop` or until the owner of ``look`` is gone.

    The thread starts with :meth:`ensure`, and after a stop with the next one. What ``look`` raises is logged, once per
    kind, and does not end it. Where ``allowed`` is set to False, none starts in this process: a worker of Spark has its
    tasks from a driver, which watches for all.
    """

    allowed: ClassVar[bool] = True

    def __init__(self, seconds: float, look: Callable[[], object]) -> None:
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._look = WeakMethod(look, self._gone)
        self._told: set[type] = set()  # kinds of errors
        self.reset()

    def reset(self) -> None:
        """Forget the thread: after a fork, the child has none."""
        self._running: _Thread | None = None

    def ensure(self) -> None:
        """Let the thread run, if it does not."""
        running = self._running
        if self.allowed and (running is None or not running.is_alive()):
            self._start()

    def stop(self) -> None:
        """Let the thread end; it is not waited for."""
        running, self._running = self._running, None
        if running is not None:
            running.ending.set()

    def _gone(self, _look: WeakMethod[Callable[[], object]]) -> None:
        self.stop()

    def _start(self) -> None:
        # Known before it starts: after an interrupt in between, it is found not to be alive. Of two that start at once,
        # the one that is not known ends by itself. So no lock is held by hand.
        self._running = thread = _Thread(self._run)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads can be had, or the interpreter is ending
            logger.warning("topics are not watched for being made anew: %s", error)

    def _run(self, thread: _Thread) -> None:
        while not thread.ending.wait(self._seconds) and self._running is thread:
            look = self._look()
            if look is None:
                return
            try:
                look()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next look may go well
                self._tell(error)
            del look  # nothing is kept alive while waiting

    def _tell(self, error: Exception) -> None:
        if type(error) not in self._told:
            self._told.add(type(error))
            logger.error(
                "a look at the topics in use failed; the next one comes in %g s", self._seconds, exc_info=error
            )


class _Thread(threading.Thread):
    def __init__(self, work: Callable[[_Thread], None]) -> None:
        super().__init__(name="streamnative_serdes watch", daemon=True)
        self.ending = threading.Event()
        self._work = work

    def run(self) -> None:
        self._work(self)
