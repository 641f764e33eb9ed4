"""The verification of a copy: the target has the expected copies of the source, all of them or in samples.

Both topics are read up to their present ends, partition by partition and side by side, so memory does not depend on the
number of messages. Each side's values are decoded by the schemas of its own registry.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import Message

from streamnative_serdes._kafka import bounds
from streamnative_serdes._rewriting import BadMessageError
from streamnative_serdes.errors import ConfigError, SerdesError
from streamnative_serdes.migration.copying.dead_letters import SUFFIX, DeadLetter
from streamnative_serdes.migration.copying.messages import Rules
from streamnative_serdes.migration.copying.progress import Progress, ProgressTopic
from streamnative_serdes.migration.copying.resuming import ChangedTopicError, require_known
from streamnative_serdes.migration.schemas.canonical import schemas_of
from streamnative_serdes.migration.state import State

from .comparing import Comparison, Counts
from .comparing import Rules as ComparisonRules
from .contents import Difference, Differences, Item, SourceContents, TargetContents
from .side_reader import LetterCheck, SideReader, letters_in_file, letters_in_topic

SAMPLE: Final = 100  # messages of the source in one sample
_OBSERVED: Final = 2_048  # messages between two calls of observe
_SETTLING_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.2
_ALL: Final = 1 << 62  # more than any partition has

Place: TypeAlias = tuple[Literal["topic", "file"], str]  # of dead letters


@dataclass(frozen=True, slots=True)
class Scope:
    """The messages to verify, and the rules for differences.

    Args:
        rules: by which the topic was copied.
        partitions: the numbers of the partitions; an empty sequence means all.
        start: offsets of the source where copying began, by partition; by default, the first offsets.
        until: where comparing the source ends: ``source-end``, or ``copied``, the progress of the copy.
        newer: messages of the target behind the last copy are only counted.
        foreign: messages of the target between copies are only counted.
        samples: the number of samples to compare; None means all messages.
        seed: for the choice of samples.
        most: how many differences to keep.
        letters: ``topic`` or ``file`` of the dead letters, and its name; None for the place in the copy's progress, or
            TARGET.dead-letters if that is unknown; ``unchecked`` to leave out the dead letters.
    """

    rules: Rules = field(default_factory=Rules)
    partitions: Sequence[int] = ()
    start: Mapping[int, int] = field(default_factory=dict)
    until: Literal["source-end", "copied"] = "source-end"
    newer: bool = True
    foreign: bool = False
    samples: int | None = None
    seed: int = 0
    most: int = 10
    letters: Place | Literal["unchecked"] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a verification.

    Args:
        partitions: the counts of each partition.
        differences: the first differences.
        samples: the number of samples compared; None if all messages were.
        repeated: the number of repeated dead letters; None if dead letters were not checked.
        unmapped: schemas that messages of the source name, and that are not in the state file.
    """

    partitions: Sequence[Counts]
    differences: Sequence[Difference]
    samples: int | None = None
    repeated: int | None = None
    unmapped: Sequence[int | str] = ()

    @property
    def same(self) -> bool:
        """Whether the target has the expected copies of the source, as far as compared."""
        return not self.repeated and not any(counts.differences or counts.stopped for counts in self.partitions)


