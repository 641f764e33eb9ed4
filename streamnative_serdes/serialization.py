"""The interface that we drop into: confluent-kafka's own names for serializers and their context."""

from confluent_kafka.serialization import (
    Deserializer,
    MessageField,
    SerializationContext,
    SerializationError,
    Serializer,
)

try:
    from confluent_kafka.serialization import DeserializerBuilder, SerializerBuilder
except ImportError:  # before 2.16, whose clients are the first to take builders

    class SerializerBuilder:  # type: ignore[no-redef]
        """Stands in for the interface, so that ours can be imported everywhere."""

    class DeserializerBuilder:  # type: ignore[no-redef]
        """Likewise."""


__all__ = [
    "Deserializer",
    "DeserializerBuilder",
    "MessageField",
    "SerializationContext",
    "SerializationError",
    "Serializer",
    "SerializerBuilder",
]
