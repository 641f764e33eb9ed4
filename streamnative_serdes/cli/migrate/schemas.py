"""The command ``migrate schemas``: the schemas of a topic from Confluent's registry to Pulsar's, or back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from streamnative_serdes._broker_rules.compatibility import STRATEGIES
from streamnative_serdes.cli.failures import CHECK_FAILED, Command
from streamnative_serdes.cli.output import say
from streamnative_serdes.migration import (
    State,
    copy_schemas,
    copy_schemas_back,
    preview_schemas,
    preview_schemas_back,
    put_back_strategies,
)
from streamnative_serdes.migration.schemas.strategy import WIDE, Scope

from .schema_tables import announce, show_back, show_forward, show_restored
from .sides import routed


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
        """The scope of the strategy to widen."""
        return "namespace" if self.namespace_strategy else "topic" if self.widen else None

    def check(self, *, back: bool) -> None:
        """Raises UsageError if options contradict each other."""
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
    type=click.Choice(STRATEGIES[1:]),
    help="With --dry-run: check by this one. By default Pulsar is asked for the topic's, which wants an admin.",
)
@click.option(
    "--ids-of",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
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
            show_restored(state, put_back_strategies(state))
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
