"""Regenerate golden.jsonl (kafka-clients and a JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m java_sets``.
"""

from __future__ import annotations

from java_program import regenerate

from . import GOLDEN
from .java import lines_of_java

regenerate(GOLDEN, lines_of_java())
