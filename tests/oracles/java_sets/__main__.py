"""Regenerate golden.jsonl (kafka-clients and a JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m java_sets``.
"""

from __future__ import annotations

from . import GOLDEN
from .java import lines_of_java

GOLDEN.write_text("".join(f"{line}\n" for line in lines_of_java()))
