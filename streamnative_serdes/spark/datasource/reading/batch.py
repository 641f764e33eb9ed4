"""Batch reads: the offsets are fixed when Spark plans the query, and each range is a task.

From PySpark 4.1 on, Spark plans the read of a loaded DataFrame or a view once, and keeps the plan, so later queries
have the topics' ends of the first query. A source knows later queries only by their tasks, so the tasks warn, in the
workers' logs.

From PySpark 4.1 on, if the session allows it, Spark passes filters to the read: of the offset, the partition and the
timestamp. Filters on offsets and partitions select the messages to read, so Spark need not evaluate them. A lower bound
of the timestamp only selects the offset to start at: messages need not be in the order of their times, so Spark still
evaluates this filter.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, InputPartition

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.offsets.bounds import Bound, Place, end_of, start_of
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers, settled
from streamnative_serdes.spark.datasource.offsets.ranges import Range, ranges_of
from streamnative_serdes.spark.datasource.user_options.names import TRIGGER

from .task import Patience

if TYPE_CHECKING:
    import pyarrow as pa

    from .columns import Plan

logger = logging.getLogger(__name__)


class BatchReader(DataSourceReader):
    """Spark's reader of a batch."""

    def __init__(self, plan: Plan) -> None:
        options = plan.options
        self.plan = plan
        self._start, self._end = start_of(options, stream=False), end_of(options)
        self._least, self._most = options.whole("minPartitions"), options.whole("maxRecordsPerPartition")
        self._plan_of = Planned.now()
        for name in options.given(TRIGGER):
            logger.warning("the option %s has no effect on a batch", name)

    def partitions(self) -> list[InputPartition]:
        """The ranges, as of now; raises as :func:`offsets_between` does."""
        return [InputPartition(span) for span in ranges_of(*self.offsets(), self._least, self._most)]

    def offsets(self) -> tuple[dict[Place, int], dict[Place, int]]:
        """The start and end offset of each partition."""
        brokers = Brokers(self.plan.kafka(), self.plan.topics)
        return settled(lambda: offsets_between(brokers, brokers.places(), self._start, self._end, self.plan.patience))

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The columns of a range; Spark also calls this method for a batch without ranges."""
        span = getattr(partition, "value", None)  # without ranges, PySpark 4.0 passes None
        if span is not None:
            self._plan_of.note_query()
            yield from self.plan.batches(span)


def offsets_between(
    brokers: Brokers, places: list[Place], start: Bound, end: Bound, patience: Patience
) -> tuple[dict[Place, int], dict[Place, int]]:
    """The start and end offset of each partition.

    Raises:
        ConfigError: a bound does not name exactly these partitions, or a partition would end before its start.
        OffsetOutOfRangeError: an offset is not available, and ``patience`` says to fail.
        BrokerUnavailableError: no broker answers.
    """
    starts, ends = brokers.at(start, places, start=True), brokers.at(end, places, start=False)
    if start.offsets or end.offsets:
        low, high = brokers.earliest(places), brokers.latest(places)
        starts = available(start, starts, low, high, patience)
        ends = available(end, ends, low, high, patience)
    for (topic, partition), last in sorted(ends.items()):
        if starts[topic, partition] > last:
            raise ConfigError(
                f"partition {partition} would be read from offset {starts[topic, partition]} "
                f"({start.option}) to {last} ({end.option})",
                topic=topic,
            )
    return starts, ends


def available(
    bound: Bound, wanted: Mapping[Place, int], low: Mapping[Place, int], high: Mapping[Place, int], patience: Patience
) -> dict[Place, int]:
    """The nearest offsets that the brokers have. Raises OffsetOutOfRangeError if ``bound`` names others."""
    found = {place: min(max(offset, low[place]), high[place]) for place, offset in wanted.items()}
    for place, offset in sorted(wanted.items()):
        if bound.offsets is not None and found[place] != offset:
            there = f"partition {place[1]} has offsets {low[place]} to {high[place]}"
            patience.lost(f"{bound.option}: {there}, got {offset}", place[0])
    return found


_QUERY: Final = "spark.sql.execution.id"  # a property that Spark passes to each task
_MOST: Final = 1_000  # plans that a worker process remembers
_first: dict[str, str | None] = {}  # name of a plan -> the query that read by it first; None once it was warned about
# No lock: a worker process runs one task at a time.


@dataclass(frozen=True, slots=True)
class Planned:
    """The time when a read was planned, under a unique name."""

    name: str
    at: str

    @classmethod
    def now(cls) -> Planned:
        return cls(uuid4().hex, datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))

    def note_query(self) -> None:
        """Warn, once for a plan and worker process, if a query other than the first reads by this plan."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        if query is None:
            return
        if len(_first) >= _MOST:
            _first.clear()
        first = _first.setdefault(self.name, query)
        if first is None or first == query:
            return
        _first[self.name] = None
        logger.warning(
            "the offsets are those of an earlier query, of %s: Spark keeps them with a loaded DataFrame or view; load "
            "it again, or create the view again, to read what has come since",
            self.at,
        )


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