class Verification:
    """Verifies a copy; call :meth:`run` once.

    Args:
        state: the migration; its mapping has to be there.
        scope: the messages to verify.
        expect: called with the number of offsets that will be read, before the first message.
        observe: called with the number of messages of the source that were read since the last call.
    """

    def __init__(
        self,
        state: State,
        scope: Scope,
        expect: Callable[[int], object] = lambda _: None,
        observe: Callable[[int], object] = lambda _: None,
    ) -> None:
        state.rewriter()  # the mapping has to be there
        self._state, self._route, self._scope = state, state.route, scope
        self._expect, self._observe = expect, observe

    def run(self) -> Outcome:
        """Read both topics and compare them.

        Raises:
            BrokerRefusedError: there is no source or target.
            DeletedMessagesError: the broker deletes messages while they are read.
            ConfigError: there is no such partition, or no copy to take samples from.
            ChangedTopicError: the progress, which this scope goes by, is not that of these topics.
            SerdesError: the target has other partitions than the source, or copies of another source.
            FileError: the file of dead letters cannot be read, or is of another source.
            SchemaRegistryError: a registry refuses, cannot be reached, or has lost a schema that was copied.
            BrokerUnavailableError: a broker does not answer.
            KafkaException: a broker refuses.
        """
        with ExitStack() as stack:
            self._open(stack)
            partitions = self._partitions()
            places = None if self._scope.samples is None else self._samples(self._scope.samples, partitions)
            if places is None:
                self._expect(sum(self._end(number) - self._begin(number) for number in partitions))
                counts = [self._compare_all(number) for number in partitions]
            else:
                self._expect(SAMPLE * sum(map(len, places.values())))
                counts = [self._compare_samples(number, pairs) for number, pairs in sorted(places.items())]
        return Outcome(
            counts,
            self._differences.first,
            None if places is None else sum(map(len, places.values())),
            None if self._letters is None else self._letters.repeated,
            sorted(self._originals.unmapped, key=str),
        )

    def _open(self, stack: ExitStack) -> None:
        route, scope = self._route, self._scope
        self._source = stack.enter_context(SideReader(route.reading.kafka, route.source))
        self._hidden = self._source.settle()
        name = f"{route.source}@{self._source.cluster}"
        self._progress: Mapping[int, Progress] = ProgressTopic(route.writing.kafka, route.target, name).read()
        # Last, so that it has all that was copied up to the source's end, or as the progress says.
        self._target = stack.enter_context(SideReader(route.writing.kafka, route.target))
        self._await_copies()
        self._progress = self._believed()
        reading, writing = (stack.enter_context(schemas_of(route, reading=side)) for side in (True, False))
        mapped = frozenset(self._state.mapping)
        self._originals = SourceContents(route.direction, mapped, reading, scope.rules, route.framings)
        self._copies = TargetContents(route.direction, writing)
        self._differences = Differences(
            scope.most, (partial(_described, self._originals), partial(_described, self._copies))
        )
        self._letters = self._letter_check(name)

    def _await_copies(self) -> None:
        """Wait until the copies can be read, which may take a moment after a transaction was committed."""
        last = {number: one.last[1] for number, one in self._progress.items() if one.last is not None}
        until = time.monotonic() + _SETTLING_SECONDS
        while any(self._target.bounds.get(number, (0, 0))[1] <= offset for number, offset in last.items()):
            if time.monotonic() > until:
                return  # they are missing, which comparing will find
            time.sleep(_LOOK_SECONDS)
            self._target.look()

    def _believed(self) -> Mapping[int, Progress]:
        """The progress, if it belongs to these topics; comparing all messages needs no progress."""
        try:
            require_known(self._route, self._progress, settle=0)
        except ChangedTopicError:
            if self._scope.until == "copied" or self._scope.samples is not None:
                raise
            return {}
        return self._progress

    def _partitions(self) -> Sequence[int]:
        there, copies = list(self._source.bounds), list(self._target.bounds)
        if there != copies:
            raise SerdesError(
                f"expected {len(there)} partitions as in the source, got {len(copies)}", topic=self._route.target
            )
        missing = sorted(set(self._scope.partitions) - set(there))
        if missing:
            raise ConfigError(f"there is no partition {missing[0]}", topic=self._route.source)
        return sorted(set(self._scope.partitions)) or there

    def _samples(self, most: int, partitions: Iterable[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
        places = [
            (number, *pair)
            for number in partitions
            for pair in anchors_of(self._progress.get(number))
            if self._begin(number) <= pair[0] and self._target.bounds[number][0] <= pair[1]
        ]
        if not places:
            raise ConfigError(
                "there is no progress of a copy to take samples from",
                topic=self._route.target,
                hint="run `migrate topic` first, or leave out --sample",
            )
        chosen = sorted(random.Random(self._scope.seed).sample(places, min(most, len(places))))  # noqa: S311 - no secret
        return {number: [place[1:] for place in chosen if place[0] == number] for number, *_ in chosen}

    def _letter_check(self, source: str) -> LetterCheck | None:
        places = self._letter_places()
        for topic in (name for kind, name in places if kind == "topic"):
            self._await_letters(topic)
        return LetterCheck(chain.from_iterable(self._in(*place, source) for place in places)) if places else None

    def _await_letters(self, topic: str) -> None:
        """Wait until the dead letters can be read, as for the copies."""
        kafka = self._route.writing.kafka
        ends = {number: end for number, (_, end) in bounds(kafka, topic, committed=False).items()}
        until = time.monotonic() + _SETTLING_SECONDS
        while any(end < ends.get(number, 0) for number, (_, end) in bounds(kafka, topic).items()):
            if time.monotonic() > until:
                return  # of a transaction that is still open; comparing will find dead letters that are missing
            time.sleep(_LOOK_SECONDS)

    def _letter_places(self) -> Sequence[Place]:
        given = self._scope.letters
        if given is not None:
            return [] if given == "unchecked" else [given]
        copied = dict.fromkeys(place for progress in self._progress.values() for place in progress.letters)
        split = (place.partition(":") for place in copied)
        named: Sequence[Place] = [("topic" if kind == "topic" else "file", name) for kind, _, name in split]
        usual = f"{self._route.target}{SUFFIX}"  # the progress may be gone, or that of other topics
        return named or ([("topic", usual)] if bounds(self._route.writing.kafka, usual) else [])

    def _in(self, kind: str, name: str, source: str) -> Iterable[DeadLetter]:
        if kind == "file":
            return letters_in_file(Path(name), source)
        return letters_in_topic(self._route.writing.kafka, name, self._route.source)

    def _compare_all(self, partition: int) -> Counts:
        counts = self._counts(partition)
        begin, end, (first, _) = self._begin(partition), self._end(partition), self._target.bounds[partition]
        # The source may have deleted messages that were copied: then the target begins with older copies.
        known = [pair for pair in anchors_of(self._progress.get(partition)) if pair[0] <= begin and pair[1] >= first]
        place, older = (known[-1][1], begin - known[-1][0]) if known else (first, _ALL if begin else 0)
        messages = self._source.messages(partition, begin, end)
        self._comparison(counts, messages, self._target.messages(partition, place), older).run()
        if counts.stopped is not None and first > 0:
            counts.stopped += f"; the target begins at offset {first}, so its retention may have deleted copies"
        if self._letters is not None and counts.stopped is None:
            for offset in self._letters.left(partition, begin, end):
                self._note(counts, offset, "no dead letter", "a dead letter of a message that can be copied")
        hidden = self._hidden[partition] if self._scope.until == "source-end" else 0
        if hidden > 0 and counts.stopped is None:
            counts.stopped = f"{hidden} offsets behind an open transaction in the source were not compared"
        return counts

    def _compare_samples(self, partition: int, places: Iterable[tuple[int, int]]) -> Counts:
        counts, end = self._counts(partition), self._end(partition)
        for place, copy in places:
            messages = islice(self._source.messages(partition, place, end, chunk=SAMPLE), SAMPLE)
            copies = self._target.messages(partition, copy, chunk=SAMPLE)
            self._comparison(counts, messages, copies).run(to_end=False)
        return counts

    def _comparison(
        self, counts: Counts, messages: Iterable[Message], copies: Iterable[Message], older: int = 0
    ) -> Comparison:
        rules = ComparisonRules(self._scope.newer, self._scope.foreign, older)
        expected = self._items_of_source(self._observed(messages), counts)
        return Comparison(expected, map(self._copies.of, copies), counts, self._differences, rules)

    def _begin(self, partition: int) -> int:
        return max(self._source.bounds[partition][0], self._scope.start.get(partition, 0))

    def _end(self, partition: int) -> int:
        """The source's offset at which comparing ends; the message there is not compared."""
        end, progress = self._source.bounds[partition][1], self._progress.get(partition)
        if self._scope.until == "source-end":
            return end
        return max(self._begin(partition), min(end, 0 if progress is None else progress.next))

    def _counts(self, partition: int) -> Counts:
        self._differences.partition = partition
        return Counts(partition)

    def _observed(self, messages: Iterable[Message]) -> Iterator[Message]:
        number = 0
        for number, message in enumerate(messages, 1):
            if not number % _OBSERVED:
                self._observe(_OBSERVED)
            yield message
        self._observe(number % _OBSERVED)

    def _items_of_source(self, messages: Iterable[Message], counts: Counts) -> Iterator[Item]:
        of = self._originals.of
        for message in messages:
            counts.source += 1
            try:
                item = of(message)
            except BadMessageError:
                self._check_letter(message, counts)
                continue
            yield item

    def _check_letter(self, message: Message, counts: Counts) -> None:
        counts.bad += 1
        wrong = None if self._letters is None else self._letters.take(message)
        if wrong is not None:
            self._note(counts, message.offset() or 0, *wrong)

    def _note(self, counts: Counts, offset: int, expected: str, got: str) -> None:
        counts.differences += 1
        self._differences.add(self._differences.dead_letter(offset, expected, got))


def _described(contents: SourceContents | TargetContents, item: Item) -> tuple[str, str]:
    """A message's schema and value, for people."""
    value = item.content.value
    if value is None:
        return "no value", "null"
    known = contents.schema_of(item.message)
    raw: Any = item.message.value()
    return ("no known schema", raw.hex(" ")) if known is None else (str(known), known.shown(value))


def anchors_of(progress: Progress | None) -> list[tuple[int, int]]:
    """Offsets of messages of the source and of their copies in the target, in order."""
    if progress is None:
        return []
    return sorted({*progress.anchors, *([progress.last] if progress.last is not None else [])})
