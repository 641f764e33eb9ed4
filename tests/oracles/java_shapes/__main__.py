"""Regenerate the .avsc files (Pulsar client and JDK).

Run as ``PYTHONPATH=tests/oracles:tests/servers python -m java_shapes``.
"""

from __future__ import annotations

from . import CLASSES, FOLDER
from .java import schemas_of_java

for name, text in schemas_of_java([cls.__name__ for cls in CLASSES]).items():
    (FOLDER / f"{name}.avsc").write_text(text + "\n")
