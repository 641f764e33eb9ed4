"""SerializingProducer and DeserializingConsumer: confluent-kafka's at less cost, and with a ``consume()``.

``poll()`` raises an error for a message that cannot be read. ``consume()`` must not: the other messages of the batch
would be lost, since the consumer has passed them. So the message has the error, as ``error()``, like the errors that a
plain Consumer's ``consume()`` returns, and ``error().exception`` is what ``poll()`` would raise.

confluent-kafka makes a SerializationContext for each message, which takes about as long as to read or write a value.
This package's SerDes make it themselves, and only for ``from_dict`` and ``to_dict``: they get topic and headers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.error import (
    ConsumeError,
    KeyDeserializationError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)
from confluent_kafka.serialization import MessageField, SerializationContext

from streamnative_serdes._call_path import Deserializer, Serializer
from streamnative_serdes._reading.attempts import ITS_OWN_FAULT
from streamnative_serdes.errors import ConfigError, SchemaRegistryError

K = TypeVar("K")
V = TypeVar("V")


class UnreadMessageError(KafkaError):
    """The ``error()`` of a message whose key or value cannot be deserialized; it equals errors of the same code.

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

    # KafkaError's own comparisons fail for two objects of a subclass.
    def __eq__(self, other: object) -> bool:
        return self.code() == (other.code() if isinstance(other, KafkaError) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = KafkaError.__hash__


if TYPE_CHECKING:

    class _Serializing(confluent_kafka.SerializingProducer[K, V], Generic[K, V]): ...

    class _Deserializing(confluent_kafka.DeserializingConsumer[K, V], Generic[K, V]): ...

else:  # before confluent-kafka 2.16, its classes are not generic

    class _Serializing(confluent_kafka.SerializingProducer):
        def __class_getitem__(cls, _types):
            return cls

    class _Deserializing(confluent_kafka.DeserializingConsumer):
        def __class_getitem__(cls, _types):
            return cls


def _without_context(serdes: Any, ours: type, method: str) -> Callable[..., Any] | None:
    """The method of one of this package's SerDes that takes topic and headers in place of a context, or None."""
    names = ("__call__", method)  # a subclass may have its own
    called = isinstance(serdes, ours) and all(getattr(type(serdes), name) is getattr(ours, name) for name in names)
    return getattr(serdes, method) if called else None


class SerializingProducer(_Serializing[K, V]):
    """confluent-kafka's SerializingProducer, with the same configuration, whose ``produce()`` costs less."""

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)
        self._serialize_value = _without_context(self._value_serializer, Serializer, "serialize")

    def produce(  # type: ignore[override] # as in confluent-kafka
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Serialize a message and put it into the client's queue; ``timestamp`` is in milliseconds, UTC.

        Raises:
            KeySerializationError, ValueSerializationError: key or value cannot be serialized.
            BufferError: the queue is full.
            RuntimeError: the producer is closed.
            TypeError: ``topic`` is no text.
            KafkaException: the client has failed.
        """
        if getattr(self, "_closed", False):  # before a serializer registers a schema
            raise RuntimeError("Producer has been closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        key_data: Any = key
        data: Any = value
        failed: type[KeySerializationError | ValueSerializationError] = KeySerializationError
        context: Any = None
        if self._key_serializer is not None or self._serialize_value is None:
            context = SerializationContext(topic, MessageField.KEY, headers)
        try:
            if self._key_serializer is not None:
                key_data = self._key_serializer(key, context)
            failed = ValueSerializationError
            if self._serialize_value is not None:
                data = self._serialize_value(topic, value, headers)
            elif self._value_serializer is not None:
                context.field = MessageField.VALUE
                data = self._value_serializer(value, context)
        except Exception as error:
            raise failed(error) from error
        Producer.produce(
            self, topic, data, key_data, partition, on_delivery=on_delivery, timestamp=timestamp, headers=headers
        )


class DeserializingConsumer(_Deserializing[K, V]):
    """confluent-kafka's DeserializingConsumer, with the same configuration, a ``consume()``, and a faster ``poll()``.

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
        self._deserialize_value = _without_context(self._value_deserializer, Deserializer, "deserialize")

    def poll(self, timeout: float = -1) -> Message[K, V] | None:  # type: ignore[override] # as in confluent-kafka
        """Return the next message that comes within ``timeout`` seconds (-1: without end), deserialized, or None.

        Raises:
            KeyDeserializationError, ValueDeserializationError: the key or the value cannot be read: ``exception`` says
                why, and ``kafka_message`` is the message, with the bytes.
            ConsumeError: the client reports an error in a message's place.
            RuntimeError: the consumer is closed.
        """
        message: Message[Any, Any] | None = Consumer.poll(self, timeout)
        if message is None:
            return None
        if (error := message.error()) is not None:
            raise ConsumeError(error, kafka_message=message)
        self._to_objects(message)
        return message

    def _to_objects(self, message: Message[Any, Any]) -> None:
        """Replace the key and the value of a message, which stay bytes if one of them cannot be read."""
        topic, headers = message.topic() or "", message.headers()  # only errors have no topic
        key, value = None, message.value()
        failed: type[KeyDeserializationError | ValueDeserializationError] = KeyDeserializationError
        context: Any = None
        if self._key_deserializer is not None or self._deserialize_value is None:
            context = SerializationContext(topic, MessageField.KEY, headers)
        try:
            if self._key_deserializer is not None:
                key = self._key_deserializer(message.key(), context)
            failed = ValueDeserializationError
            if self._deserialize_value is not None:
                value = self._deserialize_value(topic, value, None, headers)
            elif self._value_deserializer is not None:
                context.field = MessageField.VALUE
                value = self._value_deserializer(value, context)
        except Exception as error:
            raise failed(exception=error, kafka_message=message) from error
        if self._key_deserializer is not None:
            message.set_key(key)
        message.set_value(value)

    def consume(  # type: ignore[override] # as that of poll() in confluent-kafka
        self, num_messages: int = 1, timeout: float = -1
    ) -> list[Message[K, V]]:
        """Return up to ``num_messages`` messages that come within ``timeout`` seconds (-1: without end), deserialized.

        Each has been read as by ``poll()``: ``key()`` and ``value()`` are objects. Look at ``error()`` first, as with a
        plain Consumer: it is a :class:`UnreadMessageError` if the message cannot be read, and ``key()`` and
        ``value()`` are bytes then; or another KafkaError that the client reports in a message's place. If the registry
        is away, or refuses the credentials, all messages behind the first that meets this have its error.

        Raises:
            ValueError: ``num_messages`` is not between 0 and 1,000,000.
            RuntimeError: the consumer is closed.
            KafkaException: the client has failed.
        """
        messages: list[Message[Any, Any]] = Consumer.consume(self, num_messages, timeout)
        away: Any = None  # the error of a key or a value
        for message in messages:
            if message.error() is None:
                try:
                    if away is not None:
                        raise type(away)(exception=away.exception, kafka_message=message) from away.exception
                    self._to_objects(message)
                except ConsumeError as error:
                    message.set_error(UnreadMessageError.of(error))
                    fault = error.exception
                    if isinstance(fault, SchemaRegistryError) and not isinstance(fault, ITS_OWN_FAULT):
                        away = error  # each message would wait for the registry as long
        return messages
