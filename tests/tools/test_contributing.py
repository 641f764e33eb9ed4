"""CONTRIBUTING's map, the import rules and the folders tell the same story."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "CONTRIBUTING.md").read_text()
EXT: Final = ROOT / "ext" / "streamnative_serdes"
MAPPED: Final = ("streamnative_serdes", "streamnative_serdes/spark/datasource")


def rows_of(head: str) -> list[list[str]]:
    """The names in the first column of a table, row by row."""
    table = PAGE.split(head, 1)[1].split("\n\n", 1)[0]
    return [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in table.splitlines()[2:]]


def layers(container: str) -> list[set[str]]:
    """The layers of the import rules of a package, from the top."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (found,) = (contract["layers"] for contract in contracts if contract.get("containers") == [container])
    return [set(map(str.strip, layer.split("|"))) for layer in found]


def entries(folder: Path) -> set[str]:
    """Modules by name, and packages with a slash."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return modules | {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("folder", MAPPED)
def test_the_map_lists_each_module_and_package_once(folder: str) -> None:
    names = [name for row in rows_of(f"| `{folder}/` | What it owns |") for name in row]
    assert sorted(names) == sorted(entries(ROOT / folder))


@pytest.mark.parametrize("folder", MAPPED)
def test_the_map_is_in_the_order_of_the_layers(folder: str) -> None:
    rank = {name: number for number, layer in enumerate(layers(folder.replace("/", "."))) for name in layer}
    rows = rows_of(f"| `{folder}/` | What it owns |")
    ranks = [[rank[name.rstrip("/")] for name in row] for row in rows]
    for above, below in pairwise(ranks):
        assert max(above) <= min(below), (above, below)


def test_the_map_lists_each_compiled_module_and_its_folder() -> None:
    names = [name for row in rows_of("| `ext/streamnative_serdes/` |") for name in row]
    units, folders = (
        {path.stem for path in EXT.glob("*.pyx")},
        {f"{path.name}/" for path in EXT.iterdir() if path.is_dir()},
    )
    assert sorted(names) == sorted(units | folders)


def test_the_map_lists_each_folder_of_tests_and_each_oracle() -> None:
    paths = [name for row in rows_of("| Path | What |") for name in row]
    assert all((ROOT / path).exists() for path in paths)
    folders = {f"tests/{path.name}/" for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0].isalpha()}
    assert folders == {path for path in paths if path.startswith("tests/")}
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| `tests/oracles/` |"))
    oracles = {f"`{path.parent.name}/`" for path in (ROOT / "tests/oracles").glob("*/__init__.py")}
    assert all(oracle in row for oracle in oracles), oracles


@pytest.mark.parametrize("kind", ["unit", "adversity", "property", "integration", "docs", "interop"])
def test_each_test_stands_in_the_folder_of_a_room(kind: str) -> None:
    """So that `make test ROOM=...` runs it. A room is a package or module of the map, without underscore and slash."""
    folder = ROOT / "tests" / kind
    mapped = [row for table in (f"| `{MAPPED[0]}/` |", "| `ext/streamnative_serdes/` |") for row in rows_of(table)]
    rooms = {name.strip("_/") for row in mapped for name in row} | {"package"}
    # Fixtures of their own; the Makefile says whose rooms they are.
    others = {"contract", "kop"} if kind == "integration" else set()
    found = [path.relative_to(folder) for path in folder.rglob("test_*.py")]
    assert found
    assert [path for path in found if len(path.parts) != 2 or path.parts[0] not in rooms | others] == []
    assert not list(folder.rglob("__init__.py"))
