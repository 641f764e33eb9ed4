"""Consuming for ``decode``: the messages of a topic from a place on, up to its present end or for as long as wanted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import Consumer, Message, TopicPartition

from streamnative_serdes._kafka import ASSIGNED, ClientErrors, RangeReader, ask, bounds_of, client

from .failures import REFUSED, USAGE, FailureError

_PATIENCE: Final = 30.0  # seconds without any progress before the end is reached
_REFUSAL_SECONDS: Final = 2.0  # in which a broker refuses to let an empty partition be read
_MOST: Final = 500  # messages at once

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
        self._consumer = client(Consumer, {"group.id": "streamnative-serdes", **kafka, **ASSIGNED}, topic, self._errors)

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
        reader = RangeReader(self._consumer, self._errors, self._topic, _PATIENCE, beyond=follow, stable=True)
        places = self._offsets(start, bounds)
        reader.start({partition: [(place, bounds[partition][1])] for partition, place in places.items()})
        while follow or reader.left:
            yield from reader.take(1 if follow else _MOST)

    def reach_end(self) -> int:
        """Fetch the end of the first partition, which needs the right to consume; returns the topic's offsets.

        In an empty partition of a broker that sends no ends, as KoP, what is not refused at once is permitted.

        Raises:
            KafkaException: the broker refuses.
            BrokerUnavailableError: it does not answer.
        """
        bounds = {partition: self._bounds(partition) for partition in self._partitions((), Start())}
        first = min(bounds)
        low, high = bounds[first]
        reader = RangeReader(self._consumer, self._errors, self._topic, _PATIENCE, beyond=low == high, stable=True)
        reader.start({first: [(max(low, high - 1), high)]})
        until = time.monotonic() + _REFUSAL_SECONDS
        while reader.left or (low == high and time.monotonic() < until):
            reader.take(1)
        return sum(high - low for low, high in bounds.values())

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
        return bounds_of(self._consumer, self._errors, self._topic, partition)

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
