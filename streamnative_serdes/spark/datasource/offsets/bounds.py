"""The topics to read, and the bounds of reading: Spark's options, parsed but not yet looked up at the brokers.

Source: Spark's KafkaSourceProvider, ConsumerStrategy and JsonUtils.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from streamnative_serdes._kafka import EARLIEST, LATEST
from streamnative_serdes.errors import ConfigError
from streamnative_serdes.spark.datasource.user_options.names import ENDS, STARTS, STRATEGIES
from streamnative_serdes.spark.datasource.user_options.options import Options

Place: TypeAlias = tuple[str, int]  # a topic and the number of one of its partitions
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_MOST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics to read: named topics, topics that match a pattern, or some partitions."""

    names: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: frozenset[Place] | None = None

    @classmethod
    def of(cls, options: Options) -> Topics:
        """The topics of the option ``assign``, ``subscribe`` or ``subscribePattern``."""
        given = options.given(STRATEGIES)
        if len(given) != 1:
            found = f"got {' and '.join(given)}" if given else "got none of them"
            raise ConfigError(
                f"expected one of the options {', '.join(STRATEGIES)}, {found}", hint='.option("subscribe", "orders")'
            )
        value = (options.text(given[0]) or "").strip()
        if given[0] == "assign":
            places = _assigned(value)
            return cls(tuple(sorted({topic for topic, _ in places})), assigned=places)
        if given[0] == "subscribe":
            names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
            if not names:
                raise ConfigError(f"subscribe: expected names of topics with commas between them, got {value!r:.80}")
            return cls(names)
        return cls(pattern=_pattern(value))

    @property
    def shown(self) -> str:
        """The topics, for errors of the client."""
        return self.pattern or ",".join(self.names)[:200]

    def matches(self, topic: str) -> bool:
        """Whether the topic is to be read."""
        return topic in self.names if self.pattern is None else re.fullmatch(self.pattern, topic) is not None

    def chooses(self, place: Place) -> bool:
        """Whether the partition is to be read."""
        return self.matches(place[0]) if self.assigned is None else place in self.assigned


def _pattern(value: str) -> str:
    if not value:
        raise ConfigError("subscribePattern: expected a regular expression, got an empty text")
    try:
        re.compile(value)
    except re.error as error:
        raise ConfigError(
            f"subscribePattern: {value!r:.200} is not a regular expression of Python: {error}",
            hint="Java has a few constructs that Python lacks, such as \\p{Alpha}",
        ) from None
    return value


def _assigned(value: str) -> frozenset[Place]:
    example = '{"orders": [0, 1]}'
    tree = _json("assign", value, example)
    for topic, partitions in tree.items():
        if not isinstance(partitions, list) or not partitions or not all(is_whole(each) for each in partitions):
            raise ConfigError(f"assign: expected numbers of partitions, such as {example}, got {partitions!r:.80}")
        if len(set(partitions)) < len(partitions):
            raise ConfigError(f"assign: topic {topic} has a partition twice: {partitions!r:.80}")
    if not tree:
        raise ConfigError(f"assign: expected partitions, such as {example}, got none")
    return frozenset((topic, partition) for topic, partitions in tree.items() for partition in partitions)


@dataclass(frozen=True, slots=True)
class Bound:
    """The start or the end of reading; exactly one of ``everywhere``, ``offsets``, ``time`` and ``times`` is set."""

    option: str  # the name of the option, for errors
    everywhere: int | None = None  # EARLIEST or LATEST, of all partitions
    offsets: Mapping[Place, int] | None = None  # of each partition; EARLIEST and LATEST are possible too
    time: int | None = None  # in milliseconds since 1970, of all partitions
    times: Mapping[Place, int] | None = None  # of each partition
    # if no message is as new as the time: ``error``, or start at the ``latest`` offset
    no_match: Literal["error", "latest"] = "error"

    @property
    def by_time(self) -> bool:
        return self.time is not None or self.times is not None

    def may_be_latest(self, place: Place) -> bool:
        """Whether the bound may stand for the partition's latest offset, which changes with time."""
        if self.by_time:
            return self.no_match == "latest"
        return (self.everywhere if self.offsets is None else self.offsets.get(place)) == LATEST


