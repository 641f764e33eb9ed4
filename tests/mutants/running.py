"""Runs the tests of one fault in a separate process group with a time limit."""

from __future__ import annotations

import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from building import BUILD, COPY, ROOT, copy_with
from faults import Fault
from rooms import Room, room_of
from switches import VARIABLE

# A limit of processor time, which other work on the machine does not use up, ends endless computation: PATIENCE times
# the time of the same tests without a fault. Endless waiting is ended by the clock, after WAITING times that limit.
LEAST_LIMIT, PATIENCE, WAITING = 60.0, 4.0, 5.0  # seconds, times, times
BASELINE_LIMIT = 1_800.0

_under_way: set[subprocess.Popen[bytes]] = set()


class BaselineError(Exception):
    """Tests fail without a fault."""


class MissingTestsError(Exception):
    """Tests were renamed or removed since they killed a fault."""

    def __init__(self, tests: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(tests)))
        self.tests = tests


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a test run: ``killer`` is what failed, "" if all tests passed; ``missing`` were not found."""

    killer: str
    seconds: float
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    fault: Fault
    killer: str
    seconds: float

    @property
    def killed(self) -> bool:
        return bool(self.killer)


class Runner:
    """Tries faults, from any thread.

    Args:
        numbers: the switches of compiled ones.
        narrow: run the tests of the room alone.
        killers: by fault, the test that killed it in an earlier campaign. It runs first, and alone.
    """

    def __init__(
        self, numbers: dict[str, int], *, narrow: bool = False, killers: Mapping[Fault, str] | None = None
    ) -> None:
        self.numbers, self.narrow, self.killers = numbers, narrow, killers or {}
        self.lock = threading.Lock()
        self.gone: set[str] = set()  # killers that are not there any more
        self.baselines: dict[tuple[str, ...], tuple[threading.Lock, list[float]]] = {}

    def judge(self, fault: Fault) -> Verdict:
        """Run the tests of the fault's room, then the wider ones. Raises BaselineError.

        A fault that is listed as equivalent or alive is tried with its room's tests alone, so it may count as alive
        although a test of another room detects it, but never the other way round.
        """
        folder = COPY if fault.compiled else BUILD / "faults" / fault.id
        if not fault.compiled:
            copy_with(fault, folder)
        room, narrow = room_of(fault.file), self.narrow or bool(fault.equivalent or fault.lives)
        try:
            run = self._by_its_killer(fault, room, folder)
            if run.killer:
                return Verdict(fault, run.killer, run.seconds)
            for stage, name in ((room.tests, "tests"), (wider(room), "wider"))[: 1 if narrow else 2]:
                limit = self.limit_of(stage, f"{room.name}-{name}")
                last = run_tests(stage, fault.id, folder, self.numbers.get(fault.id, 0), limit)
                run = replace(last, seconds=run.seconds + last.seconds)
                if run.killer:
                    break
            return Verdict(fault, run.killer, run.seconds)
        finally:
            if not fault.compiled:
                shutil.rmtree(folder, ignore_errors=True)

    def _by_its_killer(self, fault: Fault, room: Room, folder: Path) -> Run:
        """The run of the test that killed the fault before; without a killer if it passes, or is not there any more."""
        killer = self.killers.get(fault)
        if killer is None:
            return Run("", 0.0)
        limit = self._limit_of_killers(room)
        if killer in self.gone:
            return Run("", 0.0)
        run = run_tests((killer,), fault.id, folder, self.numbers.get(fault.id, 0), limit)
        return run if run.killer.startswith(killer) else Run("", run.seconds)

    def _limit_of_killers(self, room: Room) -> float:
        """The limit for one of the room's killers, all of which must pass without a fault."""
        while True:
            there = {test for fault, test in self.killers.items() if room_of(fault.file) is room} - self.gone
            try:
                return self.limit_of(tuple(sorted(there)), f"{room.name}-killers") if there else LEAST_LIMIT
            except MissingTestsError as error:
                self.gone |= error.tests

    def limit_of(self, tests: tuple[str, ...], name: str) -> float:
        """Return the limit for these tests in seconds, measured at first use without a fault.

        Raises:
            BaselineError: the tests fail.
            MissingTestsError: some of them are not there.
        """
        with self.lock:
            lock, times = self.baselines.setdefault(tests, (threading.Lock(), []))
        with lock:
            if not times:
                run = run_tests(tests, f"without-a-fault-{name}", COPY, 0, BASELINE_LIMIT)
                if run.missing:
                    raise MissingTestsError(run.missing)
                if run.killer:  # once more: on a busy machine a test may be late
                    run = run_tests(tests, f"without-a-fault-{name}", COPY, 0, BASELINE_LIMIT)
                if run.killer:
                    raise BaselineError(f"these tests fail without a fault: {run.killer}")
                times.append(run.seconds)
        return max(LEAST_LIMIT, PATIENCE * times[0])


def wider(room: Room) -> tuple[str, ...]:
    """Return the tests of ``room.wider`` that are not among the room's own tests."""
    return tuple(test for test in room.wider if test not in room.tests)


def run_tests(tests: tuple[str, ...], name: str, folder: Path, number: int, limit: float) -> Run:
    """Run tests until the first one fails; their output goes to build/mutants/logs/``name``.txt."""
    log, scratch = BUILD / "logs" / f"{name}.txt", BUILD / "tmp" / name
    for made in (log.parent, scratch):
        made.mkdir(parents=True, exist_ok=True)
    command = [Path(sys.executable).with_name("pytest"), "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {
        **os.environ, "PYTHONPATH": str(folder), VARIABLE: str(number), "CI": "true", "TMPDIR": str(scratch),
    }  # fmt: skip
    begin = time.monotonic()
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
        _under_way.add(process)
        try:
            status: int | None = process.wait(WAITING * limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
            _under_way.discard(process)
    shutil.rmtree(scratch, ignore_errors=True)
    return Run(_killer(status, limit, log), time.monotonic() - begin, _missing(tests, log))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_all() -> None:
    """End the processes of other threads, which would outlive a stopped campaign."""
    for process in list(_under_way):
        _end(process)


def _missing(tests: tuple[str, ...], log: Path) -> frozenset[str]:
    """The tests that pytest did not find. It names them without their parameters, so all with that name count."""
    named = re.findall(r"^ERROR: not found: (\S+)$", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    names = {name.removeprefix(f"{ROOT}/") for name in named}
    return frozenset(test for test in tests if test in names or test.partition("[")[0] in names)


def _killer(status: int | None, limit: float, log: Path) -> str:
    if status in (None, -signal.SIGXCPU):
        return f"no end within {limit:.0f} s of work or {WAITING * limit:.0f} s of waiting"
    if status == 0:
        return ""
    text = log.read_text(encoding="utf-8", errors="replace")
    failed = re.findall(r"^(?:FAILED|ERROR) (\S.*)$", text, re.MULTILINE)
    if failed:
        return str(failed[0].partition(" - ")[0])
    return f"crashed by signal {-status}" if status < 0 else f"pytest ended with status {status}: {log.name}"
