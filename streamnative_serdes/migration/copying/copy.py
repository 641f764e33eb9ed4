"""Copying a topic: chunks of messages from the inlet to the outlet, committed together with the progress.

::

    inlet (read_committed) -> MessageCopier -> outlet (transaction: copies, dead letters, progress)
                                   |
                                   +-> dead letters

A copy that was stopped, in any way, continues from its last commit. Without transactions, each copied message carries
its place in the source. The messages behind the last commit then show where to continue: at the first one not copied.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final, NoReturn

from confluent_kafka import KafkaException, Message

from streamnative_serdes._kafka import (
    Cluster,
    OffsetsGoneError,
    StalledError,
    bounds,
    has_messages,
    no_producer_ids,
    place_of,
    require_producer_ids,
)
from streamnative_serdes._rewriting import BadMessageError
from streamnative_serdes.errors import RawMessage, SchemaError, SerdesError
from streamnative_serdes.migration.planning.target import ensure_target
from streamnative_serdes.migration.route import Route
from streamnative_serdes.migration.schemas.canonical import schemas_of
from streamnative_serdes.migration.state import State

from .dead_letters import LEAST_LARGEST, LETTERS, SUFFIX, DeadLetter, DeadLetterFile, DeadLetters, DeadLetterTopic
from .inlet_outlet import Inlet, Outlet, TransactionAbortedError, no_transactions
from .messages import MessageCopier, Placed, mark_of, with_place
from .progress import Kept, Owner, Progress, ProgressTopic
from .resuming import SameTopics, Wishes, find_places, require_known, require_same_mode

COMMIT_MESSAGES: Final = 20_000
COMMIT_BYTES: Final = 32 << 20
COMMIT_SECONDS: Final = 2.0
_ANCHOR_EVERY: Final = 10_000  # messages of a partition
_MOST_ATTEMPTS: Final = 5  # after transactions that the broker aborted, without any progress in between


@dataclass(slots=True)
class Report:
    """The result of a copy, counted over this and all earlier runs.

    Args:
        progress: by partition.
        lag: offsets left up to the source's present end.
        ended: whether all messages up to the source's end at the start were copied.
        hidden: by partition, the offsets before that end that could not be copied: a transaction is open in the source,
            and brokers give no messages behind its first one.
    """

    progress: dict[int, Progress]
    lag: int = 0
    ended: bool = False
    hidden: Mapping[int, int] = field(default_factory=dict)

    @property
    def copied(self) -> int:
        """Messages copied."""
        return sum(progress.copied for progress in self.progress.values())

    @property
    def bad(self) -> int:
        """Messages among the dead letters."""
        return sum(progress.bad for progress in self.progress.values())


class TopicCopy:
    """Copies a topic, or continues a copy that was stopped.

    Args:
        state: the migration; its mapping has to be there.
        wishes: the options of the copy.
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
        """The number of the source's offsets that are left to copy. Writes nothing.

        Raises:
            as :meth:`run`.
        """
        route, wishes = self._state.route, self._wishes
        ensure_target(route, self._state.findings, accept=wishes.accept, resuming=True, dry_run=True)
        with closing(Inlet(route.reading.kafka, route.source)) as inlet:
            source = f"{route.source}@{inlet.cluster}"
            known = ProgressTopic(route.writing.kafka, route.target, source).read()
            require_known(route, known)
            places, _ = find_places(route, source, known, wishes)
            inlet.start({**wishes.start, **places})
            return sum(high - inlet.next[partition] for partition, (_, high) in inlet.bounds.items())

    def run(self) -> Report:
        """Copy up to the source's present end, or until told to stop.

        Raises:
            SchemaError: a message names a schema that the source's registry has, but that was not copied
                (UnmappedSchemaError), or cannot be. All messages before it are in the target.
            NoTransactionsError: the target's broker does not support transactions, which were asked for.
            ProblemsError: the target does not fit, or has messages other than copies.
            ChangedTopicError: source or target was deleted, or deleted and created again.
            SerdesError: there is no source, messages were deleted before they were copied, or another process copies
                to the target.
            FileError: the file of dead letters cannot be written.
            BrokerUnavailableError: a broker does not answer.
            KafkaException: a broker refuses.
        """
        attempts, before = 0, -1
        while True:
            report = Report({})
            try:
                with ExitStack() as stack:
                    run = _Run(self._state, self._wishes, report, stack, again=attempts > 0)
                    return run.copy(self._observe, self._stopping)
            except TransactionAbortedError:
                done = sum(progress.next for progress in report.progress.values())
                attempts, before = (attempts + 1 if done == before else 1), done
                if attempts >= _MOST_ATTEMPTS:
                    raise
                time.sleep(attempts)


