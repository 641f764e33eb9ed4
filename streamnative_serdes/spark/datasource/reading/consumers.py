"""Consumers of a worker process: kept for its next tasks, a few at most, and closed when they are idle.

A consumer belongs to one task at a time. Its partition is unassigned when the task ends, so an idle consumer fetches
nothing. Consumers are not used after a fork: their threads and connections exist in the parent alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._kafka import ASSIGNED, ClientErrors, client
from streamnative_serdes.spark.session.workers import OfProcess

if TYPE_CHECKING:
    from confluent_kafka import Consumer

MOST: Final = 8  # idle consumers of a process
IDLE_SECONDS: Final = 60.0
_SET: Final[Mapping[str, Any]] = {**ASSIGNED, "enable.auto.offset.store": False}
# librdkafka waits this long when its queue is full; with its default, a second, the queue runs dry meanwhile.
_DEFAULTS: Final[Mapping[str, Any]] = {"fetch.queue.backoff.ms": 10}


def require_valid(kafka: Mapping[str, Any], topic: str) -> None:
    """Check a consumer's configuration, on the driver: tasks would only find out later.

    Args:
        kafka: the client's configuration, with ``group.id``.
        topic: for errors.

    Raises:
        ConfigError: the client refuses the configuration.
    """
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

    most: int = MOST
    idle_seconds: float = IDLE_SECONDS
    opened: int = 0  # for tests

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[str, Leased]] = []  # the one that was used last is the last
        self._sweeper: threading.Thread | None = None

    @contextmanager
    def lease(self, kafka: Mapping[str, Any], topic: str) -> Iterator[Leased]:
        """A consumer with this configuration, for the block alone. After an error, it is closed.

        Args:
            kafka: the client's configuration, with ``group.id``.
            topic: for errors.

        Raises:
            ConfigError: the client refuses the configuration.
        """
        key = repr(sorted(kafka.items()))
        leased = self._take(key) or self._open(kafka, topic)
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
            surplus = [self._idle.pop(0)[1] for _ in range(len(self._idle) - self.most)]
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep, name="streamnative_serdes consumers", daemon=True)
                self._sweeper.start()
        for each in surplus:
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


_pool: Final = OfProcess(Pool)


def pool() -> Pool:
    """The pool of this process."""
    return _pool.own
