"""Batch reads: the offsets are fixed when Spark plans the query, and each range is a task.

From PySpark 4.1 on, Spark plans the read of a loaded DataFrame or a view once, and keeps the plan, so later queries
have the topics' ends of the first query. A source knows later queries only by their tasks, so the tasks warn, in the
workers' logs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, InputPartition

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.offsets.bounds import Bound, Place, end_of, start_of
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range, ranges_of
from streamnative_serdes.spark.datasource.user_options.names import TRIGGER

from .task import OffsetOutOfRangeError, Patience

if TYPE_CHECKING:
    import pyarrow as pa

    from .columns import Plan

logger = logging.getLogger(__name__)


class RangePartition(InputPartition):
    """A range, as Spark passes it to a task: a topic, a partition and two offsets, without secrets."""

    def __init__(self, span: Range) -> None:
        super().__init__(span)


class BatchReader(DataSourceReader):
    """Spark's reader of a batch."""

    def __init__(self, plan: Plan) -> None:
        options = plan.options
        self.plan = plan
        self._start, self._end = start_of(options, stream=False), end_of(options)
        self._least, self._most = options.whole("minPartitions"), options.whole("maxRecordsPerPartition")
        plan.patience  # noqa: B018 - so that the driver looks at its options
        self._plan_of = Planned.now()
        for name in TRIGGER:
            if options.text(name) is not None:
                logger.warning("the option %s has no effect on a batch", name)

    def partitions(self) -> list[InputPartition]:
        """The ranges, as of now; raises as :func:`offsets_between` does."""
        return [RangePartition(span) for span in ranges_of(*self.offsets(), self._least, self._most)]

    def offsets(self) -> tuple[dict[Place, int], dict[Place, int]]:
        """The start and end offset of each partition."""
        brokers = Brokers(self.plan.kafka(), self.plan.topics)
        return offsets_between(brokers, brokers.places(), self._start, self._end, self.plan.patience)

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
        starts = _available(start, starts, low, high, patience)
        ends = _available(end, ends, low, high, patience)
    for (topic, partition), last in sorted(ends.items()):
        if starts[topic, partition] > last:
            raise ConfigError(
                f"partition {partition} would be read from offset {starts[topic, partition]} "
                f"({start.option}) to {last} ({end.option})",
                topic=topic,
            )
    return starts, ends


def _available(
    bound: Bound, wanted: Mapping[Place, int], low: Mapping[Place, int], high: Mapping[Place, int], patience: Patience
) -> dict[Place, int]:
    found = {place: min(max(offset, low[place]), high[place]) for place, offset in wanted.items()}
    for (topic, partition), offset in sorted(wanted.items()):
        if bound.offsets is None or found[topic, partition] == offset:
            continue
        text = f"{bound.option}: partition {partition} has offsets {low[topic, partition]} to "
        text += f"{high[topic, partition]}, got {offset}"
        if patience.fail:
            raise OffsetOutOfRangeError(f"{text}; messages may be lost", topic=topic, hint=patience.loss_hint)
        logger.warning("topic %s: %s; what is there is read: failOnDataLoss is false", topic, text)
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
