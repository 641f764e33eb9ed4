"""Regenerate golden.jsonl (Pulsar client and JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m schema_types``.
"""

from __future__ import annotations

from . import GOLDEN
from .java import lines_of_java

GOLDEN.write_text("".join(f"{line}\n" for line in lines_of_java()))
