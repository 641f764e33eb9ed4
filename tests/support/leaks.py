"""Leak detection: memory blocks and references that calls leave behind, counted in a separate process."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

from streamnative_serdes.errors import SerdesError

PARTS = 3
WARM_UP = 3


class _MallInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    ] + [("keepcost", ctypes.c_size_t)]


def large() -> int:
    """Bytes in blocks of more than 512, which Python leaves to the C library; 0 where that does not tell."""
    try:
        told = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return 0
    told.restype = _MallInfo
    info = told()
    return int(info.uordblks + info.hblkhd)


def resident() -> int:
    """Bytes of memory of this process, where the platform tells."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        return 0


def state(watched: Sequence[object]) -> list[int]:
    gc.collect()
    return [sys.getallocatedblocks(), large(), resident(), *(sys.getrefcount(one) for one in watched)]


def go(calls: Sequence[tuple[Callable[[Any], object], Any]], rounds: int) -> int:
    """How many of all the calls gave a value; the others end in an error of this package."""
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
    """What grew, and by how much, in each of three parts of ``rounds``: the least of the three.

    A leak grows in each of them. Caches of Python's own, such as that of attributes of types, fill up and stop.
    """
    go(calls, WARM_UP)
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
