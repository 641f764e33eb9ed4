"""Races that are planted in the compiled code are found: each is a fault in a copy of one module, which is built.

Only without the GIL: with it, no other thread runs between the lines in question, and the faults have no effect. A
compiler and the sources are needed. ext/streamnative_serdes/threads.h has what the faults break.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

import streamnative_serdes

ROOT = Path(__file__).parents[2]
SOURCES = Path("ext/streamnative_serdes")


class Planted(NamedTuple):
    """A fault: the module, and the text of one of its files that is replaced."""

    module: str
    file: str
    old: str
    new: str


PLANTED = {
    # Each thread works with the SerDes itself, whose last entry all of them read and replace.
    "an unlocked write of the last entry": Planted(
        "_serdes",
        "serdes/replicas.pyx",
        "    if not FREE_THREADED:\n        return <PyObject*>serdes\n    place =",
        "    return <PyObject*>serdes\n    place =",
    ),
    # close() drops the last entries of other threads, which may be in the middle of a call.
    "close() during a call": Planted(
        "_serdes",
        "_serdes.pyx",
        "        while now.cache is not None:\n            now.begin_caches(",
        "        for one in self.replicas:\n            (<_Serdes>one).last = None\n"
        "        while now.cache is not None:\n            now.begin_caches(",
    ),
    # Two threads see no flight, and each begins its own.
    "a lost flight": Planted(
        "_flights",
        "_flights.pyx",
        "            flight = self.under_way.setdefault(place, own)\n",
        "            flight = self.under_way.get(place, own)\n            self.under_way[place] = flight\n",
    ),
}
MOST_SECONDS = 60
BUILD_SECONDS = 900

pytestmark = [
    pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="the GIL hides an unlocked last entry"),
    pytest.mark.skipif(
        not (ROOT / SOURCES).is_dir() or shutil.which("cc") is None, reason="no sources, or no compiler"
    ),
]


@pytest.fixture(params=PLANTED.values(), ids=PLANTED.keys())
def planted(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the package, of which one module is built with the fault."""
    pytest.importorskip("Cython")
    fault: Planted = request.param
    shutil.copytree(Path(streamnative_serdes.__file__).parent, tmp_path / "streamnative_serdes")
    shutil.copytree(ROOT / "ext", tmp_path / "ext")
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    _replace(tmp_path / SOURCES / fault.file, fault.old, fault.new)
    modules = next(line for line in (ROOT / "setup.py").read_text().splitlines() if line.startswith("MODULES = "))
    _replace(tmp_path / "setup.py", modules, f'MODULES = ("{fault.module}",)')
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--force"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert built.returncode == 0, built.stderr[-2000:]
    return tmp_path


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"the place of the fault in {file.name} has changed: {old!r}"
    file.write_text(text.replace(old, new))


def test_a_race_that_is_planted_in_compiled_code_is_found(planted: Path) -> None:
    race = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/race/test_race.py", "-k", "loses_nothing"]
    environment = {**os.environ, "PYTHONPATH": str(planted), "PYTHON_GIL": "0", "RACE_SECONDS": str(MOST_SECONDS)}
    ended = subprocess.run(
        [sys.executable, *race], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=10 * MOST_SECONDS
    )
    assert ended.returncode < 0 or "RaceError" in ended.stdout, (ended.returncode, ended.stdout[-2000:])
