"""The interface that we drop into: confluent-kafka's own names for serializers and their context."""

from confluent_kafka.serialization import (
    Deserializer,
    MessageField,
    SerializationContext,
    SerializationError,
    Serializer,
)

__all__ = ["Deserializer", "MessageField", "SerializationContext", "SerializationError", "Serializer"]
