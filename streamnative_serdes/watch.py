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

    The thread starts with :meth:`ensure`, and after a stop with the next one. Where ``allowed`` is set to False, none
    starts in this process: a worker of Spark has its tasks from a driver, which watches for all.
    """

    allowed: ClassVar[bool] = True

    def __init__(self, seconds: float, look: Callable[[], object]) -> None:
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._look = WeakMethod(look, self._gone)
        self.reset()

    def reset(self) -> None:
        """Forget the thread: after a fork, the child has none."""
        self._lock = threading.RLock()  # a finalizer may serialize while it is held
        self._ending: threading.Event | None = None

    def ensure(self) -> None:
        """Let the thread run, if it does not."""
        if self._ending is not None or not self.allowed:
            return
        with self._lock:
            if self._ending is None:
                self._start(threading.Event())

    def stop(self) -> None:
        """Let the thread end; it is not waited for."""
        with self._lock:
            if self._ending is not None:
                self._ending.set()
                self._ending = None

    def _gone(self, _look: WeakMethod[Callable[[], object]]) -> None:
        self.stop()

    def _start(self, ending: threading.Event) -> None:
        thread = threading.Thread(target=self._run, args=(ending,), name="streamnative_serdes watch", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads can be had, or the interpreter is ending
            logger.warning("topics are not watched for being made anew: %s", error)
            return
        self._ending = ending

    def _run(self, ending: threading.Event) -> None:
        try:
            while not ending.wait(self._seconds):
                look = self._look()
                if look is None:
                    return
                look()
                del look  # nothing is kept alive while waiting
        finally:  # also when it failed: so the next ensure() starts another
            with self._lock:
                if self._ending is ending:
                    self._ending = None
