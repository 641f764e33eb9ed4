"""The command ``migrate verify``: compares the target with the expected copies of the source."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, Literal

import click

from streamnative_serdes.cli.options import PARTITIONS, choice_option
from streamnative_serdes.cli.output import Command, FailureError, as_json, marked, say, show_json, show_table
from streamnative_serdes.migration import Rules, State
from streamnative_serdes.migration.verifying.comparing import Counts
from streamnative_serdes.migration.verifying.verification import SAMPLE, Outcome, Place, Scope, Verification

from .steps import progress_bar, routed, ruled

_COUNTS: Final = ("source", "copied", "bad", "tombstones", "undecodable", "older", "newer", "foreign", "differences")
_LETTERS: Final = ("topic", "file")


def _letters(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> Place | Literal["unchecked"] | None:
    if value is None or value == "unchecked":
        return value  # type: ignore[return-value]
    kind, colon, name = value.partition(":")
    if kind not in _LETTERS or not colon or not name:
        raise click.BadParameter("expected topic:NAME, file:PATH or unchecked")
    return ("topic" if kind == "topic" else "file"), name


@click.command(cls=Command)
@choice_option(
    "--until",
    of=("source-end", "copied"),
    text="Compare the source up to its present end, or as far as `migrate topic` has come.",
)
@click.option(
    "--dead-letters",
    "letters",
    metavar="topic:NAME|file:PATH|unchecked",
    callback=_letters,
    help="Exactly the messages that cannot be copied have to be there.  [default: where `migrate topic` has put them]",
)
@PARTITIONS
@click.option(
    "--sample", "samples", type=click.IntRange(1), metavar="N", help=f"Compare N samples of {SAMPLE} messages."
)
@click.option("--seed", default=0, show_default=True, help="Another seed takes the samples from other places.")
@click.option(
    "--differences", "most", default=10, show_default=True, type=click.IntRange(1), help="Show at most so many."
)
@click.option("--exact", is_flag=True, help="Messages in TARGET behind the last copy are differences too.")
@click.option("--allow-foreign", "foreign", is_flag=True, help="Only count messages in TARGET between the copies.")
@routed
@ruled
def verify(state: State, rules: Rules, exact: bool, **given: Any) -> None:
    """Compare TARGET with SOURCE: keys, headers, timestamps and decoded values, in order, in each partition.

    Give it --keys, --check, --from and --allow-... as `migrate topic` had them. The exit code is 1 if anything
    differs. Nothing is written.
    """
    scope = Scope(rules, newer=not exact, **given)
    with progress_bar("comparing") as bar:
        outcome = Verification(state, scope, bar.expect, bar.advance).run()
    if as_json():
        show_json(_tree(outcome, scope))
    else:
        _show(state, outcome, scope)
    if not outcome.same:
        count = sum(counts.differences for counts in outcome.partitions)
        twice = f"; {_repeated(outcome)}" if outcome.repeated else ""
        part = "; not all messages were compared" if any(counts.stopped for counts in outcome.partitions) else ""
        raise FailureError(f"{count} differences between {state.route.source} and {state.route.target}{twice}{part}")


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "partition": counts.partition,
        **{name: getattr(counts, name) for name in _COUNTS},
        "source_checksum": counts.source_sum.hexdigest(),
        "target_checksum": counts.target_sum.hexdigest(),
        "undecodable_at": counts.undecodable_at,
        "stopped": counts.stopped,
    }


def _tree(outcome: Outcome, scope: Scope) -> dict[str, Any]:
    return {
        "same": outcome.same,
        "whole": outcome.samples is None,
        "samples": outcome.samples,
        "seed": None if outcome.samples is None else scope.seed,
        "partitions": [_counts(counts) for counts in outcome.partitions],
        "differences": [asdict(difference) for difference in outcome.differences],
        "dead_letters_checked": outcome.repeated is not None,
        "dead_letters_repeated": outcome.repeated,
        "schemas_not_copied": list(outcome.unmapped),
    }


def _show(state: State, outcome: Outcome, scope: Scope) -> None:
    headers = ("PARTITION", *(name.upper() for name in _COUNTS), "CHECKSUM SOURCE", "CHECKSUM TARGET")
    show_table(headers, map(_row, outcome.partitions))
    for difference in outcome.differences:
        places = (("source", difference.source_offset), ("target", difference.target_offset))
        where = "".join(f", {side} offset {offset}" for side, offset in places if offset is not None)
        say(f"\npartition {difference.partition}{where}: {difference.part}")
        say(f"  expected {difference.expected}")
        say(f"  got      {difference.got}")
    found = sum(counts.differences for counts in outcome.partitions)
    if found > len(outcome.differences):
        say(f"\n{found - len(outcome.differences)} more differences: --differences shows more of them")
    for line in _notes(outcome, scope):
        say(line)
    if outcome.same:
        what = "all messages are" if outcome.samples is None else f"in {outcome.samples} samples, all messages are"
        say(f"{state.route.source} -> {state.route.target}: {what} the same")


def _row(counts: Counts) -> tuple[Any, ...]:
    expected, got = counts.source_sum.hexdigest(), counts.target_sum.hexdigest()
    numbers = [str(getattr(counts, name)) for name in ("partition", *_COUNTS[:-1])]
    found = marked(not counts.differences, str(counts.differences))
    return *numbers, found, expected, marked(expected == got, got)


def _notes(outcome: Outcome, scope: Scope) -> list[str]:
    notes = [f"partition {counts.partition}: {counts.stopped}" for counts in outcome.partitions if counts.stopped]
    for counts in outcome.partitions:
        if counts.undecodable:
            places = ", ".join(map(str, counts.undecodable_at))
            notes.append(
                f"partition {counts.partition}: {counts.undecodable} messages cannot be decoded on either side, and "
                f"have the same bytes; the first are at source offsets {places}"
            )
    if outcome.repeated:
        notes.append(_repeated(outcome))
    if outcome.repeated is None and any(counts.bad for counts in outcome.partitions):
        notes.append("the dead letters were not checked: --dead-letters topic:NAME or file:PATH does")
    if outcome.unmapped:
        names = ", ".join(map(str, outcome.unmapped))
        notes.append(f"not in the state file: schemas {names}; run `migrate schemas`, then `migrate topic`")
    if outcome.samples is not None:
        notes.append(
            f"only {outcome.samples} samples of up to {SAMPLE} messages were compared, with seed {scope.seed}: counts "
            "are those of the samples, and other messages may be missing or different"
        )
    return notes


def _repeated(outcome: Outcome) -> str:
    return f"{outcome.repeated} dead letters are there more than once"
