"""What campaigns leave on disk: verdicts, so that one that was stopped can go on, and which test killed each fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from building import BUILD, COPIED, ROOT
from faults import Fault
from running import Verdict

FILE = "verdicts.jsonl"
KILLERS = Path(__file__).parent / "killers.json"


def read_killers(faults: Iterable[Fault], path: Path = KILLERS) -> dict[Fault, str]:
    """The test that killed each fault in the last campaign; faults that no single test killed are left out."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {fault: known[fault.id] for fault in faults if fault.id in known}


def write_killers(verdicts: Iterable[Verdict], faults: Iterable[Fault], path: Path = KILLERS) -> None:
    """Add what killed these faults; faults that no list has any more are dropped."""
    known = {fault.id: killer for fault, killer in read_killers(faults, path).items()}
    known |= {verdict.fault.id: verdict.killer for verdict in verdicts if "::" in verdict.killer}
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


class Kept:
    """The verdicts of a campaign.

    Args:
        tried: the faults of this run.
        resume: take over the verdicts of the run before, if it had the same faults, code and tests.
        root: where code and tests are.
        build: the folder to keep them in.
    """

    def __init__(self, tried: Iterable[Fault], *, resume: bool, root: Path = ROOT, build: Path = BUILD) -> None:
        tried = list(tried)
        self._path, digest = build / FILE, _digest(tried, root)
        by_id = {fault.id: fault for fault in tried}
        self.before = list(_read(self._path, digest, by_id)) if resume else []
        self._ids = {verdict.fault.id for verdict in self.before}
        build.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"digest": digest}) + "\n", encoding="utf-8")
        for verdict in self.before:
            self.add(verdict)

    def __contains__(self, fault: Fault) -> bool:
        """Whether the run before has tried this fault."""
        return fault.id in self._ids

    def add(self, verdict: Verdict) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            print(json.dumps([verdict.fault.id, verdict.killer, verdict.seconds]), file=file)


def _read(path: Path, digest: str, by_id: dict[str, Fault]) -> Iterator[Verdict]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    if not lines or json.loads(lines[0]) != {"digest": digest}:
        print("nothing to resume: there is no earlier run with these faults, code and tests", flush=True)
        return
    for line in lines[1:]:
        if not line.endswith("]"):  # cut off when the run before was killed
            return
        name, killer, seconds = json.loads(line)
        yield Verdict(by_id[name], killer, seconds)


def _digest(tried: list[Fault], root: Path) -> str:
    """Stands for the faults, and for all files that decide about them; reasons in the lists do not."""
    found = hashlib.sha256()
    for fault in sorted(tried, key=lambda fault: fault.id):
        found.update(repr({**asdict(fault), "lives": "", "equivalent": ""}).encode())
    for name in (*COPIED, "tests"):
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and path.suffix not in {".so", ".pyc"} and path.parent.name != "mutants":
                found.update(f"{path.relative_to(root)} ".encode() + path.read_bytes())
    return found.hexdigest()
