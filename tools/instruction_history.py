"""Draws the instructions per message over commits.

    python tools/instruction_history.py LINES.jsonl PICTURE.svg

Each line is what `benchmarks/instructions.py --record` has written for one commit: the calls' instructions as a ratio
to the commit before. A point of the picture is the product of all ratios so far, so another machine makes no step.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from pictures import Picture

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 780, 300, 60, 560, 40, 250
COLOURS = ("#1c5fb8", "#b3401f", "#2b7a3d", "#7a4fb0", "#8a6d00", "#555555")


def read(path: Path) -> list[dict[str, Any]]:
    """The commits, oldest first; none if there is no such file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def courses(commits: Iterable[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """Call -> number of the commit, and the product of the ratios so far; each the mean over the messages' shapes."""
    found: dict[str, list[tuple[int, float]]] = {}
    for number, commit in enumerate(commits):
        by_call = defaultdict(list)
        for name, ratio in commit["ratios"].items():
            by_call[name.partition(": ")[2]].append(ratio)
        for call, ratios in by_call.items():
            course = found.setdefault(call, [(number - 1, 1.0)] if number else [])
            course.append((number, (course[-1][1] if course else 1.0) * geometric_mean(ratios)))
    return found


def draw(commits: list[dict[str, Any]]) -> Picture:
    """A line for each call; 1 is what the first commit took over the one before."""
    picture = Picture("Instructions per message, commit by commit", WIDTH, HEIGHT)
    if not commits:
        picture.text(WIDTH / 2, HEIGHT / 2, "no commit was measured here: the hosted workflow does it", anchor="middle")
        return picture
    found = courses(commits)
    values = [1.0, *(value for course in found.values() for _, value in course)]
    low, high = min(values) - 0.01, max(values) + 0.01

    def across(number: int) -> float:
        return LEFT + (RIGHT - LEFT) * number / max(len(commits) - 1, 1)

    def down(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low)

    for value in (low, 1.0, high):
        picture.line([(LEFT, down(value)), (RIGHT, down(value))], "#c3ccd5")
        picture.text(LEFT - 8, down(value) + 4, f"{value:.2f}", anchor="end")
    picture.text(LEFT, BOTTOM + 24, f"{commits[0]['commit']}, {commits[0]['date']}")
    picture.text(RIGHT, BOTTOM + 24, f"{commits[-1]['commit']}, {commits[-1]['date']}", anchor="end")
    for at, ((call, course), colour) in enumerate(zip(found.items(), COLOURS, strict=False)):
        picture.line([(across(number), down(value)) for number, value in course], colour)
        y = TOP + 8 + at * 40
        picture.line([(RIGHT + 14, y), (RIGHT + 34, y)], colour)
        picture.text(RIGHT + 40, y + 4, call)
        picture.text(RIGHT + 40, y + 20, f"{course[-1][1]:.3f}")
    return picture


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(draw(read(Path(sys.argv[1]))).svg(), encoding="utf-8")
