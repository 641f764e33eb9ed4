"""Regenerate golden.jsonl (Pulsar's and Kafka's classes, and a JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m java_entries``.
"""

from __future__ import annotations

from java_program import regenerate

from . import GOLDEN
from .java import lines_of_java

regenerate(GOLDEN, lines_of_java())
