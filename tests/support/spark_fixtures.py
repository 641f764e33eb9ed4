"""Pytest plugin: one Spark session per run, started on first use; without PySpark, what needs it is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class WithoutPySpark(pytest.Module):
    """A file of tests that is not even imported."""

    def collect(self) -> NoReturn:
        pytest.skip("pyspark is not installed: pip install pyspark")


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> pytest.Module | None:
    """Skip the files of Spark's rooms without PySpark, but for the one that does not need it."""
    rooms = module_path.parts[len(Path(__file__).parents[1].parts) :]
    if find_spec("pyspark") or "spark" not in rooms or module_path.name == "test_java.py":
        return None
    return WithoutPySpark.from_parent(parent, path=module_path)


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
