"""Importing the package opens no socket, and imports neither Spark nor Pulsar."""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import streamnative_serdes

SCRIPT = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith("socket.") else None)
import streamnative_serdes
heavy = {"pyspark", "pulsar", "requests", "fastavro", "numpy", "pandas"} & set(sys.modules)
print(sorted(set(seen)), sorted(heavy))
"""


def test_the_version_is_that_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert streamnative_serdes.__version__ == version(project["name"]) == project["version"]


def test_without_an_installation_the_error_says_why_there_is_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert not hasattr(streamnative_serdes, "__version__")
    with pytest.raises(AttributeError, match="not installed by pip"):
        streamnative_serdes.__version__  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        streamnative_serdes.nothing  # noqa: B018


def test_importing_opens_no_socket_and_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[] []\n", "")
