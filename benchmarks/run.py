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
from typing import Any

import costs
import report
from contenders import CONTENDERS, FRAMED, OPERATIONS, Contender, Fastavro, function
from goals import goals
from harness import DOCS, Job, Results, Statement, judged, measure, options, pin, statement, write_docs
from shapes import SHAPES, TITLES, Shape

from streamnative_serdes.testing import LocalRegistry

OURS = {kind.name for kind in CONTENDERS if kind.against is None}
ENOUGH = 15  # least number of rounds for a published result
Refused = dict[tuple[str, ...], str]  # why a contender is not timed, by the key of its job


def chosen_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = options(__doc__, None, "--quick", "--check", "--write-docs")
    names, shapes = [kind.name for kind in CONTENDERS], [shape.name for shape in SHAPES]
    parser.add_argument("--rounds", type=int, help="default: 31, with --quick 5")
    parser.add_argument("--shape", action="append", choices=shapes, help="measure only this shape; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="write the chart, as SVG")
    parser.add_argument("--profile", choices=names, help="time only one contender")
    parser.add_argument("--operation", choices=OPERATIONS, default=OPERATIONS[0], help="with --profile")
    parser.add_argument("--seconds", type=float, default=5.0, help="with --profile; default: 5")
    chosen = parser.parse_args(arguments)
    chosen.rounds = chosen.rounds or (5 if chosen.quick else 31)
    if chosen.write_docs and (chosen.quick or chosen.shape or chosen.rounds < ENOUGH):
        parser.error(f"--write-docs needs all shapes, no --quick, and at least {ENOUGH} rounds")
    return chosen


def prepared(shapes: list[Shape], kinds: list[type[Contender]]) -> tuple[list[Statement], dict[str, float], Refused]:
    """The jobs of contenders that agree with fastavro on each byte and value; bytes of a message; who is refused.

    Types and the order of fields must agree too. The registry is shut down at the end, so no result includes a request.
    """
    jobs, sizes, refused = list[Statement](), dict[str, float](), Refused()
    with LocalRegistry() as registry:
        for shape in shapes:
            reference = Fastavro(shape, registry.url)
            write, _, resolve = (function(code, vars(reference)) for code in reference.statements.values())
            bodies = [write(record) for record in shape.records]
            sizes[shape.name] = sum(map(len, bodies)) / len(bodies)
            expected = dict(zip(OPERATIONS, (bodies, shape.records, [resolve(body) for body in bodies]), strict=True))
            for kind in kinds:
                contender = kind(shape, registry.url)
                messages = contender.messages(shape, bodies)
                for operation, code in kind.statements.items():
                    values = shape.records if operation == "serialize" else messages
                    job = statement((shape.name, operation, kind.name), code, vars(contender), values)
                    try:
                        check(job, kind.frame, expected[operation])
                        jobs.append(job)
                    except Exception as error:  # noqa: BLE001 any error of a library is shown as its result
                        refused[job.key] = f"{type(error).__name__}: {error}"
    if wrong := [f"{', '.join(key)}: {why}" for key, why in refused.items() if key[-1] in OURS]:
        raise SystemExit("not timed, because the result is wrong: " + "; ".join(wrong))
    return jobs, sizes, refused


def check(job: Statement, frame: int, expected: Sequence[Any]) -> None:
    """Raise ValueError if the results are wrong, so that no wrong result is timed."""
    writes = job.key[1] == "serialize"
    got = [made[frame:] if writes else made for made in map(function(job.code, job.names), job.values)]
    # Compare repr as well: it distinguishes True, 1 and 1.0, and shows the order of fields.
    if got != list(expected) or repr(got) != repr(list(expected)):
        raise ValueError(f"{'bytes' if writes else 'values'} differ from fastavro's")


def profile(job: Job, seconds: float) -> None:
    job.loops = max(1, round(0.1 / min(job.run() for _ in range(3))))
    end, rounds, spent = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < end:
        spent, rounds = spent + job.run(), rounds + 1
    messages = rounds * job.loops * job.count
    shape, operation, name = job.key
    print(f"{name} {operation} {shape}: {spent / messages * 1e9:.1f} ns, {messages:,} messages")


def chart(cells: Results, where: dict[str, Any]) -> str:
    """How many messages we process while confluent-kafka processes one."""
    from chart import COLOURS, Bars, svg  # matplotlib takes a second to load

    shapes, thickness, bars = list(dict.fromkeys(shape for shape, _, _ in cells)), 0.38, []
    for number, operation in enumerate(FRAMED):
        found = [report.times(cells, shape, operation, "confluent", "ours") or 0.0 for shape in shapes]
        places = [index + (number - 0.5) * thickness for index in range(len(found))]
        bars.append(Bars(places, found, [f"{value:.0f}x" for value in found], COLOURS[operation], operation))
    peer = f"confluent-kafka {where['versions']['confluent-kafka']}"
    title = f"Times as fast as {peer} (dashed line), on one core"
    return svg(title, range(len(shapes)), [TITLES[shape] for shape in shapes], bars, thickness)


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = chosen_options(arguments)
    shapes = [shape for shape in SHAPES if chosen.shape is None or shape.name in chosen.shape]
    jobs, sizes, refused = prepared(shapes, [kind for kind in CONTENDERS if chosen.profile in (None, kind.name)])
    core = pin()
    if chosen.profile:
        for job in (job for job in jobs if job.key[1] == chosen.operation):
            profile(job, chosen.seconds)
        for key, why in refused.items():
            print(f"{' '.join(key)}: {why}", file=sys.stderr)
        return int(bool(refused))
    where = report.environment(chosen.rounds, core)
    cells = measure(jobs, chosen.rounds, seconds=0.002 if chosen.quick else 0.01)
    above = costs.overheads(cells, 50 if chosen.quick else 600)
    clients = costs.in_clients(5 if chosen.quick else 60) if "flat" in sizes else Results()
    objects = costs.as_objects(20 if chosen.quick else 300) if "flat" in sizes else Results()
    text = report.tables(cells, sizes, refused, where, report.of_ten_fields(above, clients, objects))
    print(text)
    status = judged(goals(cells, above, clients, objects), check=chosen.check)
    if chosen.json:
        chosen.json.write_text(report.as_json(cells, refused, where))
    if chosen.write_docs:
        write_docs(DOCS / "performance.md", f"\n{text}")
    for path in [*([chosen.chart] if chosen.chart else []), *([DOCS / "benchmark.svg"] if chosen.write_docs else [])]:
        path.write_text(chart(cells, where))
    return status


if __name__ == "__main__":
    sys.exit(main())
