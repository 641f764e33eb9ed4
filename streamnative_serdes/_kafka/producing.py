"""Producing: a producer with a bounded queue, and the outcome of its messages."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, Producer

from .clients import BrokerRefusedError, ClientErrors, client, hint_for, kafka_errors

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_STEP_SECONDS: Final = 0.5  # so often Ctrl-C is noticed
_CLOSE_SECONDS: Final = 5.0
_LOOK_EVERY: Final = 1_000  # messages between two looks at the reports
_DELIVERY_MS: Final = 300_000  # librdkafka's default of message.timeout.ms
_DELIVERY_KEYS: Final = ("message.timeout.ms", "delivery.timeout.ms")
_FOREVER: Final = 1e6  # seconds


def delivery_seconds(conf: Mapping[str, Any]) -> float:
    """How long the client tries to deliver a message before it reports a failure."""
    given = [conf[key] for key in _DELIVERY_KEYS if key in conf]
    milliseconds = float(given[0] if given else _DELIVERY_MS)
    return milliseconds / 1000 if milliseconds else _FOREVER  # 0: the client never gives up


class RefusedMessageError(BrokerRefusedError):
    """A message was not delivered: the broker refused it, or the client gave up.

    ``count`` is the number of messages that were not delivered; ``refused`` is the first of them.
    """

    def __init__(self, fault: KafkaError, refused: Message, topic: str, count: int = 1) -> None:
        what = "a message" if count == 1 else f"{count} messages, the first"
        super().__init__(f"the broker refused {what}: {fault.str()}", topic=topic, hint=hint_for(fault))
        self.fault, self.refused, self.count = fault, refused, count


class Sender:
    """Sends messages: waits while the client's queue is full, and until all of them are delivered.

    ``patience`` are the seconds without any report of a message after which brokers count as unavailable.

    Attributes:
        client: the producer; give it ``note`` as ``on_delivery``.
        errors: the producer's connection errors.
        delivered: the last message that was delivered, by topic and partition.
        counts: the number of messages delivered since the beginning, by topic and partition.
    """

    def __init__(self, conf: Mapping[str, Any], topic: str, patience: float) -> None:
        self._topic, self._patience = topic, patience
        self.errors = ClientErrors(conf, topic)
        self.client: Producer = client(Producer, dict(conf), topic, self.errors)
        self.delivered: dict[tuple[Any, Any], Message] = {}
        self.counts: Counter[tuple[Any, Any]] = Counter()
        # Errors are never keys: confluent-kafka cannot make a hash of the error with code -1, and drops what a callback
        # raises for a failed message. Nor is this a method: that would be a reference cycle with the producer.
        delivered, counts = self.delivered, self.counts
        refused: list[tuple[KafkaError, Message]] = []

        def note(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                refused.append((error, message))
                return
            place = message.topic(), message.partition()
            delivered[place] = message
            counts[place] += 1

        self.note, self._refused = note, refused

    def send(self, topic: str, **message: Any) -> None:
        """Send a message, with the arguments of the client's ``produce``.

        Raises:
            RefusedMessageError: an earlier message was not delivered.
            BrokerUnavailableError: the queue is full, and nothing is reported any more.
            KafkaException: the client refuses the message.
        """
        while True:
            self.require_delivered()
            try:
                self.client.produce(topic, on_delivery=self.note, **message)
            except BufferError:
                self.make_room()
            else:
                self.serve()
                return

    def send_all(self, topic: str, messages: Iterable[tuple[Any, Any, int, int, Any]]) -> int:
        """Send messages, each as (value, key, partition, timestamp, headers), with less time in between than by send().

        Returns:
            the number of messages.

        Raises:
            KafkaException: the client refuses a message; a note has its number, from 0.
            RefusedMessageError: as :meth:`send` does; so does BrokerUnavailableError.
        """
        produce, note, number = self.client.produce, self.note, -1
        self.require_delivered()
        for number, (value, key, partition, moment, headers) in enumerate(messages):
            more = {} if headers is None else {"headers": headers}
            while True:
                try:
                    produce(topic, value, key, partition, on_delivery=note, timestamp=moment, **more)
                except BufferError:
                    self.make_room()
                except KafkaException as error:
                    error.add_note(f"of message {number} of this call")
                    raise
                else:
                    break
            if not (number + 1) % _LOOK_EVERY:
                self.serve()
                self.require_delivered()
        self.serve()
        return number + 1

    def serve(self, seconds: float = 0.0) -> None:
        """Let the client report. Raises KafkaException if it cannot go on."""
        with kafka_errors():
            self.client.poll(seconds)

    def make_room(self) -> None:
        """Wait until there are fewer messages in the queue."""
        self._wait(self.client.poll)

    def flush(self) -> None:
        """Wait until all messages are delivered. Raises as :meth:`make_room` and :meth:`require_delivered` do."""
        while len(self.client):
            self._wait(self.client.flush)
        self.require_delivered()

    def _wait(self, step: Callable[[float], object]) -> None:
        left, since = len(self.client), time.monotonic()
        while left and len(self.client) >= left:
            with kafka_errors():
                step(_STEP_SECONDS)
            if len(self.client) >= left and self.errors.gives_up(since, self._patience):
                raise self.errors.error(self._patience)

    def require_delivered(self) -> None:
        """Raises RefusedMessageError for the first message that was not delivered, once."""
        if self._refused:
            (fault, message), count = self._refused[0], len(self._refused)
            self._refused.clear()
            raise RefusedMessageError(fault, message, self._topic, count)

    def discard(self) -> None:
        """Drop the messages that are in the queue, so that closing does not wait for them."""
        # A producer that was fenced says so again, perhaps as a SystemError.
        with suppress(KafkaException, SystemError):
            self.client.purge()
            self.client.flush(_CLOSE_SECONDS)
