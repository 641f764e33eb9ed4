"""A last entry that threads share without a lock, planted in the compiled call path, is found by the race.

Only without the GIL: with it, no other thread runs between the lines in question, and the fault has no effect. It needs
a compiler and the sources. In the copy that is built, each thread works with the SerDes itself, whose last entry all of
them read and replace, and not with a replica of its own (ext/streamnative_serdes/threads.h).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import streamnative_serdes

ROOT = Path(__file__).parents[2]
PLACE = Path("ext/streamnative_serdes/serdes/replicas.pyx")
OLD = "    if not FREE_THREADED:\n        return <PyObject*>serdes\n    place ="
NEW = "    return <PyObject*>serdes\n    place ="
MOST_SECONDS = 60
BUILD_SECONDS = 900

pytestmark = [
    pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="the GIL hides an unlocked last entry"),
    pytest.mark.skipif(not (ROOT / "ext").is_dir() or shutil.which("cc") is None, reason="no sources, or no compiler"),
]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with the package, of which _serdes is built with the fault."""
    pytest.importorskip("Cython")
    shutil.copytree(Path(streamnative_serdes.__file__).parent, tmp_path / "streamnative_serdes")
    shutil.copytree(ROOT / "ext", tmp_path / "ext")
    for name in ("pyproject.toml", "README.md", "LICENSE", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    _replace(tmp_path / PLACE, OLD, NEW)
    modules = next(line for line in (ROOT / "setup.py").read_text().splitlines() if line.startswith("MODULES = "))
    _replace(tmp_path / "setup.py", modules, 'MODULES = ("_serdes",)')
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--force"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert built.returncode == 0, built.stderr[-2000:]
    return tmp_path


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"the place of the fault in {file.name} has changed: {old!r}"
    file.write_text(text.replace(old, new))


def test_a_last_entry_that_threads_share_is_found(planted: Path) -> None:
    race = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/race/test_race.py", "-k", "loses_nothing"]
    environment = {**os.environ, "PYTHONPATH": str(planted), "PYTHONSAFEPATH": "1", "PYTHON_GIL": "0"}
    environment["RACE_SECONDS"] = str(MOST_SECONDS)
    ended = subprocess.run(
        [sys.executable, *race], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=10 * MOST_SECONDS
    )
    assert ended.returncode < 0 or "RaceError" in ended.stdout, (ended.returncode, ended.stdout[-2000:])
