"""Consuming: the reader of ranges of offsets that every command and task uses, and the consumer of one topic.

::

    the end is asked for first    a range is done when the consumer's position() reaches its end
    position()                    steps over markers, aborted and compacted messages; the client knows its position
                                  without a broker, and is asked when it had fewer messages than were wanted
    _PARTITION_EOF                only a shortcut: Kafka's brokers let the client send it, and KoP only where an open
                                  transaction begins, to readers of committed messages
"""

from __future__ import annotations

import gc
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaException, TopicPartition

from streamnative_serdes._closing import Closing
from streamnative_serdes.errors import SerdesError

from .clients import UNKNOWN, BrokerRefusedError, BrokerUnavailableError, ClientErrors, ask, client
from .topics import Range, bounds_of, for_consumer, metadata, partitions_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.2  # so often Ctrl-C is noticed
HALT_SECONDS: Final = 3.0
_SETTLING_SECONDS: Final = 5.0  # of a commit that was confirmed; it takes some milliseconds
READ_SECONDS: Final = 30.0  # without any progress before the end is reached
_MOST: Final = 500  # messages at once
_TAKE_SECONDS: Final = 0.03  # the client waits so long at offsets without a message, such as markers of transactions
_LONGEST_PAUSE: Final = 1.0  # seconds without garbage collection
_CLUSTER_SECONDS: Final = 10.0
# The client requires a group. Nobody joins it: partitions are assigned by hand, and no offset is committed.
GROUP: Final = "streamnative-serdes"
ASSIGNED: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,  # whatever the user sets: a question by name must not create the topic
    "auto.offset.reset": "error",  # for an offset that the broker no longer has: no message is skipped silently
}
COMMITTED: Final[Mapping[str, Any]] = {**ASSIGNED, "isolation.level": "read_committed", "fetch.wait.max.ms": 100}
_FULL_NAME: Final = re.compile(r"(persistent://)?[^/]+/[^/]+/[^/]+")  # of Pulsar's topics
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_M = TypeVar("_M")


def place_of(message: Message) -> tuple[int, int]:
    """Partition and offset of a message that was consumed."""
    place: tuple[Any, Any] = message.partition(), message.offset()  # None is for messages that were not consumed
    return place


def consumed(consume: Callable[[int, float], list[_M]], most: int, seconds: float) -> list[_M]:
    """The result of a client's ``consume``. Python's garbage collector pauses meanwhile, if ``seconds`` are few.

    The collector looks at all messages again and again while the client creates more of them, which takes as long as to
    create them. It pauses in all threads.
    """
    pauses = gc.isenabled() and 0 <= seconds <= _LONGEST_PAUSE
    if pauses:
        gc.disable()
    try:
        return consume(most, seconds)
    finally:
        if pauses:
            gc.enable()


class StalledError(BrokerUnavailableError):
    """A broker is available, but neither a message nor the end of the range comes."""

    def __init__(self, topic: str, partition: int, place: int, end: int, seconds: float) -> None:
        super().__init__(
            f"partition {partition}: no message from offset {place} on for {seconds:.0f} s, and the end is {end}",
            topic=topic,
            hint="does the topic still exist? Messages behind an open transaction come when it ends",
        )


_DELETED_HINT: Final = "messages were deleted before they were read, or the topic was recreated; run this again"
_HIDDEN_HINT: Final = "was it deleted, or do the ACLs not let this user DESCRIBE it?"


class OffsetsGoneError(BrokerRefusedError):
    """The partition does not have offsets that were to be read: messages were deleted, or the topic was recreated.

    ``bounds`` are the first offset that it has and its next one, ``found`` are the broker's own words.
    """

    def __init__(
        self, topic: str, partition: int, place: int, bounds: Range, found: str, hint: str = _DELETED_HINT
    ) -> None:
        super().__init__(f"cannot read partition {partition} from offset {place}: {found}", topic=topic, hint=hint)
        self.partition, self.place, self.bounds, self.found = partition, place, bounds, found


