"""The places where a stopped copy continues, if source and target are still the same topics.

A topic that was deleted and created again has the same name. Brokers give each topic an id of its own (KoP does not);
and the progress of each partition has the last message that was read and the last copy. The ids have to be the same,
and so do these two messages, unless they have been deleted.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from confluent_kafka import Message

from streamnative_serdes._kafka import Cluster, bounds, committed_messages, place_of
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.migration.route import Route

from .dead_letters import SUFFIX, TOPIC, DeadLetter, read_file
from .messages import PLACE, Rules, mark_of
from .progress import Kept, Progress, ProgressTopic, another_process

Role: TypeAlias = Literal["source", "target"]

ROLES: Final[tuple[Role, ...]] = ("source", "target")
_SETTLING_SECONDS: Final = 30.0  # copies that were committed can be read after a moment
_LOOK_SECONDS: Final = 0.2
_WINDOW: Final = 200  # messages at the end of a partition to look at first
_SETTLED_SECONDS: Final = 1.0
Places: TypeAlias = dict[int, int]  # partition -> offset


class ChangedTopicError(SerdesError):
    """A topic is not the one that the copy was begun with: it was deleted, and perhaps created again."""


def require_known(
    route: Route, known: Mapping[int, Progress], roles: Iterable[Role] = ROLES, *, settle: float = _SETTLING_SECONDS
) -> None:
    """Check that source and target are the topics of this progress. Raises ChangedTopicError.

    A message that its broker has deleted meanwhile, by retention or compaction, is not checked. The last copies can be
    read a moment after they were committed: they are awaited for ``settle`` seconds.
    """
    for role in roles:
        part = "read" if role == "source" else "written"
        kept = {number: one for number, progress in known.items() if (one := getattr(progress, part)) is not None}
        ids = {progress.ids[ROLES.index(role)] for progress in known.values()}
        if kept or ids - {None}:
            _CopiedTopic(route, role).require(kept, ids, settle)


class _CopiedTopic:
    def __init__(self, route: Route, role: Role) -> None:
        self._role, self._target = role, route.target
        side = route.reading if role == "source" else route.writing
        self._topic, self._kafka = (route.source if role == "source" else route.target), side.kafka
        self._cluster = Cluster(side.kafka, self._topic)

    def id(self) -> str | None:
        """The topic's id; None if its broker has no ids. Raises ChangedTopicError if the topic does not exist."""
        there, found = self._cluster.id_of(self._topic)
        if not there:
            raise self.changed("it does not exist any more")
        return found

    def require(self, kept: Mapping[int, Kept], ids: Iterable[str | None], settle: float) -> None:
        now = self.id()
        others = {each for each in ids if None not in (each, now)} - {now}
        if others:
            raise self.changed(f"its id is {now}, and was {min(map(str, others))}")
        there = self._settled(kept, settle)
        starts = {number: one.offset for number, one in kept.items() if one.offset >= there[number][0]}
        found = _first(self._kafka, self._topic, starts) if starts else {}
        for number in starts:
            self._compare(number, kept[number], found.get(number), proven=now is not None and None not in ids)

    def _compare(self, number: int, kept: Kept, found: Message | None, *, proven: bool) -> None:
        if found is not None and kept.is_of(found):
            return
        if proven and (found is None or place_of(found)[1] != kept.offset):
            return  # compaction has deleted it
        raise self.changed(f"partition {number} has another message at offset {kept.offset}")

    def _settled(self, kept: Mapping[int, Kept], settle: float) -> Mapping[int, tuple[int, int]]:
        """The topic's offsets, once they include the kept messages."""
        until = time.monotonic() + settle
        while True:
            there = bounds(self._kafka, self._topic)
            late = [number for number, one in kept.items() if there.get(number, (0, 0))[1] <= one.offset]
            if not late:
                return there
            if self._role == "source" or time.monotonic() > until:
                end, number = there.get(late[0], (0, 0))[1], late[0]
                unless = "" if self._role == "source" else "; or another program has a transaction open"
                raise self.changed(f"partition {number} ends at {end}, and had offset {kept[number].offset}{unless}")
            time.sleep(_LOOK_SECONDS)

    def changed(self, reason: str) -> ChangedTopicError:
        target = self._target
        left = f"{target}, {target}.migration-state and {target}.dead-letters"
        new = "copy to a new target; or, " if self._role == "source" else ""
        return ChangedTopicError(
            f"the {self._role} is not the topic that the copy was begun with: {reason}",
            topic=self._topic,
            hint=f"{new}to copy everything again, delete what there is of the topics {left} first",
        )


def _first(kafka: Mapping[str, Any], topic: str, starts: Mapping[int, int]) -> dict[int, Message]:
    found: dict[int, Message] = {}
    for message in committed_messages(kafka, topic, starts):
        found.setdefault(place_of(message)[0], message)
        if len(found) == len(starts):
            break
    return found


class SameTopics:
    """Source and target of a run, which must not be replaced during the run. Raises ChangedTopicError."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._sides = [_CopiedTopic(route, role) for role in ROLES]
        source, target = (side.id() for side in self._sides)
        self.ids = source, target

    def require(self, known: Mapping[int, Progress]) -> None:
        """Check that both topics are the same as before; ``known`` is the last progress. Raises as the class does."""
        newest = sorted(known.items(), key=lambda entry: entry[1].copied + entry[1].bad)[-1:]
        for role, side, before in zip(ROLES, self._sides, self.ids, strict=True):
            now = side.id()
            if now != before:
                raise side.changed(f"its id is {now}, and was {before} when this run began")
            if now is None:  # its broker has no ids
                require_known(self._route, dict(newest), [role])


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of a copy.

    Args:
        rules: for the parts of messages.
        transactions: exactly once, with transactions; otherwise copies carry their place in a header.
        follow: continue at the end of the source, until told to stop.
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
    """Raises ConfigError if the copy was begun with another choice about transactions, or another rule for keys."""
    if any(progress.places == wishes.transactions for progress in known.values()):
        begun = "without" if wishes.transactions else "with"
        hint = f"go on with --transactions {'off' if wishes.transactions else 'on'}"
        raise ConfigError(f"copying to topic {target} was begun {begun} transactions", hint=hint)
    keys = next((each.keys for each in known.values() if each.keys != wishes.rules.keys), None)
    if keys is not None:
        raise ConfigError(f"copying to topic {target} was begun with --keys {keys}", hint=f"go on with --keys {keys}")


def find_places(
    route: Route, source: str, known: Mapping[int, Progress], wishes: Wishes
) -> tuple[Places, Mapping[int, Collection[int]]]:
    """The source's offsets to continue with, and the offsets that have dead letters already, by partition."""
    require_same_mode(route.target, known, wishes)
    places = {partition: progress.next for partition, progress in known.items()}
    return (places, {}) if wishes.transactions else _by_what_is_there(route, source, known, wishes)


def _by_what_is_there(
    route: Route, source: str, known: Mapping[int, Progress], wishes: Wishes
) -> tuple[Places, Mapping[int, Collection[int]]]:
    """As find_places, from the copies and dead letters that a process has sent without committing its progress."""
    places, kafka = {partition: progress.next for partition, progress in known.items()}, route.writing.kafka
    place = partial(_place, mark_of(source))
    partitions = _settled(kafka, route.target, place)
    begins = {number: places.get(number, wishes.start.get(number, 0)) for number in partitions}
    letters = _letters_there(route, source, known, wishes, begins)
    for partition, begin in begins.items():
        copies = _named(kafka, route.target, partition, place, begin)
        if copies:
            begun, end = partition in known, max(copies)
            messages = partial(_messages, route, partition, begin, end, begun=begun, but=letters[partition])
            places[partition] = _next(copies, begin, messages)
    # Without any copy, the dead letters may be of a target that was deleted: better twice than not at all.
    return places, letters if places else {}


def _next(copies: Iterable[int], begin: int, messages: Callable[[], Sequence[int]]) -> int:
    """The first offset of the source from ``begin`` on whose message has no copy, or the offset behind all copies.

    A producer sends batches that are in flight even after an earlier batch was refused. So the copies are followed in
    the order of the target: a copy of an earlier message was sent by a later process, or a later attempt. The offsets
    that have to be copied are asked for if there are offsets without a copy.
    """
    place, there = begin, None
    for copy in copies:
        if copy > place:  # what is between may be a marker of a transaction, compacted, or a dead letter
            there = messages() if there is None else there
            at = bisect_left(there, place)
            if at < len(there) and there[at] < copy:
                continue
        place = max(begin, copy + 1)
    return place


def _messages(
    route: Route, partition: int, begin: int, end: int, *, begun: bool, but: Collection[int]
) -> Sequence[int]:
    """The source's offsets in this range that have a message; if copying has ``begun``, also those deleted since."""
    kafka, topic = route.reading.kafka, route.source
    low = bounds(kafka, topic).get(partition, (end, end))[0]
    deleted = range(begin, min(low, end)) if begun else ()
    there = committed_messages(kafka, topic, {partition: max(begin, low)}) if low < end else ()
    found = takewhile(lambda offset: offset < end, (place_of(message)[1] for message in there))
    return [offset for offset in chain(deleted, found) if offset not in but]


def _letters_there(
    route: Route, source: str, known: Mapping[int, Progress], wishes: Wishes, begins: Places
) -> dict[int, set[int]]:
    """The offsets of the dead letters from these places on, in their topic and in files, by partition."""
    topic, letter_of = f"{route.target}{SUFFIX}", partial(_letter, route.source)
    found = {number: set(_named(route.writing.kafka, topic, number, letter_of, at)) for number, at in begins.items()}
    places = {place for progress in known.values() for place in progress.letters if place.startswith("file:")}
    files = {Path(place.removeprefix("file:")) for place in places}
    for path in files | ({wishes.dead_letters.absolute()} if wishes.dead_letters is not None else set()):
        for letter in read_file(path, source):
            found.get(letter.partition, set()).add(letter.offset)
    return {number: {offset for offset in offsets if offset >= begins[number]} for number, offsets in found.items()}


def _settled(kafka: Mapping[str, Any], topic: str, place: Callable[[Message], int | None]) -> Iterable[int]:
    """The topic's partitions, once no more copies of a killed process, which have a ``place``, arrive; others may.

    Raises:
        SerdesError: copies go on arriving.
    """
    before, until = bounds(kafka, topic), time.monotonic() + _SETTLING_SECONDS
    while True:
        time.sleep(_SETTLED_SECONDS)
        now = bounds(kafka, topic)
        begins = {number: end for number, (low, end) in before.items() if (low, end) != now.get(number)}
        if not begins or all(place(message) is None for message in committed_messages(kafka, topic, begins)):
            return now
        if time.monotonic() > until:
            raise another_process(topic)
        before = now


def _named(
    kafka: Mapping[str, Any], topic: str, partition: int, offset_of: Callable[[Message], int | None], least: int
) -> list[int]:
    """The source's offsets in a partition's last messages, in order: back to an offset before ``least``, if any."""
    low, end = bounds(kafka, topic).get(partition, (0, 0))
    start, window, found = end, _WINDOW, list[int]()
    while start > low and not any(offset < least for offset in found):
        start, window = max(low, end - window), window * 4
        named = map(offset_of, committed_messages(kafka, topic, {partition: start}))
        found = [offset for offset in named if offset is not None]
    return found


def _place(mark: str, message: Message) -> int | None:
    headers: Any = message.headers() or ()
    text = next((data for name, data in headers if name == PLACE), None)
    if text is None:
        return None
    partition, _, rest = text.decode("ascii", "replace").partition(":")
    offset, _, found = rest.partition(":")
    known = partition == str(message.partition()) and offset.isdigit() and found == mark
    return int(offset) if known else None


def _letter(source: str, message: Message) -> int | None:
    letter, headers = DeadLetter.read(message), cast("Any", message.headers())
    return letter.offset if letter is not None and (TOPIC, source.encode()) in headers else None


def behind_copies(route: Route) -> Places:
    """The offsets behind the last copies in the source of a way back, by partition: the way back begins there.

    Raises:
        ChangedTopicError: the source was deleted, or deleted and created again, since it got the copies.
        SerdesError: no messages were copied to the source.
    """
    topic, forth = route.source, replace(route, direction="forward", source=route.target, target=route.source)
    known = ProgressTopic(forth.writing.kafka, topic, None).read()
    require_known(forth, known, ["target"])
    there = bounds(forth.writing.kafka, topic)
    found = {}
    for partition, progress in known.items():
        if progress.last is not None:
            begin, low = progress.last[1] + 1, there.get(partition, (0, 0))[0]
            # With transactions, the marker of the commit is behind the last copy; retention may have deleted both.
            found[partition] = low if low == begin + 1 and not progress.places else begin
    if not found:
        raise SerdesError("nothing was copied to this topic", topic=topic, hint="--from beginning copies all of it")
    return found
