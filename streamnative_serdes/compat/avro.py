"""The names of ``confluent_kafka.schema_registry.avro``."""

from .asynchronous import AsyncAvroDeserializer, AsyncAvroSerializer
from .serdes import AvroDeserializer, AvroSerializer

__all__ = ["AsyncAvroDeserializer", "AsyncAvroSerializer", "AvroDeserializer", "AvroSerializer"]
