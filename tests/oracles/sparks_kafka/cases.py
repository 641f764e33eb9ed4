"""The queries that both sources run. ``{p}`` stands for the prefix of the run's topics."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from .topics import DAY, Topics


@dataclass(frozen=True)
class Case:
    """A batch."""

    name: str
    options: dict[str, str]


@dataclass(frozen=True)
class Stream:
    """A stream that reads topic `s` up to its end, and once more after ``change``."""

    name: str
    options: dict[str, str]
    change: Callable[[Topics], None] = field(repr=False)


def at(topic: str, **offsets: int) -> str:
    return json.dumps({"{p}-" + topic: {partition.removeprefix("p"): offset for partition, offset in offsets.items()}})


def time_of(number: int) -> str:
    return str(DAY + number * 1000)


PLAIN = {"subscribe": "{p}-plain"}
GAPS = {"subscribe": "{p}-gaps"}
COMPACTED, COMPACTED_GAPS = {"subscribe": "{p}-compacted"}, {"subscribe": "{p}-compacted-gaps"}
COMMITTED = {"kafka.isolation.level": "read_committed"}
TRIMMED = {"subscribe": "{p}-trimmed"}
LATE = DAY + 10**9

BATCHES = [
    Case("subscribe", PLAIN),
    Case("subscribe two topics", {"subscribe": "{p}-plain, {p}-other"}),
    Case("subscribe a topic that is not there", {"subscribe": "{p}-nothing"}),
    Case("subscribe an empty topic", {"subscribe": "{p}-empty"}),
    Case("assign", {"assign": '{"{p}-plain": [0, 2]}'}),
    Case("assign a partition that is not there", {"assign": '{"{p}-plain": [7]}'}),
    Case("subscribePattern", {"subscribePattern": "{p}-(plain|other|empty)"}),
    Case("subscribePattern that matches nothing", {"subscribePattern": "{p}-x.*"}),
    Case("includeHeaders", {**PLAIN, "includeHeaders": "true"}),
    Case("startingOffsets", {**PLAIN, "startingOffsets": at("plain", p0=10, p1=-2, p2=40)}),
    Case("startingOffsets without a partition", {**PLAIN, "startingOffsets": at("plain", p0=10)}),
    Case("startingOffsets latest", {**PLAIN, "startingOffsets": "latest"}),
    Case("endingOffsets", {**PLAIN, "endingOffsets": at("plain", p0=10, p1=-1, p2=0)}),
    Case("endingOffsets before startingOffsets",
         {**PLAIN, "startingOffsets": at("plain", p0=30, p1=0, p2=0), "endingOffsets": at("plain", p0=10, p1=5, p2=5)}),
    Case("endingOffsets earliest", {**PLAIN, "endingOffsets": "earliest"}),
    Case("startingTimestamp", {**PLAIN, "startingTimestamp": time_of(50)}),
    Case("startingTimestamp that no message has", {**PLAIN, "startingTimestamp": str(LATE)}),
    Case("startingTimestamp that no message has, strategy latest",
         {**PLAIN, "startingTimestamp": str(LATE), "startingOffsetsByTimestampStrategy": "latest"}),
    Case("startingTimestamp wins over startingOffsets",
         {**PLAIN, "startingTimestamp": time_of(50), "startingOffsets": at("plain", p0=0, p1=0, p2=0)}),
    Case("endingTimestamp", {**PLAIN, "endingTimestamp": time_of(50)}),
    Case("endingTimestamp that no message has", {**PLAIN, "endingTimestamp": str(LATE)}),
    Case("startingOffsetsByTimestamp",
         {**PLAIN, "startingOffsetsByTimestamp": json.dumps({"{p}-plain": {"0": DAY + 9000, "1": DAY, "2": DAY + 1}})}),
    Case("endingOffsetsByTimestamp",
         {**PLAIN, "endingOffsetsByTimestamp": json.dumps({"{p}-plain": {"0": DAY + 9000, "1": DAY, "2": LATE}})}),
    Case("minPartitions", {**PLAIN, "minPartitions": "7"}),
    Case("maxRecordsPerPartition", {**PLAIN, "maxRecordsPerPartition": "15"}),
    Case("minPartitions and maxRecordsPerPartition",
         {"subscribe": "{p}-plain,{p}-other", "minPartitions": "11", "maxRecordsPerPartition": "25"}),
    Case("transactions, read_uncommitted (default)", GAPS),
    Case("transactions, read_committed", {**GAPS, **COMMITTED}),
    Case("transactions, read_committed, minPartitions", {**GAPS, **COMMITTED, "minPartitions": "5"}),
    Case("a compacted topic", COMPACTED),
    Case("a compacted topic, read_committed", {**COMPACTED, **COMMITTED}),
    Case("a compacted topic with transactions", COMPACTED_GAPS),
    Case("a compacted topic with transactions, read_committed", {**COMPACTED_GAPS, **COMMITTED}),
    Case("a topic whose first messages are gone", TRIMMED),
    Case("lost messages, failOnDataLoss true", {**TRIMMED, "startingOffsets": at("trimmed", p0=3)}),
    Case("lost messages, failOnDataLoss false",
         {**TRIMMED, "startingOffsets": at("trimmed", p0=3), "failOnDataLoss": "false"}),
    Case("kafka.auto.offset.reset", {**PLAIN, "kafka.auto.offset.reset": "latest"}),
    Case("two of assign, subscribe and subscribePattern", {**PLAIN, "subscribePattern": "x"}),
    Case("groupIdPrefix", {**PLAIN, "groupIdPrefix": "mine"}),
]  # fmt: skip

EARLIEST = {"subscribe": "{p}-s", "startingOffsets": "earliest"}


def more(topics: Topics) -> None:
    topics.send(f"{topics.prefix}-s", range(20, 30), 2)


def lose(topics: Topics) -> None:
    more(topics)
    topics.trim(f"{topics.prefix}-s", 12)


def grow(topics: Topics) -> None:
    topics.grow(f"{topics.prefix}-s", 3)
    topics.send(f"{topics.prefix}-s", range(20, 30), 3)


def add_topic(topics: Topics) -> None:
    more(topics)
    topics.send(topics.create("second", 1), range(5), 1)


def transact(topics: Topics) -> None:
    topics.transactions(f"{topics.prefix}-s")


STREAMS = [
    Stream("stream", EARLIEST, more),
    Stream("stream, startingOffsets latest (default)", {"subscribe": "{p}-s"}, more),
    Stream("stream, startingOffsets", {"subscribe": "{p}-s", "startingOffsets": at("s", p0=4, p1=-1)}, more),
    Stream("stream, startingTimestamp", {"subscribe": "{p}-s", "startingTimestamp": time_of(8)}, more),
    Stream("stream, a new partition", EARLIEST, grow),
    Stream("stream, a new topic of a pattern",
           {"subscribePattern": "{p}-(s|second)", "startingOffsets": "earliest"}, add_topic),
    Stream("stream, transactions, read_committed", {**EARLIEST, **COMMITTED}, transact),
    Stream("stream, lost messages, failOnDataLoss true", EARLIEST, lose),
    Stream("stream, lost messages, failOnDataLoss false", {**EARLIEST, "failOnDataLoss": "false"}, lose),
    Stream("stream, endingOffsets", {**EARLIEST, "endingOffsets": "latest"}, more),
]  # fmt: skip