class _Run:
    """One attempt to copy; its clients are closed with ``stack``. With ``again``, it names what a broker refuses."""

    def __init__(self, state: State, wishes: Wishes, report: Report, stack: ExitStack, *, again: bool) -> None:
        self._state, self._wishes, self._route, self.report = state, wishes, state.route, report
        route, kafka = state.route, state.route.writing.kafka
        self._inlet = stack.enter_context(closing(Inlet(route.reading.kafka, route.source)))
        source = f"{route.source}@{self._inlet.cluster}"
        self._topic, self._mark = ProgressTopic(kafka, route.target, source), mark_of(source)
        rewriter = state.rewriter()
        require_ids(kafka, route.target, wishes)
        begun, largest = ready(state, wishes, self._topic)
        outlet = Outlet(kafka, route.target, transactions=wishes.transactions, largest=largest, noted=again)
        self._outlet = stack.enter_context(closing(outlet))
        self._owner = stack.enter_context(closing(Owner(kafka, route.target, self._topic, self._say)))
        outlet.is_owner = self._owner.is_last
        known = self._topic.read()  # from here on, no other process commits to the target: what is read now stays
        places, safe = find_places(route, source, known, wishes)
        if begun:
            # What a process has not committed, nobody reads.
            largest_of_target(state, wishes, resuming=bool(places) or not has_messages(kafka, route.target))
        self._same = SameTopics(route)
        self._inlet.start({**wishes.start, **places})
        self._letters = stack.enter_context(closing(self._dead_letters(source, largest, safe)))
        # Where the others begin is written too: a later run may name another beginning.
        self._unwritten: set[int] = self._inlet.next.keys() - known.keys()
        for partition, place in self._inlet.next.items():
            progress = known.get(partition) or Progress(place, places=not wishes.transactions)
            report.progress[partition] = replace(progress, next=place, keys=wishes.rules.keys)
        schemas = stack.enter_context(schemas_of(route, reading=True))
        self._copier = MessageCopier(rewriter, schemas, wishes.rules, state.renewed)
        self._committed = time.monotonic()
        self._commit(_Batch())

    def _say(self, key: bytes, value: bytes) -> None:
        self._outlet.begin()
        self._outlet.commit([(self._topic.name, key, value)])

    def _dead_letters(self, source: str, largest: int, safe: Mapping[int, Collection[int]]) -> DeadLetters:
        route, path = self._route, self._wishes.dead_letters
        if path is not None:
            return DeadLetterFile(path, source, self._inlet.next)
        topic = f"{route.target}{SUFFIX}"
        ensure_letters(route, len(self._inlet.bounds), largest)
        return DeadLetterTopic(topic, route.source, self._outlet.send_beside, self._outlet.flush, safe)

    def copy(self, observe: Callable[[Report], object], stopping: Callable[[], bool]) -> Report:
        """Copy until the end, or until told to stop; unless copying fails, everything copied is committed."""
        try:
            return self._copy_all(observe, stopping)
        except KafkaException as error:
            # Errors of ours are KafkaExceptions too, by confluent-kafka's base class.
            if not isinstance(error, SerdesError) or isinstance(error, OffsetsGoneError | StalledError):
                self._same.require(self.report.progress)
            raise

    def _copy_all(self, observe: Callable[[Report], object], stopping: Callable[[], bool]) -> Report:
        batch = _Batch()
        while True:
            messages = self._inlet.chunk()
            self._owner.require()
            self._outlet.serve()
            if messages:
                self._outlet.begin()
                self._copy_chunk(messages, batch)
            else:
                self._inlet.passed({})  # aborted messages at the end, perhaps
            self.report.lag = self._inlet.lag()
            ending = stopping() or (self._inlet.at_end and not self._wishes.follow)
            rested = not messages and time.monotonic() - self._committed >= COMMIT_SECONDS
            if batch.is_due(idle=not messages) or rested or ending:
                self._commit(batch)
                batch = _Batch()
            if self._wishes.follow and not batch.seen:
                self._inlet.require_same_partitions()
            if ending:
                self._settle()
            observe(self.report)
            if ending:
                self.report.hidden = self._inlet.hidden(self._inlet.next) if self._inlet.at_end else {}
                self.report.ended = self._inlet.at_end and not self.report.hidden
                return self.report

    def _settle(self) -> None:
        """Wait until consumers of committed messages see all copies: brokers confirm a commit before that.

        A transaction takes no message until the one before has ended in all partitions; this one says nothing new.
        """
        if self._wishes.transactions:
            self._say(*next(self._topic.all_words(self.report.progress)))

    def _copy_chunk(self, messages: list[Message], batch: _Batch) -> None:
        copy, seen = self._copier.copy, batch.seen
        copies: list[Placed] = []
        for message in messages:
            partition: Any = message.partition()
            offset: Any = message.offset()
            try:
                copies.append((partition, offset, copy(message)))
            except BadMessageError as error:
                self._send(copies, batch)
                copies = []
                letter = DeadLetter.of(message, str(error))
                self._letters.add(letter, hide_headers=not self._wishes.rules.keeps(letter.headers))
                batch.bad[partition] += 1
            except SchemaError as error:  # such as an UnmappedSchemaError
                self._send(copies, batch)
                self._stop_before(message, error, batch)
            seen[partition] = message
        self._send(copies, batch)
        batch.size += sum(map(len, messages))
        self._inlet.passed(batch.ends)

    def _send(self, copies: list[Placed], batch: _Batch) -> None:
        if not self._wishes.transactions:
            self._letters.secure()  # a copy says that all dead letters before it are safe
            mark = self._mark
            copies = [(number, offset, with_place(copy, number, offset, mark)) for number, offset, copy in copies]
        last = _last_places(copies, len(self._inlet.bounds))
        self._outlet.send(copies, marked=frozenset(last.values()))
        batch.copied.update(map(itemgetter(0), copies))
        batch.last.update((partition, copies[place][1]) for partition, place in last.items())

    def _stop_before(self, message: Message, error: SchemaError, batch: _Batch) -> NoReturn:
        """Commit the messages before this one, and raise the error with the place of this message."""
        self._inlet.passed(batch.ends, whole=False)
        self._commit(batch)
        partition, offset = place_of(message)
        error.raw = RawMessage(None, None, partition, offset)
        raise error.at(topic=self._route.source)

    def _commit(self, batch: _Batch) -> None:
        progress = self.report.progress
        # Over markers and aborted messages too: retention may delete them before there is another message.
        moved = {number for number, place in self._inlet.next.items() if place != progress[number].next}
        partitions = {*batch.seen, *moved, *self._unwritten}
        if not partitions:
            return
        self._outlet.begin()
        self._letters.secure()
        targets = self._outlet.flush()
        self._owner.require()
        if moved:  # whatever was read and written so far, was so in these topics
            self._same.require(progress)
        advanced = {partition: self._advanced(partition, batch, targets) for partition in partitions}
        self._outlet.commit((self._topic.name, *words) for words in self._topic.all_words(advanced))
        progress.update(advanced)
        if batch.seen:  # an earlier attempt has met no refused message, or it was not among these
            self._outlet.noted = not self._wishes.transactions
        self._unwritten, self._committed = set(), time.monotonic()

    def _advanced(self, partition: int, batch: _Batch, targets: Mapping[int, Message]) -> Progress:
        """The progress of a partition after this batch; its ``anchors`` have only the last anchor."""
        before, last, seen = self.report.progress[partition], batch.last.get(partition), batch.seen.get(partition)
        written = None if last is None else Kept.of(targets[partition])
        progress = replace(
            before,
            next=self._inlet.next[partition],
            copied=before.copied + batch.copied[partition],
            bad=before.bad + batch.bad[partition],
            last=before.last if last is None or written is None else (last, written.offset),
            read=before.read if seen is None else Kept.of(seen),
            written=written or before.written,
            ids=self._same.ids,
            letters=tuple(dict.fromkeys((*before.letters, letters_of(self._route.target, self._wishes)))),
        )
        anchor = before.anchors[-1][0] if before.anchors else -_ANCHOR_EVERY
        if progress.last is not None and progress.last[0] - anchor >= _ANCHOR_EVERY:
            progress.anchors = [progress.last]
        return progress


