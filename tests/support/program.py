"""Runs a program of examples/ as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


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
