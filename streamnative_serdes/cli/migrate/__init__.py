"""The commands ``migrate``: a topic from Confluent's framing and registry to SNIP 42 and Pulsar's, and back."""

from __future__ import annotations

from typing import Final

import click

from streamnative_serdes.cli import CommandGroup

__all__ = ["migrate"]

_STEPS: Final = ("plan", "schemas", "topic", "verify")  # in the order of their use


@click.command(cls=CommandGroup, modules={step: step for step in _STEPS}, package=__name__)
def migrate() -> None:
    """Copy a topic from Confluent's framing and registry to Pulsar's, or back (--back).

    The steps are plan, schemas, topic and verify, in this order. docs/migration.md has the whole way.
    """
