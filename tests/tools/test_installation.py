"""The installation that `make build` makes is one that Spark finds the data source in, from any folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_spark_finds_the_data_source_from_any_folder(tmp_path: Path) -> None:
    """Spark lists modules with pkgutil, which does not see what an import hook of an editable install adds."""
    code = "import pkgutil; print([module.name for module in pkgutil.iter_modules()])"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "pyspark_streamnative_kafka" in found.stdout
