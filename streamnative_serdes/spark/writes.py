"""Where the messages of a sink come from, as headers: what is sent again has the same ones."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

from pyspark import SparkContext, TaskContext

# Where one write ends and the next begins; a copy has all in common with the message that it copies.
QUERY_HEADER: Final = "spark.query.id"
BATCH_HEADER: Final = "spark.batch.id"
WRITE_HEADER: Final = "spark.write.id"
PARTITION_HEADER: Final = "spark.partition.id"
ROW_HEADER: Final = "spark.row"

# Local properties of Spark, in the thread that runs a batch of a stream.
_QUERY_ID: Final = "sql.streaming.queryId"  # a restart from the checkpoint has the same
_BATCH_ID: Final = "streaming.sql.batchId"
_JOB_GROUP: Final = "spark.jobGroup.id"  # of a stream: its run, of which a restart has another


@dataclass(frozen=True, slots=True)
class Write:
    """What all messages of one write of a sink have in common.

    Args:
        query: the stream's id, or one of this write alone.
        batch: of a stream.
        number: of a stream: how many writes to the same topic this batch had before.
    """

    query: str
    batch: int | None = None
    number: int | None = None

    @classmethod
    def here(cls, topic: str, batch: int | None = None) -> Write:
        """On the driver: of a write to ``topic`` that begins now, in this thread."""
        context = SparkContext._active_spark_context  # noqa: SLF001 - PySpark has no other way to ask for it
        query = context and context.getLocalProperty(_QUERY_ID)
        current = context and context.getLocalProperty(_BATCH_ID)
        if not context or not query or not current:
            return cls(uuid4().hex, batch)
        batch = int(current) if batch is None else batch
        return cls(query, batch, _writes.begin(query, topic, batch, _run(context.getLocalProperty(_JOB_GROUP))))

    def headers(self) -> list[tuple[str, bytes]]:
        """Those that all messages of the task that runs here have in common."""
        task = TaskContext.get()
        found = {
            QUERY_HEADER: self.query,
            BATCH_HEADER: self.batch,
            WRITE_HEADER: self.number,
            PARTITION_HEADER: task.partitionId() if task else 0,
        }
        return [(name, str(value).encode()) for name, value in found.items() if value is not None]


def _run(group: str | None) -> str | None:
    """The run of a stream; None if the user gave the jobs another group."""
    try:
        return str(UUID(group or ""))
    except ValueError:
        return None


class _Writes:
    """Numbers the writes of each batch, from 0 again when a run of the stream does the batch again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str], tuple[int, str | None, int]] = {}  # by query and topic: batch, run, number

    def begin(self, query: str, topic: str, batch: int, run: str | None) -> int:
        with self._lock:
            last_batch, last_run, number = self._last.get((query, topic), (None, None, 0))
            again = run is not None and last_run is not None and run != last_run
            number = 0 if batch != last_batch or again else number + 1
            self._last[query, topic] = batch, run or last_run, number
            return number


_writes = _Writes()
