"""Pytest plugin: one Spark session per run, started on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    from streamnative_serdes.spark.session import local_session

    # Tasks of the demo need its modules in the workers, as `make demo` sees to. A failed task is repeated once.
    patch = pytest.MonkeyPatch()
    for folder in (Path(__file__).parents[2] / "examples", Path(__file__).parent):
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    with local_session("tests", cores="*,2") as session:
        patch.undo()
        # Read the small file in several tasks, as the whole file would be; and shuffle few rows in few tasks.
        session.conf.set("spark.sql.files.maxPartitionBytes", "100000")
        session.conf.set("spark.sql.files.openCostInBytes", "1")
        session.conf.set("spark.sql.shuffle.partitions", "2")
        yield session
