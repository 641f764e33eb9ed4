"""Copying a topic: chunks of messages from the inlet to the outlet, committed together with the progress.

::

    inlet (read_committed) -> MessageCopier -> outlet (transaction: copies, dead letters, progress)
                                   |
                                   +-> dead letters

A copy that was stopped in whatever way goes on where its last commit was. Without transactions, each copy carries its
place in the source, and the target's last messages say where to go on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final, NoReturn

from confluent_kafka import Message

from streamnative_serdes._kafka import place_of
from streamnative_serdes.errors import RawMessage
from streamnative_serdes.migration.framing import BadMessageError, UnmappedSchemaError
from streamnative_serdes.migration.planning.target import ensure_target
from streamnative_serdes.migration.state import State
from streamnative_serdes.migration.topics import bounds, ensure_topic, has_messages

from .dead_letters import LEAST_LARGEST, SUFFIX, DeadLetter, DeadLetterFile, DeadLetters, DeadLetterTopic
from .inlet import Inlet
from .messages import MessageCopier, Placed, with_place
from .named_schemas import NamedSchemas
from .outlet import Outlet, TransactionAbortedError
from .progress import Progress, ProgressTopic
from .resuming import Wishes, find_places

COMMIT_MESSAGES: Final = 20_000
COMMIT_BYTES: Final = 32 << 20
COMMIT_SECONDS: Final = 2.0
_ANCHOR_EVERY: Final = 10_000  # messages of a partition
_MOST_ATTEMPTS: Final = 5  # after transactions that the broker aborted, without any progress in between


@dataclass(slots=True)
class Report:
    """What a copy has done; numbers of this and all earlier runs.

    Args:
        progress: by partition.
        lag: offsets left up to the source's present end.
        ended: whether everything up to the end that was there at the start was copied.
    """

    progress: dict[int, Progress]
    lag: int = 0
    ended: bool = False

    @property
    def copied(self) -> int:
        """Messages copied."""
        return sum(progress.copied for progress in self.progress.values())

    @property
    def bad(self) -> int:
        """Messages among the dead letters."""
        return sum(progress.bad for progress in self.progress.values())


class TopicCopy:
    """Copies a topic, and goes on with a copy that was stopped.

    Args:
        state: the migration; its mapping has to be there.
        wishes: how.
        observe: called with the report after each chunk.
        stopping: asked after each chunk; when it returns True, copying commits and ends.
    """

    def __init__(
        self,
        state: State,
        wishes: Wishes,
        observe: Callable[[Report], object] = lambda _: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._state, self._wishes, self._observe, self._stopping = state, wishes, observe, stopping

    def left(self) -> int:
        """How many offsets of the source are left to copy. It writes nothing.

        Raises:
            as :meth:`run`.
        """
        route, wishes = self._state.route, self._wishes
        with closing(Inlet(route.reading.kafka, route.source)) as inlet:
            topic = ProgressTopic(route.writing.kafka, route.target, f"{route.source}@{inlet.cluster}")
            places, _ = find_places(route.writing.kafka, route.target, topic.read(), wishes)
            inlet.start({**wishes.start, **places})
            return sum(high - inlet.next[partition] for partition, (_, high) in inlet.bounds.items())

    def run(self) -> Report:
        """Copy up to the source's present end, or until told to stop.

        Raises:
            UnmappedSchemaError: a message names a schema that the source's registry has, but that was not copied. All
                messages before it are in the target.
            NoTransactionsError: the target's broker does not support transactions, which were asked for.
            ProblemsError: the target does not fit, or has messages other than copies.
            SerdesError: there is no source, messages were deleted before they were copied, or another process copies
                to the target.
            FileError: the file of dead letters cannot be written.
            BrokerUnavailableError: a broker does not answer.
            KafkaException: a broker refuses.
        """
        attempts, before = 0, -1
        while True:
            try:
                with _Run(self._state, self._wishes) as run:
                    return run.copy(self._observe, self._stopping)
            except TransactionAbortedError:
                done = sum(progress.next for progress in run.report.progress.values())
                attempts, before = (attempts + 1 if done == before else 1), done
                if attempts >= _MOST_ATTEMPTS:
                    raise
                time.sleep(attempts)


class _Run:
    """One attempt: everything it opens is closed at its end."""

    def __init__(self, state: State, wishes: Wishes) -> None:
        self._state, self._wishes, self._route = state, wishes, state.route
        self._stack = ExitStack()
        self.report = Report({})

    def __enter__(self) -> _Run:
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        route, wishes = self._route, self._wishes
        kafka: Mapping[str, Any] = route.writing.kafka
        self._inlet = self._stack.enter_context(closing(Inlet(route.reading.kafka, route.source)))
        source = f"{route.source}@{self._inlet.cluster}"
        self._topic = ProgressTopic(kafka, route.target, source)
        places, safe = find_places(kafka, route.target, self._topic.read(), wishes)
        begun = bool(bounds(kafka, self._topic.name))  # perhaps by a process that has not committed anything yet
        largest = self._ensure_target(resuming=begun)
        ensure_topic(kafka, self._topic.name, 1, cleanup_policy="compact")
        self._outlet = self._stack.enter_context(
            closing(Outlet(kafka, route.target, transactions=wishes.transactions, largest=largest))
        )
        known = self._topic.read()
        if wishes.transactions:  # from here on, no other process commits to the target: what is read now stays
            places, safe = find_places(kafka, route.target, known, wishes)
        if begun:
            # What such a process has not committed, nobody reads.
            self._ensure_target(resuming=bool(places) or not has_messages(kafka, route.target))
        self._inlet.start({**wishes.start, **places})
        self._letters = self._stack.enter_context(closing(self._dead_letters(source, largest, safe)))
        # Where the others begin is written too: a later run may name another beginning.
        self._unwritten: set[int] = self._inlet.next.keys() - known.keys()
        for partition, place in self._inlet.next.items():
            progress = known.get(partition) or Progress(place, places=not wishes.transactions)
            self.report.progress[partition] = replace(progress, next=place)
        self._schemas = self._stack.enter_context(NamedSchemas(route))
        self._copier = MessageCopier(self._state.rewriter(), self._schemas, wishes.rules)

    def _ensure_target(self, *, resuming: bool) -> int:
        return largest_of_target(self._state, self._wishes, resuming=resuming)

    def _dead_letters(self, source: str, largest: int, safe: Mapping[int, int]) -> DeadLetters:
        route, path = self._route, self._wishes.dead_letters
        if path is not None:
            return DeadLetterFile(path, source, self._inlet.next)
        topic = f"{route.target}{SUFFIX}"
        settings = {"retention_ms": "-1", "max_message_bytes": str(max(largest, LEAST_LARGEST))}
        ensure_topic(route.writing.kafka, topic, len(self._inlet.bounds), **settings)
        return DeadLetterTopic(topic, route.source, self._outlet.send_beside, self._outlet.flush, safe)

    def copy(self, observe: Callable[[Report], object], stopping: Callable[[], bool]) -> Report:
        """Copy until the end, or until told to stop; what was copied is committed in any case but a failure."""
        batch = _Batch()
        while True:
            messages = self._inlet.chunk()
            self._outlet.serve()
            if messages:
                self._outlet.begin()
                self._copy_chunk(messages, batch)
            else:
                self._inlet.passed({})  # aborted messages at the end, perhaps
            self.report.lag = self._inlet.lag()
            ending = stopping() or (self._inlet.at_end and not self._wishes.follow)
            if batch.is_due(idle=not messages) or ending:
                self._commit(batch)
                batch = _Batch()
            if self._wishes.follow and not batch.ends:
                self._inlet.require_same_partitions()
            observe(self.report)
            if ending:
                self.report.ended = self._inlet.at_end
                return self.report

    def _copy_chunk(self, messages: list[Message], batch: _Batch) -> None:
        copy, ends = self._copier.copy, batch.ends
        copies: list[Placed] = []
        for message in messages:
            partition: Any = message.partition()
            offset: Any = message.offset()
            try:
                copies.append((partition, offset, copy(message)))
            except BadMessageError as error:
                self._send(copies, batch)
                copies = []
                self._keep_letter(message, error, batch)
            except UnmappedSchemaError as error:
                self._send(copies, batch)
                self._stop_before(message, error, batch)
            ends[partition] = offset + 1
        self._send(copies, batch)
        batch.size += sum(map(len, messages))
        self._inlet.passed(ends)

    def _send(self, copies: list[Placed], batch: _Batch) -> None:
        if not self._wishes.transactions:
            self._letters.secure()  # a copy says that all dead letters before it are safe
            copies = [(partition, offset, with_place(copy, partition, offset)) for partition, offset, copy in copies]
        last = _last_places(copies, len(self._inlet.bounds))
        self._outlet.send(copies, marked=frozenset(last.values()))
        batch.copied.update(map(itemgetter(0), copies))
        batch.last.update((partition, copies[place][1]) for partition, place in last.items())

    def _keep_letter(self, message: Message, error: BadMessageError, batch: _Batch) -> None:
        letter = DeadLetter.of(message, str(error))
        self._letters.add(letter, hide_headers=not self._wishes.rules.keeps(letter.headers))
        batch.bad[place_of(message)[0]] += 1

    def _stop_before(self, message: Message, error: UnmappedSchemaError, batch: _Batch) -> NoReturn:
        """Commit what is before this message, and raise the error with its place."""
        self._inlet.passed(batch.ends, whole=False)
        self._commit(batch)
        partition, offset = place_of(message)
        error.raw = RawMessage(None, None, partition, offset)
        raise error.at(topic=self._route.source)

    def _commit(self, batch: _Batch) -> None:
        """Commit the batch and the progress that it makes."""
        if not batch.ends and not self._unwritten:
            return
        self._outlet.begin()
        self._letters.secure()
        targets = self._outlet.flush()
        beside: list[tuple[str, bytes, bytes]] = []
        partitions = {*batch.ends, *self._unwritten}
        advanced = {partition: self._advanced(partition, batch, targets) for partition in partitions}
        for partition, progress in advanced.items():
            beside.append((self._topic.name, *self._topic.words(partition, progress)))
            if progress.anchors:
                beside.append((self._topic.name, *self._topic.anchor_words(partition, *progress.anchors[-1])))
        self._outlet.commit(beside)
        self.report.progress.update(advanced)
        self._unwritten = set()

    def _advanced(self, partition: int, batch: _Batch, targets: Mapping[int, int]) -> Progress:
        """The progress of a partition after this batch; its ``anchors`` has only the last one."""
        before, last = self.report.progress[partition], batch.last.get(partition)
        progress = replace(
            before,
            next=self._inlet.next[partition],
            copied=before.copied + batch.copied[partition],
            bad=before.bad + batch.bad[partition],
            last=before.last if last is None else (last, targets[partition]),
        )
        anchor = before.anchors[-1][0] if before.anchors else -_ANCHOR_EVERY
        if progress.last is not None and progress.last[0] - anchor >= _ANCHOR_EVERY:
            progress.anchors = [progress.last]
        return progress


def largest_of_target(state: State, wishes: Wishes, *, resuming: bool) -> int:
    """Create or check the target; returns the size of the largest message that it takes, in bytes.

    Raises:
        ProblemsError: the target does not fit, or has messages other than copies.
    """
    target = ensure_target(
        state.route,
        state.findings,
        create=wishes.create,
        settings=wishes.settings,
        accept=wishes.accept,
        resuming=resuming,
    )
    return int(target.topic.settings.get("max.message.bytes", 0))


def _last_places(copies: list[Placed], partitions: int) -> dict[int, int]:
    """The place in ``copies`` of each partition's last one."""
    last: dict[int, int] = {}
    for place in range(len(copies) - 1, -1, -1):
        last.setdefault(copies[place][0], place)
        if len(last) == partitions:
            break
    return last


@dataclass(slots=True)
class _Batch:
    """What was read since the last commit, by partition."""

    ends: dict[int, int] = field(default_factory=dict)  # offset behind the last message
    copied: Counter[int] = field(default_factory=Counter)
    bad: Counter[int] = field(default_factory=Counter)
    last: dict[int, int] = field(default_factory=dict)  # offset of the last message that was copied
    size: int = 0  # bytes of values
    since: float = field(default_factory=time.monotonic)

    def is_due(self, *, idle: bool) -> bool:
        """Whether to commit now; ``idle`` if the source has nothing more at the moment."""
        if not self.ends:
            self.since = time.monotonic()
            return False
        count = self.copied.total() + self.bad.total()
        age = time.monotonic() - self.since
        return idle or count >= COMMIT_MESSAGES or self.size >= COMMIT_BYTES or age >= COMMIT_SECONDS
