"""The command ``migrate schemas``: the schemas of a topic from Confluent's registry to Pulsar's, or back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from streamnative_serdes._broker_rules.compatibility import STRATEGIES
from streamnative_serdes.cli.options import GIVEN_FILE
from streamnative_serdes.cli.output import CHECK_FAILED, Command, as_json, marked, say, show, show_json, show_table
from streamnative_serdes.migration import (
    BackReport,
    Returned,
    SchemaReport,
    State,
    Widened,
    copy_schemas,
    copy_schemas_back,
    preview_schemas,
    preview_schemas_back,
    put_back_strategies,
)
from streamnative_serdes.migration.schemas.strategy import WIDE, Restored, Scope, Widening

from .steps import routed


@dataclass(frozen=True, slots=True)
class _Wishes:
    """The options of this step alone, by click's names."""

    ids: tuple[int, ...]
    add: bool
    widen: bool
    namespace_strategy: bool
    strategy: str | None
    restore_strategy: bool
    ids_of: Path | None
    new_ids: bool
    dry_run: bool

    @property
    def scope(self) -> Scope | None:
        return "namespace" if self.namespace_strategy else "topic" if self.widen else None

    def check(self, *, back: bool) -> None:
        forward = bool(self.ids or self.add or self.scope or self.strategy or self.restore_strategy)
        if back and forward:
            raise click.UsageError("with --back, only --ids-of, --new-ids and --dry-run can be given")
        if back and (self.ids_of is None) != self.new_ids:
            raise click.UsageError("with --back, give either --ids-of FILE or --new-ids")
        if not back and (self.ids_of is not None or self.new_ids):
            raise click.UsageError("--ids-of and --new-ids are for the way back: give --back too")
        if self.strategy is not None and not self.dry_run:
            raise click.UsageError("--strategy is for --dry-run")
        if self.restore_strategy and (self.ids or self.add or self.scope or self.dry_run):
            raise click.UsageError("--restore-strategy does nothing else: give no other option with it")


@click.command(cls=Command)
@click.option("--id", "ids", multiple=True, type=click.IntRange(0), help="Copy the schema with this id too.")
@click.option("--add", is_flag=True, help="Accept that the topic has other schemas already.")
@click.option("--widen", is_flag=True, help=f"Set the topic's compatibility strategy to {WIDE} meanwhile.")
@click.option(
    "--namespace-strategy", is_flag=True, help="Set that of its namespace instead, which other topics see meanwhile."
)
@click.option(
    "--restore-strategy", is_flag=True, help="Only put back a strategy that a killed run has widened; nothing else."
)
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES[1:], case_sensitive=False),
    help="With --dry-run: check by this one. By default Pulsar is asked for the topic's, which wants an admin.",
)
@click.option(
    "--ids-of",
    type=GIVEN_FILE,
    metavar="FILE",
    help="With --back: use the ids in this state file, that of the migration forward.",
)
@click.option("--new-ids", is_flag=True, help="With --back: register all versions, whatever their ids were.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen, and what the strategy would refuse.")
@routed
def schemas(state: State, /, **given: Any) -> None:
    """Copy the schemas of SOURCE's messages to TARGET, each version in order; running it again continues.

    What became of each schema is in the state file, which the other steps use.
    """
    wishes, back = _Wishes(**given), state.route.direction == "back"
    wishes.check(back=back)
    with _telling_what_is_left(state):
        if wishes.restore_strategy:
            restored = put_back_strategies(state)
            tree = {"topic": str(state.route.topic), "restored": [_restored_tree(one) for one in restored]}
            show(tree, *(map(_restored, restored) if restored else ["no strategy has to be put back"]))
        elif (_back if back else _forward)(state, wishes):
            click.get_current_context().exit(CHECK_FAILED)


def _forward(state: State, wishes: _Wishes) -> bool:
    if wishes.dry_run:
        report = preview_schemas(state, ids=wishes.ids, add=wishes.add, widen=wishes.scope, strategy=wishes.strategy)
    else:
        report = copy_schemas(state, ids=wishes.ids, add=wishes.add, widen=wishes.scope, on_widening=announce)
    show_forward(state, report, dry_run=wishes.dry_run)
    return wishes.dry_run and report.refused


def _back(state: State, wishes: _Wishes) -> bool:
    report = (preview_schemas_back if wishes.dry_run else copy_schemas_back)(state, ids_of=wishes.ids_of)
    show_back(state, report, dry_run=wishes.dry_run)
    return report.refused


@contextmanager
def _telling_what_is_left(state: State) -> Iterator[None]:
    """At the end, also after an error, report a strategy that still has to be put back."""
    try:
        yield
    except BaseException:
        for entry in state.widened:
            said = f"the strategy of {entry.scope} {entry.place} may still be {WIDE}"
            say(f"Warning: {said}: run this again, or with --restore-strategy alone", err=True)
        raise


def show_forward(state: State, report: SchemaReport, *, dry_run: bool) -> None:
    if as_json():
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
    if as_json():
        tree = {"topic": str(state.route.topic), "subject": state.route.subject, "level": report.level}
        rows = [asdict(one) for one in report.schemas]
        show_json({**tree, "schemas": rows, "state": str(state.path), "dry_run": dry_run})
        return
    show_table(("VERSION", "SCHEMA", "ID", ""), [_row_back(one, report) for one in report.schemas])
    for one in report.schemas:
        if one.refusal is not None:
            say(f"version {one.version}: {' '.join(one.refusal.split())}")
    say("nothing was written" if dry_run else f"{len(report.schemas)} schemas; state in {state.path}")


def _row_back(one: Returned, report: BackReport) -> tuple[str | Text, ...]:
    words = {"forward": "as before", "known": "known", "new": "new" if one.id is not None else "would be new"}
    refused = marked(False, f"refused by {report.level}") if one.refusal is not None else None
    return str(one.version), one.name, "-" if one.id is None else str(one.id), refused or words[one.origin]


def announce(change: Widening) -> None:
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
