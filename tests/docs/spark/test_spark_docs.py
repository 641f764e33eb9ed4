"""The code of the pages on Spark runs unchanged, page after page, except for the addresses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

from pyspark.sql import SparkSession

from streamnative_serdes.testing import LocalRegistry

DOCS = Path(__file__).parents[3] / "docs"
PAGES = (
    "spark-write.md",
    "spark-read.md",
    "spark-columns.md",
    "spark-streams.md",
)  # each goes on with the names of the one before


def test_the_code_of_the_pages_runs(spark: SparkSession, kafka: dict[str, str], registry: LocalRegistry) -> None:
    blocks = [
        block for page in PAGES for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    ]
    assert len(blocks) == 8
    code = "\n".join(blocks).replace("http://localhost:8080", registry.url)
    names: dict[str, object] = {"spark": spark, "__name__": "page"}
    exec(code.replace("localhost:9092", kafka["bootstrap.servers"]), names)
