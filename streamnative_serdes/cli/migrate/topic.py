"""The command ``migrate topic``: copies the messages, or continues a copy that was stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click

from streamnative_serdes._kafka import is_waiting
from streamnative_serdes.cli.options import FILE, choice_option, pairs_option
from streamnative_serdes.cli.output import INTERRUPTED, Command, FailureError, show
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.migration import (
    Moved,
    Report,
    Rules,
    State,
    TopicCopy,
    Wishes,
    move_groups,
    transactions_by_default,
)

from .steps import progress_bar, routed, ruled


@click.command(cls=Command)
@click.option("--follow", is_flag=True, help="Go on at the end of the source, until Ctrl-C or SIGTERM.")
@click.option("--groups", multiple=True, metavar="GROUP", help="Set this group's offsets in TARGET, at the end.")
@click.option(
    "--dead-letters",
    type=FILE,
    metavar="FILE",
    help="Put messages that cannot be copied here.  [default: the topic TARGET.dead-letters]",
)
@choice_option(
    "--transactions",
    of=("auto", "on", "off"),
    text="Auto: on where `migrate plan` found them to work, off on a KoP. Off: copies have a header with their place.",
)
@choice_option(
    "--engine", of=("client", "spark"), text="Spark: a task for each partition, on a cluster; without transactions."
)
@click.option("--master", metavar="URL", help="Of the Spark cluster.  [default: that of spark-submit, or this machine]")
@click.option("--create", is_flag=True, help="Create TARGET if it is missing.")
@pairs_option("--topic-config", "settings", help="A setting of a TARGET that is created.")
@click.option("--accept", multiple=True, metavar="NAME", help="Accept a problem that `migrate plan` has named.")
@click.option(
    "--dry-run", is_flag=True, help="Only say how many messages are left to copy, and where groups would be now."
)
@routed
@ruled
def topic(
    state: State,
    rules: Rules,
    groups: tuple[str, ...],
    transactions: str,
    engine: str,
    master: str | None,
    settings: tuple[tuple[str, str], ...],
    dry_run: bool,
    **given: Any,
) -> None:
    """Copy the messages of SOURCE to TARGET: the same but for the framing of values.

    It goes on where it was stopped, however that was. Messages that cannot be copied are kept as they are, among the
    dead letters. With transactions, each message is in TARGET exactly once.
    """  # fmt: skip
    if master is not None and engine != "spark":
        raise ConfigError("--master has no effect without --engine spark")
    on = _possible(state, engine) if transactions == "auto" else transactions == "on"
    wishes = Wishes(rules, on, settings=dict(settings), **given)
    if dry_run:
        left = TopicCopy(state, wishes).left()
        planned = move_groups(state, groups, wishes, dry_run=True) if groups else []
        tree = {"left": left, "dry_run": True, "groups": [asdict(one) for one in planned]}
        show(tree, f"{state.route.source}: up to {left} messages would be copied", *_lines(planned))
        return
    with _signals() as stopped:
        report = _copy(state, wishes, stopped, engine == "spark", master)
        # Ctrl-C is the usual end of --follow; otherwise whoever stops the copy does not want more to be changed.
        done = report.ended or (wishes.follow and not report.hidden)
        moved = move_groups(state, groups, wishes) if groups and done else []
    _tell(state, report, moved, wishes)
    if report.hidden:
        hint = "run this again when it has ended: its producer may go on, or the broker aborts it in time"
        raise FailureError("a transaction is open in the source, so not all messages were copied", hint=hint)
    if not report.ended and not wishes.follow:
        raise FailureError("stopped before the end; run this again to go on", INTERRUPTED)


def _possible(state: State, engine: str) -> bool:
    """Whether the copy can have transactions: from the findings of `migrate plan`, or by asking the target's broker."""
    if engine == "spark":
        return False
    found = ((state.findings or {}).get("probe") or {}).get("transactions")
    return bool(found) if found is not None else transactions_by_default(state.route)


def _copy(state: State, wishes: Wishes, stopped: Callable[[], bool], by_spark: bool, master: str | None) -> Report:
    with progress_bar("copying") as bar:
        before: list[int] = []  # copied by earlier runs

        def observe(report: Report) -> None:
            now = report.copied + report.bad
            before[:] = before or [now]
            bar.show(now - before[0], now - before[0] + report.lag)
            bar.lag(report.lag)

        if not by_spark:
            return TopicCopy(state, wishes, observe, stopped).run()
        from streamnative_serdes.migration.copying.spark_copy import SparkCopy
        from streamnative_serdes.spark.session import session_for

        with session_for("migrate topic", master) as session:
            return SparkCopy(state, wishes, session, observe, stopped).run()


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """A function that returns whether Ctrl-C or SIGTERM has asked to stop, after the current chunk is committed."""
    asked = threading.Event()

    def stop(*_: Any) -> None:
        if asked.is_set() or is_waiting():  # the second time at once; and nothing is committed without a broker
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(state: State, report: Report, moved: list[Moved], wishes: Wishes) -> None:
    route = state.route
    parts = sorted(report.progress.items())
    partitions = {number: {"next": one.next, "copied": one.copied, "bad": one.bad} for number, one in parts}
    letters = wishes.dead_letters or f"topic {route.target}.dead-letters"
    text = f"{route.source} -> {route.target}: {report.copied} messages copied"
    text += f", {report.bad} among the dead letters in {letters}" if report.bad else ""
    text += "" if wishes.transactions else "; without transactions, so copies have a header with their place"
    tree = {
        "copied": report.copied,
        "bad": report.bad,
        "lag": report.lag,
        "ended": report.ended,
        "hidden": report.hidden,
        "partitions": partitions,
        "groups": [asdict(one) for one in moved],
        "transactions": wishes.transactions,
    }
    hidden = (
        f"partition {number}: {count} offsets behind an open transaction were not copied"
        for number, count in sorted(report.hidden.items())
    )
    show(tree, text, *hidden, *_lines(moved))


def _lines(moved: list[Moved]) -> Iterator[str]:
    for one in moved:
        early = ", which is not copied yet: run this again" if one.early else ""
        yield f"group {one.group}: partition {one.partition}, offset {one.source} -> {one.target}{early}"
