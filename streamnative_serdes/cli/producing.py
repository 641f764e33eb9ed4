"""Producing for ``produce``: the delivery of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from confluent_kafka import KafkaException

from streamnative_serdes._kafka import RefusedMessageError, Sender, kafka_errors, metadata, require_producer_ids

from .failures import REFUSED, FailureError
from .lines import Line

_PATIENCE: Final = 30.0  # seconds without any delivery


class Outbox:
    """Sends messages to a topic, and counts what the broker has confirmed.

    Raises:
        ConfigError: the client refuses its options, or the options ask for idempotence that the brokers do not have.
        BrokerUnavailableError: with ``enable.idempotence``, no broker answers.
    """

    def __init__(self, kafka: dict[str, Any], topic: str) -> None:
        require_producer_ids(kafka, topic)
        self._topic, self._sender = topic, Sender(kafka, topic, _PATIENCE)

    @property
    def delivered(self) -> Counter[int]:
        """The number of messages confirmed, by partition."""
        return Counter({partition: count for (_, partition), count in self._sender.counts.items()})

    def require_topic(self) -> None:
        """Raise FailureError if the topic does not exist: the broker would create it with settings nobody chose."""
        found = metadata(self._sender.client, self._sender.errors).topics.get(self._topic)
        if found is None or found.error is not None:
            raise FailureError(
                f"the broker does not have topic {self._topic}", REFUSED, hint="--create lets it make one"
            )

    def send(self, line: Line, value: bytes | None) -> None:
        """Send a message; it is confirmed later.

        Raises:
            FailureError: the broker refused an earlier message.
            BrokerUnavailableError: the broker does not confirm any messages.
        """
        where = {name: part for name in ("partition", "timestamp") if (part := getattr(line, name)) is not None}
        hint = "--any-partition lets keys choose the partition" if line.partition is not None else None
        with self._failing(hint):
            self._sender.send(self._topic, value=value, key=line.key, headers=list(line.headers), **where)

    def finish(self) -> None:
        """Wait until all messages are confirmed. Raises as :meth:`send` does."""
        with self._failing():
            self._sender.flush()

    @contextmanager
    def _failing(self, hint: str | None = None) -> Iterator[None]:
        def meaning(error: KafkaException) -> Exception:
            return FailureError(f"Kafka: {error.args[0].str()}", REFUSED, topic=self._topic, hint=hint)

        try:
            with kafka_errors(meaning):
                yield
        except RefusedMessageError as error:
            raise FailureError(error.message, REFUSED, topic=self._topic, hint=error.hint) from error
