"""Prints what the demo has measured and compared."""

from __future__ import annotations

import click

from streamnative_serdes.testing import LocalRegistry

from .round_trip import Result, Stage


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
