"""Runs Shapes.java with the jars of the real servers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from servers import requirements

from . import PROGRAM

_OPTIONS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR")
_PATIENCE: Final = 120.0  # seconds


def jdk() -> Path | None:
    """Return the path of a ``java`` that can compile (a JDK), if there is one."""
    for java in (requirements().java, Path(shutil.which("java") or "java")):
        if java.resolve().with_name("javac").exists():
            return java
    return None


def schemas_of_java(names: Sequence[str]) -> dict[str, str]:
    """Return the schema text of each class of Shapes.java.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    java = jdk()
    assert java, "this requires a JDK"
    command = [str(java), *_OPTIONS, "-cp", f"{requirements().pulsar}/*", str(PROGRAM), *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:]
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert list(found) == list(names), done.stdout[:3000]
    return found
