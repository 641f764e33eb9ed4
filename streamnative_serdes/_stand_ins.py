"""Classes in place of confluent-kafka's serializer interface, where it is not installed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class MessageField(StrEnum):
    """The part of a message that is serialized."""

    NONE = "none"
    KEY = "key"
    VALUE = "value"


class SerializationContext:
    """The place of the data that a SerDes gets.

    Args:
        topic: the Kafka topic.
        field: the part of the message.
        headers: the message's headers, as pairs of name and bytes; None if there are none.
    """

    def __init__(self, topic: str, field: MessageField, headers: Any = None) -> None:
        self.topic, self.field, self.headers = topic, field, headers


class SerializationError(Exception):
    """The base class of all errors of the package."""


class Serializer:
    """The base class of serializers: called with an object and a SerializationContext, they return bytes or None."""

    __slots__ = ()

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        raise NotImplementedError


class Deserializer:
    """The base class of deserializers: called with bytes or None and a SerializationContext, they return an object."""

    __slots__ = ()

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        raise NotImplementedError
