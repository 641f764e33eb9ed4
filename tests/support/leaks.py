"""Leak detection: memory blocks and references that calls leave behind, counted in a separate process."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

from streamnative_serdes.errors import SerdesError

PARTS = 3


class _MallInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    ] + [("keepcost", ctypes.c_size_t)]


def large() -> int:
    """Return the bytes in blocks of more than 512, which the C library allocates; 0 if it does not report them."""
    try:
        told = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return 0
    told.restype = _MallInfo
    info = told()
    return int(info.uordblks + info.hblkhd)


def resident() -> int:
    """Return the resident memory of this process in bytes; 0 if the platform does not report it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


def state(watched: Sequence[object]) -> list[int]:
    gc.collect()
    return [sys.getallocatedblocks(), large(), resident(), *(sys.getrefcount(one) for one in watched)]


def go(calls: Sequence[tuple[Callable[[Any], object], Any]], rounds: int) -> int:
    """Return how many calls returned a value; the others raise an error of this package."""
    values = 0
    for _ in range(rounds):
        for work, argument in calls:
            try:
                work(argument)
                values += 1
            except SerdesError:
                continue
    return values


def measure(
    calls: Sequence[tuple[Callable[[Any], object], Any]], rounds: int, watched: Sequence[object]
) -> dict[str, int]:
    """Return how much memory and reference counts grow in ``rounds`` calls each: the minimum of three measurements.

    A leak grows in each of them. Python's own caches, such as that of type attributes, fill up and stop growing; since
    Python 3.13 that takes more than a few rounds, so there is one measurement's worth of calls before the first.
    """
    go(calls, rounds)
    parts, values = [], 0
    for _ in range(PARTS):
        state(watched)
        before = state(watched)
        values += go(calls, rounds)
        parts.append([after - was for after, was in zip(state(watched), before, strict=True)])
    blocks, large_, resident_, *counts = (min(grown, key=abs) for grown in zip(*parts, strict=True))
    return {
        "times": rounds,
        "calls": PARTS * rounds * len(calls),
        "values": values,
        "blocks": blocks,
        "large": large_,
        "resident": resident_,
        "counts": max(map(abs, counts)),
    }
