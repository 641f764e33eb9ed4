"""Reads a range of offsets in a task: large batches of messages, up to an offset, over gaps and lost messages.

A range ends by offset, not by the number of messages: transaction markers, aborted messages and compacted ones leave
gaps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from streamnative_serdes._kafka import ask, concerns_the_group
from streamnative_serdes._log import logger
from streamnative_serdes.arrow.kafka_columns import without_errors
from streamnative_serdes.spark.datasource.offsets.ranges import Range
from streamnative_serdes.spark.topic import OffsetOutOfRangeError

from .consumers import Leased, pool

if TYPE_CHECKING:
    from confluent_kafka import Message

MOST_MESSAGES: Final = 10_000  # at once
MOST_BYTES: Final = 16 << 20  # of values and keys at once, about
_FIRST: Final = 500  # messages, before their size is known
_WAIT: Final = 0.1  # seconds: the client waits so long if fewer messages are left than asked for
DATA_LOSS_HINT: Final = (
    "start a stream with a new checkpoint, a batch at other offsets; or set failOnDataLoss=false to go on without them"
)


@dataclass(frozen=True, slots=True)
class Patience:
    """What a task does about messages that do not come.

    Args:
        fail: whether lost messages are an error.
        seconds: how long to wait for the next messages.
    """

    fail: bool = True
    seconds: float = 120.0


def read_range(kafka: Mapping[str, Any], span: Range, patience: Patience) -> Iterator[list[Message]]:
    """Yield the messages of ``span``, up to 10,000 and about 16 MB at once.

    Meanwhile the client fetches the next ones, up to ``queued.max.messages.kbytes``.

    Raises:
        OffsetOutOfRangeError: the broker does not have all of the range, and ``patience`` says to fail.
        BrokerUnavailableError: no broker answered in time.
        KafkaException: the broker reports an error.
        TimeoutError: no messages arrived in time.
    """
    with pool().lease(kafka, span.topic) as leased:
        yield from _Reader(leased, span, patience).batches()


class _Reader:
    def __init__(self, leased: Leased, span: Range, patience: Patience) -> None:
        self._consumer, self._errors = leased.consumer, leased.errors
        self._span, self._patience = span, patience
        self._position, self._most = span.start, _FIRST

    def batches(self) -> Iterator[list[Message]]:
        span = self._span
        self._seek(span.start)
        while self._position < span.end:
            found, reports = without_errors(self._take())
            if reports:
                self._heed(reports)
            if found:  # in the order of their offsets
                self._position = max(self._position, _offset(found[-1]) + 1)
                if self._position > span.end:
                    found = [message for message in found if _offset(message) < span.end]
            if found:
                self._most = _next_count(found)
                yield found

    def _seek(self, offset: int) -> None:
        from confluent_kafka import TopicPartition

        self._position = offset
        self._consumer.assign([TopicPartition(self._span.topic, self._span.partition, offset)])

    def _take(self) -> list[Message]:
        """Messages, or what the client reports instead."""
        self._errors.clear()
        until = time.monotonic() + self._patience.seconds
        while time.monotonic() < until:
            taken = self._consumer.consume(min(self._most, self._span.end - self._position), _WAIT)
            if taken:
                self._errors.answer()
                return taken
        if str(self._errors):
            raise self._errors.error(self._patience.seconds)
        raise TimeoutError(
            f"topic {self._span.topic}, partition {self._span.partition}, offset {self._position}: no messages for "
            f"{self._patience.seconds:.0f} s; does the topic still exist? (hint: kafkaConsumer.pollTimeoutMs)"
        )

    def _heed(self, reports: Sequence[Message]) -> None:
        """What the client reports of the partition, in place of messages."""
        from confluent_kafka import KafkaError, KafkaException

        for report in reports:
            error = report.error()
            assert error is not None
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (the client has no public name for it)
                self._position = max(self._position, _offset(report))
                if self._position < self._span.end:
                    self._ended_early()
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 (no public name either)
                self._out_of_range(error.str())
            elif not concerns_the_group(report):
                raise KafkaException(error)

    def _ended_early(self) -> None:
        """The partition ends before the range: messages are still on their way, or the topic was recreated."""
        _, high = self._bounds()
        if high < self._span.end:
            self._lost(f"expected messages up to offset {self._span.end}, but the partition ends at {high}")
            self._position = self._span.end

    def _out_of_range(self, reason: str) -> None:
        low, high = self._bounds()
        self._lost(f"{reason}; the partition has offsets {low} to {high}")
        if self._position < low < self._span.end:
            self._seek(low)
        else:
            self._position = self._span.end

    def _bounds(self) -> tuple[int, int]:
        from confluent_kafka import TopicPartition

        asked = TopicPartition(self._span.topic, self._span.partition)
        return ask(
            self._consumer, self._errors, lambda seconds: self._consumer.get_watermark_offsets(asked, timeout=seconds)
        )

    def _lost(self, found: str) -> None:
        """Raise, or log what is skipped."""
        text = f"cannot read partition {self._span.partition} from offset {self._position}: {found}"
        if self._patience.fail:
            raise OffsetOutOfRangeError(f"{text}; messages may be lost", topic=self._span.topic, hint=DATA_LOSS_HINT)
        logger.warning(
            "topic %s: %s; messages may be lost, and reading goes on: failOnDataLoss is false", self._span.topic, text
        )


def _next_count(found: Sequence[Message]) -> int:
    """How many messages to take next, so that they have about MOST_BYTES."""
    size = sum(len(message.value() or b"") + len(message.key() or b"") for message in found[:100])
    each = max(size // min(len(found), 100), 1)
    return max(min(MOST_BYTES // each, MOST_MESSAGES), 1)


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None  # everything that a broker sends has one, even the end of a partition
    return offset
