"""Entries that a real KoP has stored in each of its formats, and the same messages as a Kafka consumer reads them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from java_entries import Topic, topic_of

FORMATS: Final = ("pulsar", "kafka", "mixed_kafka")
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
GOLDEN: Final = Path(__file__).parent / "golden.jsonl"


@cache
def golden() -> dict[str, Topic]:
    """All topics by name: ``FORMAT-CODEC``."""
    return {topic.name: topic for topic in map(topic_of, GOLDEN.read_text().splitlines())}
