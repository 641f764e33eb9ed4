"""The progress bar of the steps that read whole topics: messages done, rate, time left and lag, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class ProgressBar:
    """Shows how far a step has come; without a terminal it shows nothing. Call it once per batch of messages."""

    def advance(self, messages: int) -> None:
        """So many messages more are done."""

    def expect(self, total: int) -> None:
        """So many messages there are in all, as is known by now."""

    def lag(self, messages: int) -> None:
        """So many messages the source has that are not done yet."""


class _Shown(ProgressBar):
    def __init__(self, progress: Progress, title: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total, lag="")

    def advance(self, messages: int) -> None:
        self._progress.advance(self._task, messages)

    def expect(self, total: int) -> None:
        self._progress.update(self._task, total=total)

    def lag(self, messages: int) -> None:
        self._progress.update(self._task, lag=f"lag {messages:,}")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} messages/s")


@contextmanager
def progress_bar(title: str, total: int | None, *, silent: bool = False) -> Iterator[ProgressBar]:
    """A bar on stderr while the block runs.

    Args:
        title: what is done, such as ``copying``.
        total: messages in all; None if it is not known, which shows no time left.
        silent: show nothing, as for ``--json``.
    """
    if silent or not sys.stderr.isatty():
        yield ProgressBar()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[lag]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _Shown(progress, title, total)
