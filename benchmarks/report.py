"""Format the results of a run as tables and JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, FRAMED, OPERATIONS, Contender, Floor, OurCodec
from measure import CLOCK, OVERHEADS, Results
from shapes import TITLES

PACKAGES = ("streamnative-serdes", "confluent-kafka", "fastavro", "cavro")


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(a checkout)"


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


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, padded to be readable as text; numbers are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |" for row in rows]
    rule = "|".join(["", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""])
    return "\n".join([lines[0], rule, *lines[1:]])


def entry(results: Results, shape: str, operation: str, kind: type[Contender]) -> str:
    """Nanoseconds and, for a peer, the ratio to our time."""
    cell = results.find(shape, operation, kind.name)
    if cell is None:
        return "-"
    times = kind.against and results.ratio(shape, operation, kind.name, kind.against)
    return f"{cell.ns:,.0f} ({times:.1f}x)" if times else f"{cell.ns:,.0f}"


def speed(results: Results, operation: str, *, framed: bool) -> str:
    head = f"{operation}, {'with header and registry' if framed else 'codec alone'}"
    rows = [[head, *(f"{TITLES[shape]}, {size:,.0f} B" for shape, size in results.sizes.items())]]
    rows += [
        [kind.title, *(entry(results, shape, operation, kind) for shape in results.sizes)]
        for kind in CONTENDERS
        if (kind.frame > 0) == framed and operation in kind.statements and kind is not Floor
    ]
    return table(rows)


def limit(results: Results) -> str:
    """Compare decoding with the time that CPython needs to create the objects."""
    rows = [["deserialize, codec alone: the limit", *map(TITLES.__getitem__, results.sizes)]]
    rows += [
        [kind.title, *(entry(results, shape, "deserialize", kind) for shape in results.sizes)]
        for kind in (OurCodec, Floor)
    ]
    shares = [results.ratio(shape, "deserialize", "floor", "codec") for shape in results.sizes]
    rows.append(["share of the limit", *("-" if share is None else f"{share:.0%}" for share in shares)])
    return table(rows)


def overhead(results: Results) -> str:
    """Overhead of header, caches and call above the codec."""
    rows = [["overhead above the codec", "ns", "in calls of a C function"]]
    for operation in OVERHEADS:
        for name, call in (("methods", f"`{operation}(topic, ...)`"), ("ours", f"`{operation}r(..., ctx)`")):
            cost = results.overheads.get((operation, name))
            rows.append([call, *("--" if cost is None else (f"{cost.ns:.0f}", f"{cost.calls:.1f}"))])
    return table(rows)


def in_clients(results: Results) -> str:
    """Cost of a message in the clients of confluent-kafka."""
    rows = [["in confluent-kafka's clients, 10 fields", "SerDes that do nothing", "ours", "ratio"]]
    for method, cost in results.clients.items():
        rows.append([method, f"{cost.constant:,.0f}", f"{cost.ours:,.0f}", f"{cost.times:.2f}x"])
    return table(rows)


def as_objects(results: Results) -> str:
    """Cost of objects of classes, and its ratio to that of dicts."""
    rows = [["objects instead of dicts, 10 fields", "deserialize", "serialize"]]
    for kind, cost in results.objects.items():
        read, write = f"{cost.read:,.0f} ({cost.read_times:.2f}x)", f"{cost.write:,.0f} ({cost.write_times:.2f}x)"
        rows.append([f"`{kind}`", read, write])
    return table(rows)


def tables(results: Results, where: dict[str, Any]) -> str:
    """All tables as Markdown."""
    blocks = [heading(where), "Nanoseconds per message, with the ratio to our time in brackets."]
    blocks += [speed(results, operation, framed=True) for operation in FRAMED]
    blocks += [speed(results, operation, framed=False) for operation in OPERATIONS]
    blocks += [limit(results), overhead(results), in_clients(results), as_objects(results)]
    lines = [
        f"- {name} is not timed on {TITLES[shape]}, {operation}: {reason}"
        for (shape, operation, name), reason in results.refused.items()
    ]
    return "\n\n".join([*blocks, *(["\n".join(lines)] if lines else [])]) + "\n"


def as_json(results: Results, where: dict[str, Any]) -> str:
    cells = [
        {"shape": c.shape, "operation": c.operation, "contender": c.contender, "statement": c.statement, "ns": c.ns,
         "ns_by_round": c.rounds} for c in results.cells.values()
    ]  # fmt: skip
    ratios = [
        {"shape": shape, "operation": operation, "peer": kind.name, "ours": kind.against,
         "ratio": results.ratio(shape, operation, kind.name, kind.against)}
        for shape in results.sizes for kind in CONTENDERS if kind.against for operation in kind.statements
    ]  # fmt: skip
    refused = [
        {"shape": shape, "operation": operation, "contender": name, "why": why}
        for (shape, operation, name), why in results.refused.items()
    ]
    shares = {shape: results.ratio(shape, "deserialize", "floor", "codec") for shape in results.sizes}
    return (
        json.dumps({**where, "cells": cells, "ratios": ratios, "shares": shares, "refused": refused}, indent=1) + "\n"
    )
