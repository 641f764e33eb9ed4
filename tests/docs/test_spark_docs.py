"""The code in docs/spark.md runs unchanged, block after block, except for the addresses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")

from pyspark.sql import SparkSession

from streamnative_serdes.testing import LocalRegistry

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_code_of_the_page_runs(spark: SparkSession, kafka: dict[str, str], registry: LocalRegistry) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 8
    code = "\n".join(blocks).replace("http://localhost:8080", registry.url)
    names: dict[str, object] = {"spark": spark, "__name__": "page"}
    exec(code.replace("localhost:9092", kafka["bootstrap.servers"]), names)
