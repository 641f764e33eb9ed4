"""Runs Entries.java with the jars of the real servers."""

from __future__ import annotations

from typing import Final

from java_program import OPTIONS, class_path, run
from servers import requirements

from . import PROGRAM

# Kafka's own jars precede Pulsar's of the same libraries.
_OF_KAFKA: Final = ("kafka-clients-*.jar", "lz4-java-*.jar", "snappy-java-*.jar", "zstd-jni-*.jar")


def lines_of_java() -> list[str]:
    """Return one line of JSON for each topic."""
    found = requirements()
    jars = [jar for pattern in _OF_KAFKA for jar in sorted(found.kafka.glob(pattern))]
    return run(*OPTIONS, *class_path(*jars, f"{found.pulsar}/*"), PROGRAM)
