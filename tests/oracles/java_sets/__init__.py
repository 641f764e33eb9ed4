"""Message sets of formats 0 and 1 that kafka-clients' MemoryRecords wrote (Sets.java), and what it reads from them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
PROGRAM: Final = FOLDER / "Sets.java"
GOLDEN: Final = FOLDER / "golden.jsonl"


@dataclass(frozen=True)
class Row:
    """A message, as Java reads it; ``kind`` is -1 without a timestamp, 0 for CreateTime, 1 for LogAppendTime."""

    offset: int
    timestamp: int
    kind: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Log:
    """One line of golden.jsonl; Sets.java describes them."""

    data: bytes
    messages: tuple[Row, ...]


@cache
def golden() -> dict[str, Log]:
    """All logs by name."""
    trees = map(json.loads, GOLDEN.read_text().splitlines())
    return {tree["name"]: Log(base64.b64decode(tree["data"]), tuple(map(_row, tree["messages"]))) for tree in trees}


def _row(shown: list[Any]) -> Row:
    *numbers, key, value = shown
    return Row(*numbers, _bytes(key), _bytes(value))


def _bytes(shown: str | None) -> bytes | None:
    return None if shown is None else base64.b64decode(shown)
