"""The commands in docs/cli.md run as they stand, but for the addresses, and print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streamnative_serdes.cli.options import load
from streamnative_serdes.testing import LocalRegistry, MockBroker

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Each block of commands, with the output that follows it, if any.
BLOCKS = re.findall(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", TEXT, re.DOTALL)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the page is for a POSIX shell")


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder, and an environment in which ``streamnative-serdes`` is the package under test."""
    folder, programs = tmp_path_factory.mktemp("page"), tmp_path_factory.mktemp("bin")
    for name, arguments in (("streamnative-serdes", "-m streamnative_serdes "), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        program.chmod(0o700)
    with LocalRegistry() as registry, MockBroker({"users": 1, "people": 1, "copy": 1}) as broker:
        servers = {"REGISTRY": registry.url, "BOOTSTRAP": broker.bootstrap_servers}
        yield (
            folder,
            {
                **os.environ,
                **{f"STREAMNATIVE_SERDES_{name}": address for name, address in servers.items()},
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            },
        )


def run_page(folder: Path, environment: dict[str, str]) -> None:
    """Run the blocks of the page in order; they have to print what it shows."""
    assert len(BLOCKS) == 9
    for commands, expected in BLOCKS:
        code = commands
        for address, there in addresses(environment):
            code = code.replace(address, there)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if expected:
            pattern = re.escape(expected).replace(re.escape('"..."'), '"[^"]+"')
            assert re.fullmatch(pattern, done.stdout), f"{commands}\n{done.stdout}"


def run_readme(_folder: Path, environment: dict[str, str]) -> None:
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0].replace("poll(10)", "poll(60)")
    for address, there in addresses(environment):
        code = code.replace(address, there)
    names: dict[str, Any] = {}
    exec(code, names)
    names["consumer"].close()


def addresses(environment: dict[str, str]) -> list[tuple[str, str]]:
    names = {"http://localhost:8080": "REGISTRY", "localhost:9092": "BOOTSTRAP"}
    return [(address, environment[f"STREAMNATIVE_SERDES_{name}"]) for address, name in names.items()]


@pytest.mark.parametrize("order", [(run_page, run_readme), (run_readme, run_page)], ids=["page first", "README first"])
def test_the_page_and_the_readme_run_in_any_order(
    shell: tuple[Path, dict[str, str]], order: tuple[Callable[[Path, dict[str, str]], None], ...]
) -> None:
    for run in order:
        run(*shell)


def test_the_settings_of_the_page_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "password").write_text("p4ss")
    path = tmp_path / "settings.toml"
    path.write_text(text.replace("/run/secrets/kafka-password", str(tmp_path / "password")))
    monkeypatch.setenv("PULSAR_TOKEN", "t0ken")
    settings = load(path)
    assert set(settings.registry) == set(tomllib.loads(text)["registry"])
    assert (settings.registry["bearer.auth.token"], settings.kafka["sasl.password"]) == ("t0ken", "p4ss")
    assert settings.doubts == []


def test_every_command_and_option_that_the_page_names_exists() -> None:
    import click

    from streamnative_serdes.cli import main

    context = click.Context(main)
    found: set[str] = set()
    waiting = [main.get_command(context, name) for name in main.list_commands(context)]  # type: ignore[attr-defined]
    while waiting:
        command = waiting.pop()
        waiting += list(getattr(command, "commands", {}).values())
        found |= {name for parameter in command.params for name in parameter.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    assert named - found == set()
