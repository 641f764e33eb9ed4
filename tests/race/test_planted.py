"""Races that are planted in a copy of the package are found by the race within a minute.

Each plant replaces a few lines of the product. A sleep between two steps lets other threads run, also on a busy
machine, so most of them are found with the GIL as well as without it. Compiled plants need a compiler and the sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

import streamnative_serdes

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 60
BUILD_SECONDS = 900


@dataclass(frozen=True)
class Plant:
    """A race: the text that replaces each text of a file, the compiled module it is in, and how the race ends."""

    name: str
    file: str
    replaced: tuple[tuple[str, str], ...]
    found_as: str
    module: str | None = None
    hidden_by_gil: bool = False


PLANTS = [
    # Each thread works with the SerDes itself, whose last entry all of them read and replace, and not with a replica
    # of its own (ext/streamnative_serdes/threads.h). With the GIL no other thread runs between the lines in question.
    Plant(
        "an unlocked last entry",
        "ext/streamnative_serdes/serdes/replicas.pyx",
        (
            (
                "    if not FREE_THREADED:\n        return <PyObject*>serdes\n    place =",
                "    return <PyObject*>serdes\n    place =",
            ),
        ),
        "Race",
        module="_serdes",
        hidden_by_gil=True,
    ),
    # To look for a running flight and to begin one are two steps.
    Plant(
        "a lost flight",
        "ext/streamnative_serdes/_flights.pyx",
        (
            (
                "            flight = self.under_way.setdefault(place, own)\n",
                "            flight = self.under_way.get(place)\n            if flight is None:\n"
                "                time.sleep(0.01)\n                flight = self.under_way[place] = own\n",
            ),
            ("import threading\n", "import threading\nimport time\n"),
        ),
        "asked [2-4] times",
        module="_flights",
    ),
    # A call looks for its connections in two steps, and close() drops them in between.
    Plant(
        "close() during a call",
        "streamnative_serdes/_http/exchange.py",
        (
            ("            session.close()\n", "            session.close()\n            self._sessions.clear()\n"),
            (
                "            session = self._sessions[os.getpid()]\n",
                "            if os.getpid() not in self._sessions:\n                _ = self._sessions[os.getpid()]\n"
                "            time.sleep(0.01)\n            session = dict(self._sessions)[os.getpid()]\n",
            ),
            ("import os\n", "import os\nimport time\n"),
        ),
        "KeyError",
    ),
]


# A race without a build of its own is looked for each time; those of compiled modules take a compiler and Cython.
SHORT_AND_LONG = [
    pytest.param(plant, id=plant.name, marks=[pytest.mark.long] if plant.module else []) for plant in PLANTS
]


@pytest.fixture(params=SHORT_AND_LONG)
def planted(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Plant, Path]:
    """A race, and a folder with the package that has it."""
    plant: Plant = request.param
    if plant.hidden_by_gil and not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the GIL hides it")
    if plant.module is not None:
        pytest.importorskip("Cython")
        if not (ROOT / "ext").is_dir() or shutil.which("cc") is None:
            pytest.skip("no sources, or no compiler")
    shutil.copytree(Path(streamnative_serdes.__file__).parent, tmp_path / "streamnative_serdes")
    if plant.module is not None:
        shutil.copytree(ROOT / "ext", tmp_path / "ext")
    for old, new in plant.replaced:
        _replace(tmp_path / plant.file, old, new)
    if plant.module is not None:
        _build(tmp_path, plant.module)
    return plant, tmp_path


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"the place of the race in {file.name} has changed: {old!r}"
    file.write_text(text.replace(old, new))


def _build(folder: Path, module: str) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py"):
        shutil.copy(ROOT / name, folder)
    modules = next(line for line in (ROOT / "setup.py").read_text().splitlines() if line.startswith("MODULES = "))
    _replace(folder / "setup.py", modules, f'MODULES = ("{module}",)')
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--force"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert built.returncode == 0, built.stderr[-2000:]


def test_a_planted_race_is_found(planted: tuple[Plant, Path]) -> None:
    plant, folder = planted
    race = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/race/test_race.py", "-k", "loses_nothing"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "PYTHON_GIL": "0"}
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        del environment["PYTHON_GIL"]  # an interpreter with a GIL refuses to start
    environment["RACE_SECONDS"] = str(MOST_SECONDS)
    ended = subprocess.run(
        [sys.executable, *race], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=10 * MOST_SECONDS
    )
    crashed = plant.hidden_by_gil and ended.returncode < 0
    found = "RaceError" in ended.stdout and re.search(plant.found_as, ended.stdout) is not None
    assert crashed or found, (ended.returncode, ended.stdout[-2000:])
