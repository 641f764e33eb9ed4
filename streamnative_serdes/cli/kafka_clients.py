"""Kafka's clients of the commands: the messages of a topic from a place on, and the delivery of messages."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import KafkaException, Message

from streamnative_serdes._kafka import (
    Range,
    RefusedMessageError,
    Sender,
    TopicConsumer,
    kafka_errors,
    listed,
    metadata,
    require_producer_ids,
)

from .message_json import Line
from .output import REFUSED, USAGE, FailureError

_PATIENCE: Final = 30.0  # seconds without any progress before the end is reached
_REFUSAL_SECONDS: Final = 2.0  # in which a broker refuses to let an empty partition be read
_MOST: Final = 500  # messages at once

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

Kind: TypeAlias = Literal["beginning", "end", "offset", "last", "time"]


@dataclass(frozen=True, slots=True)
class Start:
    """The place to begin at in each partition; ``number`` is an offset, a number of last messages, or milliseconds."""

    kind: Kind = "beginning"
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Start:
        """``beginning``, ``end``, an offset, ``-N`` for the last N messages, ``-10m`` for ten minutes ago, or a time.

        Ages are in s, m, h or d; times are as in ISO 8601. Raises ValueError.
        """
        if text in ("beginning", "end"):
            return cls("beginning" if text == "beginning" else "end")
        if re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
            return cls("last", -int(text)) if text.startswith("-") else cls("offset", int(text))
        if age := re.fullmatch(r"-([0-9]{1,9})([smhd])", text, re.ASCII):
            return cls("time", int((time.time() - int(age[1]) * _UNITS[age[2]]) * 1000))
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(
                "beginning, end, an offset, -N, an age such as -10m, or a time such as 2026-11-23T13:45:00Z"
            ) from None
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return cls("time", int(aware.timestamp() * 1000))


def consumed(
    kafka: Mapping[str, Any], topic: str, start: Start, partitions: Sequence[int] = (), *, follow: bool = False
) -> Generator[Message, None, None]:
    """Yield the messages of a topic, in order within each partition, to the present ends unless ``follow`` is set."""
    with TopicConsumer(kafka, topic, _PATIENCE, committed=False) as consumer:
        bounds = consumer.bounds(_chosen(consumer, topic, partitions, start))
        places = _offsets(consumer, start, bounds)
        ranges = {partition: [(place, bounds[partition][1])] for partition, place in places.items()}
        reader = consumer.reader(ranges, beyond=follow)
        while follow or reader.left:
            yield from reader.take(1 if follow else _MOST)


def reach_end(kafka: Mapping[str, Any], topic: str) -> int:
    """Fetch the end of the first partition, which needs the right to consume; returns the topic's offsets.

    In an empty partition of a broker that sends no ends, such as KoP, a fetch that is not refused at once is permitted.
    """
    with TopicConsumer(kafka, topic, _PATIENCE, committed=False) as consumer:
        bounds = consumer.bounds(_chosen(consumer, topic, (), Start()))
        first = min(bounds)
        low, high = bounds[first]
        reader = consumer.reader({first: [(max(low, high - 1), high)]}, beyond=low == high)
        until = time.monotonic() + _REFUSAL_SECONDS
        while reader.left or (low == high and time.monotonic() < until):
            reader.take(1)
        return sum(high - low for low, high in bounds.values())


def _chosen(consumer: TopicConsumer, topic: str, asked: Sequence[int], start: Start) -> Sequence[int]:
    found = consumer.listed()
    if not found:
        raise FailureError(f"the broker does not have topic {topic}", REFUSED, topic=topic)
    missing = sorted(set(asked) - set(found))
    if missing:
        raise FailureError(f"topic {topic} has no partition {missing[0]}", USAGE, topic=topic)
    chosen = sorted(set(asked)) or found
    if start.kind == "offset" and len(chosen) > 1:
        raise FailureError(f"an offset is one of a partition, and {len(chosen)} are read: add --partition", USAGE)
    return chosen


def _offsets(consumer: TopicConsumer, start: Start, bounds: Mapping[int, Range]) -> dict[int, int]:
    if start.kind == "time":
        found = consumer.offsets_at(start.number, bounds)
        return {partition: place if place >= 0 else bounds[partition][1] for partition, place in found.items()}
    found = {}
    for partition, (low, high) in bounds.items():
        if start.kind == "offset" and not low <= start.number <= high:
            raise FailureError(f"partition {partition} has offsets {low} to {high}, not {start.number}", USAGE)
        choices = {"beginning": low, "end": high, "offset": start.number, "last": max(low, high - start.number)}
        found[partition] = choices[start.kind]
    return found


class Outbox:
    """Sends messages to a topic, and counts what the broker has confirmed. Raises ConfigError."""

    def __init__(self, kafka: dict[str, Any], topic: str) -> None:
        require_producer_ids(kafka, topic)
        self._kafka, self._topic, self._sender = kafka, topic, Sender(kafka, topic, _PATIENCE)

    @property
    def delivered(self) -> Counter[int]:
        return Counter({partition: count for (_, partition), count in self._sender.counts.items()})

    def require_topic(self) -> None:
        """Raise FailureError if the topic does not exist: the broker would create it with settings nobody chose."""
        found = metadata(self._sender.client, self._sender.errors).topics.get(self._topic)
        if (found is None or found.error is not None) and not listed(self._kafka, self._topic):
            raise FailureError(
                f"the broker does not have topic {self._topic}", REFUSED, hint="--create lets it make one"
            )

    def send(self, line: Line, value: bytes | None) -> None:
        """Send a message; it is confirmed later. Raises FailureError if the broker refused an earlier message."""
        where = {name: part for name in ("partition", "timestamp") if (part := getattr(line, name)) is not None}
        hint = "--any-partition lets keys choose the partition" if line.partition is not None else None
        with self._failing(hint):
            self._sender.send(self._topic, value=value, key=line.key, headers=list(line.headers), **where)

    def finish(self) -> None:
        with self._failing():
            self._sender.flush()

    @contextmanager
    def _failing(self, hint: str | None = None) -> Iterator[None]:
        def meaning(error: KafkaException) -> Exception:
            return FailureError(f"Kafka: {error.args[0].str()}", REFUSED, topic=self._topic, hint=hint)

        try:
            with kafka_errors(meaning):
                yield
        except RefusedMessageError as error:
            raise FailureError(error.message, REFUSED, topic=self._topic, hint=error.hint) from error
