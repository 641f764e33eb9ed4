"""Command line for real servers: `up` starts them and prints their addresses, `demo` runs the flights job on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import click

from . import PULSAR, PULSARS, ConfluentRegistry, Kafka, Missing, Pulsar, PulsarCluster, ServerError, download_all


@click.group()
def main() -> None:
    """Apache Pulsar, Apache Kafka and a Confluent-compatible registry on loopback."""


@main.command()
@click.option("--token", is_flag=True, help="Require JSON web tokens for Pulsar.")
@click.option("--confluent", is_flag=True, help="Also start a Confluent-compatible registry.")
@click.option("--cluster", is_flag=True, help="Start Pulsar as two brokers, which redirect to each other.")
@click.option("--pulsar", "version", type=click.Choice(PULSARS), default=PULSAR, help="The version of Pulsar.")
def up(token: bool, confluent: bool, cluster: bool, version: str) -> None:
    """Start servers; they run until Ctrl-C or SIGTERM."""
    _end_by_signals()
    if cluster and (token or version != PULSAR):
        raise click.UsageError("--cluster excludes --token and another version of Pulsar")
    with ExitStack() as stack:
        kafka = stack.enter_context(Kafka())
        click.echo(f"kafka     {kafka.bootstrap_servers}   (Apache Kafka {kafka.version()})")
        tokens = None
        if cluster:
            urls = [broker.url for broker in stack.enter_context(PulsarCluster()).brokers]
            click.echo(f"pulsar    {'   '.join(urls)}")
        else:
            pulsar = stack.enter_context(Pulsar(tokens=token, version=version))
            urls, tokens = [pulsar.url], pulsar.tokens
            click.echo(f"pulsar    {pulsar.url}   {pulsar.service_url}   (Apache Pulsar {pulsar.version()})")
        if confluent:
            click.echo(f"confluent {stack.enter_context(ConfluentRegistry()).url}")
        secret = ""
        if tokens is not None:
            for role in ("admin", "produce", "consume", "nobody"):
                click.echo(f"token     {role}: {tokens.of(role)}")
            secret = f" --token {tokens.of('produce')}"
        click.echo("\nTry: ", nl=False)
        click.echo(f'make demo DEMO_ARGS="{_targets(kafka, urls[0])} --rows 1000{secret}"')
        click.echo(f"They run until Ctrl-C, or: kill {os.getpid()}")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("They are ended.")


@main.command()
def download() -> None:
    """Download what the tests need, if it is not in the cache, and keep the classes that most servers load."""
    download_all()
    for server in (Kafka(), Pulsar()):
        server.keep_classes()


def _end_by_signals() -> None:
    """Handle SIGINT, which shells let background jobs ignore, and SIGTERM, which would skip the clean-up."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def demo(arguments: tuple[str, ...]) -> None:
    """Run the flights job on its own servers; ARGUMENTS as for `make demo`. `examples/` must be on PYTHONPATH."""
    with Kafka() as kafka, Pulsar() as pulsar:
        click.echo(f"servers           Apache Kafka {kafka.version()}, Apache Pulsar {pulsar.version()}")
        command = [sys.executable, "-m", "demo", *_targets(kafka, pulsar.url).split()]
        code = subprocess.run([*command, "--partitions", "4", *arguments], check=False).returncode
    sys.exit(code)


def _targets(kafka: Kafka, url: str) -> str:
    return f"--bootstrap-servers {kafka.bootstrap_servers} --schema-registry-url {url}"


if __name__ == "__main__":
    try:
        main(prog_name="python -m servers", standalone_mode=False)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (Missing, ServerError) as error:
        sys.exit(f"Error: {error}")
