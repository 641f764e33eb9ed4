"""The progress of the steps that read whole topics: a bar on a terminal, and otherwise a line a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from streamnative_serdes.cli.output import say

_LINE_SECONDS: Final = 60.0


class ProgressBar:
    """Shows the progress of a step; for programs, shows nothing. Call it once per batch of messages."""

    def advance(self, messages: int) -> None:
        """Add ``messages`` to the number of messages done."""

    def expect(self, total: int) -> None:
        """Set the number of messages in all, as known by now."""

    def lag(self, messages: int) -> None:
        """Set the number of the source's messages that are not done yet."""


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


class _Lines(ProgressBar):
    """A line on stderr every minute."""

    def __init__(self, title: str, total: int | None) -> None:
        self._title, self._total, self._lag = title, total, ""
        self._done = self._said = 0
        self._since = time.monotonic()

    def advance(self, messages: int) -> None:
        self._done += messages
        now = time.monotonic()
        if now - self._since < _LINE_SECONDS:
            return
        of = "" if self._total is None else f" of {self._total:,}"
        rate = (self._done - self._said) / (now - self._since)
        say(f"{self._title}: {self._done:,}{of} messages, {rate:,.0f} messages/s{self._lag}", err=True)
        self._since, self._said = now, self._done

    def expect(self, total: int) -> None:
        self._total = total

    def lag(self, messages: int) -> None:
        self._lag = f", lag {messages:,}"


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} messages/s")


@contextmanager
def progress_bar(title: str, total: int | None, *, silent: bool = False) -> Iterator[ProgressBar]:
    """A bar on stderr while the block runs, with the time left if ``total`` is known; without a terminal, lines."""
    if silent or not sys.stderr.isatty():
        yield ProgressBar() if silent else _Lines(title, total)
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
