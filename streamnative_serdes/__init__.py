"""Avro SerDes for Kafka clients that talk to Apache Pulsar, with schemas in Pulsar's own registry (SNIP 42)."""

from .builders import KafkaAvroDeserializerBuilder, KafkaAvroSerializerBuilder
from .deserializer import KafkaAvroDeserializer
from .errors import (
    AuthenticationError,
    AuthorizationError,
    BatchTooLargeError,
    ConfigError,
    DecodeError,
    EncodeError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SchemaWarning,
    SerdesError,
)
from .serializer import KafkaAvroSerializer

__all__ = [
    "AuthenticationError",
    "AuthorizationError",
    "BatchTooLargeError",
    "ConfigError",
    "DecodeError",
    "EncodeError",
    "IncompatibleSchemaError",
    "InvalidSchemaError",
    "KafkaAvroDeserializer",
    "KafkaAvroDeserializerBuilder",
    "KafkaAvroSerializer",
    "KafkaAvroSerializerBuilder",
    "RegistryUnavailableError",
    "SchemaError",
    "SchemaNotFoundError",
    "SchemaRegistryError",
    "SchemaWarning",
    "SerdesError",
]
