"""Reads a range of offsets in a task: large batches of messages, up to an offset, over gaps and lost messages.

A range ends by offset, not by the number of messages: transaction markers, aborted messages and compacted ones leave
gaps.

A worker process keeps its consumers for its next tasks, a few at most, and closes them when they are idle. A consumer
belongs to one task at a time. Its partition is unassigned when the task ends, so an idle consumer fetches nothing.
Consumers are not used after a fork: their threads and connections exist in the parent alone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._kafka import ASSIGNED, ClientErrors, OffsetsGoneError, RangeReader, StalledError, client
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.session.workers import OfProcess

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

logger = logging.getLogger(__name__)

MOST_MESSAGES: Final = 10_000  # at once
MOST_BYTES: Final = 16 << 20  # of values and keys at once, about
_FIRST: Final = 500  # messages, before their size is known
WAIT_SECONDS: Final = 0.1  # seconds: the client waits so long if fewer messages are left than asked for
DATA_LOSS_HINT: Final = (
    "start a stream with a new checkpoint, a batch at other offsets; or set failOnDataLoss=false to go on without them"
)


class OffsetOutOfRangeError(SerdesError):
    """The partition does not have the requested offsets, so data may be lost; see Spark's ``failOnDataLoss``.

    The topic was recreated, has dropped its oldest messages, or no longer has the partition.
    """

    help = "docs/troubleshooting.md#spark-offsets-are-gone"


@dataclass(frozen=True, slots=True)
class Patience:
    """A task's patience with missing messages."""

    fail: bool = True
    seconds: float = 120.0
    loss_hint: str = DATA_LOSS_HINT
    wait_hint: str = "; kafkaConsumer.pollTimeoutMs says how long to wait"

    def lost(self, found: str, topic: str, reason: str | None = None) -> None:
        """Raise OffsetOutOfRangeError, or log the offsets that are skipped; ``reason`` is what else may be wrong."""
        if self.fail:
            hint = f"{reason}; otherwise, {self.loss_hint}" if reason else self.loss_hint
            raise OffsetOutOfRangeError(f"{found}; messages may be lost", topic=topic, hint=hint)
        logger.warning("topic %s: %s; messages may be lost, and reading goes on: failOnDataLoss is false", topic, found)


def read_range(kafka: Mapping[str, Any], span: Range, patience: Patience) -> Iterator[list[Message]]:
    """Yield the messages of ``span``, up to 10,000 and about 16 MB at once.

    Meanwhile the client fetches the next ones, up to ``queued.max.messages.kbytes``.

    Raises:
        OffsetOutOfRangeError: the broker does not have all of the range, and ``patience`` says to fail.
        BrokerUnavailableError: no messages arrived in time.
        BrokerRefusedError: the user may not consume from the topic.
        KafkaException: the broker reports another error.
    """
    with POOL.own.lease(kafka, span.topic) as leased:
        reader = RangeReader(leased.consumer, leased.errors, span.topic, patience.seconds)
        reader.start({span.partition: [(span.start, span.end)]})
        most = _FIRST
        while reader.left:
            found = _take(reader, span, patience, most)
            if found:
                yield found
                most = _next_count(found)


def _take(reader: RangeReader, span: Range, patience: Patience, most: int) -> list[Message]:
    try:
        return reader.take(most, WAIT_SECONDS)
    except OffsetsGoneError as gone:
        patience.lost(gone.message, span.topic)
        low = gone.bounds[0]
        reader.start({span.partition: [(low if low > gone.place else span.end, span.end)]})
    except StalledError as error:
        error.hint = f"{error.hint}{patience.wait_hint}"
        raise
    return []


def _next_count(found: Sequence[Message]) -> int:
    """The number of messages to take next, for about MOST_BYTES."""
    size = sum([len(message.value() or b"") + len(message.key() or b"") for message in found[:100]])
    each = max(size // min(len(found), 100), 1)
    return max(min(MOST_BYTES // each, MOST_MESSAGES), 1)


MOST_IDLE: Final = 8  # consumers of a process
IDLE_SECONDS: Final = 60.0
_SET: Final[Mapping[str, Any]] = {**ASSIGNED, "enable.auto.offset.store": False}
_DEFAULTS: Final[Mapping[str, Any]] = {
    # librdkafka waits this long when its queue is full; with its default, a second, the queue runs dry meanwhile.
    "fetch.queue.backoff.ms": 10,
    # All messages of a range are there. A fetch waits behind them only, and the worker's next range waits for its end.
    "fetch.wait.max.ms": 100,
}


def require_valid(kafka: Mapping[str, Any], topic: str) -> None:
    """Check a consumer's configuration, on the driver: tasks would only find out later."""
    from confluent_kafka import Consumer

    client(Consumer, {**_DEFAULTS, **kafka, **_SET}, topic).close()


@dataclass(slots=True)
class Leased:
    """A consumer, and its reports about connections."""

    consumer: Consumer
    errors: ClientErrors
    since: float = 0.0  # idle since then, by time.monotonic()


@dataclass
class Pool:
    """The idle consumers of one process; the oldest is closed if there are too many. A lock guards all that it has."""

    most: int = MOST_IDLE
    idle_seconds: float = IDLE_SECONDS
    opened: int = 0  # for tests

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[str, Leased]] = []  # the one that was used last is the last
        self._sweeper: threading.Thread | None = None

    @contextmanager
    def lease(self, kafka: Mapping[str, Any], topic: str) -> Iterator[Leased]:
        """A consumer with this configuration, for the block alone. After an error, it is closed."""
        key = repr(sorted(kafka.items()))
        leased = self._take(key) or self._open(kafka, topic)
        leased.errors.topic = topic
        leased.errors.clear()
        try:
            yield leased
            leased.consumer.unassign()
        except BaseException:
            leased.consumer.close()
            raise
        self._give_back(key, leased)

    def _open(self, kafka: Mapping[str, Any], topic: str) -> Leased:
        from confluent_kafka import Consumer

        errors = ClientErrors(kafka, topic)
        with self._lock:
            self.opened += 1
        return Leased(client(Consumer, {**_DEFAULTS, **kafka, **_SET}, topic, errors), errors)

    def _take(self, key: str) -> Leased | None:
        with self._lock:
            for number in reversed(range(len(self._idle))):
                if self._idle[number][0] == key:
                    return self._idle.pop(number)[1]
        return None

    def _give_back(self, key: str, leased: Leased) -> None:
        leased.since = time.monotonic()
        with self._lock:
            self._idle.append((key, leased))
            surplus = self._idle[: -self.most]
            del self._idle[: -self.most]
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep, name="streamnative_serdes consumers", daemon=True)
                self._sweeper.start()
        for _, each in surplus:
            each.consumer.close()

    def _sweep(self) -> None:
        """Close consumers that have been idle for too long, until no consumer is left."""
        while True:
            with self._lock:
                if not self._idle:
                    self._sweeper = None
                    return
                wait = self._idle[0][1].since + self.idle_seconds - time.monotonic()
                late = self._idle.pop(0)[1] if wait <= 0 else None
            if late is not None:
                late.consumer.close()
            else:
                time.sleep(wait)

    def close(self) -> None:
        """Close the idle consumers now."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, each in idle:
            each.consumer.close()

    @property
    def idle(self) -> int:
        """The number of idle consumers."""
        return len(self._idle)


POOL: Final = OfProcess(Pool)
