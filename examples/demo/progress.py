"""Progress of a stage: as a bar on a terminal, or else as one line per quarter."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Final, Protocol

import click
import rich.progress
from confluent_kafka import KafkaException
from rich.console import Console

_logger = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 0.25


class Progress(Protocol):
    """Shows the progress of a stage."""

    def stage(self, name: str, total: int) -> AbstractContextManager[Callable[[int], object]]:
        """A block of work on ``total`` rows; call the function it yields with the number of rows done."""


class Bars:
    """Progress on a terminal: one bar per stage."""

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[[int], object]]:
        columns = rich.progress.Progress.get_default_columns()
        counts = rich.progress.MofNCompleteColumn()
        with rich.progress.Progress(*columns, counts, console=Console(stderr=True)) as bars:
            task = bars.add_task(name, total=total)
            yield lambda done: bars.update(task, completed=done)


class Lines:
    """Progress without a terminal: one line per quarter."""

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[[int], object]]:
        quarter = 0

        def show(done: int) -> None:
            nonlocal quarter
            if total and done * 4 // total > quarter:
                quarter = done * 4 // total
                click.echo(f"{name}: {done} of {total} rows", err=True)

        yield show


@contextmanager
def watched(progress: Progress, name: str, total: int, measure: Callable[[], int]) -> Iterator[None]:
    """Show the progress of the block regularly; ``measure`` counts the rows done, in a separate thread."""
    done = Event()

    def watch() -> None:
        try:
            while not done.wait(_LOOK_SECONDS):
                show(measure())
        except (KafkaException, TimeoutError) as error:
            # The job uses the same broker and reports the failure itself; only the progress display stops.
            _logger.warning("%s: cannot show progress: %s", name, error)

    with progress.stage(name, total) as show:
        watcher = Thread(target=watch, name=f"{name} progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
        show(measure())
