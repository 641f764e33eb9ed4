"""The code in docs/connect.md runs unchanged, and its table has all options of the JsonConverter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamnative_serdes._config import markdown
from streamnative_serdes.connect.json_converter import OPTIONS

PAGE = (Path(__file__).parents[3] / "docs" / "connect.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_of_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    code = "\n".join(block for block in BLOCKS if "spark" not in block and "AvroConverter" not in block)
    exec(code, {})
    wanted = re.findall(r"(?m)^print\(.*\)  # (.*)$", code)
    assert len(wanted) >= 2
    assert capsys.readouterr().out.splitlines() == wanted


def test_the_code_for_spark_runs(spark: object) -> None:
    (code,) = [block for block in BLOCKS if "spark" in block and "AvroConverter" not in block]
    exec(code, {"spark": spark})


def test_the_table_of_options_is_that_of_the_code() -> None:
    assert markdown(OPTIONS) in PAGE
