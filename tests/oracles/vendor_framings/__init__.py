"""Messages in the framings of Apicurio, AWS Glue and Azure that the vendors' own serializers have written.

golden.jsonl: ``writer`` with its version, ``framing`` (the value of the option that reads it), ``use_id`` (the value of
``apicurio.registry.use-id`` that it needs; mostly none), ``datum``, ``message`` and ``headers`` (hex). Written by:

- ``Apicurio.java`` with the jars of ``io.apicurio:apicurio-registry-serdes-avro-serde:2.6.13.Final``, and then with
  those of ``io.apicurio:apicurio-registry-avro-serde-kafka:3.1.7``, by one registry 2.6.13 (``servers`` starts one);
- ``Glue.java`` with the jars of ``software.amazon.glue:schema-registry-serde:1.1.25``;
- ``vendors.py``, which names its packages.

Ivy of pyspark's jars retrieves each of these with its dependencies (configuration ``default->runtime,master``).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

GOLDEN: Final = Path(__file__).with_name("golden.jsonl")
SCHEMA: Final = {
    "type": "record",
    "name": "Order",
    "namespace": "org.example",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}],
}
# What the writers name the schema with.
GLOBAL_ID: Final = 2
CONTENT_ID: Final = 1
AZURE_ID: Final = "a0b1c2d3e4f5061728394a5b6c7d8e9f"
GLUE_ID: Final = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"


class Written(NamedTuple):
    """One line of golden.jsonl."""

    writer: str
    framing: str
    use_id: str | None
    datum: dict[str, Any]
    message: bytes
    headers: list[tuple[str, bytes]]


@cache
def golden() -> tuple[Written, ...]:
    """All messages."""
    return tuple(_written(json.loads(line)) for line in GOLDEN.read_text().splitlines())


def _written(tree: dict[str, Any]) -> Written:
    headers = [(name, bytes.fromhex(value)) for name, value in tree["headers"]]
    message = bytes.fromhex(tree["message"])
    return Written(tree["writer"], tree["framing"], tree.get("use_id") or None, tree["datum"], message, headers)
