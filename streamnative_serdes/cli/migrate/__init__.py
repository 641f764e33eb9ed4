"""The commands ``migrate``: a topic from Confluent's framing and registry to SNIP 42 and Pulsar's, and back."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

__all__ = ["migrate"]

_COMMANDS: Final = ("plan", "schemas", "topic", "verify")


class _Steps(click.Group):
    """The steps, in the order of their use; each is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        found = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        assert isinstance(found, click.Command)
        return found


@click.command(cls=_Steps)
def migrate() -> None:
    """Copy a topic from Confluent's framing and registry to Pulsar's, or back (--back).

    The steps are plan, schemas, topic and verify, in this order. docs/migration.md has the whole way.
    """
