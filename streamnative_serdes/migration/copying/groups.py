"""Consumer groups: their offsets in the source become offsets of the copies in the target.

For some messages, the progress has the offset in the source and the offset of the copy. From the last such pair before
a group's offset, both topics are read side by side: each message of the source is copied again in memory, and the next
equal message in the target is its copy. Messages of other producers in between are passed over. Where retention
has deleted the first of these copies, only the copy of the group's next message is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from streamnative_serdes._kafka import (
    NO_COORDINATOR,
    bounds,
    client,
    committed_messages,
    place_of,
    retry,
    within,
)
from streamnative_serdes._rewriting import BadMessageError
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.migration.schemas.canonical import schemas_of
from streamnative_serdes.migration.state import State

from .messages import MessageCopier
from .progress import Progress, ProgressTopic
from .resuming import Wishes, require_known

_SECONDS: Final = 30.0
_IN_USE: Final = ("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "REBALANCE_IN_PROGRESS")
_UNSTABLE: Final = "UNSTABLE_OFFSET_COMMIT"  # offsets in a transaction that is open, or whose end is not applied yet


@dataclass(frozen=True, slots=True)
class Moved:
    """A group's offset in one partition.

    Args:
        group: the group's name.
        partition: of both topics.
        source: the group's offset in the source.
        target: the group's offset in the target.
        early: the copy has not come that far: the group's offset in the target is behind all copies, and messages up to
            its offset in the source will reach the group again when they are copied.
    """

    group: str
    partition: int
    source: int
    target: int
    early: bool = False


def move_groups(state: State, groups: Sequence[str], wishes: Wishes, *, dry_run: bool = False) -> list[Moved]:
    """Set the offsets of groups in the target to the copies of the messages at their offsets in the source.

    Args:
        state: the migration.
        groups: the names of the groups.
        wishes: the options of the copy.
        dry_run: change nothing.

    Raises:
        ChangedTopicError: source or target was deleted, or deleted and created again.
        SerdesError: a group has no offset in the source, or one before the first copy or behind the source's end, has a
            transaction open, or is in use in the target; or messages or copies have been deleted.
        BrokerUnavailableError: a broker does not answer.
        KafkaException: a broker refuses.
    """
    route = state.route
    progress = ProgressTopic(route.writing.kafka, route.target, None).read()
    require_known(route, progress)
    reading: Any = client(AdminClient, dict(route.reading.kafka), route.source)
    partitions = sorted(bounds(route.reading.kafka, route.source))
    places = [(group, place) for group in groups for place in _offsets(reading, group, route.source, partitions)]
    # Asked later than the groups' offsets, since both may grow. Groups may read messages of open transactions.
    ends = {number: end for number, (_, end) in bounds(route.reading.kafka, route.source, committed=False).items()}
    with schemas_of(route, reading=True) as schemas:
        walk = _Walk(state, MessageCopier(state.rewriter(), schemas, wishes.rules), progress, wishes.start, ends)
        found = [walk.moved(group, place.partition, place.offset) for group, place in places]
    if not dry_run:
        writing: Any = client(AdminClient, dict(route.writing.kafka), route.target)
        for group in groups:
            _set(writing, group, route.target, [moved for moved in found if moved.group == group])
    return found


def _offsets(admin: Any, group: str, topic: str, partitions: Sequence[int]) -> list[TopicPartition]:
    """The group's offsets in the topic. The question names the topic: in a list of all topics, KoP has other names."""
    group_ = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, number) for number in partitions])]
    asked = {"require_stable": True, "request_timeout": _SECONDS}  # brokers that do not know require_stable ignore it
    try:
        answered = _answer(lambda: admin.list_consumer_group_offsets(group_, **asked)[group])
    except KafkaException as error:
        if error.args[0].name() != _UNSTABLE:
            raise
        hint = "end it, or wait until the broker does (transaction.timeout.ms), then run this again"
        raise SerdesError(f"the group {group!r:.200} has a transaction open", topic=topic, hint=hint) from error
    found = [place for place in answered if place.topic == topic and place.offset >= 0]
    if not found:
        raise SerdesError(f"the group {group!r:.200} has no offsets in this topic", topic=topic)
    return sorted(found, key=lambda place: place.partition)


