"""Mutation fuzz: valid messages and objects, spoilt, go through the codec; each must end in a value or an error.

    python tests/fuzz/mutate.py --mutants 200000 --seed 0        all of it, in as many processes as there are cores
    python tests/fuzz/mutate.py --seed 0 --round 17              one round again, in this process, for a debugger

Work is cut into rounds of MUTANTS. A round is one schema, valid data of it, every truncation of their messages, and
mutants. All that it does follows from seed and number of the round, however many processes share the work. Each mutant
is noted in a file in shared memory before it is tried, so that a process that crashes still says what did it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from recorder import Recorder
from rounds import MUTANTS, Round

PATIENCE = 60  # seconds for one round, which takes a fraction of one
MAX_FINDINGS = 10  # of one process, until it stops
REPORT_SECONDS = 60.0


def work(seed: int, first: int, last: int, step: int, recorder: Recorder) -> tuple[Counter[str], list[str]]:
    """The rounds ``range(first, last, step)``: what was counted, and what was found."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    for number in range(first, last, step):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        this = Round(seed, number, recorder)
        try:
            this.run()
        except Exception:  # noqa: BLE001 - whatever it is, it is what was looked for
            findings.append(f"{this.describe()}\n{traceback.format_exc(limit=-6)}")
        counts += this.counts
        if len(findings) >= MAX_FINDINGS:
            break
    faulthandler.cancel_dump_traceback_later()
    return counts, findings


class Worker:
    """A process of its own that does every ``step``-th round."""

    def __init__(self, folder: Path, seed: int, first: int, last: int, step: int) -> None:
        self.rounds = range(first, last, step)
        self.note = folder / f"note-{first}"
        self.errors = folder / f"errors-{first}"
        self.recorder = Recorder(self.note, create=True)
        part = ",".join(map(str, (first, last, step)))
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            __file__,
            "--seed",
            str(seed),
            "--part",
            part,
            "--note",
            self.note,
        ]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)

    def done(self) -> int:
        """How many of its rounds it has come to."""
        return len(range(self.rounds.start, self.recorder.read().round, self.rounds.step))

    def result(self) -> tuple[Counter[str], list[str]]:
        said, _ = self.process.communicate()
        errors = self.errors.read_text(errors="replace")
        if self.process.returncode or errors:
            last = self.recorder.read()
            return Counter(), [f"the process ended with {self.process.returncode} in {last}\n{errors[-8000:]}"]
        counts, findings = json.loads(said)
        return Counter(counts), findings


def run(seed: int, mutants: int, jobs: int) -> int:
    """The exit status: 0 if nothing was found."""
    rounds, begin = -(-mutants // MUTANTS), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker(Path(folder), seed, first, rounds, jobs) for first in range(min(jobs, rounds))]
        watch(workers, rounds)
        results = [worker.result() for worker in workers]
    counts = sum((counted for counted, _ in results), Counter())
    findings = [finding for _, found in results for finding in found]
    for finding in findings:
        print(f"\nFOUND, seed {seed}: {finding}")
    seconds = time.monotonic() - begin
    print(f"fuzz: seed {seed}, {len(findings)} findings in {rounds} rounds, {seconds:.0f} s")
    print(f"fuzz: {counts['mutants']} mutants, {counts['mutants'] / seconds:.0f} a second; " + told(counts))
    return 1 if findings else 0


def watch(workers: list[Worker], rounds: int) -> None:
    """Say how far it is, once a minute, until all are done."""
    said = time.monotonic()
    while any(worker.process.poll() is None for worker in workers):
        time.sleep(0.05)
        if time.monotonic() - said > REPORT_SECONDS:
            said = time.monotonic()
            print(f"fuzz: {sum(worker.done() for worker in workers)} of {rounds} rounds", flush=True)


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if name != "mutants")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: one a core")
    parser.add_argument("--round", type=int, help="only this one, in this process")
    parser.add_argument("--part", help=argparse.SUPPRESS)  # of a worker: first, last, step
    parser.add_argument("--note", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.part:
        first, last, step = map(int, given.part.split(","))
        print(json.dumps(work(given.seed, first, last, step, Recorder(given.note))))
        return 0
    if given.round is not None:
        counts, findings = work(given.seed, given.round, given.round + 1, 1, Recorder())
        print(*findings, told(counts), sep="\n")
        return 1 if findings else 0
    return run(given.seed, given.mutants, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
