"""Runs SchemaTypes.java with the jars of the real servers."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from typing import Any, Final

from java_shapes.java import jdk
from servers import requirements

from . import PROGRAM, java_value

_OPTIONS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")
_PATIENCE: Final = 240.0  # seconds


def lines_of_java() -> list[str]:
    """Return one line of JSON for each message that Java writes.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    return _run([], "")


def read_by_java(messages: Sequence[tuple[str, bytes]]) -> list[Any]:
    """Return what ``Schema.JSON`` of a class reads from each message, given by class and bytes; see java_value."""
    lines = [f"{name} {base64.b64encode(data).decode()}\n" for name, data in messages]
    return [java_value(json.loads(line)) for line in _run(["read"], "".join(lines))]


def _run(arguments: list[str], given: str) -> list[str]:
    java = jdk()
    assert java, "this requires a JDK"
    command = [str(java), *_OPTIONS, "-cp", f"{requirements().pulsar}/*", str(PROGRAM), *arguments]
    done = subprocess.run(command, input=given.encode(), check=False, capture_output=True, timeout=_PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:].decode(errors="replace")
    return done.stdout.decode().splitlines()
