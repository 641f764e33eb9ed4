"""Waits for conditions, threads and processes, with a generous limit that only catches hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

HANG_SECONDS = 90.0  # what a machine that is busy with other work still stays below

_T = TypeVar("_T")


def until(condition: Callable[[], object], what: str, seconds: float = HANG_SECONDS) -> None:
    """Return as soon as ``condition()`` is true.

    Raises:
        AssertionError: it is not within ``seconds``; the text says ``what`` was waited for.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain: {what}"
        time.sleep(0.02)


def join(*threads: threading.Thread, seconds: float = HANG_SECONDS) -> None:
    """Wait for threads to end. Raises AssertionError: one of them does not."""
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive(), f"waited {seconds:.0f} s in vain: {thread.name} ends"


def together(threads: int, work: Callable[[int], _T], seconds: float = HANG_SECONDS) -> list[_T]:
    """What ``work(number)`` gives in so many threads that all begin at once, in the order of their numbers.

    Raises what one of them raised. One that does not end fails the test, and holds up nothing else.
    """
    begin, outcomes = threading.Barrier(threads), [Future[_T]() for _ in range(threads)]

    def run(number: int) -> None:
        begin.wait(seconds)
        _keep(outcomes[number], lambda: work(number))

    for number in range(threads):
        threading.Thread(target=run, args=(number,), daemon=True).start()
    deadline = time.monotonic() + seconds
    return [outcome.result(max(0.0, deadline - time.monotonic())) for outcome in outcomes]


def exit_code(child: int, seconds: float = HANG_SECONDS) -> int:
    """What a forked child ends with, as :func:`os.waitstatus_to_exitcode` has it. One that does not end is killed."""
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
    """What another thread gets or raises. A thread that waits for ever fails the test, and holds up nothing else."""
    outcome = Future[_T]()
    threading.Thread(target=_keep, args=(outcome, work), daemon=True).start()
    return outcome.result(seconds)


def _keep(outcome: Future[_T], work: Callable[[], _T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 - it is raised again by who waits
        outcome.set_exception(error)
