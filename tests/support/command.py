"""Runs commands of the command line in this process, against the servers of a test."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from click.testing import CliRunner

from streamnative_serdes.cli import main

_PROGRAM = [sys.executable, "-m", "streamnative_serdes"]


@dataclass(frozen=True)
class Ended:
    """What a command left: its exit code, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its only line of output."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        """Its lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        """The JSON on stderr that ``--json`` gives."""
        return json.loads(self.err.splitlines()[-1])


@dataclass
class CommandLine:
    """Calls commands with the addresses of the servers in the environment."""

    registry: str | None = None
    bootstrap: str | None = None
    more: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, stdin: str | bytes | None = None, code: int | None = 0) -> Ended:
        """Run a command; unless it ends with ``code``, the test fails. None takes any."""
        names = {"STREAMNATIVE_SERDES_REGISTRY": self.registry, "STREAMNATIVE_SERDES_BOOTSTRAP": self.bootstrap}
        environment = {"STREAMNATIVE_SERDES_CONFIG": None, **names, **self.more}
        ended = CliRunner(env=environment).invoke(main, arguments, input=stdin)
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        assert code is None or ended.exit_code == code, ended.output
        return Ended(ended.exit_code, ended.stdout, ended.stderr)


def process(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, for what it logs, warns of and does at its end."""
    return subprocess.run([*_PROGRAM, *arguments], input=stdin, capture_output=True, text=True, timeout=120)


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen([*_PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
