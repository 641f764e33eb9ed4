"""The commands ``schemas strategy``: read and set which schemas a topic or a namespace accepts."""

from __future__ import annotations

import re
from typing import Final

import click

from streamnative_serdes._broker_rules.compatibility import STRATEGIES
from streamnative_serdes.errors import MissingEndpointError
from streamnative_serdes.schema_registry import SchemaRegistryClient

from .options import Connection, connected
from .output import Command, show

_NAMESPACE: Final = re.compile(r"[^/:]+/[^/:]+")
_UNSET: Final = "UNDEFINED"
_PLACE: Final = click.argument("place", metavar="TOPIC|TENANT/NAMESPACE")


@click.group()
def strategy() -> None:
    """Read and set the compatibility strategy of a topic, or of a namespace."""


@strategy.command(cls=Command)
@_PLACE
@connected
def get(connection: Connection, place: str) -> None:
    """Show the strategy of a topic or a namespace.

    A topic without its own has its namespace's, and that without its own the broker's: FULL, unless it is configured.
    """
    with connection.client() as client:
        try:
            own = _own(client, place)
        except MissingEndpointError:  # the broker has topic policies switched off, so a topic has none of its own
            own = None
        inherited = None
        if own is None and not _NAMESPACE.fullmatch(place):
            name = connection.full_name(place)
            inherited = client.namespace_strategy(f"{name.tenant}/{name.namespace}")
    text = own or (inherited and f"{inherited}, of its namespace") or "none of its own; the broker's, by default FULL"
    show({"place": place, "own": own, "namespace": inherited}, f"{place}: {text}")


@strategy.command("set", cls=Command)
@_PLACE
@click.argument("chosen", metavar="STRATEGY", type=click.Choice(STRATEGIES, case_sensitive=False))
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@connected
def set_(connection: Connection, place: str, chosen: str, dry_run: bool) -> None:
    """Set the strategy of a topic or a namespace; UNDEFINED unsets it. Pulsar wants an admin of the tenant."""
    with connection.client() as client:
        before = _own(client, place)
        change = client.set_namespace_strategy if _NAMESPACE.fullmatch(place) else client.set_topic_strategy
        if not dry_run:
            change(place, None if chosen == _UNSET else chosen)
    tree = {"place": place, "before": before, "after": None if chosen == _UNSET else chosen, "dry_run": dry_run}
    show(tree, f"{place}: {'would change' if dry_run else 'changed'} from {before or _UNSET} to {chosen}")


def _own(client: SchemaRegistryClient, place: str) -> str | None:
    return client.namespace_strategy(place) if _NAMESPACE.fullmatch(place) else client.topic_strategy(place)
