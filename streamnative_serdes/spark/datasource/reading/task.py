"""Reads a range of offsets in a task: large batches of messages, up to an offset, over gaps and lost messages.

A range ends by offset, not by the number of messages: transaction markers, aborted messages and compacted ones leave
gaps.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._kafka import OffsetsGoneError, RangeReader, StalledError
from streamnative_serdes.errors import SerdesError
from streamnative_serdes.spark.datasource.offsets.ranges import Range

from .consumers import Leased, pool

if TYPE_CHECKING:
    from confluent_kafka import Message

logger = logging.getLogger(__name__)

MOST_MESSAGES: Final = 10_000  # at once
MOST_BYTES: Final = 16 << 20  # of values and keys at once, about
_FIRST: Final = 500  # messages, before their size is known
_WAIT: Final = 0.1  # seconds: the client waits so long if fewer messages are left than asked for
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
    """A task's patience with missing messages.

    Args:
        fail: whether lost messages are an error.
        seconds: how long to wait for the next messages.
        loss_hint: the hint for lost messages.
        wait_hint: the hint for too short a wait.
    """

    fail: bool = True
    seconds: float = 120.0
    loss_hint: str = DATA_LOSS_HINT
    wait_hint: str = "; kafkaConsumer.pollTimeoutMs says how long to wait"


def read_range(kafka: Mapping[str, Any], span: Range, patience: Patience) -> Iterator[list[Message]]:
    """Yield the messages of ``span``, up to 10,000 and about 16 MB at once.

    Meanwhile the client fetches the next ones, up to ``queued.max.messages.kbytes``.

    Raises:
        OffsetOutOfRangeError: the broker does not have all of the range, and ``patience`` says to fail.
        BrokerUnavailableError: no messages arrived in time.
        KafkaException: the broker reports an error.
    """
    with pool().lease(kafka, span.topic) as leased:
        yield from _Reader(leased, span, patience).batches()


class _Reader:
    def __init__(self, leased: Leased, span: Range, patience: Patience) -> None:
        self._reader = RangeReader(leased.consumer, leased.errors, span.topic, patience.seconds)
        self._span, self._patience = span, patience

    def batches(self) -> Iterator[list[Message]]:
        self._start(self._span.start)
        most = _FIRST
        while self._reader.left:
            found = self._take(most)
            if found:
                most = _next_count(found)
                yield found

    def _start(self, place: int) -> None:
        self._reader.start({self._span.partition: [(place, self._span.end)]})

    def _take(self, most: int) -> list[Message]:
        try:
            return self._reader.take(most, _WAIT)
        except OffsetsGoneError as gone:
            self._lost(gone)
            low = gone.bounds[0]
            self._start(low if low > gone.place else self._span.end)
        except StalledError as error:
            error.hint = f"{error.hint}{self._patience.wait_hint}"
            raise
        return []

    def _lost(self, gone: OffsetsGoneError) -> None:
        """Raise OffsetOutOfRangeError, or log the offsets that are skipped."""
        if self._patience.fail:
            text = f"{gone.message}; messages may be lost"
            raise OffsetOutOfRangeError(text, topic=self._span.topic, hint=self._patience.loss_hint) from gone
        logger.warning(
            "topic %s: %s; messages may be lost, and reading goes on: failOnDataLoss is false",
            self._span.topic,
            gone.message,
        )


def _next_count(found: Sequence[Message]) -> int:
    """The number of messages to take next, for about MOST_BYTES."""
    size = sum([len(message.value() or b"") + len(message.key() or b"") for message in found[:100]])
    each = max(size // min(len(found), 100), 1)
    return max(min(MOST_BYTES // each, MOST_MESSAGES), 1)