def require_ids(kafka: Mapping[str, Any], target: str, wishes: Wishes) -> None:
    """Check that the brokers give producer ids, if these are needed. This is the first check, and creates nothing."""
    if not wishes.transactions:
        require_producer_ids(kafka, target)
    elif (reason := no_producer_ids(kafka, target)) is not None:
        raise no_transactions(target, reason)


def ready(state: State, wishes: Wishes, topic: ProgressTopic) -> tuple[bool, int]:
    """Check what can be checked first, then create topics; returns whether a copy was begun, and the largest size."""
    route, kafka = state.route, state.route.writing.kafka
    known = topic.read()
    require_same_mode(route.target, known, wishes)
    require_known(route, known)
    begun = bool(bounds(kafka, topic.name))  # perhaps by a process that has not committed anything yet
    letters = f"{route.target}{SUFFIX}"
    if not known and wishes.dead_letters is None and has_messages(kafka, letters):
        raise SerdesError(
            "the dead letters of an earlier copy are there, and its progress is not",
            topic=letters,
            hint="delete this topic first, or put the dead letters into a file",
        )
    largest = largest_of_target(state, wishes, resuming=begun)
    Cluster(kafka, topic.name).ensure(topic.name, 1, {"cleanup.policy": "compact"})
    return begun, largest


