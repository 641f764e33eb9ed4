"""The tests that docs/interoperability.md names exist: those of each cell, and each test of its list is in a cell."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INTEGRATION = ROOT / "tests" / "integration"
TEXT = (ROOT / "docs" / "interoperability.md").read_text()
LISTED = dict(re.findall(r"^- \*\*([A-Z])\*\* `(\S+)`$", TEXT, re.MULTILINE))
ROWS = [line.strip("|").split("|") for line in TEXT.partition("\n\n- **A**")[0].splitlines() if line.startswith("|")]
LETTERS = re.compile(r"\(([A-Z](?:, [A-Z])*)\)")

needs_integration = pytest.mark.skipif(
    not INTEGRATION.is_dir(), reason="the tests are not available when a wheel is tested"
)


def letters(cell: str) -> list[str]:
    return [letter for group in LETTERS.findall(cell) for letter in group.split(", ")]


def functions(name: str) -> set[str]:
    (path,) = INTEGRATION.rglob(name)
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_writer_and_reader_have_a_cell_that_names_a_test() -> None:
    cells = [cell for _writer, *row in ROWS[2:] for cell in row]
    assert len(cells) == 7 * 7
    assert [cell for cell in cells if not letters(cell)] == []
    assert {letter for cell in cells for letter in letters(cell)} == LISTED.keys()


@needs_integration
@pytest.mark.parametrize("listed", LISTED.values())
def test_each_test_of_the_list_exists(listed: str) -> None:
    name, _, function = listed.partition("::")
    assert function in functions(name)


@needs_integration
def test_each_test_that_the_text_names_exists() -> None:
    all_functions = {function for path in INTEGRATION.rglob("test_*.py") for function in functions(path.name)}
    named = set(re.findall(r"`(test_\w+[^_\W])`", TEXT))
    assert named
    assert named <= all_functions
    assert any(function.startswith("test_a_headerless_message_") for function in functions("test_pulsar_clients.py"))
