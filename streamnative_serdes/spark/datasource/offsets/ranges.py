"""Ranges of offsets for tasks: cuts the offsets of a batch by minPartitions and maxRecordsPerPartition.

Source: Spark's KafkaOffsetRangeCalculator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
        """The number of offsets: at least as many as there are messages."""
        return self.end - self.start

    def parts(self, count: int) -> list[Range]:
        """About equal parts, as many as are not empty."""
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
        least: ``minPartitions``: ranges are cut in proportion to their sizes, so that there are about so many.
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
    """Rounded as Java rounds: halves go up."""
    return max(math.floor(size / total * parts + 0.5), 1)
