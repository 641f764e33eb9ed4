"""Drop-in for ``confluent_kafka.schema_registry`` and its modules ``avro`` and ``error``, with Pulsar's registry.

A program for Confluent's Avro SerDes runs after ``confluent_kafka.schema_registry`` was replaced by
``streamnative_serdes.compat`` in its imports, and its registry's address by Pulsar's. What differs: docs/migration.md.
"""

from typing import TYPE_CHECKING, Any

from .asynchronous import AsyncAvroDeserializer, AsyncAvroSerializer, AsyncSchemaRegistryClient
from .client import SchemaRegistryClient
from .error import SchemaRegistryError
from .missing import NOT_THERE, missing
from .schema import RegisteredSchema, Schema, SchemaReference
from .serdes import AvroDeserializer, AvroSerializer
from .strategies import (
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

if not TYPE_CHECKING:  # a type checker shall find them missing

    def __getattr__(name: str) -> Any:
        if name in NOT_THERE:
            raise missing(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
