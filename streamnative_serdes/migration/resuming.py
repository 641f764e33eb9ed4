"""Where to go on: the progress that was committed, or without transactions the last copies in the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from confluent_kafka import Message

from streamnative_serdes.errors import ConfigError, SerdesError

from .dead_letters import SUFFIX, DeadLetter
from .messages import PLACE, Rules
from .progress import Progress, ProgressTopic
from .topics import bounds, committed_messages

_WINDOW: Final = 200  # messages at the end of a partition to look at first
_SETTLED_SECONDS: Final = 1.0

Places: TypeAlias = dict[int, int]  # partition -> offset


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a topic is copied.

    Args:
        rules: for the parts of messages.
        transactions: exactly once, with transactions; otherwise copies carry their place in a header.
        follow: go on at the end of the source, until told to stop.
        dead_letters: the file for messages that cannot be copied; None for the topic TARGET.dead-letters.
        start: offsets of the source to begin with, by partition, if nothing was copied before; the first by default.
        append: copy to a target that has messages already, though none of them are copies.
    """

    rules: Rules = field(default_factory=Rules)
    transactions: bool = True
    follow: bool = False
    dead_letters: Path | None = None
    start: Mapping[int, int] = field(default_factory=dict)
    append: bool = False


def find_places(
    kafka: Mapping[str, Any], target: str, partitions: Sequence[int], known: Mapping[int, Progress], wishes: Wishes
) -> tuple[Places, Places]:
    """The source's offsets to go on with, and those of the last dead letters that need not be sent again.

    Args:
        kafka: options of the Kafka client of the target's side.
        target: the target topic.
        partitions: of the source.
        known: the progress that was committed.
        wishes: how the topic is to be copied.

    Raises:
        SerdesError: there is no target, it has other partitions than the source, or messages that are no copies.
        ConfigError: the copy was begun with transactions and is to go on without, or the other way round.
    """
    there = bounds(kafka, target)
    if sorted(there) != sorted(partitions):
        counts = f"expected {len(partitions)} partitions as in the source, got {len(there)}"
        hint = (
            "create it with as many partitions: `migrate plan --create` does" if not there else "choose another target"
        )
        raise SerdesError(f"the target is not fit for the copies: {counts}", topic=target, hint=hint)
    if any(progress.places == wishes.transactions for progress in known.values()):
        begun = "without" if wishes.transactions else "with"
        hint = f"go on with --transactions {'off' if wishes.transactions else 'on'}"
        raise ConfigError(f"copying to topic {target} was begun {begun} transactions", hint=hint)
    safe: Places = {}
    places = {partition: progress.next for partition, progress in known.items()}
    if not wishes.transactions:
        places, safe = _by_the_last_copies(kafka, target, partitions, places)
    if not places and not wishes.append and any(low < high for low, high in there.values()):
        raise SerdesError(
            "the target has messages that are no copies", topic=target, hint="--append copies behind them"
        )
    return {**wishes.start, **places}, safe


def _by_the_last_copies(
    kafka: Mapping[str, Any], target: str, partitions: Sequence[int], known: Places
) -> tuple[Places, Places]:
    _settle(kafka, target)
    places, safe = dict(known), {}
    for partition in partitions:
        copied = last_offset(kafka, target, partition, _place)
        if copied is not None:
            places[partition] = max(places.get(partition, 0), copied + 1)
        letter = last_offset(kafka, f"{target}{SUFFIX}", partition, _letter)
        if letter is not None:
            safe[partition] = letter
    return places, safe


def _settle(kafka: Mapping[str, Any], topic: str) -> None:
    """Wait until no more messages arrive that a process that was killed has sent."""
    before = bounds(kafka, topic)
    time.sleep(_SETTLED_SECONDS)
    while (now := bounds(kafka, topic)) != before:
        before = now
        time.sleep(_SETTLED_SECONDS)


def last_offset(
    kafka: Mapping[str, Any], topic: str, partition: int, offset_of: Callable[[Message], int | None]
) -> int | None:
    """The offset that the last message of a partition names, looked for from its end; None if no message names one."""
    low, high = bounds(kafka, topic).get(partition, (0, 0))
    window, end = _WINDOW, high
    while end > low:
        start, found = max(low, end - window), None
        for message in committed_messages(kafka, topic, {partition: start}):
            named = offset_of(message)
            found = named if named is not None else found
        if found is not None:
            return found
        window, end = window * 4, start
    return None


def _place(message: Message) -> int | None:
    headers: Any = message.headers() or ()
    text = next((data for name, data in headers if name == PLACE), None)
    if text is None:
        return None
    partition, _, offset = text.decode("ascii", "replace").partition(":")
    return int(offset) if partition == str(message.partition()) and offset.isdigit() else None


def _letter(message: Message) -> int | None:
    letter = DeadLetter.read(message)
    return letter.offset if letter is not None else None


def behind_copies(kafka: Mapping[str, Any], topic: str) -> Places:
    """The offsets behind the last copies in ``topic``, by partition: where the way back begins.

    Raises:
        SerdesError: nothing was copied to it.
    """
    known = ProgressTopic(kafka, topic, None).read()
    found = {partition: progress.last[1] + 1 for partition, progress in known.items() if progress.last is not None}
    if not found:
        raise SerdesError("nothing was copied to this topic", topic=topic, hint="--from beginning copies all of it")
    return found
