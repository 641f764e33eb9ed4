"""Regenerate golden.jsonl (two Pulsar clients, a broker 4.2, and a JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m external_schemas``.
"""

from __future__ import annotations

from java_program import regenerate
from servers import NEXT_PULSAR, Pulsar

from . import GOLDEN
from .java import lines_of_java

with Pulsar(version=NEXT_PULSAR) as server:
    regenerate(GOLDEN, lines_of_java(server))
