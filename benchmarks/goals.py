"""What the project has promised of its speed, as ratios of one and the same run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from measure import Results
from shapes import TITLES


@dataclass(frozen=True)
class Goal:
    """``ours`` takes ``operation`` of ``shape`` at least ``times`` as fast as ``peer``."""

    operation: str
    shape: str
    ours: str
    peer: str
    times: float


GOALS = (
    Goal("serialize", "flat", "ours", "confluent", 15),
    Goal("deserialize", "flat", "ours", "confluent", 12),
)


def verdicts(results: Results) -> Iterator[tuple[bool, str]]:
    """Each goal whose shape was measured: whether it is met, and the line that says so."""
    for goal in GOALS:
        if goal.shape not in results.sizes:
            continue
        times = results.ratio(goal.shape, goal.operation, goal.peer, goal.ours)
        met = times is not None and times >= goal.times
        got = "not measured" if times is None else f"{times:.1f}x"
        what = f"{goal.operation} {TITLES[goal.shape]}: {goal.ours} >= {goal.times:g}x {goal.peer}"
        yield met, f"goal {what}: {got}, {'met' if met else 'MISSED'}"
