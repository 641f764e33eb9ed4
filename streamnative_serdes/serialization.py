"""The serializer interface of confluent-kafka: its base classes and the context, under their own names."""

from confluent_kafka.serialization import (
    Deserializer,
    MessageField,
    SerializationContext,
    SerializationError,
    Serializer,
)

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