def start_of(options: Options, *, stream: bool) -> Bound:
    """The start of reading: by default, the earliest offsets for a batch, and the latest offsets for a stream."""
    no_match = options.one_of("startingOffsetsByTimestampStrategy", "error", "latest", default="error")
    bound = _bound(options, STARTS, LATEST if stream else EARLIEST, "latest" if no_match == "latest" else "error")
    if not stream:
        _refuse(bound, LATEST, "latest", "start")
    return bound


def end_of(options: Options) -> Bound:
    """The end of a batch: by default, the latest offsets."""
    bound = _bound(options, ENDS, LATEST, "latest")
    _refuse(bound, EARLIEST, "earliest", "end")
    return bound


def refuse_ends(options: Options) -> None:
    """Raises ConfigError if an option says where a stream ends."""
    for name in options.given(ENDS):
        raise ConfigError(
            f"the option {name} has no meaning for a stream",
            hint="read a batch, or use Trigger.AvailableNow, which ends where the topics end at its start",
        )


def _bound(options: Options, names: tuple[str, ...], otherwise: int, no_match: Literal["error", "latest"]) -> Bound:
    """The bound by Spark's precedence: a time for all partitions, then times of each partition, then offsets."""
    offsets, time, times = names
    given = options.whole(time, 0)
    if given is not None:
        return Bound(time, time=given, no_match=no_match)
    value = options.text(times)
    if value is not None:
        return Bound(times, times=_of_places(times, value, least=0), no_match=no_match)
    value = options.text(offsets)
    if value is None:
        return Bound(offsets, everywhere=otherwise)
    if value.strip().lower() in _WORDS:
        return Bound(offsets, everywhere=_WORDS[value.strip().lower()])
    return Bound(offsets, offsets=_of_places(offsets, value, least=EARLIEST))


def _refuse(bound: Bound, refused: int, word: str, verb: str) -> None:
    if bound.everywhere == refused:
        raise ConfigError(f"{bound.option}: a batch cannot {verb} at the {word} offsets")
    for (topic, partition), offset in (bound.offsets or {}).items():
        if offset == refused:
            raise ConfigError(
                f"{bound.option}: a batch cannot {verb} at the {word} offset ({refused}) of partition {partition}",
                topic=topic,
            )


def _of_places(option: str, value: str, least: int) -> dict[Place, int]:
    example = '{"orders": {"0": 23, "1": -2}}' if least < 0 else '{"orders": {"0": 1700000000000}}'
    found: dict[Place, int] = {}
    for topic, partitions in _json(option, value, example).items():
        if not isinstance(partitions, dict):
            raise ConfigError(f"{option}: expected JSON such as {example}, got {partitions!r:.80} for topic {topic}")
        for partition, number in partitions.items():
            if not re.fullmatch(r"\d{1,9}", partition, re.ASCII) or not is_whole(number, least):
                raise ConfigError(f"{option}: expected JSON such as {example}, got {partition!r:.40}: {number!r:.40}")
            found[topic, int(partition)] = number
    if not found:
        raise ConfigError(f"{option}: expected JSON such as {example}, got no partition")
    return found


def _json(option: str, value: str, example: str) -> dict[str, Any]:
    try:
        tree = json.loads(value, object_pairs_hook=_unique(option))
    except (json.JSONDecodeError, RecursionError):
        tree = None
    if not isinstance(tree, dict):
        words = " earliest, latest, or" if option in ("startingOffsets", "endingOffsets") else ""
        raise ConfigError(f"{option}: expected{words} JSON such as {example}, got {value!r:.80}")
    return tree


def _unique(option: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            names = [name for name, _ in found]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"{option}: {twice!r:.80} is there twice")
        return made

    return pairs


def is_whole(given: object, least: int = 0) -> bool:
    """Whether ``given`` is an integer of 64 bits, not below ``least``."""
    return isinstance(given, int) and not isinstance(given, bool) and least <= given <= _MOST