class RangeReader:
    """Reads ranges with a consumer that is assigned to them; only one such reader of a consumer at a time.

    Args:
        consumer: the client, with the options ``ASSIGNED``.
        errors: collects the client's connection errors.
        topic: the topic.
        patience: seconds without any progress, after which unfinished ranges are an error. Only time in :meth:`take`
            counts: the caller that takes the messages may be slow.
        beyond: go on after the ends of ranges, for callers that follow a topic; each partition then has one range.
        stable: finish a partition if a broker says for some seconds that the partition ends, though its next offset is
            higher: a KoP counts messages of open transactions, where Kafka tells readers of committed messages the end
            before these messages. A follower of Kafka's that is behind may say so, too, so this end is logged.

    Attributes:
        places: by partition, the offset that comes next.
    """

    def __init__(
        self,
        consumer: Consumer,
        errors: ClientErrors,
        topic: str,
        patience: float,
        *,
        beyond: bool = False,
        stable: bool = False,
    ) -> None:
        self._consumer, self._errors, self._topic = consumer, errors, topic
        self._patience, self._beyond, self._stable = patience, beyond, stable
        self.places: dict[int, int] = {}
        self._left: dict[int, deque[Range]] = {}
        self._stale: dict[int, int] = {}
        self._halted: dict[int, tuple[int, float]] = {}
        self._fault: Exception | None = None
        self._away = 0.0  # seconds between the calls of take(), and beyond those that consume() was to wait
        self._heard = self._returned = time.monotonic()

    def start(self, ranges: Mapping[int, Sequence[Range]]) -> None:
        """Begin with these ranges: of each partition, in order and without overlaps."""
        self._left, self.places, assigned = {}, {}, []
        for number, spans in ranges.items():
            filled: deque[Range] = deque()
            for span in spans:
                if span[0] < span[1]:
                    filled.append(span)
            if filled:
                self._left[number] = filled
            if filled or (self._beyond and spans):
                self.places[number] = (filled or spans)[0][0]
                assigned.append(TopicPartition(self._topic, number, self.places[number]))
        self._fault, self._halted = None, {}
        self._consumer.unassign()  # otherwise position() could be that of an earlier assignment
        self._consumer.assign(assigned)
        self._stale = self._positions()
        self._away = 0.0
        self._heard = self._returned = time.monotonic()

    @property
    def left(self) -> bool:
        """Whether a range is not done."""
        return bool(self._left)

    def messages(self, most: int, seconds: float = _TAKE_SECONDS) -> Iterator[Message]:
        """Yield the messages of all ranges; raises as :meth:`take` does."""
        while self._left:
            yield from self.take(most, seconds)

    def to_go(self) -> int:
        """How many offsets are left in the ranges."""
        offsets = 0
        for partition, spans in self._left.items():
            for start, stop in spans:
                offsets += stop - max(start, self.places[partition])
        return offsets

    def take(self, most: int, seconds: float = POLL_SECONDS) -> list[Message]:
        """The next messages, of each partition in order; an empty list if no message came in time.

        Args:
            most: the highest number of messages; the client waits until it has as many, or all messages that are left.
            seconds: how long to wait.

        Raises:
            OffsetsGoneError: a partition does not have the offsets that were to be read.
            StalledError: for ``patience`` seconds, nothing has come.
            BrokerUnavailableError: the same, and the client has connection errors.
            BrokerRefusedError: the user may not consume from the topic.
            KafkaException: the broker refuses for another reason.
        """
        self._away += time.monotonic() - self._returned
        try:
            return self._take(most, seconds)
        finally:
            self._returned = time.monotonic()

    def _take(self, most: int, seconds: float) -> list[Message]:
        if self._fault is not None:
            self._raise_fault()
        wanted = most if self._beyond else min(most, self.to_go())
        began = time.monotonic()
        taken = consumed(self._consumer.consume, wanted, seconds)
        self._away += max(time.monotonic() - began - seconds, 0.0)  # while the process was stopped
        kept, moved = self._sorted(taken) if taken else ([], False)
        if len(taken) < wanted:
            for partition, place in self._positions().items():
                if place > self.places[partition] and place != self._stale.get(partition):
                    moved |= self._reach(partition, place)
        if self._stable and self._halted:
            self._end_halted()
        if (taken or moved) and self._left:
            self._continue()
        self._be_patient(moved=moved)
        if self._fault is not None and not kept:
            self._raise_fault()
        return kept

    def _sorted(self, taken: list[Message]) -> tuple[list[Message], bool]:
        """The messages that are in the ranges, and whether any message was new; reports of the client are heeded."""
        found = [message for message in taken if message.error() is None]
        kept = self._kept(found)
        last = found[-1:] if len(self.places) == 1 else found
        moved = False
        for partition, offset in dict(map(place_of, last)).items():  # the last one of each partition
            moved |= self._reach(partition, offset + 1)
        if len(found) < len(taken):
            self._heed([message for message in taken if message.error() is not None])
        return kept, moved

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _kept(self, found: list[Message]) -> list[Message]:
        """The messages that are in the ranges."""
        if self._beyond or not found:
            return found
        if len(self.places) == 1 and self._left:
            partition, first = place_of(found[0])
            ((start, stop), *others) = self._left[partition]
            if not others and start <= first and place_of(found[-1])[1] < stop:
                return found
        return [message for message in found if self._is_wanted(*place_of(message))]

    def _is_wanted(self, partition: int, offset: int) -> bool:
        return any(start <= offset < stop for start, stop in self._left.get(partition, ()))

    def _reach(self, partition: int, place: int) -> bool:
        """Note that a partition was read up to ``place`` (exclusive); True if ``place`` is new."""
        if place <= self.places[partition]:
            return False
        self.places[partition] = place
        spans = self._left.get(partition)
        while spans and spans[0][1] <= place:
            spans.popleft()
        if spans is not None and not spans:
            self._end(partition)
        return True

    def _end_halted(self) -> None:
        """End ranges whose partition has ended for a while; a new leader may know less for a moment."""
        for partition, (place, since) in list(self._halted.items()):
            if self.places[partition] != place or partition not in self._left:
                del self._halted[partition]
            elif self._time() - since >= HALT_SECONDS:
                self._say_ended(partition)
                self._end(partition)

    def _say_ended(self, partition: int) -> None:
        logger.warning(
            "topic %s, partition %d: read up to offset %d, and not %d: the broker has said for %.0f s that it ends "
            "there. A transaction is open, or the follower that client.rack chooses is behind",
            self._topic,
            partition,
            self.places[partition],
            self._left[partition][-1][1],
            HALT_SECONDS,
        )

    def _end(self, partition: int) -> None:
        del self._left[partition]
        if not self._beyond and self._left:
            self._consumer.pause([self._at(partition)])

    def _continue(self) -> None:
        """Seek the next range of each partition; all messages fetched of the partition have been read by then."""
        for partition, spans in self._left.items():
            if spans[0][0] > self.places[partition]:
                self.places[partition] = spans[0][0]
                self._consumer.seek(self._at(partition, spans[0][0]))

    def _positions(self) -> dict[int, int]:
        found: dict[int, int] = {}
        asked = list(map(partial(TopicPartition, self._topic), self.places if self._beyond else self._left))
        for each in self._consumer.position(asked) if asked else ():
            found[each.partition] = each.offset
        return found

    def _heed(self, reports: Sequence[Message]) -> None:
        """Heed the client's reports in place of messages; an error waits until the messages before it are taken."""
        for report in reports:
            error: KafkaError = report.error()  # type: ignore[assignment]
            if error.name() == "_PARTITION_EOF":
                self._heed_end(*place_of(report))
            elif error.name() == "_AUTO_OFFSET_RESET":
                self._fault = self._fault or self._gone(place_of(report)[0], error.str(), KafkaException(error))
            elif error.name() != "GROUP_AUTHORIZATION_FAILED":  # an error of the group that nobody uses
                self._fault = self._fault or for_consumer(self._topic, KafkaException(error))

    def _heed_end(self, partition: int, place: int) -> None:
        self._reach(partition, place)
        if partition in self._left:  # messages are on their way or in an open transaction, or the topic was recreated
            self._fault = self._fault or self._lost(partition)
            self._halted[partition] = (place, self._time())

    def _lost(self, partition: int) -> OffsetsGoneError | None:
        """The error of a partition that ends before its ranges, or no longer exists."""
        place, end = self.places[partition], self._left[partition][-1][1]
        try:
            low, high = bounds_of(self._consumer, self._errors, self._topic, partition)
        except KafkaException as error:
            if isinstance(error, SerdesError) or error.args[0].name() not in UNKNOWN:
                raise
            found = "the topic or the partition no longer exists"
            return OffsetsGoneError(self._topic, partition, place, (0, 0), found, _HIDDEN_HINT)
        if high >= end:
            return None
        found = f"expected messages up to offset {end}, but the partition ends at {high}"
        return OffsetsGoneError(self._topic, partition, place, (low, high), found)

    def _gone(self, partition: int, reason: str, cause: Exception) -> OffsetsGoneError:
        low, high = bounds_of(self._consumer, self._errors, self._topic, partition)
        found = f"{reason}; the partition has offsets {low} to {high}"
        error = OffsetsGoneError(self._topic, partition, self.places.get(partition, low), (low, high), found)
        error.__cause__ = cause
        return error

    def _be_patient(self, *, moved: bool) -> None:
        if moved:
            self._heard = self._time()
            self._errors.answer()
            self._errors.clear()
        elif self._left and self._fault is None and self._errors.gives_up(self._heard + self._away, self._patience):
            self._fault = self._stalled()

    def _time(self) -> float:
        """The clock without ``_away``."""
        return time.monotonic() - self._away

    def _stalled(self) -> Exception:
        if str(self._errors):
            return self._errors.error(self._patience)
        partition, spans = next(iter(self._left.items()))
        return self._lost(partition) or StalledError(
            self._topic, partition, self.places[partition], spans[-1][1], self._patience
        )

    def _at(self, partition: int, offset: int = 0) -> Any:
        return TopicPartition(self._topic, partition, offset)


