"""The Kafka clients of a copy: the inlet consumes the source, the outlet produces to the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message

from streamnative_serdes._kafka import (
    Range,
    RangeReader,
    RefusedMessageError,
    Sender,
    TopicConsumer,
    hint_for,
    idempotence,
    is_fenced,
    is_unsupported,
    kafka_errors,
    metadata,
    until_done,
)
from streamnative_serdes.errors import SerdesError

from .messages import Placed
from .progress import another_process

CHUNK: Final = 2_000  # messages
_LOOK_SECONDS: Final = 30.0
_PATIENCE: Final = 60.0  # seconds without any progress before the end
MEMORY: Final[Mapping[str, Any]] = {"queued.max.messages.kbytes": 65_536}  # messages fetched ahead
_INIT_SECONDS: Final = 60.0  # of brokers that answer
_CONFIRMED_SECONDS: Final = 120.0  # seconds without any confirmed message
_STEP_SECONDS: Final = 5.0  # of one attempt, so that Ctrl-C is noticed
_ABORT_SECONDS: Final = 5.0  # a broker that can be reached takes some milliseconds
# Answers to one message, which sending it again would not change, and what to do.
_REFUSALS: Final[Mapping[str, str]] = {
    "INVALID_TIMESTAMP": "raise this topic's message.timestamp.before.max.ms and .after.max.ms, then run this again",
    "INVALID_RECORD": "has this topic cleanup.policy=compact, and the message no key?",
}
PRODUCER: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "queue.buffering.max.kbytes": 65_536,  # the memory for messages that are being sent
    "linger.ms": 20,
}


class Inlet:
    """Consumes the source up to an end that is fixed at the start, or without end."""

    def __init__(self, kafka: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._consumer = TopicConsumer(kafka, topic, _PATIENCE, options=MEMORY)
        self.next: dict[int, int] = {}  # offsets to go on with
        self._looked = time.monotonic()
        try:
            self.bounds: Mapping[int, Range]
            self.bounds, self._ends = self._consumer.settled_bounds()
            if not self.bounds:
                raise SerdesError(f"there is no topic {topic}", topic=topic)
            self.cluster = self._consumer.cluster()
        except BaseException:
            self.close()
            raise

    def start(self, places: Mapping[int, int]) -> None:
        self.next = self.beginnings(places)
        ranges = {number: [(place, self.bounds[number][1])] for number, place in self.next.items()}
        self._reader: RangeReader = self._consumer.reader(ranges, beyond=True)

    def beginnings(self, places: Mapping[int, int]) -> dict[int, int]:
        """The offset to begin with in each partition: from ``places``, or the first offset. Raises as :meth:`start`."""
        found = {}
        for partition, (low, high) in self.bounds.items():
            place = places.get(partition, low)
            if not low <= place <= high:
                raise SerdesError(
                    f"partition {partition} has offsets {low} to {high}, and copying has to go on at {place}",
                    topic=self._topic,
                    hint="messages were deleted before they were copied: raise retention.ms, and copy to a new target",
                )
            found[partition] = place
        return found

    @property
    def at_end(self) -> bool:
        return not self._reader.left

    def hidden(self, places: Mapping[int, int]) -> dict[int, int]:
        """By partition, how many offsets from ``places`` to its end at the start are left: of open transactions."""
        return {number: end - places[number] for number, end in self._ends.items() if places[number] < end}

    def chunk(self) -> list[Message]:
        """The next messages, if any come within 0.2 s. Call :meth:`passed` when they have been copied."""
        return self._reader.take(CHUNK)

    def passed(self, ends: Mapping[int, int], *, whole: bool = True) -> None:
        """Note that each partition was read up to this offset (exclusive); ``whole`` if all of the chunk was copied."""
        for partition, end in ends.items():
            self._pass(partition, end)
        for partition, end in self._reader.places.items() if whole else ():  # over markers and aborted messages
            self._pass(partition, end)

    def _pass(self, partition: int, end: int) -> None:
        self.next[partition] = max(self.next[partition], end)

    def lag(self) -> int:
        """The number of offsets left up to the present end, which is known from the last fetches."""
        ends = 0
        for partition, place in self.next.items():
            ends += max(0, max(self._consumer.fetched_end(partition), self.bounds[partition][1]) - place)
        return ends

    def require_same_partitions(self) -> None:
        """Check every 30 seconds that the source has the same partitions as at the start. Raises SerdesError."""
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        found = self._consumer.partitions()
        if not found:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        if list(found) != sorted(self.bounds):
            raise SerdesError(
                f"the source had {len(self.bounds)} partitions and has {len(found)} now",
                topic=self._topic,
                hint="give the target as many, then run this again",
            )

    def close(self) -> None:
        self._consumer.close()


class TransactionAbortedError(SerdesError):
    """The broker aborted a transaction; its messages are not in the target, and copying can continue before them."""


class NoTransactionsError(SerdesError):
    """The target's broker does not support transactions."""


