"""Tables and JSON about copied schemas: for people, and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.text import Text

from streamnative_serdes.cli.output import marked, say, show_json, show_table
from streamnative_serdes.migration import BackReport, Returned, SchemaReport, State, Widened
from streamnative_serdes.migration.schemas.strategy import WIDE, Restored, Widening


def show_forward(state: State, report: SchemaReport, *, dry_run: bool) -> None:
    """Show the outcome for each schema; with ``dry_run``, the expected outcome."""
    if click.get_current_context().meta["json"]:
        show_json(_forward_tree(state, report, dry_run=dry_run))
        return
    show_table(("ID", "FROM", "VERSION", ""), _rows(report, dry_run=dry_run))
    for line in _remarks(state, report, dry_run=dry_run):
        say(line)


def _rows(report: SchemaReport, *, dry_run: bool) -> Iterator[tuple[str | Text, ...]]:
    names: dict[int, str] = {}  # of the first schema with each number
    for one in report.schemas:
        name = str(one.original.names[0])
        first = names.setdefault(one.number, name)
        known = "known" if first == name else f"to Pulsar the same as {first}"
        outcome: str | Text = known if not one.new else "would be new" if dry_run else "new"
        if one.refusal is not None:
            said = f"refused by {report.strategy}"
            outcome = marked(None, f"would be new; {said}, widened") if report.widening else marked(False, said)
        yield name, one.original.origin, str(one.number), outcome


def _remarks(state: State, report: SchemaReport, *, dry_run: bool) -> Iterator[str]:
    """Remarks for people, besides the table."""
    if dry_run:
        yield f"Checked by the strategy {report.strategy}; nothing was written"
    for one in report.schemas:
        if one.refusal is not None and not report.widening:
            yield f"{one.original.origin}: {' '.join(one.refusal.split())}"
    if report.refused:
        yield "--widen sets the topic's strategy to ALWAYS_COMPATIBLE while the schemas are copied"
    if dry_run and state.widened:
        yield f"A run before has widened a strategy, which would be put back first: {_place(state.widened[0])}"
    if dry_run and report.widening is not None:
        yield _widening(report.widening, "would be")
    for restored in report.restored:
        yield _restored(restored)
    if report.backup is not None:
        yield f"What the topic had before is saved in {report.backup}"
    if report.unknown:
        names = ", ".join(map(str, report.unknown))
        yield f"Found in messages, but unknown to the registry: {names}; such messages go to the dead letters"
    if report.out_of_order is not None:
        yield (
            f"Note: the topic's latest schema is not the subject's latest, version {report.out_of_order}; Pulsar "
            "checks new schemas against the topic's latest"
        )
    if not dry_run:
        yield f"{len(report.schemas)} schemas, {sum(one.new for one in report.schemas)} new; state in {state.path}"


def _forward_tree(state: State, report: SchemaReport, *, dry_run: bool) -> dict[str, Any]:
    rows = [
        {
            "id": next((name for name in one.original.names if isinstance(name, int)), None),
            "guid": next((name for name in one.original.names if isinstance(name, str)), None),
            "from": one.original.origin,
            "version": one.number,
            "new": one.new,
            "refusal": one.refusal,
        }
        for one in report.schemas
    ]
    change = report.widening
    widened = None if change is None else {**_entry_tree(change.entry), "topics": change.topics}
    return {
        "topic": str(state.route.topic),
        "subject": state.route.subject,
        "schemas": rows,
        "strategy": report.strategy,
        "widened": widened,
        "restored": [_restored_tree(one) for one in report.restored],
        "unknown": report.unknown,
        "backup": report.backup,
        "out_of_order": report.out_of_order,
        "state": str(state.path),
        "dry_run": dry_run,
    }


def show_back(state: State, report: BackReport, *, dry_run: bool) -> None:
    """As :func:`show_forward`, for the way back."""
    if click.get_current_context().meta["json"]:
        show_json(_back_tree(state, report, dry_run=dry_run))
        return
    show_table(("VERSION", "SCHEMA", "ID", ""), [_row_back(one, report) for one in report.schemas])
    for one in report.schemas:
        if one.refusal is not None:
            say(f"version {one.version}: {' '.join(one.refusal.split())}")
    say("nothing was written" if dry_run else f"{len(report.schemas)} schemas; state in {state.path}")


def _back_tree(state: State, report: BackReport, *, dry_run: bool) -> dict[str, Any]:
    rows = [
        {"version": one.version, "name": one.name, "id": one.id, "origin": one.origin, "refusal": one.refusal}
        for one in report.schemas
    ]
    place = {"topic": str(state.route.topic), "subject": state.route.subject}
    return {**place, "schemas": rows, "level": report.level, "state": str(state.path), "dry_run": dry_run}


def _row_back(one: Returned, report: BackReport) -> tuple[str | Text, ...]:
    words = {"forward": "as before", "known": "known", "new": "new" if one.id is not None else "would be new"}
    refused = marked(False, f"refused by {report.level}") if one.refusal is not None else None
    return str(one.version), one.name, "-" if one.id is None else str(one.id), refused or words[one.origin]


def show_restored(state: State, restored: list[Restored]) -> None:
    """Show which strategies were put back."""
    if click.get_current_context().meta["json"]:
        show_json({"topic": str(state.route.topic), "restored": [_restored_tree(one) for one in restored]})
        return
    for one in restored:
        say(_restored(one))
    if not restored:
        say("no strategy has to be put back")


def announce(change: Widening) -> None:
    """Say that a strategy is about to be widened."""
    say(_widening(change, "is"), err=True)


def _widening(change: Widening, verb: str) -> str:
    others = f"; it touches {', '.join(change.topics)}" if change.entry.scope == "namespace" else ""
    return f"The strategy of {_place(change.entry)}, {_said(change.entry.old)}, {verb} {WIDE} meanwhile{others}"


def _restored(one: Restored) -> str:
    words = {
        "restored": f"put back: {_said(one.entry.old)}",
        "unchanged": f"as it was: {_said(one.entry.old)}",
        "changed": f"{_said(one.now)} now: somebody else changed it, so it stays; it was {_said(one.entry.old)} before",
        "gone": "gone with it",
    }
    return f"The strategy of {_place(one.entry)} is {words[one.outcome]}"


def _place(entry: Widened) -> str:
    return f"{entry.scope} {entry.place}"


def _said(strategy: str | None) -> str:
    return strategy or "unset"


def _entry_tree(entry: Widened) -> dict[str, Any]:
    return {"scope": entry.scope, "place": entry.place, "old": entry.old}


def _restored_tree(one: Restored) -> dict[str, Any]:
    return {**_entry_tree(one.entry), "outcome": one.outcome, "now": one.now}
