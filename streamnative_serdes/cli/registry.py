"""The command ``registry``: a registry in memory."""

from __future__ import annotations

import click

from streamnative_serdes.errors import ConfigError

from .output import USAGE, Command, FailureError, say


@click.command(cls=Command)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port.")
@click.option("--token", help="Require this JSON web token in every request.")
def registry(port: int, token: str | None) -> None:
    """Run an in-memory stand-in for Pulsar's schema registry on 127.0.0.1 until Ctrl-C."""
    from streamnative_serdes.testing import serve

    try:
        serve(port, token, ready=lambda url: say(f"schema registry at {url}, until Ctrl-C"))
    except ConfigError as error:  # without the page about options: the port is in use
        raise FailureError(str(error), USAGE, hint="--port 0 picks a free port") from None
