"""Stream reads: Spark's checkpoint stores the offsets, and each range of a micro-batch is a task."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.offsets.bounds import Place, refuse_ends, start_of
from streamnative_serdes.spark.datasource.offsets.brokers import HIDDEN_HINT, Brokers, settled
from streamnative_serdes.spark.datasource.offsets.checkpoint import (
    after,
    begin_of,
    initial,
    is_initial,
    restored,
    stored,
)
from streamnative_serdes.spark.datasource.offsets.ranges import Delay, limited, ranges_of
from streamnative_serdes.spark.datasource.user_options.names import TRIGGER

from .batch import available

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

    from .columns import Plan
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # before PySpark 4.2
        SupportsTriggerAvailableNow = object

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")
HAS_LIMITS: Final = hasattr(DataSourceStreamReader, "getDefaultReadLimit")
_DELAY_SECONDS: Final = 15 * 60.0
_MISSING: Final = "no longer exists"
_UNNAMED: Final = "was read before, and the options no longer name it"
_OPEN: Final = (
    "with read_committed, a partition ends at its first open transaction: if the query has read with read_uncommitted "
    "before, start it again once that is over"
)


def stream_reader(plan: Plan) -> DataSourceStreamReader:
    """The reader of a stream. Raises ConfigError: an option is not valid for a stream, or needs a newer PySpark."""
    refuse_ends(plan.options)
    given = plan.options.given(TRIGGER)
    if given and not HAS_LIMITS:
        raise ConfigError(f"the option {given[0]} requires PySpark 4.2, which lets Python sources limit a batch")
    return StreamReader(plan)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark's reader of a stream; offsets have the form of ``offsets.checkpoint``."""

    def __init__(self, plan: Plan) -> None:
        options = plan.options
        self._plan = plan
        self._start = start_of(options, stream=True)
        self._cuts = options.whole("minPartitions"), options.whole("maxRecordsPerPartition")
        self._limit, self._delay = options.whole("maxOffsetsPerTrigger"), _delay(plan)
        self._retries, self._retry_seconds = plan.retries
        self._brokers = Brokers(plan.kafka(), plan.topics)
        # What the next batch begins at, for PySpark before 4.2, which does not say so.
        self._known: dict[str, Any] | None = None
        self._latest: dict[Place, int] | None = None  # as of the last trigger
        self._first: dict[Place, int] = {}  # where a query without a checkpoint starts
        self._last: dict[Place, int] | None = None  # where a query with Trigger.AvailableNow ends
        self._gone: set[Place] = set()  # partitions that are missing, and were reported
        self._left: dict[Place, int] = {}  # where partitions were that a batch has left out

    def __getstate__(self) -> dict[str, Any]:
        return {"_plan": self._plan}  # for tasks, which only call read()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """The offsets at which a query without a checkpoint starts."""
        starts = settled(self._starts)
        if self._latest is not None:  # before PySpark 4.2, the end of the first batch is asked for before its start
            starts = {place: min(offset, self._latest.get(place, offset)) for place, offset in starts.items()}
        self._first = {**starts, **self._first}  # what the end of the first batch says already
        self._known = initial(self._first)
        return self._known

    def _starts(self) -> dict[Place, int]:
        starts = self._brokers.at(self._start, self._brokers.places(), start=True)
        if self._start.offsets is None:
            return starts
        low, high = self._brokers.earliest(starts), self._brokers.latest(starts)
        return available(self._start, starts, low, high, self._plan.patience)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """``maxOffsetsPerTrigger``; the minimum and the delay are counted in :meth:`latestOffset`."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

        if self._limit is not None:
            return ReadMaxRows(self._limit)
        least = self._plan.options.whole("minOffsetsPerTrigger")
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Note the topics' present ends: a query with Trigger.AvailableNow ends there."""
        self._last = self._brokers.ends_left()

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """The end of the next batch. PySpark passes ``start`` and ``limit`` from 4.2 on.

        Raises:
            OffsetOutOfRangeError: a partition is missing, or ends before ``start``, and ``failOnDataLoss`` is true.
                Spark has not stored the end yet, so the query can start again once the partition is back.
        """
        start = self._known if start is None else start
        if start is None:
            self._latest = self._first_ends() if self._last is None else self._last
            self._known = after(self.initialOffset(), self._latest)
            return self._known
        before = {**self._left, **restored(start)}
        self._latest = self._ends(before) if self._last is None else self._last_ends(before)
        self._known = after(start, self._limited(before, self._latest, limit), self._left)
        return self._known

    def _limited(self, before: dict[Place, int], ends: dict[Place, int], limit: Any) -> dict[Place, int]:
        if type(limit).__name__ == "ReadAllAvailable":
            return ends
        if self._last is None and self._delay is not None and self._delay.skips(before, ends):
            return {place: offset for place, offset in before.items() if place in ends}
        most = getattr(limit, "max_rows", None)
        if most is None:
            return ends
        return limited(most, before | self._brokers.begins_left(ends.keys() - before.keys()), ends)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 (Spark's name)
        """The topics' ends at the last trigger, for the progress of the query."""
        return None if self._latest is None else stored(self._latest)

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        """The ranges of a batch.

        A query that continues from its checkpoint is first asked for a batch from the last end to this same end. So the
        beginning of the next batch is known, also before PySpark 4.2.
        """
        self._known = end
        ends, begins = restored(end), begin_of(start, end)
        if is_initial(start):
            if self._latest is not None:  # topics that were not known yet when the end was asked for
                begins = {**restored(start), **begins}
            begins = self._begins_again(begins, ends)
        begins |= self._begins_of_new(begins, ends)
        missing = {place: begins[place] for place in begins.keys() - ends.keys() - self._gone}
        self._leave_out(missing, goes_on=self._plan.patience.fail or is_initial(start))
        ends = {place: offset for place, offset in ends.items() if place in begins}
        if self._latest is None:  # the batch was planned before the query started again
            self._require_left(begins, ends)
        for place, offset in sorted(ends.items()):
            if offset < begins[place]:
                self._ends_before(place, offset, begins[place])
        return [InputPartition(span) for span in ranges_of(begins, ends, *self._cuts)]

    def _begins_again(self, begins: Mapping[Place, int], ends: Mapping[Place, int]) -> dict[Place, int]:
        """The beginning of a first batch that runs again, by a checkpoint of an older version: it has only the end.

        The end was the beginning as well, for partitions that began at their latest offsets.
        """
        return {
            place: min(offset, ends.get(place, offset)) if self._start.may_be_latest(place) else offset
            for place, offset in begins.items()
        }

    def _leave_out(self, missing: Mapping[Place, int], *, goes_on: bool) -> None:
        """Continue partitions that the end of the batch lacks in the next batch, or from their first messages.

        Before PySpark 4.2, Spark first asks a new query for an end, perhaps of a broker that briefly knows fewer; such
        a partition goes on. Later, with ``failOnDataLoss=false``, the end lacks what was missing: see :meth:`_kept`.
        """
        if not missing:
            return
        there = self._there(missing.keys())
        for place in sorted(missing):
            if place in there:
                logger.warning(
                    "topic %s: partition %s was not known when the batch was planned; the next reads it from %s on",
                    *place,
                    f"offset {missing[place]}" if goes_on else "its first message",
                )
            else:
                self._lost_whole(place)
        if goes_on:
            self._left |= {place: missing[place] for place in there}

    def _require_left(self, begins: Mapping[Place, int], ends: Mapping[Place, int]) -> None:
        """Report partitions that the batch would read, and that no longer exist.

        With ``failOnDataLoss=false``, they stay in the batch, whose end Spark has stored: a task waits for them.
        """
        chooses = self._plan.topics.chooses
        asked = {place for place, offset in ends.items() if begins[place] < offset and chooses(place)}
        gone = asked - self._there(asked)
        for place in sorted(gone):
            self._lost_whole(place)
        self._gone |= gone

    def _there(self, asked: Set[Place]) -> Set[Place]:
        """Those of the partitions that exist now."""
        if not asked:
            return asked
        return self._again(lambda: asked & set(self._brokers.left()), lambda found: found == asked)

    def _begins_of_new(self, begins: Mapping[Place, int], ends: Mapping[Place, int]) -> dict[Place, int]:
        """The beginnings of added partitions and topics, which are read from their first offsets."""
        added = ends.keys() - begins.keys()
        if not added:
            return {}
        found = self._again(lambda: self._brokers.begins_left(added), lambda found: found.keys() == added)
        for place in sorted(added):
            if place not in found:
                self._lost(place, f"was added and {_MISSING}", HIDDEN_HINT)
            elif found[place] != 0:
                self._lost(place, f"was added, and starts at {found[place]} instead of 0")
        return found

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The columns of a range; Spark also calls this method for a batch without ranges."""
        span = getattr(partition, "value", None)  # without ranges, PySpark 4.0 passes None
        if span is not None:
            yield from self._plan.batches(span)

    def _ends(self, before: Mapping[Place, int]) -> dict[Place, int]:
        """The ends of the partitions.

        For a moment, a broker may answer with an older end, or without a topic; the question is then repeated.
        """
        ends = self._again(self._brokers.ends_left, lambda found: not self._behind(before, found))
        return self._kept(before, ends)

    def _first_ends(self) -> dict[Place, int]:
        """The ends of the partitions, if the beginning of the batch is unknown; topics given by name have to exist.

        This is so before PySpark 4.2, in a new query. The topics that match a pattern are known when Spark asks for the
        beginning of the query; see :meth:`_leave_out`.
        """
        topics = self._plan.topics
        return self._ends(dict.fromkeys(topics.assigned or {(name, 0) for name in topics.names}, 0))

    def _again(self, ask: Callable[[], _Answer], is_complete: Callable[[_Answer], bool]) -> _Answer:
        """Repeat a question, ``fetchOffset.numRetries`` times at most, until its answer is complete."""
        for left in range(self._retries, -1, -1):
            answer = ask()
            if not left or is_complete(answer):
                break
            time.sleep(self._retry_seconds)
        return answer

    def _last_ends(self, before: Mapping[Place, int]) -> dict[Place, int]:
        """The ends of a query with Trigger.AvailableNow: the topics' ends when the query was prepared."""
        last = dict(self._last or {})
        # Messages may have come before Spark asked where to start, or the broker knew less than it does now.
        if stale := [place for place in before if last.get(place, -1) < before[place]]:
            found = self._ends(before)
            last = {place: offset for place, offset in last.items() if place not in stale}
            last |= {place: found[place] for place in stale if place in found}
        self._last = last  # so that messages that come later do not move the end again
        return last

    def _behind(self, before: Mapping[Place, int], ends: Mapping[Place, int]) -> list[Place]:
        """Partitions that are missing now but were there before, or whose ends lie before the offsets read already."""
        known = [place for place in sorted(before) if place in ends or place not in self._gone]
        return [place for place in known if ends.get(place, -1) < before[place]]

    def _kept(self, before: Mapping[Place, int], ends: Mapping[Place, int]) -> dict[Place, int]:
        """``ends``; with ``failOnDataLoss=false``, without missing partitions.

        A partition that comes back is new then, and is read from its first message: the topic may have been created
        again, and its first messages must not be skipped. Partitions that the options no longer name keep their
        offsets.
        """
        for place in self._behind(before, ends):
            if place in ends:
                self._ends_before(place, ends[place], before[place])
            else:
                self._lost_whole(place)
        missing = before.keys() - ends.keys()
        self._gone = set(missing)
        self._left = {place: offset for place, offset in self._left.items() if place in ends}
        chooses = self._plan.topics.chooses
        return {**ends, **{place: before[place] for place in missing if not chooses(place)}}

    def _ends_before(self, place: Place, end: int, begin: int) -> None:
        reason = _OPEN if self._brokers.committed else None
        self._lost(place, f"ends at {end}, and was read up to {begin}; was the topic recreated?", reason)

    def _lost_whole(self, place: Place) -> None:
        if self._plan.topics.chooses(place):
            self._lost(place, _MISSING, HIDDEN_HINT)
        else:
            self._lost(place, _UNNAMED, "name it again")

    def _lost(self, place: Place, found: str, reason: str | None = None) -> None:
        self._plan.patience.lost(f"partition {place[1]} {found}", place[0], reason)


def _delay(plan: Plan) -> Delay | None:
    options = plan.options
    least, most = options.whole("minOffsetsPerTrigger"), options.whole("maxOffsetsPerTrigger")
    if least is None:
        if options.text("maxTriggerDelay") is not None:
            raise ConfigError("maxTriggerDelay has no effect without minOffsetsPerTrigger")
        return None
    if most is not None and least > most:
        raise ConfigError(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})")
    return Delay(least, options.seconds("maxTriggerDelay", _DELAY_SECONDS))
