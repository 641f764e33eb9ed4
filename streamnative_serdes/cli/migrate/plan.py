"""The command ``migrate plan``: checks source and target before any message is copied."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, Final

import click
from rich.text import Text

from streamnative_serdes.cli.options import pairs_option
from streamnative_serdes.cli.output import Command, FailureError, as_json, marked, moment, say, show_json, show_table
from streamnative_serdes.migration import Findings, PlanOptions, State
from streamnative_serdes.migration import plan as make_plan
from streamnative_serdes.migration.planning.plan import SAMPLE
from streamnative_serdes.migration.planning.problems import NAMES, listed
from streamnative_serdes.migration.schemas.strategy import on_end

from .steps import progress_bar, routed

_QUESTIONS: Final = [name for name, severity in NAMES.items() if severity == "question"]


@click.command(cls=Command)
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=SAMPLE,
    show_default=True,
    metavar="N",
    help="Read so many messages of each partition: its beginning, its end, and parts between.",
)
@click.option("--whole", is_flag=True, help="Read all messages.")
@click.option(
    "--create", is_flag=True, help="Create TARGET with the partitions and settings of SOURCE if it is missing."
)
@pairs_option(
    "--topic-config",
    "settings",
    help="A setting of a new TARGET, instead of SOURCE's; without a value, the broker's default.",
)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(_QUESTIONS),
    metavar="NAME",
    help=f"Go on in spite of a problem: {', '.join(_QUESTIONS)}.",
)
@click.option(
    "--no-probe", is_flag=True, help="Do not find out with a scratch topic at TARGET's broker what it alters."
)
@click.option("--dry-run", is_flag=True, help="Change nothing: no scratch topic, no TARGET, no state file.")
@routed
def plan(
    state: State,
    sample: int,
    whole: bool,
    create: bool,
    settings: tuple[tuple[str, str], ...],
    accept: tuple[str, ...],
    no_probe: bool,
    dry_run: bool,
) -> None:
    """Look at both sides of a migration, and list what stands against it.

    What was found is kept in the state file, for the steps that follow. The exit code is 1 if something has to be
    mended or accepted first.
    """
    options = PlanOptions(None if whole else sample, not no_probe, create, dict(settings), accept, dry_run)
    # A signal that ends processes ends the command as Ctrl-C does: the scratch topic is deleted first.
    with on_end(signal.default_int_handler), progress_bar("reading") as bar:
        found = make_plan(state, options, bar.show)
    if as_json():
        show_json(found.tree)
    else:
        _show(found)
        say("nothing was changed" if dry_run else f"state file: {state.path}")
    _end(found)


def _end(found: Findings) -> None:
    """Raises FailureError if the plan is blocked; the JSON on stderr has the names of the blocking problems."""
    blocking = [problem for problem in found.problems if problem.blocks]
    if blocking:
        names = list(dict.fromkeys(problem.name for problem in blocking))
        accept = [problem.name for problem in blocking if problem.severity == "question"]
        answer = " ".join(f"--accept {name}" for name in dict.fromkeys(accept))
        hint = f"mend them, or run this again with {answer}" if len(accept) == len(blocking) else "mend them first"
        raise FailureError(f"the migration must not begin: {', '.join(names)}", hint=hint, problems=names)


def _show(found: Findings) -> None:
    tree = found.tree
    source, extent = tree["source"], "all" if tree["whole"] else "a sample"
    say(f"SOURCE {source['topic']}: {source['partitions']} partitions; {tree['messages']} messages read, {extent}")
    say(_times(tree))
    headers = ("SCHEMA", "MESSAGES", "TYPE", "NAME", "SUBJECTS", "FIRST AT")
    _section("SCHEMAS IN USE", headers, map(_schema, tree["ids"]))
    unknown = [(str(entry["id"]), str(entry["count"]), _first(entry)) for entry in tree["unknown_ids"]]
    _section("NOT IN THE REGISTRY", ("SCHEMA", "MESSAGES", "FIRST AT"), unknown)
    _section("SCHEMAS OF KEYS", headers, map(_schema, tree["key_ids"]))
    kinds = [(kind.replace("_", " "), str(entry["count"]), _first(entry)) for kind, entry in tree["counts"].items()]
    _section("MESSAGES", ("KIND", "MESSAGES", "FIRST AT"), kinds)
    _show_target(tree)
    if tree["probe"] is not None:
        _section("TARGET'S BROKER KEEPS", ("WHAT", "", "WHY NOT"), _probe(tree["probe"]))
    _section("PROBLEMS", ("NAME", "", "WHAT"), map(_problem, tree["problems"]))


def _section(title: str, headers: tuple[str, ...], rows: Any) -> None:
    listed = list(rows)
    if listed:
        say()
        say(title)
        show_table(headers, listed)


def _times(tree: dict[str, Any]) -> str:
    given = (tree["timestamps"][name] for name in ("oldest", "newest"))
    oldest, newest = (None if millis is None else moment(millis, f"{millis} ms") for millis in given)
    times = "no message has a time" if oldest is None else f"times from {oldest} to {newest}"
    return f"{times}; the largest message has {tree['largest']['bytes']} bytes in a batch of its own"


def _schema(entry: dict[str, Any]) -> tuple[str, ...]:
    versions = listed([f"{subject} {number}" for subject, number in entry["versions"]])
    return str(entry["id"]), str(entry["count"]), entry["type"], entry["name"] or "", versions, _first(entry)


def _show_target(tree: dict[str, Any]) -> None:
    target = tree["target"]
    done = "was created with" if target["created"] else "has" if target["exists"] else "does not exist; it would have"
    say()
    say(
        f"TARGET {target['topic']}: {done} {target['partitions']} partitions; replicas: {target['replicas']}; settings:"
    )
    for key, value in sorted(target["own"].items()):
        say(f"  {key}={value}")


def _probe(probe: dict[str, Any]) -> Iterator[tuple[str | Text, ...]]:
    for name, kept in probe.items():
        if name != "reasons":
            yield name.replace("_", " "), marked(kept, "yes" if kept else "no"), probe["reasons"].get(name, "")


def _problem(problem: dict[str, Any]) -> tuple[str | Text, ...]:
    severity = "accepted" if problem["accepted"] else problem["severity"]
    good = {"refused": False, "question": False}.get(severity)
    hint = f" ({problem['hint']})" if problem["hint"] else ""
    return problem["name"], marked(good, severity), problem["text"] + hint


def _first(entry: dict[str, Any]) -> str:
    partition, offset = entry["first"]
    return f"{partition}:{offset}"
