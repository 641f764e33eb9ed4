"""Entries of topics that Pulsar's and Kafka's own classes have composed (Entries.java), and the messages in them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from streamnative_serdes.converters import Message

FOLDER: Final = Path(__file__).parent
PROGRAM: Final = FOLDER / "Entries.java"
GOLDEN: Final = FOLDER / "golden.jsonl"
_INDEX: Final = 6  # byte: after the magic and the size of BrokerEntryMetadata


@dataclass(frozen=True)
class Topic:
    """One line of golden.jsonl; Entries.java describes them."""

    name: str
    kafka: bool
    plain: bool
    entries: tuple[bytes, ...]
    counts: tuple[int, ...]  # of messages in each entry, as its producer says
    messages: tuple[Message, ...]  # their values as they are in the record, with our header
    committed: frozenset[int]  # offsets


@cache
def golden() -> dict[str, Topic]:
    """All topics by name."""
    return {topic.name: topic for topic in map(topic_of, GOLDEN.read_text().splitlines())}


def topic_of(line: str) -> Topic:
    tree = json.loads(line)
    messages = tuple(map(_message, tree["messages"]))
    return Topic(
        tree["topic"],
        tree["format"] == "kafka",
        tree["plain"],
        tuple(base64.b64decode(data) for data, _ in tree["entries"]),
        tuple(count for _, count in tree["entries"]),
        messages,
        frozenset(tree.get("committed", [message.offset for message in messages])),
    )


def sent(entry: bytes) -> bytes:
    """An entry as its producer sends it: without BrokerEntryMetadata."""
    return entry[_INDEX + int.from_bytes(entry[2:_INDEX]) :]


def changed(message: Message, **parts: object) -> Message:
    """The message with other parts."""
    names = ("value", "key", "headers", "timestamp", "offset", "schema_version", "producer_id", "transactional")
    return Message(**{name: getattr(message, name) for name in names} | parts)  # type: ignore[arg-type]


def _message(tree: dict[str, Any]) -> Message:
    return Message(
        _bytes(tree["value"]),
        key=_bytes(tree["key"]),
        headers=[(name, _bytes(value)) for name, value in tree["headers"]],
        timestamp=tree["timestamp"],
        offset=tree["offset"],
        schema_version=tree.get("version"),
        producer_id=tree.get("producer", -1),
        transactional=tree.get("transactional", False),
    )


def _bytes(shown: str | None) -> bytes | None:
    return None if shown is None else base64.b64decode(shown)
