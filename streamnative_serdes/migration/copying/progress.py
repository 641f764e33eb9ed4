"""The progress of a copy: messages of a compacted topic beside the target, one for each partition, and anchors.

::

    key     {"source": "orders@CLUSTER", "partition": 0}
    value   {"next": 81234, "copied": 81200, "bad": 34, "last": [81233, 81199], "places": false}

    key     {"source": "orders@CLUSTER", "partition": 0, "anchor": 80000}
    value   {"target": 79966}

``next`` is the source's offset to go on with. With transactions it is written in the transaction of the messages before
it, so both are there or neither. ``last`` is the last message that was copied: its offset in the source, and that of
its copy in the target. An anchor is such a pair too; there is one for every 10,000 messages or more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Message

from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.topics import committed_messages

SUFFIX: Final = ".migration-state"
_MEMBERS: Final = (  # of key and value
    ({"source", "partition"}, {"next", "copied", "bad", "last", "places"}),
    ({"source", "partition", "anchor"}, {"target"}),
)


@dataclass(slots=True)
class Progress:
    """How far one partition has been copied.

    Args:
        next: the source's offset to go on with.
        copied: messages copied so far.
        bad: messages that went to the dead letters so far.
        last: offset of the last message that was copied, and that of its copy; None before the first.
        places: whether the copies have a header with their place in the source, since there are no transactions.
        anchors: source offset -> target offset of some copies, oldest first.
    """

    next: int
    copied: int = 0
    bad: int = 0
    last: tuple[int, int] | None = None
    places: bool = False
    anchors: list[tuple[int, int]] = field(default_factory=list)


class ProgressTopic:
    """Reads and words the progress of one source's copy to one target.

    Args:
        kafka: options of the Kafka client of the target's side.
        target: the target topic.
        source: what tells the source from others: topic and cluster; None to read that of any.
    """

    def __init__(self, kafka: Mapping[str, Any], target: str, source: str | None) -> None:
        self.name, self._kafka, self._source = f"{target}{SUFFIX}", dict(kafka), source

    def read(self) -> dict[int, Progress]:
        """The progress of each partition that has any.

        Raises:
            SerdesError: the topic has the progress of another source, or other messages.
            BrokerUnavailableError: no broker answers.
            KafkaException: the broker refuses.
        """
        found: dict[int, Progress] = {}
        anchors: dict[int, dict[int, int]] = {}
        for message in committed_messages(self._kafka, self.name):
            key, value = self._parsed(message)
            partition = int(key["partition"])
            if "anchor" in key:
                anchors.setdefault(partition, {})[int(key["anchor"])] = int(value["target"])
            else:
                last = value["last"]
                found[partition] = Progress(**{**value, "last": None if last is None else (int(last[0]), int(last[1]))})
        for partition, progress in found.items():
            progress.anchors = sorted(anchors.get(partition, {}).items())
        return found

    def _parsed(self, message: Message) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            key, value = json.loads(message.key() or b""), json.loads(message.value() or b"")
            if (set(key), set(value)) not in _MEMBERS:
                raise ValueError("members are missing, or there are others")
        except (ValueError, TypeError) as error:
            raise SerdesError(
                f"topic {self.name}, offset {message.offset()}: expected the progress of a migration: {error}",
                hint="another program has written to it",
            ) from None
        if self._source is not None and key["source"] != self._source:
            raise SerdesError(
                f"the target already has copies of {key['source']!s:.200}, and this source is {self._source}",
                hint=f"choose another target; or, if these copies are gone, delete the topic {self.name}",
            )
        return key, value

    def words(self, partition: int, progress: Progress) -> tuple[bytes, bytes]:
        """Key and value of the message for this progress."""
        value = {name: getattr(progress, name) for name in ("next", "copied", "bad", "last", "places")}
        return self._key(partition), json.dumps(value).encode()

    def anchor_words(self, partition: int, source: int, target: int) -> tuple[bytes, bytes]:
        """Key and value of the message for an anchor."""
        return self._key(partition, anchor=source), json.dumps({"target": target}).encode()

    def _key(self, partition: int, **more: int) -> bytes:
        return json.dumps({"source": self._source, "partition": partition, **more}).encode()
