"""Command line: reports missing packages in one line, and runs a registry."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest
import requests
from click.testing import CliRunner
from waiting import elsewhere

from streamnative_serdes.__main__ import main

START = "import runpy, sys; sys.argv[1:] = {arguments}; sys.modules[{missing!r}] = None; "
RUN = "runpy.run_module('streamnative_serdes', run_name='__main__')"


def run_without(missing: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process where ``missing`` cannot be imported."""
    code = START.format(arguments=list(arguments), missing=missing) + RUN
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("missing", "arguments", "told"),
    [
        ("click", (), "click is not installed: pip install click tqdm\n"),
        ("tqdm", ("--help",), "tqdm is not installed: pip install click tqdm\n"),
        ("pyspark", ("demo",), "Error: pyspark is not installed: pip install 'pyspark<5' 'pandas<3' pyarrow\n"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(missing: str, arguments: tuple[str, ...], told: str) -> None:
    done = run_without(missing, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_help_names_the_commands() -> None:
    ended = CliRunner().invoke(main, ["--help"])
    assert ended.exit_code == 0
    assert {"demo", "registry"} <= {line.split()[0] for line in ended.stdout.splitlines() if line.startswith("  ")}


def test_the_version_is_that_of_the_package() -> None:
    try:
        expected = version("streamnative-serdes")
    except ModuleNotFoundError:
        pytest.skip("the package is not installed: its sources are under test")
    ended = CliRunner().invoke(main, ["--version"])
    assert expected in ended.stdout


@pytest.mark.parametrize("arguments", [["-X", "acks"], ["--rows", "0"], ["--partitions", "0"], ["--unknown"]])
def test_an_invalid_option_fails_before_anything_starts(arguments: list[str]) -> None:
    ended = CliRunner().invoke(main, ["demo", *arguments])
    assert ended.exit_code == 2
    assert arguments[-1] in ended.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT to one process alone")
def test_the_registry_runs_until_ctrl_c() -> None:
    # Whoever starts the tests in the background has children ignore SIGINT.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heed}; from streamnative_serdes.__main__ import main; main()"]
    command += ["registry", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = elsewhere(process.stdout.readline).split()[3].rstrip(",")
            assert requests.get(f"{url}/admin/v2/clusters", timeout=30).status_code == 200
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")


def test_a_taken_port_is_one_line() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "streamnative_serdes", "registry", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = elsewhere(process.stdout.readline).split()[3].rstrip(",").rpartition(":")[2]
            ended = CliRunner().invoke(main, ["registry", "--port", port])
        finally:
            process.kill()
    assert ended.exit_code == 1
    assert ended.stderr.startswith(f"Error: cannot listen on 127.0.0.1:{port}")
