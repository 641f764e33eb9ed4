"""Runs SchemaTypes.java with the jars of the real servers."""

from __future__ import annotations

import subprocess
from typing import Final

from java_shapes.java import jdk
from servers import requirements

from . import PROGRAM

_OPTIONS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")
_PATIENCE: Final = 240.0  # seconds


def lines_of_java() -> list[str]:
    """Return one line of JSON for each message that Java writes.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    java = jdk()
    assert java, "this requires a JDK"
    command = [str(java), *_OPTIONS, "-cp", f"{requirements().pulsar}/*", str(PROGRAM)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=_PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:].decode(errors="replace")
    return done.stdout.decode().splitlines()
