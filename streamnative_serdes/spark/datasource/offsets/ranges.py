"""Ranges of offsets for tasks, and the limits of a stream's batches.

Source: Spark's KafkaOffsetRangeCalculator (minPartitions, maxRecordsPerPartition); rateLimit and delayBatch of its
KafkaMicroBatchStream (maxOffsetsPerTrigger, minOffsetsPerTrigger, maxTriggerDelay).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass

from streamnative_serdes.errors import ConfigError

from .bounds import Place, is_whole


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Offsets of one partition, from ``start`` (inclusive) to ``end`` (exclusive)."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of offsets, which is at least the number of messages."""
        return self.end - self.start

    def parts(self, count: int) -> list[Range]:
        """At most ``count`` parts of about equal size, without empty ones."""
        made, begin = [], self.start
        for number in range(count):
            end = begin + (self.end - begin) // (count - number)
            if end > begin:
                made.append(Range(self.topic, self.partition, begin, end))
            begin = end
        return made


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets from ``start`` (inclusive) to ``end`` (exclusive) of one partition.

    Raises:
        ConfigError: a number is not an integer from 0 on, or the range ends before it starts.
    """

    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if not all(is_whole(number) for number in astuple(self)) or self.start > self.end:
            raise ConfigError(f"expected integers from 0 on, and start <= end, got {self!r:.200}")


def ranges_of(
    starts: Mapping[Place, int], ends: Mapping[Place, int], least: int | None = None, most: int | None = None
) -> list[Range]:
    """The ranges between ``starts`` and ``ends`` that are not empty.

    Args:
        starts: start offsets of all partitions in ``ends``.
        ends: end offsets.
        least: ``minPartitions``: ranges are cut in proportion to their sizes, to about ``least`` ranges.
        most: ``maxRecordsPerPartition``: longer ranges are cut.
    """
    found = [Range(*place, starts[place], end) for place, end in sorted(ends.items()) if starts[place] < end]
    if most is not None:
        found = [part for each in found for part in each.parts(math.ceil(each.size / most))]
    return found if least is None or len(found) >= least else _at_least(found, least)


def _at_least(found: list[Range], least: int) -> list[Range]:
    """Leave small ranges whole, and share the rest of ``least`` among the large ones."""
    total = sum(each.size for each in found)
    small = {each for each in found if _share(each.size, total, least) == 1}
    left, others = total - sum(each.size for each in small), max(least - len(small), 1)
    return [
        part for each in found for part in ([each] if each in small else each.parts(_share(each.size, left, others)))
    ]


def _share(size: int, total: int, parts: int) -> int:
    """A range's share of ``parts``, rounded as in Java: halves go up."""
    return max(math.floor(size / total * parts + 0.5), 1)


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
    """Waits until a batch has ``least`` offsets, or until ``seconds`` have passed since the batch before."""

    def __init__(self, least: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._least, self._seconds, self._clock = least, seconds, clock
        self._last = -math.inf  # the first batch does not wait

    def skips(self, begins: Mapping[Place, int], ends: Mapping[Place, int]) -> bool:
        """Whether to wait; if not, the waiting time starts again."""
        now = self._clock()
        new = sum(end - begins.get(place, 0) for place, end in ends.items())
        if new < self._least and now - self._last < self._seconds:
            return True
        self._last = now
        return False
