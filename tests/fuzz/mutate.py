"""Mutation fuzzing: damaged messages and objects go through the codec; each must end in a value or an error.

    python tests/fuzz/mutate.py --mutants 200000 --seed 0        in as many processes as there are cores
    python tests/fuzz/mutate.py --seed 0 --round 17              repeat one round in this process, for a debugger

Work is divided into rounds of MUTANTS. A round is one schema, valid data of it, every truncation of its messages, and
mutants. Seed and number of a round determine it completely, however many processes share the work. Each mutant is
written to a file in shared memory before it is tried, so that it is known even if the process crashes.
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
from collections.abc import Iterator
from pathlib import Path

from recorder import Recorder
from rounds import MUTANTS, Round

PATIENCE = 60  # seconds for one round, which takes a fraction of a second
DEBUGGING = 86_400
MAX_FINDINGS = 10  # after which a process stops
REPORT_SECONDS = 60.0


def work(
    seed: int, first: int, last: int, step: int, recorder: Recorder, patience: float
) -> Iterator[str | Counter[str]]:
    """Print the findings of the rounds ``range(first, last, step)``, and the counts at the end."""
    counts: Counter[str] = Counter()
    findings = 0
    for number in range(first, last, step):
        faulthandler.dump_traceback_later(patience, exit=True)
        this = Round(seed, number, recorder)
        try:
            this.run()
        except Exception:  # noqa: BLE001 - whatever it is, it is what was looked for
            yield f"{this.describe()}\n{traceback.format_exc(limit=-6)}"
            findings += 1
        counts += this.counts
        if findings >= MAX_FINDINGS:
            break
    faulthandler.cancel_dump_traceback_later()
    yield counts


class Worker:
    """A process that does every ``step``-th round."""

    def __init__(self, folder: Path, seed: int, first: int, last: int, step: int) -> None:
        self.rounds = range(first, last, step)
        note, self.said, self.errors = (folder / f"{name}-{first}" for name in ("note", "said", "errors"))
        self.recorder = Recorder(note, create=True)
        self.counts: Counter[str] = Counter()
        self._read = 0  # number of lines of its output that were read
        part = ",".join(map(str, (first, last, step)))
        command = [sys.executable, "-X", "faulthandler", __file__, "--seed", str(seed)]
        command += ["--part", part, "--note", str(note)]
        with self.said.open("wb") as said, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(command, stdout=said, stderr=errors)

    def done(self) -> int:
        """Return how many rounds it has started."""
        return len(range(self.rounds.start, self.recorder.read().round, self.rounds.step))

    def findings(self) -> Iterator[str]:
        """Return new findings since the last call, including the cause if the process ended with an error."""
        ended = self.process.poll()  # before reading, because the output is complete only after the end
        lines = [line for line in self.said.read_text().splitlines(keepends=True) if line.endswith("\n")]
        for line in lines[self._read :]:
            told = json.loads(line)
            if isinstance(told, str):
                yield told
            else:
                self.counts = Counter(told)
        self._read = len(lines)
        errors = self.errors.read_text(errors="replace") if ended is not None else ""
        if ended or errors:
            yield f"the process ended with {ended} in {self.recorder.read()}\n{errors[-8000:]}"


def run(seed: int, mutants: int, jobs: int) -> int:
    """Return the exit status: 0 if nothing was found."""
    rounds, begin = -(-mutants // MUTANTS), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker(Path(folder), seed, first, rounds, jobs) for first in range(min(jobs, rounds))]
        found = watch(workers, seed, rounds)
    counts = sum((worker.counts for worker in workers), Counter())
    seconds = time.monotonic() - begin
    print(f"fuzz: seed {seed}, {found} findings in {rounds} rounds, {seconds:.0f} s")
    print(f"fuzz: {counts['mutants']} mutants, {counts['mutants'] / seconds:.0f} a second; " + told(counts))
    return 1 if found else 0


def watch(workers: list[Worker], seed: int, rounds: int) -> int:
    """Print findings, and the progress once a minute, until all are done. Returns the number of findings."""
    said, found, working = time.monotonic(), 0, list(workers)
    while working:
        time.sleep(0.05)
        ended = [worker for worker in working if worker.process.poll() is not None]
        report = time.monotonic() - said > REPORT_SECONDS
        for worker in working if report else ended:
            for finding in worker.findings():
                found += 1
                print(f"\nFOUND, seed {seed}: {finding}", flush=True)
        working = [worker for worker in working if worker not in ended]
        if report:
            said = time.monotonic()
            print(f"fuzz: {sum(worker.done() for worker in workers)} of {rounds} rounds", flush=True)
    return found


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if name != "mutants")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="number of processes; default: one per core"
    )
    parser.add_argument("--round", type=int, help="run only this round, in this process")
    parser.add_argument("--part", help=argparse.SUPPRESS)  # for a worker process: first, last, step
    parser.add_argument("--note", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.part:
        first, last, step = map(int, given.part.split(","))
        for said in work(given.seed, first, last, step, Recorder(given.note), PATIENCE):
            print(json.dumps(said), flush=True)
        return 0
    if given.round is not None:
        *findings, counts = work(given.seed, given.round, given.round + 1, 1, Recorder(), DEBUGGING)
        print(*findings, counts, sep="\n")
        return 1 if findings else 0
    return run(given.seed, given.mutants, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
