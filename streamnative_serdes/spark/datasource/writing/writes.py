"""Writes: the headers that identify the write, partition and row of a message, and the reports of tasks to the driver.

A message and its duplicates have equal headers.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

from pyspark import SparkContext, TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from streamnative_serdes.errors import ConfigError

logger = logging.getLogger(__name__)

# A duplicate has the same values as the original message.
QUERY_HEADER: Final = "spark.query.id"
BATCH_HEADER: Final = "spark.batch.id"
WRITE_HEADER: Final = "spark.write.id"
PARTITION_HEADER: Final = "spark.partition.id"
ROW_HEADER: Final = "spark.row"

# Spark's local properties in the thread that runs a batch of a stream.
_QUERY_ID: Final = "sql.streaming.queryId"  # stays the same after a restart from the checkpoint
_BATCH_ID: Final = "streaming.sql.batchId"
_JOB_GROUP: Final = "spark.jobGroup.id"  # the run of a stream: each restart has a new one
# The process in which a server of Spark Connect runs functions of foreachBatch; it is not told the query.
_CONNECT: Final = "pyspark.sql.connect.streaming.worker.foreach_batch_worker"


@dataclass(frozen=True, slots=True)
class Write:
    """Identifies one write of a sink."""

    query: str  # the stream's query id, or a unique id for a batch write
    batch: int | None = None  # the stream's batch id, or None
    # number of this write among those of the same batch to the same topic, from 0; None without a stream
    number: int | None = None

    @classmethod
    def here(cls, topic: str, batch: int | None = None) -> Write:
        """On the driver: identify a write to ``topic`` that starts now in this thread.

        Raises:
            ConfigError: the write is part of a stream of Spark Connect.
        """
        if _runs(_CONNECT):
            raise ConfigError(
                "Spark Connect does not tell a function of foreachBatch its query, so the headers of dedup_headers "
                "would differ when a batch is repeated",
                topic=topic,
                hint="use df.writeStream.format('streamnative-kafka') with dedupHeaders=true, which tells copies",
            )
        context = SparkContext._active_spark_context  # noqa: SLF001 - PySpark has no public accessor
        query = context and context.getLocalProperty(_QUERY_ID)
        current = context and context.getLocalProperty(_BATCH_ID)
        if not context or not query or not current:
            return cls(uuid4().hex, batch)
        batch = int(current) if batch is None else batch
        return cls(query, batch, _writes.begin(query, topic, batch, _run(context.getLocalProperty(_JOB_GROUP))))

    @classmethod
    def of_task(cls) -> Write:
        """In a task of a stream: identify the task's batch.

        Raises:
            ConfigError: Spark does not tell the batch; PySpark 4.0 to 4.3 do.
        """
        task = TaskContext.get()
        query = task and task.getLocalProperty(_QUERY_ID)
        batch = task and task.getLocalProperty(_BATCH_ID)
        if not query or not batch:
            raise ConfigError(
                f"Spark does not tell the task which query ({_QUERY_ID}) and batch ({_BATCH_ID}) it is for",
                hint="use delivery=at-least-once without dedupHeaders",
            )
        return cls(query, int(batch))

    def headers(self) -> list[tuple[str, bytes]]:
        """The common headers of all messages of the current task."""
        found = {
            QUERY_HEADER: self.query,
            BATCH_HEADER: self.batch,
            WRITE_HEADER: self.number,
            PARTITION_HEADER: partition_of_task(),
        }
        return [(name, str(value).encode()) for name, value in found.items() if value is not None]


def partition_of_task() -> int:
    """The number of the partition that this task processes; 0 outside of tasks."""
    task = TaskContext.get()
    return task.partitionId() if task else 0


def _runs(module: str) -> bool:
    """Whether this process was started to run ``module``."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return module in sys.modules or (main is not None and main.name == module)


def _run(group: str | None) -> str | None:
    """The run id of a stream; None if the user set another job group."""
    try:
        return str(UUID(group or ""))
    except ValueError:
        return None


class _Writes:
    """Numbers the writes of each batch; starts at 0 again when a restarted stream repeats the batch."""

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


@dataclass
class Sent(WriterCommitMessage):
    """The number of messages that one task has written; ``again``: another attempt had committed them before."""

    partition: int
    messages: int = 0
    again: bool = False


def report(sent: Sequence[WriterCommitMessage | None], batch: int | None) -> None:
    """Log the number of messages of a write."""
    tasks = [each for each in sent if isinstance(each, Sent)]
    again = sum(task.again for task in tasks)
    logger.info(
        "%s: %d messages of %d tasks%s",
        _name(batch),
        sum(task.messages for task in tasks),
        len(tasks),
        f" ({again} had committed before)" if again else "",
    )


def report_failure(sent: Sequence[WriterCommitMessage | None], batch: int | None) -> None:
    """Log the messages that a failed write leaves behind, since they cannot be taken back."""
    done = [each for each in sent if isinstance(each, Sent) and each.messages]
    logger.warning(
        "%s failed; the messages of its other tasks stay in the topic: %d messages of %d tasks (partitions %s)",
        _name(batch),
        sum(each.messages for each in done),
        len(done),
        ", ".join(str(each.partition) for each in done)[:500] or "none",
    )


def _name(batch: int | None) -> str:
    return "a batch write" if batch is None else f"batch {batch} of a stream"
