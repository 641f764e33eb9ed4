"""Avro SerDes for Kafka clients that talk to Apache Pulsar, with schemas in Pulsar's own registry (SNIP 42)."""

from .deserializer import KafkaAvroDeserializer
from .errors import (
    AuthenticationError,
    AuthorizationError,
    ConfigError,
    DecodeError,
    EncodeError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SerdesError,
)
from .serializer import KafkaAvroSerializer

__all__ = [
    "AuthenticationError",
    "AuthorizationError",
    "ConfigError",
    "DecodeError",
    "EncodeError",
    "IncompatibleSchemaError",
    "InvalidSchemaError",
    "KafkaAvroDeserializer",
    "KafkaAvroSerializer",
    "RegistryUnavailableError",
    "SchemaError",
    "SchemaNotFoundError",
    "SchemaRegistryError",
    "SerdesError",
]
