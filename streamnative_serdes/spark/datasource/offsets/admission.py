"""How much a batch of a stream takes: maxOffsetsPerTrigger, minOffsetsPerTrigger and maxTriggerDelay.

Source: rateLimit and delayBatch of Spark's KafkaMicroBatchStream.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from .bounds import Place


def limited(most: int, begins: Mapping[Place, int], ends: Mapping[Place, int]) -> dict[Place, int]:
    """End offsets of a batch of about ``most`` offsets after ``begins``, in proportion to each partition's backlog.

    Each partition with a backlog gets at least one offset, so that large partitions do not starve small ones.
    """
    sizes = {place: end - begins[place] for place, end in ends.items() if end > begins.get(place, end)}
    total = sum(sizes.values())
    return {
        place: end if place not in sizes else begins[place] + _part(most, sizes[place], total)
        for place, end in ends.items()
    }


def _part(most: int, size: int, total: int) -> int:
    if total <= most:
        return size
    return min(max(most * size // total, 1), size)


class Delay:
    """Waits until a batch has a number of offsets, or until a time has passed since the batch before.

    Args:
        least: the number of offsets.
        seconds: the time.
        clock: in seconds.
    """

    def __init__(self, least: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._least, self._seconds, self._clock = least, seconds, clock
        self._last = -math.inf  # the first batch does not wait

    def skips(self, begins: Mapping[Place, int], ends: Mapping[Place, int]) -> bool:
        """Whether to wait; if not, the time starts again."""
        now = self._clock()
        new = sum(end - begins.get(place, 0) for place, end in ends.items())
        if new < self._least and now - self._last < self._seconds:
            return True
        self._last = now
        return False
