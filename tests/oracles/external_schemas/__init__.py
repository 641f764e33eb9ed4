"""Entries of topics of type EXTERNAL (PIP-420) that two Java clients have sent (Send.java), as a broker stores them.

Each line of golden.jsonl has the version of the client, the topic, and its entries in base64. The payloads are Avro of
SCHEMAS, by the id in the metadata; that of topic "other" has an id of no form of Kafka's.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
GOLDEN: Final = FOLDER / "golden.jsonl"
OLD, NEW = "4.1.1", "4.2.4"  # clients: the last with bare ids that is served, and one with a magic byte in front
TOPICS: Final = (
    *("ids", "other", "null", "batch", "compressed", "two ids", "null first"),
    *("inline", "separated", "string key", "chunks"),
)
ONE: Final = {"type": "record", "name": "One", "fields": [{"name": "a", "type": "int"}]}
TWO: Final = {
    "type": "record",
    "name": "Two",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}],
}
ID_1, ID_2 = bytes.fromhex("0000000001"), bytes.fromhex("0000000002")
GUID = bytes.fromhex("01897917622336186f9674180ca802d4d1")
SCHEMAS: Final[dict[bytes, dict[str, Any]]] = {ID_1: ONE, ID_2: TWO, GUID: ONE}


@cache
def golden() -> dict[tuple[str, str], tuple[bytes, ...]]:
    """The entries by client and topic."""
    lines = map(json.loads, GOLDEN.read_text().splitlines())
    return {(line["client"], line["topic"]): tuple(map(base64.b64decode, line["entries"])) for line in lines}
