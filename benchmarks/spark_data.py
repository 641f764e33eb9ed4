"""Data of the benchmarks of Spark: trades as rows, DataFrames that are equal, and the table of jobs."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import Results, table, versions
from pyspark.sql import DataFrame

DATA_SOURCE = "streamnative-kafka"


def text(values: Any) -> pa.Array:
    """Text of numpy in one array, of which pyarrow makes several chunks beyond two million rows."""
    found = pa.array(values)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def trades(rows: int) -> pa.RecordBatch:
    """Random trades, identical in every run."""
    source = np.random.default_rng(0)
    millis = np.datetime64("2026-01-01", "ms") + source.integers(0, 10**10, rows).astype("timedelta64[ms]")
    notes = text(np.char.add("note ", source.integers(0, 10**6, rows).astype(str)))
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(source.integers(0, 2**40, rows)),
            "account": text(np.char.add("account-", source.integers(0, 10**8, rows).astype(str))),
            "symbol": text(source.choice(["NYSE:ABCD", "XETR:EFGH.DE", "LSE:IJ"], rows)),
            "side": text(source.choice(["BUY", "SELL", "HOLD"], rows)),
            "price": pa.array(source.uniform(0, 1e5, rows)),
            "weight": pa.array(source.uniform(0, 1, rows).astype(np.float32)),
            "quantity": pa.array(source.integers(-1000, 10**6, rows).astype(np.int32)),
            "open": pa.array(source.integers(0, 2, rows).astype(bool)),
            "at": pa.array(millis.astype("datetime64[us]"), pa.timestamp("us", "UTC")),
            "note": pa.compute.if_else(pa.array(source.random(rows) < 0.25), None, notes),
        }
    )


def write(folder: Path, batch: pa.RecordBatch) -> str:
    """Write ``batch`` as two files, one per partition, and return the folder."""
    folder.mkdir()
    half = (batch.num_rows + 1) // 2
    for number in range(2):
        pq.write_table(pa.table(batch.slice(number * half, half)), folder / f"{number}.parquet")
    return str(folder)


def noop(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


def same(found: DataFrame, expected: DataFrame) -> None:
    """Assert equal rows, each the same number of times, so that no wrong result is timed."""
    assert found.exceptAll(expected).isEmpty()
    assert expected.exceptAll(found).isEmpty()


def job_table(cells: Results, rows: int) -> str:
    def lines() -> Iterator[list[str]]:
        yield ["job", "median s (least - most)", "krows/s"]
        for (group, name), job in cells.items():
            middle, least, most = (ns * rows / 1e9 for ns in (job.ns, min(job.rounds), max(job.rounds)))
            yield [f"{group}: {name}", f"{middle:.2f} ({least:.2f} - {most:.2f})", f"{rows / middle / 1000:,.0f}"]

    return table(list(lines()), padded=False)


def heading(rows: int, rounds: int) -> str:
    packages = versions("pyspark", "pyarrow", "pandas", "fastavro", "confluent-kafka")
    return (
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}; {rows:,} rows, medians of {rounds} rounds, local[2], "
        f"load average {os.getloadavg()[0]:.1f}; {packages}; fastavro.__version__ {fastavro.__version__}."
    )
