"""Runs Sets.java with kafka-clients, which the Ivy inside pyspark fetches."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pyspark
from java_shapes.java import jdk

from . import PROGRAM

_KAFKA: Final = "3.9.0"  # the last that was made for formats 0 and 1: Kafka 4 neither writes nor stores them
_PATIENCE: Final = 240.0  # seconds


def lines_of_java() -> list[str]:
    """Return one line of JSON for each log that Java writes.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    java = jdk()
    assert java, "this requires a JDK"
    (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    with tempfile.TemporaryDirectory() as folder:
        dependency = ["-dependency", "org.apache.kafka", "kafka-clients", _KAFKA]
        target = ["-cache", f"{folder}/cache", "-retrieve", f"{folder}/[type]/[artifact]-[revision].[ext]"]
        _run(java, "-jar", str(ivy), "-warn", *dependency, *target)
        jars = os.pathsep.join(f"{folder}/{kind}/*" for kind in ("jar", "bundle"))  # not their sources
        return _run(java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", jars, str(PROGRAM)).splitlines()


def _run(java: Path, *arguments: str) -> str:
    done = subprocess.run([str(java), *arguments], check=False, capture_output=True, text=True, timeout=_PATIENCE)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout
