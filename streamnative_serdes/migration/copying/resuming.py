"""Where to go on: the progress that was committed, or without transactions the last copies in the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from confluent_kafka import Message

from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.migration.route import Route
from streamnative_serdes.migration.topics import bounds, committed_messages

from .dead_letters import SUFFIX, DeadLetter
from .identity import require_known
from .messages import PLACE, Rules
from .progress import Progress, ProgressTopic

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
        create: create the target if it is missing.
        settings: of a target that is created, in addition to the source's.
        accept: names of problems that are fine, such as ``not-empty``.
    """

    rules: Rules = field(default_factory=Rules)
    transactions: bool = True
    follow: bool = False
    dead_letters: Path | None = None
    start: Mapping[int, int] = field(default_factory=dict)
    create: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    accept: Collection[str] = ()


def require_same_mode(target: str, known: Mapping[int, Progress], wishes: Wishes) -> None:
    """Raises ConfigError if the copy was begun with transactions and is to go on without, or the other way round."""
    if any(progress.places == wishes.transactions for progress in known.values()):
        begun = "without" if wishes.transactions else "with"
        hint = f"go on with --transactions {'off' if wishes.transactions else 'on'}"
        raise ConfigError(f"copying to topic {target} was begun {begun} transactions", hint=hint)


def find_places(
    kafka: Mapping[str, Any], target: str, known: Mapping[int, Progress], wishes: Wishes
) -> tuple[Places, Places]:
    """The source's offsets to go on with, and those of the last dead letters that need not be sent again.

    Args:
        kafka: options of the Kafka client of the target's side.
        target: the target topic.
        known: the progress that was committed.
        wishes: how the topic is to be copied.

    Raises:
        ConfigError: the copy was begun with transactions and is to go on without, or the other way round.
    """
    require_same_mode(target, known, wishes)
    places = {partition: progress.next for partition, progress in known.items()}
    return (places, {}) if wishes.transactions else _by_the_last_copies(kafka, target, places)


def _by_the_last_copies(kafka: Mapping[str, Any], target: str, known: Places) -> tuple[Places, Places]:
    places, safe = dict(known), {}
    for partition in _settled(kafka, target):
        copied = last_offset(kafka, target, partition, _place)
        if copied is not None:
            places[partition] = max(places.get(partition, 0), copied + 1)
        letter = last_offset(kafka, f"{target}{SUFFIX}", partition, _letter)
        if letter is not None:
            safe[partition] = letter
    # Without any copy, the dead letters may be of a target that was deleted: better twice than not at all.
    return places, safe if places else {}


def _settled(kafka: Mapping[str, Any], topic: str) -> Iterable[int]:
    """The topic's partitions, once no more messages arrive that a process that was killed has sent."""
    before = bounds(kafka, topic)
    time.sleep(_SETTLED_SECONDS)
    while (now := bounds(kafka, topic)) != before:
        before = now
        time.sleep(_SETTLED_SECONDS)
    return now


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


def behind_copies(route: Route) -> Places:
    """The offsets behind the last copies in the source of a way back, by partition: where it begins.

    Raises:
        ChangedTopicError: the source was deleted, or deleted and created again, since it got the copies.
        SerdesError: nothing was copied to it.
    """
    topic, forth = route.source, replace(route, direction="forward", source=route.target, target=route.source)
    known = ProgressTopic(forth.writing.kafka, topic, None).read()
    require_known(forth, known, ["target"])
    found = {partition: progress.last[1] + 1 for partition, progress in known.items() if progress.last is not None}
    if not found:
        raise SerdesError("nothing was copied to this topic", topic=topic, hint="--from beginning copies all of it")
    return found
