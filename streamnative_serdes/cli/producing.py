"""Producing for ``produce``: the delivery of messages."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streamnative_serdes._kafka import ClientErrors, client, hint_for, metadata, require_producer_ids

from .failures import REFUSED, FailureError
from .lines import Line

_PATIENCE: Final = 30.0  # seconds without any delivery


class Outbox:
    """Sends messages to a topic, and counts what the broker has confirmed.

    Raises:
        ConfigError: the client refuses its options, or they ask for idempotence that the brokers do not have.
        BrokerUnavailableError: with ``enable.idempotence``, no broker answers.
    """

    def __init__(self, kafka: dict[str, Any], topic: str) -> None:
        self._topic, self._errors = topic, ClientErrors(kafka, topic)
        require_producer_ids(kafka, topic)
        self._producer = client(Producer, kafka, topic, self._errors)
        self.delivered: Counter[int] = Counter()  # by partition
        self._refused: list[KafkaError] = []

    def require_topic(self) -> None:
        """Raise FailureError if the broker does not have the topic: it would make one with settings nobody chose."""
        found = metadata(self._producer, self._errors).topics.get(self._topic)
        if found is None or found.error is not None:
            raise FailureError(
                f"the broker does not have topic {self._topic}", REFUSED, hint="--create lets it make one"
            )

    def send(self, line: Line, value: bytes | None) -> None:
        """Send a message; it is confirmed later.

        Raises:
            FailureError: the broker refused an earlier message, or does not confirm any.
        """
        where = {name: part for name in ("partition", "timestamp") if (part := getattr(line, name)) is not None}
        more: dict[str, Any] = {**where, "headers": list(line.headers), "on_delivery": self._note}
        while True:
            self._raise_refused()
            try:
                self._producer.produce(self._topic, value, line.key, **more)
            except BufferError:  # the queue is full
                self._wait(lambda: self._producer.poll(1.0))
            except KafkaException as error:
                hint = "--any-partition lets keys choose the partition" if line.partition is not None else None
                raise FailureError(f"Kafka: {error.args[0].str()}", REFUSED, topic=self._topic, hint=hint) from error
            else:
                self._producer.poll(0)
                return

    def finish(self) -> None:
        """Wait until all messages are confirmed.

        Raises:
            FailureError: some are not.
        """
        while len(self._producer):
            self._wait(lambda: self._producer.flush(1.0))
        self._raise_refused()

    def _wait(self, step: Callable[[], object]) -> None:
        """Take steps until one message more is answered."""
        before, begun = self._answered(), time.monotonic()
        while self._answered() == before and len(self._producer):
            step()
            if time.monotonic() - begun > _PATIENCE:
                raise self._errors.error(_PATIENCE)

    def _answered(self) -> int:
        return self.delivered.total() + len(self._refused)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(error)
        else:
            self.delivered[message.partition() or 0] += 1

    def _raise_refused(self) -> None:
        if self._refused:
            text, hint = f"the broker refused a message: {self._refused[0].str()}", hint_for(self._refused[0])
            raise FailureError(text, REFUSED, topic=self._topic, hint=hint)
