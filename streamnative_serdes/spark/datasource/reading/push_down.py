"""Filters that Spark passes to a batch read, from PySpark 4.1 on, if the session allows it.

The filters concern the offset, the partition and the timestamp. Filters on offsets and partitions select the messages
to read, so Spark need not evaluate them. A lower bound of the timestamp only selects the offset to start at: messages
need not be in the order of their times, so Spark still evaluates this filter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes.spark.datasource.offsets.bounds import Place
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range

from .batch import BatchReader

if TYPE_CHECKING:
    from .columns import Plan

# Spark runs this module in a process of its own, and only if the session has spark.sql.python.filterPushdown.enabled.
# A reader with pushFilters would fail all reads of other sessions.
_MODULE: Final = "pyspark.sql.worker.data_source_pushdown_filters"
_PLACES: Final = ("offset", "partition")


def is_enabled() -> bool:
    """Whether this process was started to push filters down."""
    return _MODULE in sys.modules


@dataclass
class Wanted:
    """The range that filters leave: of each column, numbers from ``least`` to ``most``, and a time in milliseconds."""

    least: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    since: int | None = None

    def take(self, each: Any) -> bool:
        """Note a filter; returns whether Spark need not evaluate the filter."""
        kind = type(each).__name__
        column: tuple[str, ...] = getattr(each, "attribute", ())
        if kind == "IsNotNull":
            return column in [(name,) for name in _PLACES]
        value = getattr(each, "value", None)
        if column == ("timestamp",):
            self._take_time(kind, value)
            return False
        if len(column) != 1 or column[0] not in _PLACES or not isinstance(value, int) or isinstance(value, bool):
            return False
        return self._take_number(kind, column[0], value)

    def _take_number(self, kind: str, name: str, value: int) -> bool:
        if kind in ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual"):
            least = value + (kind == "GreaterThan")
            self.least[name] = max(self.least.get(name, least), least)
        if kind in ("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual"):
            most = value - (kind == "LessThan")
            self.most[name] = min(self.most.get(name, most), most)
            return True
        return kind in ("GreaterThan", "GreaterThanOrEqual")

    def _take_time(self, kind: str, value: object) -> None:
        if kind not in ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual"):
            return
        if isinstance(value, datetime) and value.tzinfo is not None:
            since = int(value.timestamp() * 1000) - 1  # a float may be rounded up
            self.since = since if self.since is None else max(self.since, since)

    def has(self, partition: int) -> bool:
        """Whether messages of the partition are wanted."""
        least, most = self.least.get("partition", 0), self.most.get("partition", partition)
        return least <= partition <= most

    def part_of(self, span: Range) -> Range | None:
        """The wanted part of a range of offsets; None if no offset is wanted."""
        start = max(span.start, self.least.get("offset", span.start))
        end = min(span.end, self.most.get("offset", span.end) + 1)
        return Range(span.topic, span.partition, start, end) if start < end else None


class PushingReader(BatchReader):
    """The reader of a batch in a session with ``spark.sql.python.filterPushdown.enabled``."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._wanted = Wanted()
        # With decode, a field of the record may have such a name.
        self._pushable = plan.schema.names if plan.decoding is None else plan.options.words("keep")

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 (Spark's name)
        """Yield the filters that Spark still has to evaluate."""
        for each in filters:
            if getattr(each, "attribute", ("",))[0] not in self._pushable or not self._wanted.take(each):
                yield each

    def offsets(self) -> tuple[dict[Place, int], dict[Place, int]]:
        """The start and the end of each wanted partition."""
        starts, ends = super().offsets()
        since = self._wanted.since
        if since is not None and since >= 0:  # a message without a time is of 1969, and brokers do not find it
            found = Brokers(self.plan.kafka(), self.plan.topics).by_time(dict.fromkeys(starts, since))
            first = {place: ends[place] if offset < 0 else offset for place, offset in found.items()}
            starts = {place: min(max(start, first[place]), ends[place]) for place, start in starts.items()}
        spans = [Range(*place, start, ends[place]) for place, start in starts.items() if self._wanted.has(place[1])]
        kept = [part for part in map(self._wanted.part_of, spans) if part is not None]
        return (
            {(each.topic, each.partition): each.start for each in kept},
            {(each.topic, each.partition): each.end for each in kept},
        )
