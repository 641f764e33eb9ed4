"""The source's messages, read in part or whole, and their tally: number and first place of each kind, and schemas.

The tally has only counters, so a topic of any size can be counted. Windows of offsets are spread over each partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE, Message

from streamnative_serdes import header
from streamnative_serdes._kafka import Range, TopicConsumer, kafka_errors, place_of, refused
from streamnative_serdes._rewriting import (
    KEY_HEADER,
    BadMessageError,
    Direction,
    Headers,
    Name,
    Rewriter,
    confluent_name,
    is_text,
)

from .target import batch_size

Progress: TypeAlias = Callable[[int, int], None]  # takes how many offsets are done, and how many there are

MOST_WINDOWS: Final = 10  # per partition
_BATCH: Final = 500  # messages
_MEMORY: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 16_384}  # messages fetched ahead
MOST_NAMES: Final = 2_000  # distinct schemas that are counted each; more are counted together


def windows(low: int, high: int, count: int | None) -> list[Range]:
    """Ranges of at most ``count`` offsets: at the beginning, at the end, and evenly spaced between; None for all."""
    total = high - low
    if total <= 0 or count == 0:
        return []
    if count is None or total <= count:
        return [(low, high)]
    number = min(MOST_WINDOWS, count)
    size, rest = divmod(count, number)
    found, start = [], low
    for index in range(number):
        gaps = (total - count) * index // max(number - 1, 1)  # offsets that are left out before this window
        end = start + size + (index < rest)
        found.append((start + gaps, end + gaps))
        start = end
    return found


class Sample:
    """Messages of a topic that are committed; iterate over it once.

    Of each partition, ``count`` messages are read, or fewer if offsets have no message, as after compaction; None for
    all messages at present. ``progress`` is called after each batch.
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        topic: str,
        partitions: int,
        count: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._topic, self._partitions, self._count = topic, partitions, count
        self._progress = progress or (lambda _done, _total: None)
        self._kafka = kafka
        self.bounds: dict[int, Range] = {}  # of each partition, known after the first message

    def __iter__(self) -> Iterator[Message]:
        doing = partial(refused, f"read topic {self._topic}", None, self._topic)
        with kafka_errors(doing), TopicConsumer(self._kafka, self._topic, options=_MEMORY) as consumer:
            self.bounds = consumer.bounds(range(self._partitions))
            ranges = {partition: windows(*bounds, self._count) for partition, bounds in self.bounds.items()}
            reader = consumer.reader(ranges)
            total = reader.to_go()
            while reader.left:
                yield from reader.take(_BATCH)
                self._progress(total - reader.to_go(), total)


@dataclass(slots=True)
class Count:
    count: int = 0
    first: tuple[int, int] = (0, 0)

    def add(self, place: tuple[int, int]) -> None:
        if not self.count or place < self.first:
            self.first = place
        self.count += 1

    def tree(self) -> dict[str, Any]:
        return {"count": self.count, "first": list(self.first)}


@dataclass(slots=True)
class Names:
    """How often messages name each schema; ``more`` counts messages with names beyond the first ``MOST_NAMES``."""

    each: dict[Name, Count] = field(default_factory=dict)
    more: Count = field(default_factory=Count)

    def add(self, name: Name, place: tuple[int, int]) -> None:
        found = self.each.get(name)
        if found is None:
            found = self.each.setdefault(name, Count()) if len(self.each) < MOST_NAMES else self.more
        found.add(place)


class Tally:
    """Counts the messages of a migration's source; the direction decides how messages name their schemas."""

    def __init__(self, direction: Direction, rewriter: Rewriter | None = None) -> None:
        rewriter = rewriter or Rewriter(direction, {})
        self._names_of = rewriter.name_of
        self._forward, self._foreign = direction == "forward", rewriter.framings is not None
        self.messages = 0
        self.read: Counter[int] = Counter()  # messages by partition
        self.kinds: dict[str, Count] = {}
        self.names, self.key_names = Names(), Names()
        self.largest, self.largest_at = 0, (0, 0)
        self.oldest: int | None = None
        self.newest: int | None = None

    def add(self, message: Message) -> None:
        place = place_of(message)
        key: Any = message.key()
        value: Any = message.value()
        headers: Any = message.headers()
        self.messages += 1
        self.read[place[0]] += 1
        self._time(message, place)
        if headers:
            self._headers(headers, place)
        self._key(key, headers, place)
        self._value(value, headers, place)
        size = batch_size(key, value, headers)
        if size > self.largest or (size == self.largest and place < self.largest_at):
            self.largest, self.largest_at = size, place

    def counts(self) -> Mapping[str, dict[str, Any]]:
        return {kind: self.kinds[kind].tree() for kind in sorted(self.kinds)}

    def _note(self, kind: str, place: tuple[int, int]) -> None:
        self.kinds.setdefault(kind, Count()).add(place)

    def _time(self, message: Message, place: tuple[int, int]) -> None:
        kind, millis = message.timestamp()
        if kind == TIMESTAMP_NOT_AVAILABLE or millis <= 0:
            self._note("no_timestamp", place)
            return
        if kind == TIMESTAMP_LOG_APPEND_TIME:
            self._note("log_append_time", place)
        self.oldest = millis if self.oldest is None else min(self.oldest, millis)
        self.newest = millis if self.newest is None else max(self.newest, millis)

    def _headers(self, headers: list[tuple[str, bytes | None]], place: tuple[int, int]) -> None:
        self._note("with_headers", place)
        values = [data for _, data in headers]
        if None in values:
            self._note("null_headers", place)
        if b"" in values:
            self._note("empty_headers", place)
        if not all(data is None or data.isascii() or is_text(data) for data in values):
            self._note("raw_headers", place)
        if len(headers) > 1 and len(dict(headers)) < len(headers):
            self._note("repeated_headers", place)

    def _key(self, key: bytes | None, headers: Headers, place: tuple[int, int]) -> None:
        if not key:
            self._note("null_keys" if key is None else "empty_keys", place)
            return
        if self._foreign:  # keys are copied as they are
            return
        name = _name_of_key(key, headers) if self._forward else header.read(key)
        if name is not None:
            self.key_names.add(name, place)

    def _value(self, value: bytes | None, headers: Headers, place: tuple[int, int]) -> None:
        if value is None:
            self._note("tombstones", place)
            return
        if not value:
            self._note("empty_values", place)
        try:
            name, start = self._names_of(value, headers)
        except BadMessageError:
            self._note("no_framing", place)
            if self._forward and header.read(value) is not None:
                self._note("target_framing", place)
            return
        self._note("framed_in_value" if start else "framed_in_header", place)
        self.names.add(name, place)


def _name_of_key(key: bytes, headers: Headers) -> Name | None:
    """The schema's name in a key of Confluent's. A first byte 00 is no proof: the registry has to know the id."""
    try:
        return confluent_name(key, headers, KEY_HEADER)[0]
    except BadMessageError:
        return None
