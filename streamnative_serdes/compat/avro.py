"""Counterpart of ``confluent_kafka.schema_registry.avro``: the same public names."""

from .asynchronous import AsyncAvroDeserializer, AsyncAvroSerializer
from .serdes import AvroDeserializer, AvroSerializer

__all__ = ["AsyncAvroDeserializer", "AsyncAvroSerializer", "AvroDeserializer", "AvroSerializer"]