def _set(admin: Any, group: str, topic: str, moved: Sequence[Moved]) -> None:
    places = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, one.partition, one.target) for one in moved])]
    try:
        _answer(lambda: admin.alter_consumer_group_offsets(places, request_timeout=_SECONDS)[group])
    except KafkaException as error:
        if error.args[0].name() not in _IN_USE:
            raise
        hint = "stop its consumers, then run this again"
        raise SerdesError(f"the group {group!r:.200} is in use in the target", topic=topic, hint=hint) from error


def _answer(question: Callable[[], Any]) -> list[TopicPartition]:
    """The broker's answer about a group, once it can give one. Raises KafkaException if the broker refuses."""

    def places() -> list[TopicPartition]:
        found: list[TopicPartition] = within(question(), _SECONDS).topic_partitions
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
        return found

    return retry(places, (*NO_COORDINATOR, _UNSTABLE), _SECONDS)


class MissingCopyError(SerdesError):
    """The copy of a message is not in the target."""


class _Walk:
    def __init__(
        self,
        state: State,
        copier: MessageCopier,
        progress: Mapping[int, Progress],
        start: Mapping[int, int],
        ends: Mapping[int, int],
    ) -> None:
        self._route, self._copier, self._progress, self._start, self._ends = state.route, copier, progress, start, ends
        self._bounds = bounds(state.route.writing.kafka, state.route.target)

    def moved(self, group: str, partition: int, offset: int) -> Moved:
        start = self._start.get(partition, 0)
        if offset < start:
            raise SerdesError(
                f"the group {group!r:.200} is at offset {offset} of partition {partition}; copying began at {start}",
                topic=self._route.source,
                hint="let its consumers read up to there first",
            )
        if offset > self._ends[partition]:
            raise SerdesError(
                f"the group {group!r:.200} is at offset {offset} of partition {partition}, which is out of range: the "
                f"partition ends at {self._ends[partition]}",
                topic=self._route.source,
                hint="its consumers would begin as auto.offset.reset says; let them do so first, or reset its offsets",
            )
        progress = self._progress.get(partition)
        if progress is None or progress.last is None:  # the first copy will be at the target's end
            early = offset > (start if progress is None else progress.next)
            return Moved(group, partition, offset, self._bounds.get(partition, (0, 0))[1], early)
        if offset > progress.last[0]:
            return Moved(group, partition, offset, progress.last[1] + 1, early=offset > progress.next)
        return Moved(group, partition, offset, self._target(partition, offset, progress.anchors))

    def _target(self, partition: int, offset: int, anchors: Sequence[tuple[int, int]]) -> int:
        """The offset of the first copy of a message from ``offset`` on, which exists."""
        before = [anchor for anchor in anchors if anchor[0] <= offset]
        source, target = before[-1] if before else (self._start.get(partition, 0), 0)
        if target >= self._bounds[partition][0]:
            return self._walked(partition, offset, source, target, times=False)
        try:  # the target has lost messages, which may be no copies
            return self._walked(partition, offset, source, target)
        except MissingCopyError:
            return self._walked(partition, offset, offset, target)

    def _walked(self, partition: int, offset: int, source: int, target: int, *, times: bool = True) -> int:
        """As :meth:`_target`, from this pair on. Without ``times``, those that a broker has set are not compared."""
        copies = committed_messages(self._route.writing.kafka, self._route.target, {partition: target})
        for message in committed_messages(self._route.reading.kafka, self._route.source, {partition: source}):
            try:
                value, key, _, moment = self._copier.copy(message)
            except BadMessageError:
                continue
            place = self._next_equal(copies, (value, key, moment), message, times)
            if place_of(message)[1] >= offset:
                return place
        raise SerdesError(
            f"partition {partition} has no message from offset {offset} on any more, whose copy would be next",
            topic=self._route.source,
            hint="were they deleted by retention? Set the group's offsets in the target by hand",
        )

    def _next_equal(
        self, copies: Iterator[Message], wanted: tuple[Any, Any, int], message: Message, times: bool
    ) -> int:
        for copy in copies:
            kind, moment = copy.timestamp()
            if (copy.value(), copy.key()) == wanted[:2] and (
                wanted[2] in (moment, 0) or (not times and kind == TIMESTAMP_LOG_APPEND_TIME)
            ):
                return place_of(copy)[1]
        partition, offset = place_of(message)
        hint = "was it deleted by retention or compaction?"
        raise MissingCopyError(
            f"the copy of the source's partition {partition}, offset {offset} is not there",
            topic=self._route.target,
            hint=hint,
        )
