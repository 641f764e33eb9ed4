"""Messages of each schema type that Pulsar's Java client wrote (SchemaTypes.java), and what its AUTO_CONSUME reads."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
PROGRAM: Final = FOLDER / "SchemaTypes.java"
GOLDEN: Final = FOLDER / "golden.jsonl"
