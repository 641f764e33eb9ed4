"""The outlet of a copy: a producer with transactions, or without them where the target's broker has none."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streamnative_serdes._kafka import ClientErrors, client, hint_for, idempotence, no_producer_ids
from streamnative_serdes.errors import SerdesError

from .messages import Placed
from .owner import another_process

_INIT_SECONDS: Final = 60.0
_PATIENCE: Final = 120.0  # seconds without any confirmed message
_COMMIT_SECONDS: Final = 5.0  # of one attempt, so that Ctrl-C is noticed
_BESIDE: Final = -1  # stands for all partitions of other topics
_FENCED: Final = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
PRODUCER: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "queue.buffering.max.kbytes": 65_536,  # the memory for messages that are being sent
    "linger.ms": 20,
}


class TransactionAbortedError(SerdesError):
    """The broker aborted a transaction; what is in it is not in the target, and copying can go on from before it."""


class NoTransactionsError(SerdesError):
    """The target's broker does not support transactions."""


class Outlet:
    """Sends copies to the target's partitions.

    Args:
        kafka: options of the Kafka client of the target's side.
        topic: the target.
        transactions: send all between two commits in one transaction. Any other process that does the same for this
            target is fenced.
        largest: the size of the largest message that the target takes, in bytes.

    Raises:
        NoTransactionsError: transactions are asked for, and the broker does not support them.
        ConfigError: the client refuses its options.
        KafkaException: the broker refuses.
    """

    def __init__(self, kafka: Mapping[str, Any], topic: str, *, transactions: bool, largest: int = 0) -> None:
        self._topic, self.transactions = topic, transactions
        self._errors = ClientErrors(kafka, topic)
        name = {"transactional.id": f"streamnative-serdes.migrate.{topic}"} if transactions else {}
        size = {"message.max.bytes": max(largest, 1_000)} if largest else {}
        if transactions and (reason := no_producer_ids(kafka, topic)) is not None:
            raise _no_transactions(topic, reason)
        more = {} if transactions else idempotence(kafka, topic)
        self._producer = client(Producer, {**PRODUCER, **size, **name, **kafka, **more}, topic, self._errors)
        self._open = False
        self._delivered: dict[int, Message] = {}  # the last one of each partition
        self._refused: list[tuple[int, KafkaError, Message]] = []
        if transactions:
            self._init_transactions()

    def send(self, copies: Iterable[Placed], marked: Container[int] = ()) -> None:
        """Send copies, each to its partition.

        Args:
            copies: in order.
            marked: places in ``copies``; :meth:`flush` returns the last marked one of each partition.

        Raises:
            TransactionAbortedError: the broker aborted the transaction.
            SerdesError: a copy is too large for the target.
            KafkaException: it refuses.
        """
        produce, topic, everything = self._producer.produce, self._topic, not self.transactions
        with self._explained():
            for place, (partition, offset, (value, key, given, moment)) in enumerate(copies):
                headers: Any = given
                # Without transactions, only its own report says that a message was not delivered.
                note = self._note_of(partition) if everything or place in marked else None
                while True:
                    try:
                        produce(topic, value, key, partition, on_delivery=note, timestamp=moment, headers=headers)
                        break
                    except BufferError:  # the queue is full
                        self._producer.poll(0.5)
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

    def _note_of(self, partition: int) -> Callable[[KafkaError | None, Message], None]:
        """A callback for delivery reports that keeps the last message that was delivered, and all errors.

        Errors are never keys: confluent-kafka cannot make a hash of the error with code -1, and drops what a callback
        raises for a failed message.
        """
        delivered, refused = self._delivered, self._refused

        def note(error: KafkaError | None, message: Message) -> None:
            if error is None:
                delivered[partition] = message
            else:
                refused.append((partition, error, message))

        return note

    def send_beside(self, topic: str, **message: Any) -> None:
        """Send a message to another topic, in the same transaction. Raises as :meth:`send` does."""
        with self._explained():
            while True:
                try:
                    self._producer.produce(topic, on_delivery=self._note_of(_BESIDE), **message)
                    break
                except BufferError:
                    self._producer.poll(0.5)
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                        raise
                    raise _letter_too_large(topic, message["value"]) from error

    def begin(self) -> None:
        """Begin a transaction unless one is open. Raises as :meth:`send` does."""
        if self.transactions and not self._open:
            with self._explained():
                self._producer.begin_transaction()
            self._open = True

    def serve(self) -> None:
        """Take note of what was delivered so far. Raises as :meth:`send` does."""
        with self._explained():
            self._producer.poll(0)

    def flush(self) -> Mapping[int, Message]:
        """Wait until everything is delivered; returns each partition's last marked message, with its place.

        Raises:
            TransactionAbortedError: a message was not delivered, in a transaction.
            KafkaException: a message was not delivered, without transactions.
            BrokerUnavailableError: nothing is confirmed any more.
        """
        left, since = len(self._producer), time.monotonic()
        while left:
            with self._explained():
                self._producer.flush(1.0)
            now_left, now = len(self._producer), time.monotonic()
            if now_left < left:
                since = now
            elif self._errors.gives_up(since, _PATIENCE):
                raise self._errors.error(_PATIENCE)
            left = now_left
        self._raise_refused()
        return {partition: message for partition, message in self._delivered.items() if partition != _BESIDE}

    def commit(self, beside: Iterable[tuple[str, bytes, bytes]]) -> None:
        """Commit the transaction, with messages to other topics in it: topic, key and value.

        Raises:
            as :meth:`flush`.
        """
        for topic, key, value in beside:
            self.send_beside(topic, key=key, value=value)
        self.flush()
        if self._open:
            with self._explained():
                self._commit()
            self._open = False
        self._delivered.clear()

    def _commit(self) -> None:
        since = time.monotonic()
        while True:
            try:
                self._producer.commit_transaction(_COMMIT_SECONDS)
            except KafkaException as error:  # one that can be called again goes on where it was
                if not error.args[0].retriable():
                    raise
                if self._errors.gives_up(since, _PATIENCE):
                    raise self._errors.error(time.monotonic() - since) from error
            else:
                return

    def close(self) -> None:
        """Abort what was not committed, and close."""
        if self._open:
            self._open = False
            try:
                self._producer.abort_transaction(30.0)
            except KafkaException as error:  # the broker aborts it after transaction.timeout.ms, or at the next start
                self._errors(error.args[0])
        # What is left is not committed. A producer that was fenced says so again, perhaps as a SystemError.
        with suppress(KafkaException, SystemError):
            self._producer.purge()
            self._producer.flush(5.0)

    def _init_transactions(self) -> None:
        try:
            with self._explained():
                self._producer.init_transactions(_INIT_SECONDS)
        except SerdesError:  # which confluent-kafka's base class makes a KafkaException
            raise
        except KafkaException as error:
            fault = error.args[0]
            if fault.name() in ("_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION", "_NOT_IMPLEMENTED", "_TIMED_OUT"):
                raise _no_transactions(self._topic, fault.str()) from error
            raise

    def _raise_refused(self) -> None:
        for partition, fault, message in self._refused:
            if partition == _BESIDE and fault.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                raise _letter_too_large(message.topic(), message.value())
            raise self._failure(KafkaException(fault))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise the client's errors as what they mean here."""
        try:
            yield
        except SerdesError:  # which confluent-kafka's base class makes a KafkaException
            raise
        except KafkaException as error:
            raise self._failure(error) from error
        except SystemError as error:  # of a callback that the client calls although it has raised a fatal error
            cause = error.__cause__
            if not isinstance(cause, KafkaException):
                raise
            raise self._failure(cause) from cause

    def _failure(self, error: KafkaException) -> Exception:
        fault = error.args[0]
        if self._open and not fault.fatal():
            text = f"the broker aborted a transaction: {fault.str()}"
            return TransactionAbortedError(text, topic=self._topic, hint=hint_for(fault))
        if fault.name() in _FENCED or (fault.fatal() and "fenced" in fault.str()):
            return another_process(self._topic)
        if (hint := hint_for(fault)) is not None:
            return SerdesError(f"the broker refused a message: {fault.str()}", topic=self._topic, hint=hint)
        return error


def _no_transactions(topic: str, reason: str) -> NoTransactionsError:
    hint = "--transactions off copies without them"
    return NoTransactionsError(f"the target's broker gives no transactions: {reason}", topic=topic, hint=hint)


def _letter_too_large(topic: str | None, value: bytes | None) -> SerdesError:
    """Sending it again would not help, unlike after other faults."""
    return SerdesError(
        f"a dead letter is too large: its value has {len(value or b'')} bytes",
        topic=topic,
        hint="raise max.message.bytes of this topic and of the target, or put the dead letters into a file",
    )