def ensure_letters(route: Route, partitions: int, largest: int) -> None:
    """Create the topic of dead letters, which keeps messages of any time, and of at least ``largest`` bytes."""
    topic = f"{route.target}{SUFFIX}"
    cluster = Cluster(route.writing.kafka, topic)
    known = cluster.defaults()  # brokers refuse settings that they do not know
    settings = {name: value for name, value in LETTERS.items() if name in known}
    settings |= {"retention.ms": "-1", "max.message.bytes": str(max(largest, LEAST_LARGEST))}
    cluster.ensure(topic, partitions, settings)


def letters_of(target: str, wishes: Wishes) -> str:
    path = wishes.dead_letters
    return f"topic:{target}{SUFFIX}" if path is None else f"file:{path.absolute()}"


def largest_of_target(state: State, wishes: Wishes, *, resuming: bool) -> int:
    """Create or check the target; returns the size of the largest message that the target takes, in bytes."""
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
    last: dict[int, int] = {}
    for place in range(len(copies) - 1, -1, -1):
        last.setdefault(copies[place][0], place)
        if len(last) == partitions:
            break
    return last


@dataclass(slots=True)
class _Batch:
    seen: dict[int, Message] = field(default_factory=dict)  # the last message
    copied: Counter[int] = field(default_factory=Counter)
    bad: Counter[int] = field(default_factory=Counter)
    last: dict[int, int] = field(default_factory=dict)  # offset of the last message that was copied
    size: int = 0  # bytes of values
    since: float = field(default_factory=time.monotonic)

    @property
    def ends(self) -> dict[int, int]:
        return {partition: place_of(message)[1] + 1 for partition, message in self.seen.items()}

    def is_due(self, *, idle: bool) -> bool:
        """Whether to commit now; ``idle`` if the source has nothing more at the moment."""
        if not self.seen:
            self.since = time.monotonic()
            return False
        count = self.copied.total() + self.bad.total()
        age = time.monotonic() - self.since
        return idle or count >= COMMIT_MESSAGES or self.size >= COMMIT_BYTES or age >= COMMIT_SECONDS
