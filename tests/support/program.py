"""Runs programs in processes of their own: code, or those of examples/ as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(*command: str | Path, said: str = "", **place: str) -> str:
    """Return what Python prints; ``said`` is all that it may write to stderr, and ``place`` is for the environment."""
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, env={**os.environ, **place}
    )
    assert (done.returncode, done.stderr[-3000:]) == (0, said)
    return done.stdout


def output_of(example: str, place: dict[str, str]) -> str:
    """Run an example without warnings, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", EXAMPLES / example],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **place},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
