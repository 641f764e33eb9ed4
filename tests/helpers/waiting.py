"""Waiting for conditions, with a bound that only catches a hang."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_SECONDS = 90.0  # what a machine that is busy with other work still stays below


def until(condition: Callable[[], object], what: str, seconds: float = HANG_SECONDS) -> None:
    """Return as soon as ``condition()`` is true.

    Raises:
        AssertionError: it is not within ``seconds``; the text says ``what`` was waited for.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain: {what}"
        time.sleep(0.02)
