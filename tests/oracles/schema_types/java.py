"""Runs SchemaTypes.java with the jars of the real servers."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from java_program import OPTIONS, class_path, run
from servers import requirements

from . import PROGRAM, java_value


def lines_of_java() -> list[str]:
    """Return one line of JSON for each message that Java writes."""
    return _run()


def read_by_java(messages: Sequence[tuple[str, bytes]]) -> list[Any]:
    """Return what ``Schema.JSON`` of a class reads from each message, given by class and bytes; see java_value."""
    lines = [f"{name} {base64.b64encode(data).decode()}\n" for name, data in messages]
    return [java_value(json.loads(line)) for line in _run("read", given="".join(lines))]


def _run(*arguments: str, given: str = "") -> list[str]:
    return run(*OPTIONS, *class_path(f"{requirements().pulsar}/*"), PROGRAM, *arguments, given=given)
