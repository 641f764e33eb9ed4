"""The command ``registry``: an in-memory stand-in for Pulsar's schema registry, for experiments."""

from __future__ import annotations

import click

from .failures import Command
from .output import say


@click.command(cls=Command)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port.")
@click.option("--token", help="Require this JSON web token in every request.")
def registry(port: int, token: str | None) -> None:
    """Run an in-memory stand-in for Pulsar's schema registry on 127.0.0.1 until Ctrl-C."""
    from streamnative_serdes.testing import serve

    serve(port, token, ready=lambda url: say(f"schema registry at {url}, until Ctrl-C"))
