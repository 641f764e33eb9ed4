"""The serializer interface of confluent-kafka: its base classes and the context, under their own names.

Where confluent-kafka is not installed, classes of the same names and behaviour stand in for them, since the SerDes also
work with other clients.
"""

from typing import TYPE_CHECKING

try:
    from confluent_kafka.serialization import (
        Deserializer,
        MessageField,
        SerializationContext,
        SerializationError,
        Serializer,
    )
except ModuleNotFoundError as _missing:
    if _missing.name != "confluent_kafka":  # it is installed, and damaged
        raise
    if not TYPE_CHECKING:
        from ._stand_ins import Deserializer, MessageField, SerializationContext, SerializationError, Serializer

try:
    from confluent_kafka.serialization import DeserializerBuilder, SerializerBuilder
except ImportError:  # before 2.16, the first version with builders

    class SerializerBuilder:  # type: ignore[no-redef]
        """Placeholder for the base class, so that our subclass can be imported with older versions."""

    class DeserializerBuilder:  # type: ignore[no-redef]
        """Placeholder for the base class, so that our subclass can be imported with older versions."""


__all__ = [
    "Deserializer",
    "DeserializerBuilder",
    "MessageField",
    "SerializationContext",
    "SerializationError",
    "Serializer",
    "SerializerBuilder",
]
