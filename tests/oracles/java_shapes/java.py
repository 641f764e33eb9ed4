"""Runs Shapes.java with the jars of the real servers."""

from __future__ import annotations

from collections.abc import Sequence

from java_program import OPTIONS, class_path, run
from servers import requirements

from . import PROGRAM


def schemas_of_java(names: Sequence[str]) -> dict[str, str]:
    """Return the schema text of each class of Shapes.java."""
    lines = run(*OPTIONS, *class_path(f"{requirements().pulsar}/*"), PROGRAM, *names)
    found = dict(line.split(" ", 1) for line in lines)
    assert list(found) == list(names), lines[:20]
    return found
