"""Consuming for ``decode``: the messages of a topic from a place on, up to its present end or for as long as wanted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import Consumer, Message, TopicPartition

from streamnative_serdes._kafka import ClientErrors, ask, client, concerns_the_group, is_end

from .failures import REFUSED, USAGE, FailureError

_POLL_SECONDS: Final = 0.2  # so often Ctrl-C is noticed
_PATIENCE: Final = 30.0  # seconds without any message before the end is reached
# The client requires a group; partitions are assigned by hand, and no offset is committed.
_CONF: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # not to skip messages silently
}

Kind: TypeAlias = Literal["beginning", "end", "offset", "last", "time"]


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin in each partition; ``number`` is an offset, how many of the last messages, or milliseconds."""

    kind: Kind = "beginning"
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Start:
        """``beginning``, ``end``, an offset, ``-N`` for the last N messages, or an ISO 8601 time.

        Raises:
            ValueError: it is something else.
        """
        if text in ("beginning", "end"):
            return cls("beginning" if text == "beginning" else "end")
        if re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
            return cls("last", -int(text)) if text.startswith("-") else cls("offset", int(text))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError("beginning, end, an offset, -N or a time such as 2026-11-23T13:45:00Z") from None
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return cls("time", int(aware.timestamp() * 1000))


class TopicConsumer:
    """Consumes a topic; use it as a context manager.

    Args:
        kafka: options of the Kafka client.
        topic: the topic.

    Raises:
        ConfigError: the client refuses its options.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self._topic, self._errors = topic, ClientErrors(kafka, topic)
        self._consumer = client(Consumer, {"group.id": "streamnative-serdes", **kafka, **_CONF}, topic, self._errors)

    def __enter__(self) -> TopicConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def messages(self, start: Start, partitions: Sequence[int] = (), *, follow: bool = False) -> Iterator[Message]:
        """Yield messages: partition by partition in order, and up to the ends of now unless ``follow`` is set.

        Raises:
            FailureError: the topic, a partition or an offset does not exist.
            BrokerUnavailableError: no broker answers.
            KafkaException: the broker refuses.
        """
        bounds = {partition: self._bounds(partition) for partition in self._partitions(partitions, start)}
        offsets = self._offsets(start, bounds)
        self._consumer.assign([TopicPartition(self._topic, partition, offset) for partition, offset in offsets.items()])
        left = {partition for partition, offset in offsets.items() if offset < bounds[partition][1]}
        heard = time.monotonic()
        while follow or left:
            message = self._consumer.poll(_POLL_SECONDS)
            if message is not None and not concerns_the_group(message):
                heard = time.monotonic()
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                at_end = is_end(message)
                if not at_end and (follow or offset < bounds[partition][1]):
                    yield message
                if at_end or offset + 1 >= bounds[partition][1]:
                    left.discard(partition)
            elif not follow and time.monotonic() - heard > _PATIENCE:
                raise self._errors.error(_PATIENCE)

    def reach_end(self) -> int:
        """Fetch at the end of the first partition, which needs the right to consume; returns the topic's offsets.

        Raises:
            KafkaException: the broker refuses.
            BrokerUnavailableError: it does not answer.
        """
        bounds = {partition: self._bounds(partition) for partition in self._partitions((), Start())}
        first = min(bounds)
        self._consumer.assign([TopicPartition(self._topic, first, bounds[first][1])])
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            message = self._consumer.poll(_POLL_SECONDS)
            if message is not None and (is_end(message) or message.error() is None):
                return sum(high - low for low, high in bounds.values())
        raise self._errors.error(_PATIENCE)

    def _partitions(self, asked: Sequence[int], start: Start) -> Sequence[int]:
        listed = ask(self._consumer, self._errors, lambda seconds: self._consumer.list_topics(timeout=seconds))
        found = listed.topics.get(self._topic)
        if found is None or found.error is not None:
            raise FailureError(f"the broker does not have topic {self._topic}", REFUSED, topic=self._topic)
        missing = sorted(set(asked) - set(found.partitions))
        if missing:
            raise FailureError(f"topic {self._topic} has no partition {missing[0]}", USAGE, topic=self._topic)
        chosen = sorted(set(asked)) or sorted(found.partitions)
        if start.kind == "offset" and len(chosen) > 1:
            raise FailureError(f"an offset is one of a partition, and {len(chosen)} are read: add --partition", USAGE)
        return chosen

    def _bounds(self, partition: int) -> tuple[int, int]:
        """The first offset that the broker has, and that of the next message."""
        where = TopicPartition(self._topic, partition)
        low, high = ask(
            self._consumer, self._errors, lambda seconds: self._consumer.get_watermark_offsets(where, timeout=seconds)
        )
        return int(low), int(high)

    def _offsets(self, start: Start, bounds: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        if start.kind == "time":
            return self._offsets_at(start.number, bounds)
        found = {}
        for partition, (low, high) in bounds.items():
            if start.kind == "offset" and not low <= start.number <= high:
                raise FailureError(f"partition {partition} has offsets {low} to {high}, not {start.number}", USAGE)
            choices = {"beginning": low, "end": high, "offset": start.number, "last": max(low, high - start.number)}
            found[partition] = choices[start.kind]
        return found

    def _offsets_at(self, millis: int, bounds: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """The first offsets from that time on; the ends where there are no later messages."""
        asked = [TopicPartition(self._topic, partition, millis) for partition in bounds]
        found = ask(
            self._consumer, self._errors, lambda seconds: self._consumer.offsets_for_times(asked, timeout=seconds)
        )
        return {one.partition: one.offset if one.offset >= 0 else bounds[one.partition][1] for one in found}
