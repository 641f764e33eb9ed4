"""Regenerate golden.jsonl (Pulsar client and JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m schema_types``.
"""

from __future__ import annotations

from java_program import regenerate

from . import GOLDEN
from .java import lines_of_java

regenerate(GOLDEN, lines_of_java())
