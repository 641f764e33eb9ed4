"""The command of `make bench`: check that all contenders agree, time them side by side, print the results.

python benchmarks/run.py                                    tables and goals
python benchmarks/run.py --quick                            the same in a few seconds, less precise
python benchmarks/run.py --write-docs                       also write docs/performance.md and docs/benchmark.svg
python benchmarks/run.py --profile ours --shape flat        run one cell in a tight loop, for perf or callgrind
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import goals
import report
from clients import measure_clients
from contenders import CONTENDERS, OPERATIONS
from measure import Cell, Results, measure, measure_overheads, pin, prepare
from objects import measure_objects
from pages import DOCS, write_docs
from shapes import SHAPES

from streamnative_serdes.testing import LocalRegistry

OURS = {kind.name for kind in CONTENDERS if kind.against is None}
ENOUGH = 15  # least number of rounds for a published result


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="default: 31, with --quick 5")
    parser.add_argument("--quick", action="store_true", help="short rounds, to check that it works")
    parser.add_argument(
        "--shape",
        action="append",
        choices=[shape.name for shape in SHAPES],
        help="measure only this shape; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="write the chart, as SVG")
    parser.add_argument("--write-docs", action="store_true", help="write the results into docs/")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a goal is missed")
    parser.add_argument("--profile", choices=[kind.name for kind in CONTENDERS], help="time only one contender")
    parser.add_argument("--operation", choices=OPERATIONS, default=OPERATIONS[0], help="with --profile")
    parser.add_argument("--seconds", type=float, default=5.0, help="with --profile; default: 5")
    chosen = parser.parse_args(arguments)
    chosen.rounds = chosen.rounds or (5 if chosen.quick else 31)
    if chosen.write_docs and (chosen.quick or chosen.shape or chosen.rounds < ENOUGH):
        parser.error(f"--write-docs needs all shapes, no --quick, and at least {ENOUGH} rounds")
    return chosen


def prepared(chosen: argparse.Namespace) -> Results:
    """Return warmed-up cells. The registry is shut down before anything is timed, so no result includes a request."""
    shapes = [shape for shape in SHAPES if chosen.shape is None or shape.name in chosen.shape]
    contenders = [kind for kind in CONTENDERS if chosen.profile in (None, kind.name)]
    with LocalRegistry() as registry:
        results = prepare(registry.url, shapes, contenders)
    ours = [
        f"{name}, {shape}, {operation}: {why}"
        for (shape, operation, name), why in results.refused.items()
        if name in OURS
    ]
    if ours:
        raise SystemExit("not timed, because the result is wrong: " + "; ".join(ours))
    return results


def profile(cell: Cell, seconds: float) -> None:
    timer = cell.timer()
    loops = max(1, round(0.1 / min(timer.repeat(3, 1))))
    end, passes, spent = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < end:
        spent += timer.timeit(loops)
        passes += loops
    messages = passes * len(cell.values)
    print(f"{cell.contender} {cell.operation} {cell.shape}: {spent / messages * 1e9:.1f} ns, {messages:,} messages")


def write(chosen: argparse.Namespace, results: Results, where: dict[str, object], text: str) -> None:
    if chosen.json:
        chosen.json.write_text(report.as_json(results, where))
    if chosen.write_docs:
        write_docs(DOCS / "performance.md", f"\n{text}")
    charts = [chosen.chart] if chosen.chart else []
    charts += [DOCS / "benchmark.svg"] if chosen.write_docs else []
    if charts:
        import chart  # matplotlib takes a second to load

        for path in charts:
            path.write_text(chart.svg(results, where))


def show(done: int, of: int) -> None:
    """Show progress on a terminal, in a line that is erased at the end."""
    if sys.stderr.isatty():
        print(f"\rround {done} of {of}" if done < of else "\r\033[K", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options(arguments)
    results, core = prepared(chosen), pin()
    if chosen.profile:
        for cell in results.cells.values():
            if cell.operation == chosen.operation:
                profile(cell, chosen.seconds)
        for (shape, operation, name), why in results.refused.items():
            print(f"{name} {operation} {shape}: {why}", file=sys.stderr)
        return int(bool(results.refused))
    where = report.environment(chosen.rounds, core)
    seconds = 0.002 if chosen.quick else 0.01
    measure(results, chosen.rounds, seconds, show)
    measure_overheads(results, 50 if chosen.quick else 600)
    if "flat" in results.sizes:
        results.clients.update(measure_clients(5 if chosen.quick else 60))
        results.objects.update(measure_objects(20 if chosen.quick else 300))
    text = report.tables(results, where)
    print(text)
    verdicts = list(goals.verdicts(results))
    print("\n".join(line for _, line in verdicts))
    write(chosen, results, where, text)
    return int(chosen.check and not all(met for met, _ in verdicts))


if __name__ == "__main__":
    sys.exit(main())
