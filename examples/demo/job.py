"""The demo job: the round trip, the Spark session it runs on, the servers it starts, and what it prints at the end."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from streamnative_serdes.spark.session import local_session
from streamnative_serdes.testing import LocalRegistry, MockBroker

from .columnar import ColumnarRoundTrip
from .flights import unzip_flights
from .progress import Bars, Lines
from .round_trip import Destination, Result, RoundTrip, Stage


class Job:
    """The round trip and the servers it needs, which stop with ``stack``."""

    def __init__(self, stack: ExitStack, rows: int | None) -> None:
        self._stack = stack
        self._csv = unzip_flights(Path(stack.enter_context(tempfile.TemporaryDirectory())), rows)
        # Started first: it forks, which is not safe once the threads of registry and broker run.
        self._spark = stack.enter_context(local_session("streamnative-serdes demo"))
        self.registry: LocalRegistry | None = None

    def start_broker(self, topic: str, partitions: int) -> str:
        return self._stack.enter_context(MockBroker({topic: partitions})).bootstrap_servers

    def start_registry(self) -> str:
        self.registry = self._stack.enter_context(LocalRegistry())
        return self.registry.url

    def run(self, to: Destination, *, columns: bool) -> Result:
        try:
            progress = Bars() if sys.stderr.isatty() else Lines()
            return (ColumnarRoundTrip if columns else RoundTrip)(self._spark, self._csv, to, progress).run()
        finally:
            # Stopped before registry and broker, so that no task still uses them.
            self._spark.stop()


def report(result: Result, registry: LocalRegistry | None) -> None:
    source, written, read = result.source.tally, result.written, result.read
    nulls, columns = sum(result.missing.values()), sum(1 for count in result.missing.values() if count)
    calls = f"{result.registry_calls}: {result.driver_calls} by the driver, {result.task_calls} by the tasks"
    if registry is not None:
        calls += f"; the registry saw {', '.join(f'{count} {kind}' for kind, count in registry.calls.items())}"
    click.echo(
        f"source            {source.rows} flights, {len(result.missing)} columns; {nulls} NA in {columns} of them"
    )
    click.echo(f"topic             {result.topic}, {result.partitions} partitions")
    click.echo(f"schema version    {result.schema_version}")
    _report_stage("write", written)
    _report_stage("read", read)
    click.echo(f"registry calls    {calls}")
    click.echo(f"checksum          {source.digest:032x} source, {read.tally.digest:032x} decoded")
    verdict = "equal" if result.equal else "NOT EQUAL"
    click.echo(f"{written.tally.rows} rows written, {read.tally.rows} rows read, {verdict}")


def _report_stage(name: str, stage: Stage) -> None:
    rows = stage.tally.rows
    click.echo(
        f"{name:<18}{rows / stage.seconds:,.0f} rows/s: {stage.seconds:.2f} s, the whole Spark job {stage.covers}"
    )
    for work, seconds in stage.tally.seconds.items():
        click.echo(f"  {work:<16}{rows / seconds:,.0f} rows/s in one task: {seconds:.2f} s, all tasks added up")
