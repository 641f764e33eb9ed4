"""The map from promises to tests: what does not fit together is named, and the page is written only if all fits."""

from __future__ import annotations

from pathlib import Path

import pytest
from promises import main

PROMISE = """["docs/security.md"]
bounded = "no read is beyond the end"
"""
TEST = """
import pytest
@pytest.mark.promise("bounded")
@pytest.mark.parametrize("x", [1])
def test_the_end(x: int) -> None: ...
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "tools/promises.toml": PROMISE,
        "docs/security.md": "We promise: no read is\n  beyond the end.",
        "tests/unit/test_reads.py": TEST,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_page_names_the_tests_of_each_promise(root: Path) -> None:
    assert main([], root) == 0
    page = (root / "docs" / "promises.md").read_text()
    assert "| no read is beyond the end | `unit/test_reads.py`: `test_the_end` |" in page
    assert main(["--check"], root) == 0


def test_a_page_that_is_out_of_date_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "docs" / "promises.md").write_text("another")
    assert main(["--check"], root) == 1
    assert "docs/promises.md is out of date" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("tests/unit/test_reads.py", "", "bounded: no test has the mark promise('bounded')"),
        ("docs/security.md", "Nothing.", "bounded: docs/security.md does not say: no read is beyond the end"),
        ("tools/promises.toml", "", "bounded: a mark, but no promise of tools/promises.toml"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(
    root: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, complaint: str
) -> None:
    (root / file).write_text(text)
    assert main([], root) == 1
    assert capsys.readouterr().out == f"{complaint}\n"
    assert not (root / "docs" / "promises.md").exists()


def test_the_map_of_this_checkout_is_whole() -> None:
    assert main(["--check"]) == 0
