"""Campaign results as a table, and whether they pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from faults import Fault
from rooms import ROOMS, room_of
from running import Verdict

LEAST_FAULTS = 120
MOST_ALIVE = 0.08


def problems(verdicts: list[Verdict], listed: list[Fault]) -> list[str]:
    """Return why the campaign fails; the number of faults that live is checked for each list tried as a whole."""
    found = [f"{v.fault.id} is listed as equivalent, but {v.killer} killed it" for v in verdicts
             if v.killed and v.fault.equivalent]  # fmt: skip
    found += [
        f"{v.fault.id} is listed as alive, but {v.killer} killed it" for v in verdicts if v.killed and v.fault.lives
    ]
    found += [f"{v.fault.id} is alive, and its list says no reason" for v in verdicts
              if not (v.killed or v.fault.equivalent or v.fault.lives)]  # fmt: skip
    for name, is_new in (("first", False), ("second", True)):
        those = [v for v in verdicts if v.fault.is_new is is_new]
        if those and len(those) == sum(fault.is_new is is_new for fault in listed):
            found += _too_many(f"the {name} list", those)
    return found


def _too_many(name: str, verdicts: list[Verdict]) -> Iterator[str]:
    counted = [v for v in verdicts if not v.fault.equivalent]
    living = sum(not v.killed for v in counted)
    if len(verdicts) < LEAST_FAULTS:
        yield f"expected at least {LEAST_FAULTS} faults in {name}, got {len(verdicts)}"
    if living > MOST_ALIVE * len(counted):
        yield f"{living} of {len(counted)} faults in {name} are alive: more than {MOST_ALIVE:.0%}"


def table(verdicts: list[Verdict]) -> str:
    lines = [f"{'room':12} {'faults':>7} {'killed':>7} {'alive':>7} {'equivalent':>11}"]
    by_room = [(room.name, [v for v in verdicts if room_of(v.fault.file) is room]) for room in ROOMS]
    for name, those in [*by_room, ("all", verdicts)]:
        if those:
            same = sum(bool(v.fault.equivalent) for v in those)
            killed = sum(v.killed for v in those)
            alive = sum(not (v.killed or v.fault.equivalent) for v in those)
            lines.append(f"{name:12} {len(those):7} {killed:7} {alive:7} {same:11}")
    alive_ones = [v.fault for v in verdicts if not v.killed]
    lines += ["", *(f"alive: {f.id}: {f.lives or 'NO REASON GIVEN'}" for f in alive_ones if not f.equivalent)]
    lines += [f"equivalent: {f.id}: {f.equivalent}" for f in alive_ones if f.equivalent]
    return "\n".join(lines)


def write_report(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Write which test killed each fault, and after how long."""
    told = [{"id": v.fault.id, "file": v.fault.file, "old": v.fault.old, "new": v.fault.new, "killer": v.killer,
             "seconds": round(v.seconds, 1)} for v in verdicts]  # fmt: skip
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
