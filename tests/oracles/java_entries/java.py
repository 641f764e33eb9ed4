"""Runs Entries.java with the jars of the real servers."""

from __future__ import annotations

import os
import subprocess
from typing import Final

from java_shapes.java import jdk
from servers import requirements

from . import PROGRAM

_OPTIONS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")
_PATIENCE: Final = 120.0  # seconds
# Kafka's own jars precede Pulsar's of the same libraries.
_OF_KAFKA: Final = ("kafka-clients-*.jar", "lz4-java-*.jar", "snappy-java-*.jar", "zstd-jni-*.jar")


def lines_of_java() -> list[str]:
    """Return one line of JSON for each topic.

    Raises:
        AssertionError: there is no JDK, or Java failed.
    """
    java, found = jdk(), requirements()
    assert java, "this requires a JDK"
    jars = [str(jar) for pattern in _OF_KAFKA for jar in sorted(found.kafka.glob(pattern))]
    command = [str(java), *_OPTIONS, "-cp", os.pathsep.join([*jars, f"{found.pulsar}/*"]), str(PROGRAM)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=_PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:].decode(errors="replace")
    return done.stdout.decode().splitlines()