class TopicConsumer(Closing):
    """A consumer of one topic, whose partitions are assigned by hand; use it as a context manager, or close it.

    Args:
        kafka: options of the Kafka client.
        topic: the topic.
        patience: seconds without any progress, after which unfinished ranges are an error.
        committed: read committed messages only; otherwise ``kafka`` decides.
        options: more options of the client; the options in ``kafka`` take precedence.
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        topic: str,
        patience: float = READ_SECONDS,
        *,
        committed: bool = True,
        options: Mapping[str, Any] = _NOTHING,
    ) -> None:
        self._topic, self._patience, self._errors = topic, patience, ClientErrors(kafka, topic)
        self._kafka = kafka
        conf = {"group.id": GROUP, **options, **kafka, **(COMMITTED if committed else ASSIGNED)}
        self._consumer: Consumer = client(Consumer, conf, topic, self._errors)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def bounds(self, partitions: Iterable[int] | None = None) -> dict[int, Range]:
        """The first offset and the next offset of all partitions, or of these; empty if the topic does not exist.

        For a consumer of committed messages, the next offset is the offset after the last committed message.
        """
        numbers = self.partitions() if partitions is None else partitions
        return {number: bounds_of(self._consumer, self._errors, self._topic, number) for number in numbers}

    def settled_bounds(self) -> tuple[dict[int, Range], dict[int, int]]:
        """As :meth:`bounds`, and the ends of the partitions with the messages that are not committed.

        Brokers confirm a commit before all partitions have it: such transactions are awaited, for a few seconds. Where
        the end is higher than the bounds all the same, a transaction is open, and messages behind it cannot be read.
        """
        ends = {number: high for number, (_, high) in bounds(self._kafka, self._topic, committed=False).items()}
        until = time.monotonic() + _SETTLING_SECONDS
        while True:
            found = self.bounds(ends)
            if all(found[number][1] >= end for number, end in ends.items()) or time.monotonic() > until:
                return found, ends
            time.sleep(POLL_SECONDS)

    def partitions(self) -> Sequence[int]:
        """The numbers of the partitions; empty if the topic does not exist. Raises as :meth:`bounds` does."""
        return partitions_of(self._consumer, self._errors, self._topic)

    def listed(self) -> Sequence[int]:
        """As :meth:`partitions`, but without a request with the topic's name, at which some brokers create the topic.

        Only a full name of Pulsar's, which no Kafka topic has, is asked for by name: a KoP lists short names, but knows
        each topic by both, and creates none for a consumer. A topic that the user may not describe is left out.
        """
        found = metadata(self._consumer, self._errors).topics.get(self._topic)
        return self.named(self._topic) if found is None and is_full_name(self._topic) else _numbers(found)

    def named(self, topic: str) -> Sequence[int]:
        """As :meth:`listed`, of any topic, which is asked for by its full name of Pulsar's."""
        return _numbers(metadata(self._consumer, self._errors, topic).topics.get(topic))

    def cluster(self) -> str:
        """The id of the brokers' cluster; empty if the brokers do not tell the id."""
        return self._consumer.cluster_id(_CLUSTER_SECONDS) or ""

    def fetched_end(self, partition: int) -> int:
        """The end of a partition as the last fetch has told it."""
        return int(self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), cached=True)[1])

    def offsets_at(self, millis: int, partitions: Iterable[int]) -> dict[int, int]:
        """The first offsets from that time on, in milliseconds since 1970; -1 where there are no later messages."""
        asked = [TopicPartition(self._topic, partition, millis) for partition in partitions]
        found = ask(
            self._consumer, self._errors, lambda seconds: self._consumer.offsets_for_times(asked, timeout=seconds)
        )
        return {one.partition: one.offset for one in found}

    def reader(self, ranges: Mapping[int, Sequence[Range]], *, beyond: bool = False) -> RangeReader:
        """A reader of these ranges, with ``beyond`` of the offsets after them too; only one reader at a time."""
        reader = RangeReader(self._consumer, self._errors, self._topic, self._patience, beyond=beyond, stable=True)
        reader.start(ranges)
        return reader

    def messages(self, ranges: Mapping[int, Sequence[Range]], most: int = _MOST) -> Iterator[Message]:
        """Yield the messages of these ranges. Raises as :meth:`RangeReader.take` does."""
        return self.reader(ranges).messages(most)


