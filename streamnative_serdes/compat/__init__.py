"""Drop-in replacement for ``confluent_kafka.schema_registry`` and its modules ``avro`` and ``error``, backed by Pulsar.

To migrate a program, replace ``confluent_kafka.schema_registry`` with ``streamnative_serdes.compat`` in its imports,
and the registry's address with Pulsar's. docs/from-confluent.md lists the differences.
"""

from typing import TYPE_CHECKING, Any

from .asynchronous import AsyncAvroDeserializer, AsyncAvroSerializer, AsyncSchemaRegistryClient
from .client import SchemaRegistryClient
from .error import SchemaRegistryError
from .missing import missing
from .schema import RegisteredSchema, Schema, SchemaReference
from .serdes import (
    AvroDeserializer,
    AvroSerializer,
    dual_schema_id_deserializer,
    prefix_schema_id_deserializer,
    prefix_schema_id_serializer,
    topic_subject_name_strategy,
)

__all__ = [
    "AsyncAvroDeserializer",
    "AsyncAvroSerializer",
    "AsyncSchemaRegistryClient",
    "AvroDeserializer",
    "AvroSerializer",
    "RegisteredSchema",
    "Schema",
    "SchemaReference",
    "SchemaRegistryClient",
    "SchemaRegistryError",
    "dual_schema_id_deserializer",
    "prefix_schema_id_deserializer",
    "prefix_schema_id_serializer",
    "topic_subject_name_strategy",
]

if not TYPE_CHECKING:  # so that type checkers report these names as missing

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
