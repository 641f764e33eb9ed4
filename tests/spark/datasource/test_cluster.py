"""A cluster whose machines do not have the package: an archive made by venv-pack travels with the job.

docs/spark-clusters.md shows the same commands.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

pytest.importorskip("venv_pack", reason="venv-pack is not installed: pip install venv-pack")

import pyspark
import venv_pack

import streamnative_serdes

SECONDS = 900
EXAMPLE = Path(__file__).parents[3] / "examples" / "spark_cluster.py"
NEEDED = ("confluent-kafka", "fastavro", "requests", "pyarrow", "pandas")
EXTRA = re.compile(r";.*\bextra\b")


def with_requirements(name: str, found: set[str]) -> set[str]:
    """Add a package and all that it requires to ``found``."""
    try:
        wanted = distribution(name).requires or ()
    except PackageNotFoundError:  # it is for other systems or older Pythons
        return found
    if name not in found:
        found.add(name)
        for line in wanted:
            if not EXTRA.search(line):
                with_requirements(re.split(r"[^\w.-]", line)[0].lower(), found)
    return found


def environment(folder: Path) -> Path:
    """A virtual environment with this package and what tasks need, as pip would make it; without PySpark."""
    venv.create(folder, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    packages: set[str] = set()
    for name in NEEDED:
        with_requirements(name, packages)
    for name in packages:
        for file in distribution(name).files or ():
            source, target = Path(str(file.locate())), site / file
            if source.is_file() and ".." not in file.parts and not {"tests", "__pycache__"} & set(file.parts):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
    home = Path(streamnative_serdes.__file__).parent
    shutil.copytree(home, site / home.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(home.parent / "pyspark_streamnative_kafka.py", site)
    return folder


def spark_home(folder: Path) -> Path:
    """PySpark's own copy of Spark, with a folder for the executors' files that is not among the packages."""
    folder.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        if path.name != "work":
            (folder / path.name).symlink_to(path)
    return folder


def drivers_python(path: Path) -> Path:
    """A Python that refuses to run in an executor's folder, as if it were on the driver's machine alone."""
    path.write_text(f'#!/bin/sh\ncase "$PWD" in */work/*) exit 3;; esac\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


def test_the_example_runs_on_a_cluster_with_an_archive(tmp_path: Path) -> None:
    packed = environment(tmp_path / "environment")  # where the driver looks for it, too
    archive = tmp_path / "packed.tar.gz"
    venv_pack.pack(prefix=str(packed), output=str(archive), compress_level=1)
    home = str(Path(streamnative_serdes.__file__).parents[1])
    # Not by PYTHONPATH, which executors inherit.
    program = f"import runpy, sys; sys.path.insert(0, {home!r}); sys.argv[1:] = [{str(archive)!r}]\n"
    program += f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')"
    told = {"PYSPARK_PYTHON": "./environment/bin/python", "SPARK_HOME": str(spark_home(tmp_path / "spark"))}
    if pyspark.__version__ > "4.1":  # before, a source that Spark has found cannot be registered again
        told["PYSPARK_DRIVER_PYTHON"] = str(drivers_python(tmp_path / "python"))
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_DRIVER_PYTHON")
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | told,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    said = [line for line in done.stdout.splitlines() if "orders of" in line or "tasks" in line]
    assert said == ["1000 orders of 124875.00", "tasks were run by environment/bin/python"], done.stderr[-4000:]
    works = list((tmp_path / "spark" / "work").glob("app-*/*/environment"))
    assert len(works) == 2, "each executor has unpacked the archive"
