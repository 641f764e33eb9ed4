"""Interrupts such as Ctrl-C, raised at each bytecode of the package that some code executes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import streamnative_serdes

_T = TypeVar("_T")

PACKAGE = str(Path(streamnative_serdes.__file__).parent)


def interrupted(work: Callable[[], object], at: int) -> KeyboardInterrupt | None:
    """Raise KeyboardInterrupt before the ``at``-th bytecode of the package; None if the work has fewer of them."""
    left = at

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 sends no event of a bytecode unless a frame wants them by now
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt as interrupt:
        return interrupt
    finally:
        sys.settrace(before)
    return None


def each_interrupt(work: Callable[[], object]) -> Iterator[KeyboardInterrupt]:
    """Interrupt the work at its first bytecode, its second, and so on. Tracebacks, and so frames, stay alive."""
    kept = []
    for at in count(1):
        interrupt = interrupted(work, at)
        if interrupt is None:
            assert at > 20, "hardly anything was interrupted"
            return
        kept.append(interrupt)
        yield interrupt


def at_each_line(work: Callable[[], _T], nested: Callable[[], object]) -> _T:
    """Run ``work`` and return its result; run ``nested`` once before each line of Python that ``work`` executes."""
    seen = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        place = frame.f_code, frame.f_lineno
        if event == "line" and place not in seen:
            seen.add(place)
            nested()  # not traced itself
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome = work()
    finally:
        sys.settrace(before)
    assert len(seen) > 100, "hardly any line was met"
    return outcome
