"""Batch reads: the offsets are fixed when Spark plans the query, and each range is a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from streamnative_serdes._log import logger
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.given.names import TRIGGER
from streamnative_serdes.spark.datasource.offsets.bounds import Bound, Place, end_of, start_of
from streamnative_serdes.spark.datasource.offsets.brokers import Brokers
from streamnative_serdes.spark.datasource.offsets.ranges import Range, ranges_of
from streamnative_serdes.spark.topic import OffsetOutOfRangeError

from .rescans import Planned
from .task import DATA_LOSS_HINT

if TYPE_CHECKING:
    import pyarrow as pa

    from .columns import Plan


class RangePartition(InputPartition):
    """A range, as Spark passes it to a task: a topic, a partition and two offsets, and nothing secret."""

    def __init__(self, span: Range) -> None:
        super().__init__(span)


class BatchReader(DataSourceReader):
    """Spark's reader of a batch.

    Args:
        plan: what to read.

    Raises:
        ConfigError: an option is invalid.
    """

    def __init__(self, plan: Plan) -> None:
        options = plan.options
        self.plan = plan
        self._start, self._end = start_of(options, stream=False), end_of(options)
        self._least, self._most = options.whole("minPartitions"), options.whole("maxRecordsPerPartition")
        self._fail = plan.patience.fail
        self._plan_of = Planned.now()
        for name in TRIGGER:
            if options.text(name) is not None:
                logger.warning("the option %s has no effect on a batch", name)

    def partitions(self) -> list[InputPartition]:
        """The ranges, as of now.

        Raises:
            ConfigError: a topic or partition does not exist, or the offsets are not possible.
            OffsetOutOfRangeError: an offset is not available, and ``failOnDataLoss`` is true.
            BrokerUnavailableError: no broker answers.
        """
        return [RangePartition(span) for span in ranges_of(*self.offsets(), self._least, self._most)]

    def offsets(self) -> tuple[dict[Place, int], dict[Place, int]]:
        """Where each partition starts and ends."""
        brokers = Brokers(self.plan.kafka(), self.plan.topics)
        places = brokers.places()
        starts = brokers.at(self._start, places, start=True)
        ends = brokers.at(self._end, places, start=False)
        if self._start.offsets or self._end.offsets:
            low, high = brokers.earliest(places), brokers.latest(places)
            starts = self._available(self._start, starts, low, high)
            ends = self._available(self._end, ends, low, high)
        for (topic, partition), end in sorted(ends.items()):
            if starts[topic, partition] > end:
                raise ConfigError(
                    f"partition {partition} would be read from offset {starts[topic, partition]} "
                    f"({self._start.option}) to {end} ({self._end.option})",
                    topic=topic,
                )
        return starts, ends

    def _available(
        self, bound: Bound, wanted: Mapping[Place, int], low: Mapping[Place, int], high: Mapping[Place, int]
    ) -> dict[Place, int]:
        found = {place: min(max(offset, low[place]), high[place]) for place, offset in wanted.items()}
        for (topic, partition), offset in sorted(wanted.items()):
            if bound.offsets is None or found[topic, partition] == offset:
                continue
            text = f"{bound.option}: partition {partition} has offsets {low[topic, partition]} to "
            text += f"{high[topic, partition]}, got {offset}"
            if self._fail:
                raise OffsetOutOfRangeError(f"{text}; messages may be lost", topic=topic, hint=DATA_LOSS_HINT)
            logger.warning("topic %s: %s; what is there is read: failOnDataLoss is false", topic, text)
        return found

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The columns of a range; Spark also calls it for a batch without ranges."""
        span = getattr(partition, "value", None)  # without ranges, PySpark 4.0 passes None
        if span is not None:
            self._plan_of.note_query()
            yield from self.plan.batches(span)
