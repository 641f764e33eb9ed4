"""The page of public names lists what can be imported, with the first sentence of each docstring."""

from __future__ import annotations

from pathlib import Path

import api_page
import pytest
from api_page import Code, first_sentence, page

FILES = {
    "__init__": '"""A package."""\nfrom .face import Face\n__all__ = ["Face"]\n',
    "face": '"""The face."""\nfrom ._inside import Face\nfrom pathlib import Path\nLIMIT = 3\n_hidden = 1\n',
    "_inside": 'class Face:\n    """What is called. More of it."""\n',
    "tools/__init__": '"""Tools."""\nfrom .one import turn\n__all__ = ["turn"]\n',
    "tools/one": 'def turn():\n    """Turn :class:`~streamnative_serdes.Face`: it is ``round``."""\ndef other(): ...\n',
    "loose/__init__": '"""Modules to import by name."""\n',
    "loose/two": '"""Two."""\ndef do():\n    """Does it"""\n',
}


@pytest.fixture
def code(tmp_path: Path) -> Code:
    for name, text in FILES.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return Code(tmp_path)


def test_only_public_modules_are_listed_and_a_package_includes_its_modules(code: Code) -> None:
    titles = [line[3:] for line in page(code).splitlines() if line.startswith("## ")]
    root = "streamnative_serdes"
    assert titles == [root, f"{root}.face", f"{root}.loose.two", f"{root}.tools"]


def test_a_name_is_listed_with_the_first_sentence_of_its_docstring(code: Code) -> None:
    rows = [line for line in page(code).splitlines() if line.startswith("| `")]
    assert rows == ["| `Face` | What is called |", "| `LIMIT` |  |", "| `do` | Does it |",
                    "| `turn` | Turn `streamnative_serdes.Face`: it is `round` |"]  # fmt: skip


def test_a_sentence_becomes_one_line_of_markdown() -> None:
    assert first_sentence("Reads ``a | b``\nfrom there. More.\n\nEven more.") == r"Reads `a \| b` from there"


def test_a_page_that_is_out_of_date_is_an_error(tmp_path: Path, code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROOT": tmp_path, "PACKAGE": ".", "PAGE": tmp_path / "api.md"}.items():
        monkeypatch.setattr(api_page, name, value)
    monkeypatch.setattr("sys.argv", ["api_page.py"])
    api_page.main()
    monkeypatch.setattr("sys.argv", ["api_page.py", "--check"])
    api_page.main()
    (tmp_path / "face.py").write_text("LIMIT = 4\nMORE = 5\n")
    with pytest.raises(SystemExit, match="make docs-api"):
        api_page.main()
