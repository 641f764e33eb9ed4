"""Command line: its commands and exit codes, missing packages in one line, completion, and a registry to run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
import requests
from command import CommandLine, process, started
from program import printed
from waiting import elsewhere

from streamnative_serdes.cli import main

START = """
import runpy, sys
from importlib.machinery import PathFinder

sys.argv[1:] = {arguments}
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.split(".")[0] == {missing!r} else find(name, *more)
"""
RUN = "runpy.run_module('streamnative_serdes', run_name='__main__')"
GROUPS = [("nothing",), ("schemas", "nothing"), ("schemas", "strategy", "nothing"), ("migrate", "nothing"), ("--nope",)]
COMMANDS = {"decode", "ping", "produce", "registry", "schemas"}


def run_without(missing: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process where ``missing`` cannot be imported."""
    code = START.format(arguments=list(arguments), missing=missing) + RUN
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("missing", "arguments", "told"),
    [
        ("click", (), "click is not installed: pip install click\n"),
        ("rich", ("--help",), "rich is not installed: pip install rich\n"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(missing: str, arguments: tuple[str, ...], told: str) -> None:
    done = run_without(missing, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


NO_CLIENT = "Kafka's client is not installed: pip install confluent-kafka"


@pytest.mark.parametrize(
    "arguments", [("--help",), ("convert", "--help"), ("registry", "-h"), ("schemas", "get", "-h")]
)
def test_commands_without_a_client_of_kafkas_do_not_need_it(arguments: tuple[str, ...]) -> None:
    done = run_without("confluent_kafka", *arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failure_without_a_client_of_kafkas_is_reported_as_with_it() -> None:
    address = ("--registry", "http://127.0.0.1:1", "--set", "retries.total.ms=1")
    assert run_without("confluent_kafka", "schemas", "get", "users", *address).returncode == 3


@pytest.mark.parametrize("command", ["decode", "tail", "produce", "ping", "migrate plan"])
def test_the_missing_client_of_kafkas_is_named_in_one_line(command: str) -> None:
    done = run_without("confluent_kafka", *command.split(), "users", "--from", "end")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: {NO_CLIENT}\n")
    done = run_without("confluent_kafka", *command.split(), "users", "--json")
    assert json.loads(done.stderr) == {"error": {"message": NO_CLIENT}, "exit_code": 2}


@pytest.mark.parametrize("arguments", [("ping", "--nope"), ("ping", "--for", "admin"), ("decode",), *GROUPS])
def test_with_json_a_mistake_in_the_usage_is_json(arguments: tuple[str, ...]) -> None:
    ended = CommandLine()(*arguments, "--json", code=2)
    assert (json.loads(ended.err)["exit_code"], ended.out) == (2, "")
    assert "Usage:" in CommandLine()(*arguments, code=2).err


def test_with_json_each_line_on_stderr_is_json(tmp_path: Path) -> None:
    """Also what is logged, and what people would be warned of."""
    config = tmp_path / "open.toml"
    config.write_text(
        '[registry]\n"bearer.auth.token" = "a.long.token"\n"schema.registry.url" = "http://127.0.0.1:1"\n'
    )
    config.chmod(0o644)
    patient = ("--set", "retries.first.ms=2000", "--set", "retries.wait.ms=1")
    done = process("schemas", "get", "users", "--config", str(config), *patient, "--json")
    warned, *retried, failed = map(json.loads, done.stderr.splitlines())
    assert "other users of this machine may read it" in warned["message"]
    assert "attempt 1 failed: ConnectionRefusedError" in retried[0]["message"]
    assert failed["exit_code"] == done.returncode == 3
    typo = {"type": "record", "name": "R", "fields": [{"name": "f", "type": {"type": "int", "logicalType": "dat"}}]}
    again = ["register", "users", "-", "--dry-run", "--json", "--registry", "http://127.0.0.1:1"]
    done = process("schemas", *again, "--set", "retries.first.ms=1", stdin=json.dumps(typo))
    assert "dat" in next(map(json.loads, done.stderr.splitlines()))["message"]


def test_help_names_the_commands() -> None:
    shown = CommandLine()("--help").out
    assert {line.split()[0] for line in shown.splitlines() if line.startswith("  ")} >= COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_its_purpose(command: str) -> None:
    shown = CommandLine()(command, "--help").out
    assert shown.startswith(f"Usage: main {command} [OPTIONS]")
    assert len(shown.splitlines()[2]) > 20


def test_without_a_command_the_help_is_shown() -> None:
    assert "Commands:" in CommandLine()(code=None).err or "Commands:" in CommandLine()(code=None).out


def test_all_that_write_have_a_dry_run() -> None:
    context = click.Context(main)
    schemas = main.get_command(context, "schemas")  # type: ignore[attr-defined]
    writing = [main.get_command(context, "produce")]  # type: ignore[attr-defined]
    writing += [schemas.commands[name] for name in ("register", "delete", "restore", "backup")]
    assert all("dry_run" in {parameter.name for parameter in command.params} for command in writing)


def test_the_version_is_that_of_the_package() -> None:
    try:
        expected = version("streamnative-serdes")
    except ModuleNotFoundError:
        pytest.skip("the package is not installed: its sources are under test")
    assert expected in CommandLine()("--version").out


@pytest.mark.skipif(os.name == "nt", reason="click has no completion for Windows' shells")
def test_shells_complete_commands_and_options() -> None:
    code = "from streamnative_serdes.cli import main; main(prog_name='streamnative-serdes')"
    for words, expected in (
        ("schemas re", {"register", "restore"}),
        ("decode --f", {"--from", "--follow", "--format"}),
    ):
        line = f"streamnative-serdes {words}"
        place = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        shown = printed("-c", code, _STREAMNATIVE_SERDES_COMPLETE="bash_complete", **place)
        assert {found.partition(",")[2] for found in shown.split()} == expected


def test_importing_the_package_loads_nothing_of_the_command_line() -> None:
    code = "import sys, streamnative_serdes; print(sorted({'click', 'rich'} & set(sys.modules)))"
    assert printed("-c", code) == "[]\n"


def test_a_command_loads_nothing_of_the_others() -> None:
    code = "import sys; from streamnative_serdes.cli import main; main(['schemas', '--help'], standalone_mode=False); "
    code += "print(sorted({'pyspark', 'numpy', 'fastavro', 'streamnative_serdes.cli.messages'} & set(sys.modules)))"
    assert printed("-c", code).splitlines()[-1] == "[]"


def test_a_pipe_that_is_closed_ends_a_command_quietly(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("00\n" * 20_000)
    arguments = ["decode", "t", "--registry", "mock://closed-pipe", "--input", str(lines), "--input-format", "hex"]
    with started(*arguments) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        elsewhere(running.stdout.readline)
        running.stdout.close()
        assert "Traceback" not in elsewhere(running.stderr.read)


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT to one process alone")
def test_the_registry_runs_until_ctrl_c() -> None:
    """And one at the same port ends with an error of one line."""
    with started("registry", "--port", "0") as running:
        try:
            assert running.stdout is not None
            url = elsewhere(running.stdout.readline).split()[3].rstrip(",")
            assert requests.get(f"{url}/admin/v2/clusters", timeout=30).status_code == 200
            port = url.rpartition(":")[2]
            ended = CommandLine()("registry", "--port", port, code=2)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=30)
        finally:
            running.kill()
    assert (running.returncode, errors) == (0, "")
    assert ended.err.startswith(f"Error: cannot listen on 127.0.0.1:{port}")
    assert "an-option-is-unknown" not in ended.err
