"""The harness of all benchmarks: jobs timed in shuffled rounds; ratios, goals, tables, and blocks of docs."""

from __future__ import annotations

import argparse
import gc
import os
import platform
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from timeit import Timer
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BEGIN, END = "<!-- benchmark -->\n", "<!-- end -->"
# Processor time, if the system measures it precisely: then other work on the machine does not matter.
FINE = time.get_clock_info("thread_time").resolution <= 1e-6
CLOCK = time.thread_time if FINE else time.perf_counter
Key = tuple[str, ...]


def nothing() -> None:
    pass


@dataclass
class Job:
    """Work that is timed. The last part of its key is the contender; jobs that have all others in common are compared.

    Args:
        key: what it is, in the words of the tables.
        work: one call.
        count: how many messages a call handles.
        prepare: called before each round, and not timed.
        clock: in seconds.
    """

    key: Key
    work: Callable[[], object]
    count: int = 1
    prepare: Callable[[], object] = nothing
    clock: Callable[[], float] = CLOCK
    loops: int = 1
    rounds: list[float] = field(default_factory=list)  # nanoseconds per message

    def run(self) -> float:
        """Seconds of one round."""
        work, clock = self.work, self.clock
        began = clock()
        for _ in range(self.loops):
            work()
        return clock() - began

    @property
    def ns(self) -> float:
        return median(self.rounds)


@dataclass
class Told(Job):
    """A job whose work returns the seconds that it has taken, such as a process of its own."""

    def run(self) -> float:
        seconds = self.work()
        assert isinstance(seconds, float)
        return seconds


@dataclass
class Statement(Job):
    """A job that runs ``code`` once for each ``value`` of ``values``; the names in it are those of ``names``.

    Every statement costs the same few nanoseconds per message for the loop.
    """

    code: str = ""
    names: dict[str, Any] = field(default_factory=dict)
    values: Sequence[Any] = ()

    def __post_init__(self) -> None:
        names, self.count = {**self.names, "values": self.values}, len(self.values)
        local = "; ".join(f"{name} = names[{name!r}]" for name in names)  # avoids timing look-ups of globals
        self.timer = Timer(f"for value in values: {self.code}", local, timer=self.clock, globals={"names": names})

    def run(self) -> float:
        return self.timer.timeit(self.loops)


def statement(key: Key, code: str, names: dict[str, Any], values: Sequence[Any]) -> Statement:
    return Statement(key, nothing, code=code, names=names, values=values)


class Results(dict[Key, Job]):
    """The jobs that were measured, by key."""

    def times(self, one: Key, other: Key) -> float | None:
        """How many times as long as ``other`` ``one`` takes: the median over the rounds; None if one is missing."""
        if one not in self or other not in self:
            return None
        return median(a / b for a, b in zip(self[one].rounds, self[other].rounds, strict=True))


def measure(
    jobs: Iterable[Job], rounds: int, *, warm_up: int = 0, seconds: float = 0.0, grouped: bool = True
) -> Results:
    """Time each job once per round, in shuffled order.

    Args:
        jobs: what to time.
        rounds: how often.
        warm_up: rounds before, which do not count.
        seconds: how long a round of a job shall take about; 0: as its loops are.
        grouped: those that are compared follow each other.
    """
    groups: dict[Key, list[Job]] = {}
    for job in jobs:
        if seconds:
            job.loops = max(1, round(seconds / max(1e-9, min(job.run() for _ in range(5)))))
        groups.setdefault(job.key[:-1] if grouped else (), []).append(job)
    order = random.Random(0)
    gc.collect()
    gc.freeze()
    for number in range(-warm_up, rounds):
        show(max(number, 0), rounds)
        for group in order.sample(list(groups.values()), len(groups)):
            for job in order.sample(group, len(group)):
                job.prepare()
                taken = job.run()
                if number >= 0:
                    job.rounds.append(taken / job.loops / job.count * 1e9)
    show(rounds, rounds)
    return Results({job.key: job for group in groups.values() for job in group})


def show(done: int, of: int) -> None:
    """Show progress on a terminal, in a line that is erased at the end."""
    if sys.stderr.isatty():
        print(f"\rround {done} of {of}" if done < of else "\r\033[K", end="", file=sys.stderr, flush=True)


def pin() -> int | None:
    """Pin the process to one core if the system supports it, and return its number, else None."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


class Goal(NamedTuple):
    """``got`` is to be at least ``wanted``, or at most; None if it was not measured."""

    text: str
    got: float | None
    wanted: float
    most: bool = False
    form: str = "{:.2f}x"

    @property
    def met(self) -> bool:
        return self.got is not None and (self.got <= self.wanted if self.most else self.got >= self.wanted)

    def __str__(self) -> str:
        got = "not measured" if self.got is None else self.form.format(self.got)
        return f"goal {self.text}: {got}, {'met' if self.met else 'MISSED'}"


def judged(goals: Iterable[Goal], *, check: bool = True) -> int:
    """Print each goal with its verdict; return the exit status: 1 if one is missed, unless ``check`` is false."""
    found = list(goals)
    print("\n".join(map(str, found)))
    return int(check and not all(goal.met for goal in found))


def table(rows: Sequence[Sequence[str]], *, padded: bool = True) -> str:
    """A Markdown table with numbers on the right; ``padded`` to be readable as text."""
    widths = [max(map(len, column)) if padded else 0 for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |" for row in rows]
    rule = "|".join(["", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""])
    return "\n".join([lines[0], rule if padded else "|---|" + "---:|" * (len(widths) - 1), *lines[1:]])


def versions(*packages: str) -> str:
    return ", ".join(f"{package} {installed(package)}" for package in packages)


def installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(a checkout)"


def machine(*packages: str) -> str:
    return f"CPython {platform.python_version()}, {os.cpu_count()} cores; {versions(*packages)}"


def write_docs(page: Path, text: str, marker: str = BEGIN) -> None:
    """Replace the text of ``page`` between ``marker`` and the next end."""
    before, begin, rest = page.read_text().partition(marker)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the markers {marker.strip()} and {END}")
    page.write_text(f"{before}{begin}{text}\n{end}{after}")


def options(doc: str | None, rounds: int | None = None, *flags: str) -> argparse.ArgumentParser:
    """A parser with ``--rounds`` and the chosen of the options that several programs have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    told = {
        "--check": "exit with status 1 if a goal is missed",
        "--one": "compare one thread with json.loads, and no threads with each other",
        "--quick": "few and short rounds, to check that it works",
        "--write-docs": "write the results into docs/",
    }
    if rounds:
        parser.add_argument("--rounds", type=int, default=rounds, help=f"default: {rounds}")
    for flag in flags:
        parser.add_argument(flag, action="store_true", help=told[flag])
    return parser
