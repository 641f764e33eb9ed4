"""Waits for conditions, threads and processes, with a generous limit that only catches hangs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

HANG_SECONDS = 90.0  # enough even for a busy machine

_T = TypeVar("_T")


def until(condition: Callable[[], object], what: str = "the condition is true", seconds: float = HANG_SECONDS) -> None:
    """Return as soon as ``condition()`` is true.

    Raises:
        AssertionError: it is not true within ``seconds``; the text contains ``what``.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain: {what}"
        time.sleep(0.02)


def join(*threads: threading.Thread, seconds: float = HANG_SECONDS) -> None:
    """Wait for threads to end. Raises AssertionError if one of them does not."""
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive(), f"waited {seconds:.0f} s in vain: {thread.name} ends"


def together(threads: int, work: Callable[[int], _T], seconds: float = HANG_SECONDS) -> list[_T]:
    """Call ``work(number)`` in ``count`` threads at once, and return the results in the order of their numbers.

    Raises the error of one of them. A thread that does not end fails the test, and does not block the process.
    """
    begin, outcomes = threading.Barrier(threads), [Future[_T]() for _ in range(threads)]

    def run(number: int) -> None:
        begin.wait(seconds)
        _keep(outcomes[number], lambda: work(number))

    for number in range(threads):
        threading.Thread(target=run, args=(number,), daemon=True).start()
    deadline = time.monotonic() + seconds
    return [outcome.result(max(0.0, deadline - time.monotonic())) for outcome in outcomes]


@contextmanager
def busy_switching() -> Iterator[None]:
    """Threads switch as often as CPython lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def exit_code(child: int, seconds: float = HANG_SECONDS) -> int:
    """Return the exit code of a forked child (see :func:`os.waitstatus_to_exitcode`). A child that hangs is killed."""
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"waited {seconds:.0f} s in vain: the forked child ends")
        time.sleep(0.01)


def elsewhere(work: Callable[[], _T], seconds: float = HANG_SECONDS) -> _T:
    """Call ``work`` in another thread, and return its result or raise its error. A hanging thread fails the test."""
    outcome = Future[_T]()
    threading.Thread(target=_keep, args=(outcome, work), daemon=True).start()
    return outcome.result(seconds)


def _keep(outcome: Future[_T], work: Callable[[], _T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
        outcome.set_exception(error)


def forked_while_held(lock: AbstractContextManager[object], work: Callable[[], object]) -> int:
    """The exit code of a child that does this work, forked while another thread held the lock; 1 if it fails."""
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            assert forked.wait(HANG_SECONDS)

    holding = threading.Thread(target=hold)
    holding.start()
    assert held.wait(HANG_SECONDS)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    forked.set()
    join(holding)
    return exit_code(child)
