"""Avro SerDes for Kafka clients that talk to Apache Pulsar, with schemas in Pulsar's own registry (SNIP 42)."""

from typing import TYPE_CHECKING

from .auto_consume import GenericObject, KafkaAutoConsumeDeserializer, TopicSchema
from .codec import Codec
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
    MissingEndpointError,
    RegistryUnavailableError,
    SchemaError,
    SchemaNotFoundError,
    SchemaRegistryError,
    SchemaWarning,
    SerdesError,
)
from .integrations.builders import (
    KafkaAutoConsumeDeserializerBuilder,
    KafkaAvroDeserializerBuilder,
    KafkaAvroSerializerBuilder,
    KafkaPulsarSerializerBuilder,
)
from .key_value import KeyValue, KeyValueSchema, TypedSchema
from .pulsar_serializer import KafkaPulsarSerializer
from .serializer import KafkaAvroSerializer

__all__ = [
    "AuthenticationError",
    "AuthorizationError",
    "BatchTooLargeError",
    "Codec",
    "ConfigError",
    "DecodeError",
    "EncodeError",
    "GenericObject",
    "IncompatibleSchemaError",
    "InvalidSchemaError",
    "KafkaAutoConsumeDeserializer",
    "KafkaAutoConsumeDeserializerBuilder",
    "KafkaAvroDeserializer",
    "KafkaAvroDeserializerBuilder",
    "KafkaAvroSerializer",
    "KafkaAvroSerializerBuilder",
    "KafkaPulsarSerializer",
    "KafkaPulsarSerializerBuilder",
    "KeyValue",
    "KeyValueSchema",
    "MissingEndpointError",
    "RegistryUnavailableError",
    "SchemaError",
    "SchemaNotFoundError",
    "SchemaRegistryError",
    "SchemaWarning",
    "SerdesError",
    "TopicSchema",
    "TypedSchema",
]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """``__version__``, of the installed metadata: read when asked for, since few ask, and a zip may have none."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("streamnative-serdes")
        except PackageNotFoundError:
            raise AttributeError("streamnative_serdes was not installed by pip, so it has no __version__") from None