class Outlet:
    """Sends copies to the target's partitions. Raises NoTransactionsError or ConfigError.

    With ``transactions``, all messages between two commits are in one transaction, and any other process that does the
    same for this target is fenced. ``largest`` is the size of the largest message that the target takes, in bytes.
    ``is_owner`` tells whether this process still is the last one that has claimed the target. With ``noted``, errors
    name the first message of a batch that a broker has refused; this takes more time.
    """

    def __init__(
        self, kafka: Mapping[str, Any], topic: str, *, transactions: bool, largest: int = 0, noted: bool = False
    ) -> None:
        self._topic, self.transactions, self._open = topic, transactions, False
        self.noted = noted or not transactions  # without them, only its own report says that a message is missing
        self.is_owner: Callable[[], bool] = lambda: False  # before the claim
        name = {"transactional.id": f"streamnative-serdes.migrate.{topic}"} if transactions else {}
        size = {"message.max.bytes": max(largest, 1_000)} if largest else {}
        more = {} if transactions else idempotence(kafka, topic)
        self._sender = Sender({**PRODUCER, **size, **name, **kafka, **more}, topic, _CONFIRMED_SECONDS)
        if transactions:
            self._init_transactions()

    def _init_transactions(self) -> None:
        def meaning(error: KafkaException) -> Exception:
            fault = error.args[0]
            if is_unsupported(fault) or fault.name() == "_TIMED_OUT":
                return no_transactions(self._topic, fault.str())
            return self._failure(error)

        client, attempts = self._sender.client, count(1)

        def gives_up() -> bool:
            metadata(client, self._sender.errors, self._topic)  # waits for a broker that is away, and is its error
            return next(attempts) * _STEP_SECONDS >= _INIT_SECONDS

        with kafka_errors(meaning):
            until_done(lambda: client.init_transactions(_STEP_SECONDS), gives_up)

    def send(self, copies: Iterable[Placed], marked: Container[int] = ()) -> None:
        """Send copies; :meth:`flush` returns each partition's last one whose place in ``copies`` is ``marked``."""
        produce, topic, everything = self._sender.client.produce, self._topic, self.noted
        with self._explained():
            for place, (partition, offset, (value, key, given, moment)) in enumerate(copies):
                headers: Any = given
                note = self._sender.note if everything or place in marked else None
                while True:
                    try:
                        produce(topic, value, key, partition, on_delivery=note, timestamp=moment, headers=headers)
                        break
                    except BufferError:  # the queue is full
                        self._sender.make_room()
                    except KafkaException as error:
                        if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                            raise
                        raise self._too_large(partition, offset, value) from error

    def _too_large(self, partition: int, offset: int, value: bytes | None) -> SerdesError:
        return SerdesError(
            f"the copy of the source's partition {partition}, offset {offset} is too large: its value has "
            f"{len(value or b'')} bytes",
            topic=self._topic,
            hint="raise the target's max.message.bytes, then run this again",
        )

    def send_beside(self, topic: str, **message: Any) -> None:
        """Send a message to another topic, in the same transaction. Raises as :meth:`send` does."""

        def meaning(error: KafkaException) -> Exception:
            too_large = error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
            return _letter_too_large(topic, message["value"]) if too_large else error

        with self._explained(), kafka_errors(meaning):
            self._sender.send(topic, **message)

    def begin(self) -> None:
        if self.transactions and not self._open:
            with self._explained():
                self._sender.client.begin_transaction()
            self._open = True

    def serve(self) -> None:
        with self._explained():
            self._sender.serve()

    def flush(self) -> Mapping[int, Message]:
        """Wait until all messages are delivered; returns each partition's last marked message, with its place."""
        with self._explained():
            self._sender.flush()
        return {number: found for (topic, number), found in self._sender.delivered.items() if topic == self._topic}

    def commit(self, beside: Iterable[tuple[str, bytes, bytes]]) -> None:
        """Commit the transaction, with messages to other topics in it: topic, key and value."""
        for topic, key, value in beside:
            self.send_beside(topic, key=key, value=value)
        self.flush()
        if self._open:
            with self._explained():
                self._commit()
            self._open = False
        self._sender.delivered.clear()

    def _commit(self) -> None:
        since, errors = time.monotonic(), self._sender.errors
        try:
            until_done(
                lambda: self._sender.client.commit_transaction(_STEP_SECONDS),
                lambda: errors.gives_up(since, _CONFIRMED_SECONDS),
            )
        except KafkaException as error:
            if error.args[0].retriable():
                raise errors.error(time.monotonic() - since) from error
            raise

    def close(self) -> None:
        if self._open:
            self._open = False
            try:
                self._sender.client.abort_transaction(_ABORT_SECONDS)
            except KafkaException as error:  # the broker aborts it after transaction.timeout.ms, or at the next start
                self._sender.errors(error.args[0])
        self._sender.discard()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            with kafka_errors(self._failure):
                yield
        except TransactionAbortedError:
            try:
                self._sender.require_delivered()  # the reason, perhaps
            except RefusedMessageError as error:
                raise self._refusal(error) from error
            raise
        except RefusedMessageError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: RefusedMessageError) -> Exception:
        fault, topic = error.fault, error.refused.topic()
        if topic != self._topic and fault.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return _letter_too_large(topic, error.refused.value())
        if self.noted and fault.name() in _REFUSALS:
            return SerdesError(
                f"the broker refused the message of partition {error.refused.partition()} with key "
                f"{error.refused.key()!r:.80}, or a later one in its batch: {fault.str()}",
                topic=topic,
                hint=_REFUSALS[fault.name()],
            )
        return self._failure(KafkaException(fault), topic)

    def _failure(self, error: KafkaException, topic: str | None = None) -> Exception:
        """The typed error; ``topic`` is that of the refused message, by default the target."""
        fault, topic = error.args[0], topic or self._topic
        fenced = is_fenced(fault)
        if self._open and (self.is_owner() if fenced else not fault.fatal()):
            text = f"the broker aborted a transaction: {fault.str()}"
            return TransactionAbortedError(text, topic=topic, hint=hint_for(fault))
        if fenced:
            return another_process(self._topic)
        if (hint := hint_for(fault)) is not None:
            return SerdesError(f"the broker refused a message: {fault.str()}", topic=topic, hint=hint)
        return error


def no_transactions(topic: str, reason: str) -> NoTransactionsError:
    hint = "--transactions off copies without them"
    return NoTransactionsError(f"the target's broker gives no transactions: {reason}", topic=topic, hint=hint)


def _letter_too_large(topic: str | None, value: bytes | None) -> SerdesError:
    """The error for a dead letter that is too large; unlike other faults, sending it again would not help."""
    return SerdesError(
        f"a dead letter is too large: its value has {len(value or b'')} bytes",
        topic=topic,
        hint="raise max.message.bytes of this topic and of the target, or put the dead letters into a file",
    )
