"""Runs Sets.java with kafka-clients, which the Ivy inside pyspark fetches."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import pyspark
from java_program import OPTIONS, class_path, run

from . import PROGRAM

_KAFKA: Final = "3.9.0"  # the last that was made for formats 0 and 1: Kafka 4 neither writes nor stores them


def lines_of_java() -> list[str]:
    """Return one line of JSON for each log that Java writes."""
    (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    with tempfile.TemporaryDirectory() as folder:
        dependency = ["-dependency", "org.apache.kafka", "kafka-clients", _KAFKA]
        target = ["-cache", f"{folder}/cache", "-retrieve", f"{folder}/[type]/[artifact]-[revision].[ext]"]
        run("-jar", ivy, "-warn", *dependency, *target)
        # Not the jars of their sources.
        return run(*OPTIONS, *class_path(*(f"{folder}/{kind}/*" for kind in ("jar", "bundle"))), PROGRAM)
