"""Interleaved timing: contenders that agree are timed side by side, round after round, in shuffled order."""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from timeit import Timer
from typing import Any

from contenders import CONTENDERS, Contender, Fastavro, function
from shapes import SHAPES, Shape

# Processor time, if the system measures it precisely: then other work on the machine does not matter.
FINE = time.get_clock_info("thread_time").resolution <= 1e-6
CLOCK = time.thread_time if FINE else time.perf_counter

# The overhead above the codec is measured on this shape only, because it is the same on all shapes. It is measured in
# both directions and for both ways to call.
SMALLEST = "tiny"
OVERHEADS = ("serialize", "deserialize")
CALLS = ("methods", "ours")


@dataclass
class Cell:
    """One contender's operation on one shape. ``rounds`` has the nanoseconds per message of each round."""

    shape: str
    operation: str
    contender: str
    statement: str
    names: dict[str, Any]
    values: Sequence[Any]
    rounds: list[float] = field(default_factory=list)
    loops: int = 1

    def timer(self) -> Timer:
        """A timer for one pass over all values. Every cell includes the same few ns per message for the loop."""
        names = {**self.names, "values": self.values}
        local = "; ".join(f"{name} = names[{name!r}]" for name in names)  # avoids timing look-ups of globals
        return Timer(f"for value in values: {self.statement}", local, timer=CLOCK, globals={"names": names})

    @property
    def ns(self) -> float:
        return median(self.rounds)


@dataclass(frozen=True)
class Overhead:
    """Cost of a contender above the codec alone, in nanoseconds and in calls of a C function."""

    ns: float
    calls: float


@dataclass(frozen=True)
class ClientCost:
    """Nanoseconds per message in the caller's thread, with SerDes that do nothing and with ours, and their ratio."""

    constant: float
    ours: float
    times: float


@dataclass(frozen=True)
class ObjectCost:
    """Nanoseconds to read and write an object of a class, and the ratio to a dict."""

    read: float
    read_times: float
    write: float
    write_times: float


@dataclass
class Results:
    """Cells and refusals by (shape, operation, contender). A refusal is the reason why a cell is missing."""

    cells: dict[tuple[str, str, str], Cell] = field(default_factory=dict)
    refused: dict[tuple[str, str, str], str] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)  # bytes of Avro per message, by shape
    overheads: dict[tuple[str, str], Overhead] = field(default_factory=dict)  # by operation and contender
    clients: dict[str, ClientCost] = field(default_factory=dict)  # by method of the client
    objects: dict[str, ObjectCost] = field(default_factory=dict)  # by kind of class

    def find(self, shape: str, operation: str, contender: str) -> Cell | None:
        return self.cells.get((shape, operation, contender))

    def ratio(self, shape: str, operation: str, peer: str, ours: str) -> float | None:
        """Ratio of the peer's time to ours: the median over the ratios of the rounds."""
        theirs, own = self.find(shape, operation, peer), self.find(shape, operation, ours)
        if theirs is None or own is None:
            return None
        return median(their / our for their, our in zip(theirs.rounds, own.rounds, strict=True))


def prepare(url: str, shapes: Sequence[Shape] = SHAPES, contenders: Sequence[type[Contender]] = CONTENDERS) -> Results:
    """Create cells for every contender that agrees with fastavro on each byte of the body and on each value.

    Types and the order of fields must agree too.
    """
    results = Results()
    for shape in shapes:
        reference = Fastavro(shape, url)
        write, resolve = (function(reference.statements[name], vars(reference)) for name in ("serialize", "resolve"))
        bodies = [write(record) for record in shape.records]
        expected = {"serialize": bodies, "deserialize": shape.records, "resolve": [resolve(body) for body in bodies]}
        results.sizes[shape.name] = sum(map(len, bodies)) / len(bodies)
        for kind in contenders:
            contender = kind(shape, url)
            inputs = dict.fromkeys(kind.statements, contender.messages(shape, bodies)) | {"serialize": shape.records}
            for operation, statement in kind.statements.items():
                key = shape.name, operation, kind.name
                cell = Cell(*key, statement, vars(contender), inputs[operation])
                try:
                    check(cell, kind.frame, expected[operation])
                    results.cells[key] = cell
                except Exception as error:  # noqa: BLE001 any error of a library is shown as its result
                    results.refused[key] = f"{type(error).__name__}: {error}"
    return results


def check(cell: Cell, frame: int, expected: Sequence[Any]) -> None:
    """Raise ValueError if the results are wrong, so that no wrong result is timed."""
    got = list(map(function(cell.statement, cell.names), cell.values))
    if cell.operation == "serialize":
        got = [message[frame:] for message in got]
    # Compare repr as well: it distinguishes True, 1 and 1.0, and shows the order of fields.
    if got != list(expected) or repr(got) != repr(list(expected)):
        raise ValueError(f"{'bytes' if cell.operation == 'serialize' else 'values'} differ from fastavro's")


def duration(statement: str, work: Any, topic: str, values: Sequence[Any], loops: int) -> float:
    """Nanoseconds of ``statement`` per value, over ``loops`` passes over all of them."""
    names = {"work": work, "topic": topic}
    return Cell("", "", "", statement, names, values).timer().timeit(loops) / loops / len(values) * 1e9


def pin() -> int | None:
    """Pin the process to one core if the system supports it, and return its number, else None."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def measure(results: Results, rounds: int, seconds: float, progress: Callable[[int, int], None]) -> None:
    """Time each cell once per round, for about ``seconds``. Cells of one shape and operation follow each other."""
    groups: dict[tuple[str, str], list[tuple[Cell, Timer]]] = {}
    for cell in results.cells.values():
        timer = cell.timer()
        cell.loops = max(1, round(seconds / min(timer.repeat(5, 1))))
        groups.setdefault((cell.shape, cell.operation), []).append((cell, timer))
    order = random.Random(0)
    gc.collect()
    gc.freeze()  # timeit also switches collection off while it runs
    for number in range(rounds):
        progress(number, rounds)
        for group in order.sample(list(groups.values()), len(groups)):
            for cell, timer in order.sample(group, len(group)):
                cell.rounds.append(timer.timeit(cell.loops) / cell.loops / len(cell.values) * 1e9)
    progress(rounds, rounds)


def measure_overheads(results: Results, slices: int) -> None:
    """Measure the overhead of header, caches and call above the codec, on the smallest shape.

    The overhead is a few nanoseconds, less than the noise of a processor that changes its speed. So the statements and
    the call of a C function alternate in slices of a millisecond, and each slice is a result.
    """
    for operation in OVERHEADS:
        cells = {name: results.find(SMALLEST, operation, name) for name in ("codec", *CALLS)}
        found = {name: cell for name, cell in cells.items() if cell is not None}
        if len(found) < len(cells):
            continue
        timers = {name: cell.timer() for name, cell in found.items()}
        values = found["codec"].values
        for name, statement in (("call", "callable(value)"), ("nothing", "pass")):
            timers[name] = Cell(SMALLEST, operation, name, statement, {}, values).timer()
        loops = max(1, round(0.001 / min(timers["codec"].repeat(5, 1))))
        rows = [
            {name: timer.timeit(loops) / loops / len(values) * 1e9 for name, timer in timers.items()}
            for _ in range(slices)
        ]
        for name in CALLS:
            results.overheads[operation, name] = Overhead(
                median(row[name] - row["codec"] for row in rows),
                median((row[name] - row["codec"]) / (row["call"] - row["nothing"]) for row in rows),
            )