def _numbers(found: Any) -> Sequence[int]:
    return () if found is None or found.error is not None else sorted(found.partitions)


def is_full_name(topic: str) -> bool:
    """Whether the name is a full name of Pulsar's, which no Kafka topic has."""
    return _FULL_NAME.fullmatch(topic) is not None


def listed(kafka: Mapping[str, Any], topic: str) -> Sequence[int]:
    """The numbers of a topic's partitions: see :meth:`TopicConsumer.listed`."""
    with TopicConsumer(kafka, topic, committed=False) as consumer:
        return consumer.listed()


def bounds(kafka: Mapping[str, Any], topic: str, *, committed: bool = True) -> dict[int, Range]:
    """The bounds of all partitions for readers of committed messages, or of all; empty if the topic does not exist."""
    options = kafka if committed else {**kafka, "isolation.level": "read_uncommitted"}
    with TopicConsumer(options, topic, committed=committed) as consumer:
        return consumer.bounds()


def committed_messages(
    kafka: Mapping[str, Any], topic: str, starts: Mapping[int, int] | None = None
) -> Iterator[Message]:
    """Yield the messages of a topic up to its present end, without those of aborted transactions.

    ``starts`` has the offset to begin with, by partition; by default, the first offsets of all partitions. A topic that
    does not exist has no messages.
    """
    with TopicConsumer(kafka, topic) as consumer:
        there = consumer.bounds()
        places = {number: low for number, (low, _) in there.items()} if starts is None else starts
        yield from consumer.messages(
            {number: [(max(place, there[number][0]), there[number][1])] for number, place in places.items()}
        )


def has_messages(kafka: Mapping[str, Any], topic: str) -> bool:
    """Whether a topic has any committed message. Raises as :func:`committed_messages` does."""
    return next(committed_messages(kafka, topic), None) is not None
