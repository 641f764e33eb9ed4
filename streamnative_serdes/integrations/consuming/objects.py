"""DeserializingConsumer: confluent-kafka's, with a ``consume()`` that deserializes each message as ``poll()`` does.

``poll()`` raises an error for a message that cannot be read. ``consume()`` must not: the other messages of the batch
would be lost, since the consumer has passed them. So the message has the error, as ``error()``, like the errors that a
plain Consumer's ``consume()`` returns, and ``error().exception`` is what ``poll()`` would raise.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka.error import ConsumeError

from streamnative_serdes.errors import ConfigError

K = TypeVar("K")
V = TypeVar("V")

_next: Final = threading.local()  # the message that this thread deserializes


class UnreadMessageError(KafkaError):
    """The ``error()`` of a message whose key or value cannot be deserialized.

    Attributes:
        exception: the KeyDeserializationError or ValueDeserializationError that ``poll()`` raises; its own
            ``exception`` is the deserializer's, such as a DecodeError, and ``kafka_message`` the message.
    """

    exception: ConsumeError

    @classmethod
    def of(cls, error: ConsumeError) -> UnreadMessageError:
        """The fault of a message for which ``poll()`` would raise ``error``."""
        fault = cls(error.args[0].code(), error.args[0].str())
        fault.exception = error
        return fault


class _Given(Consumer):
    """The base that DeserializingConsumer polls: gives it the message that ``consume()`` deserializes, or the next."""

    def poll(self, timeout: float = -1) -> Any:
        message = _next.__dict__.pop("message", None)
        return super().poll(timeout) if message is None else message


if TYPE_CHECKING:

    class _Deserializing(confluent_kafka.DeserializingConsumer[K, V], _Given, Generic[K, V]): ...

else:

    class _Deserializing(confluent_kafka.DeserializingConsumer, _Given):
        def __class_getitem__(cls, _types):  # before confluent-kafka 2.16, its class is not generic
            return cls


class DeserializingConsumer(_Deserializing[K, V]):
    """confluent-kafka's DeserializingConsumer, with the same configuration and ``poll()``, and a ``consume()``.

    Raises:
        ConfigError: confluent-kafka is too old: ``consume()`` puts errors into messages by ``Message.set_error``.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        if not hasattr(Message, "set_error"):
            found = f"confluent-kafka {confluent_kafka.__version__} cannot put an error into a message"
            raise ConfigError(
                found, hint="pip install --upgrade confluent-kafka; poll() of its own class needs no newer"
            )
        super().__init__(conf)

    def consume(  # type: ignore[override] # as that of poll() in confluent-kafka
        self, num_messages: int = 1, timeout: float = -1
    ) -> list[Message[K, V]]:
        """Return up to ``num_messages`` messages that come within ``timeout`` seconds (-1: without end), deserialized.

        Each has been read as by ``poll()``: ``key()`` and ``value()`` are objects. Look at ``error()`` first, as with a
        plain Consumer: it is a :class:`UnreadMessageError` if the message cannot be read, and ``key()`` and
        ``value()`` are bytes then; or another KafkaError that the client reports in a message's place.

        Raises:
            ValueError: ``num_messages`` is not between 0 and 1,000,000.
            RuntimeError: the consumer is closed.
            KafkaException: the client has failed.
        """
        messages: list[Message[Any, Any]] = Consumer.consume(self, num_messages, timeout)
        for message in messages:
            if message.error() is None:
                _next.message = message
                try:
                    super().poll()  # not self.poll(), which may be instrumented
                except ConsumeError as error:
                    message.set_error(UnreadMessageError.of(error))
        return messages
