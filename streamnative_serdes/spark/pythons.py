"""Worker Python check: warns if Spark's workers run a Python that lacks this package or its dependencies.

Spark uses ``PYSPARK_PYTHON``, or else the first ``python3`` on PATH, even if the driver runs the Python of a virtual
environment. The error is then a ModuleNotFoundError somewhere in hundreds of lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamnative_serdes._log import logger

_NEEDED: Final = ("streamnative_serdes", "confluent_kafka", "pandas", "pyarrow")
_LOOK: Final = "import sys; from importlib.util import find_spec; print(*(n for n in sys.argv[1:] if not find_spec(n)))"
_LOOK_SECONDS: Final = 30
_MISSING: Final = re.compile(rf"No module named '({'|'.join(_NEEDED)})\b")


def warn_of_workers(session: SparkSession) -> None:
    """Log which packages the workers' Python lacks, if tasks run on this machine with another Python than the driver.

    DataFrames are evaluated later, outside our calls, so we cannot add a hint to their errors.
    """
    try:
        context = session.sparkContext
    except PySparkException:  # Spark Connect: the workers are those of a server
        return
    python = shutil.which(context.pythonExec)
    local = (context.master or "").startswith("local")
    if local and python and Path(python).absolute() != Path(sys.executable).absolute():
        _warn(python, _paths(context))


@cache
def _warn(python: str, paths: str) -> None:
    """Log the warning once per Python."""
    look = [python, "-c", _LOOK, *_NEEDED]
    try:
        found = subprocess.run(
            look,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=_LOOK_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return  # it is not a working Python: Spark reports that itself
    if missing := found.stdout.split():
        logger.warning("Spark's workers run %s, which lacks %s; %s", python, ", ".join(missing), _remedy())


def _paths(context: SparkContext) -> str:
    """The workers' PYTHONPATH as Spark composes it, without Spark's own paths."""
    given = (context.environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH"))
    return os.pathsep.join(path for path in given if path)


@contextmanager
def worker_hints() -> Iterator[None]:
    """Add a hint to the error of a job inside the block if a worker lacks a required package."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        found = _MISSING.search(str(error))
        if found:
            error.add_note(f"Spark's workers run a Python that lacks {found[1]} (hint: {_remedy()})")
        raise


def _remedy() -> str:
    return (
        f"before the session starts, set PYSPARK_PYTHON to a Python that has it, such as {sys.executable}, or "
        "install the package with its extra [spark] there"
    )
