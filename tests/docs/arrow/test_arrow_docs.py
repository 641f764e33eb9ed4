"""The code in docs/arrow.md runs unchanged."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "arrow.md"


def test_the_code_of_the_arrow_page_prints_the_output_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    expected = re.findall(r"print\(.*\)  # (.*)", "".join(blocks))
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)

    printed = capsys.readouterr().out.splitlines()
    assert len(blocks) == 6
    assert len(printed) == len(expected) == 1
    assert printed[0].startswith(expected[0].removesuffix(" ..."))
