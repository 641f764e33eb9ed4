"""Tasks of a stream without Spark, in a process that is killed at any moment: what a driver makes its workers do."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pyarrow as pa
from pyspark.sql import types as T

from streamnative_serdes.spark.datasource.writing import writers
from streamnative_serdes.spark.datasource.writing.writes import Write

COLUMNS = T.StructType([T.StructField("value", T.StringType())])


def numbers(batch: int, partition: int, rows: int) -> range:
    """What a task writes."""
    begin = (2 * batch + partition) * rows
    return range(begin, begin + rows)


def run_batches(options: dict[str, str], query: str, folder: Path, batches: int, rows: int) -> None:
    """Run batches of two tasks each, from the first one that is not in the commit log; note each step before it."""
    committed, step = folder / "committed", folder / "step"
    task = writers.stream_writer(options, COLUMNS, overwrite=False)._task  # type: ignore[attr-defined]
    begin = int(committed.read_text()) + 1 if committed.exists() else 0
    for batch in range(begin, batches):
        for partition in range(2):
            step.write_text(f"batch {batch}, task {partition}")
            Write.of_task = classmethod(lambda _: Write(query, batch))  # type: ignore[assignment,method-assign] # noqa: B023
            writers.partition_of_task = lambda: partition  # noqa: B023
            values = [str(number) for number in numbers(batch, partition, rows)]
            parts = (values[: rows // 2], values[rows // 2 :])
            task.run(iter([pa.RecordBatch.from_pydict({"value": part}) for part in parts]))
        step.write_text("before the commit log")
        draft = folder / "draft"
        draft.write_text(str(batch))
        draft.rename(committed)
        step.write_text("between batches")
    step.write_text("done")


def start(*given: object) -> multiprocessing.process.BaseProcess:
    """A process that runs :func:`run_batches`; its parent has imported everything and opened nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["killed_tasks"])
    process = context.Process(target=run_batches, args=given)
    process.start()
    return process
