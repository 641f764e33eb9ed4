"""Single flight: a question that is under way is not asked twice; who comes later waits for the same answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from copy import copy
from typing import Any

from .errors import SerdesError


class Flights:
    """Work under way by key: who comes later waits for the first one's result, or its error."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.RLock()  # a finalizer or a signal handler may serialize while it is held
        self._under_way: dict[Hashable, tuple[Future[Any], int]] = {}

    def run(self, key: Hashable, work: Callable[[], Any]) -> Any:
        """What ``work`` gives, here or in the thread that was first."""
        while True:
            own, thread = Future[Any](), threading.get_ident()
            with self._lock:
                future, leader = self._under_way.setdefault(key, (own, thread))
            if future is own:
                return self._lead(key, own, work)
            if leader == thread:  # from a signal handler, say, in the middle of the same question
                return work()
            try:
                error = future.exception()
            except CancelledError:  # its leader was interrupted, which is no answer for others
                continue
            if isinstance(error, SerdesError):
                raise copy(error)  # threads would write their tracebacks, topics and hints into one object
            return future.result()

    def _lead(self, key: Hashable, future: Future[Any], work: Callable[[], Any]) -> Any:
        try:
            result = work()
        except BaseException as error:
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        else:
            future.set_result(result)
            return result
        finally:
            with self._lock:
                self._under_way.pop(key, None)
