"""The tables and the JSON of `make bench`."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, FRAMED, OPERATIONS, Contender, Floor, OurCodec
from costs import DICTS, IDLE, OURS, OVERHEADS, OWN, POLL, PRODUCE, Overheads, classes
from harness import CLOCK, Results, Statement, installed, table
from shapes import TITLES

PACKAGES = ("streamnative-serdes", "confluent-kafka", "fastavro", "cavro")


def cpu() -> str:
    """The name of the processor, as reported by the system."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def environment(rounds: int, core: int | None) -> dict[str, Any]:
    """Date, machine, versions and load: everything a program can find out that the numbers depend on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{cpu()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()} ({platform.python_compiler()})",
        "versions": {package: installed(package) for package in PACKAGES},
        "rounds": rounds,
        "core": core,
        "clock": CLOCK.__name__,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def heading(where: dict[str, Any]) -> str:
    """The environment in one paragraph."""
    versions = ", ".join(f"{package} {number}" for package, number in where["versions"].items())
    pinned = "not pinned" if where["core"] is None else "one core"
    load = "" if where["load"] is None else f", load average {where['load']:.1f}"
    return (
        f"{where['date'][:10]}; {where['machine']}; {where['python']}; {versions}. "
        f"Medians of {where['rounds']} rounds, {pinned}, {where['clock']}{load}."
    )


def times(cells: Results, shape: str, operation: str, peer: str, ours: str) -> float | None:
    return cells.times((shape, operation, peer), (shape, operation, ours))


def entry(cells: Results, shape: str, operation: str, kind: type[Contender]) -> str:
    """Nanoseconds and, for a peer, the ratio to our time."""
    cell = cells.get((shape, operation, kind.name))
    if cell is None:
        return "-"
    ratio = kind.against and times(cells, shape, operation, kind.name, kind.against)
    return f"{cell.ns:,.0f} ({ratio:.1f}x)" if ratio else f"{cell.ns:,.0f}"


def speed(cells: Results, sizes: dict[str, float], operation: str, *, framed: bool) -> str:
    head = f"{operation}, {'with header and registry' if framed else 'codec alone'}"
    rows = [[head, *(f"{TITLES[shape]}, {size:,.0f} B" for shape, size in sizes.items())]]
    rows += [
        [kind.title, *(entry(cells, shape, operation, kind) for shape in sizes)]
        for kind in CONTENDERS
        if (kind.frame > 0) == framed and operation in kind.statements and kind is not Floor
    ]
    return table(rows)


def limit(cells: Results, sizes: dict[str, float]) -> str:
    """Compare decoding with the time that CPython needs to create the objects."""
    rows = [["deserialize, codec alone: the limit", *map(TITLES.__getitem__, sizes)]]
    rows += [[kind.title, *(entry(cells, shape, "deserialize", kind) for shape in sizes)] for kind in (OurCodec, Floor)]
    shares = [times(cells, shape, "deserialize", "floor", "codec") for shape in sizes]
    return table([*rows, ["share of the limit", *("-" if share is None else f"{share:.0%}" for share in shares)]])


def of_ten_fields(overheads: Overheads, clients: Results, objects: Results) -> list[str]:
    """The tables of what is above the codec, in clients and in objects."""
    above = [["overhead above the codec", "ns", "in calls of a C function"]]
    for operation in OVERHEADS:
        for name, call in (("methods", f"`{operation}(topic, ...)`"), ("ours", f"`{operation}r(..., ctx)`")):
            ns, calls = overheads.get((operation, name), (None, None))
            above.append([call, "-" if ns is None else f"{ns:.0f}", "-" if calls is None else f"{calls:.1f}"])
    inside = [["in confluent-kafka's clients, 10 fields", IDLE, OURS, OWN]]
    for method in (PRODUCE, POLL) if clients else ():
        inside.append([method, f"{clients[method, IDLE].ns:,.0f}"])
        for name in (OURS, OWN):
            times = clients.times((method, name), (method, IDLE))
            inside[-1].append(f"{clients[method, name].ns:,.0f} ({times:.2f}x)")
    made = [["objects instead of dicts, 10 fields", "deserialize", "serialize"]]
    for kind in classes() if objects else ():
        made.append([f"`{kind}`"])
        for way in ("read", "write"):
            made[-1].append(f"{objects[way, kind].ns:,.0f} ({objects.times((way, kind), (way, DICTS)):.2f}x)")
    return [table(above), table(inside), table(made)]


def tables(
    cells: Results, sizes: dict[str, float], refused: dict[tuple[str, ...], str], where: dict[str, Any], more: list[str]
) -> str:
    """All tables as Markdown."""
    blocks = [heading(where), "Nanoseconds per message, with the ratio to our time in brackets."]
    blocks += [speed(cells, sizes, operation, framed=True) for operation in FRAMED]
    blocks += [speed(cells, sizes, operation, framed=False) for operation in OPERATIONS]
    blocks += [limit(cells, sizes), *more]
    lines = [
        f"- {name} is not timed on {TITLES[shape]}, {operation}: {why}"
        for (shape, operation, name), why in refused.items()
    ]
    return "\n\n".join([*blocks, *(["\n".join(lines)] if lines else [])]) + "\n"


def as_json(cells: Results, refused: dict[tuple[str, ...], str], where: dict[str, Any]) -> str:
    shapes = list(dict.fromkeys(shape for shape, _, _ in cells))
    names = ("shape", "operation", "contender")
    timed = [
        {**dict(zip(names, key, strict=True)), "statement": job.code, "ns": job.ns, "ns_by_round": job.rounds}
        for key, job in cells.items() if isinstance(job, Statement)
    ]  # fmt: skip
    ratios = [
        {"shape": shape, "operation": operation, "peer": kind.name, "ours": kind.against,
         "ratio": times(cells, shape, operation, kind.name, kind.against)}
        for shape in shapes for kind in CONTENDERS if kind.against for operation in kind.statements
    ]  # fmt: skip
    missing = [{**dict(zip(names, key, strict=True)), "why": why} for key, why in refused.items()]
    shares = {shape: times(cells, shape, "deserialize", "floor", "codec") for shape in shapes}
    return (
        json.dumps({**where, "cells": timed, "ratios": ratios, "shares": shares, "refused": missing}, indent=1) + "\n"
    )
