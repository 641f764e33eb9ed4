"""The table in docs/spark-same-rows.md of what both sources made of the same queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "spark-same-rows.md"
START, END = "<!-- same rows -->\n", "<!-- end of same rows -->"


def section(text: str) -> tuple[str, str, str]:
    """What is before the table, the table, and what is after it."""
    before, start, rest = text.partition(START)
    table, end, after = rest.partition(END)
    assert start, f"{PAGE} lacks the mark {START}"
    assert end, f"{PAGE} lacks the mark {END}"
    return before + start, table, end + after


def table(found: Mapping[str, list[dict[str, Any]]], otherwise: Mapping[str, str]) -> str:
    """The table, as Markdown."""
    lines = ["| query | Spark's own source | `streamnative-kafka` |", "|---|---|---|"]
    for name, (sparks, ours) in found.items():
        same = "the same" if name not in otherwise else _shown(ours)
        lines.append(f"| {name} | {_shown(sparks)} | {same} |")
    return "\n".join(lines) + "\n"


def _shown(outcome: dict[str, Any]) -> str:
    if outcome.get("error"):
        return "error"
    return " + ".join(map(str, outcome.get("runs", [len(outcome["rows"])]))) + " rows"
