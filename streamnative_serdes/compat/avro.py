"""The names of ``confluent_kafka.schema_registry.avro``."""

from .serdes import AvroDeserializer, AvroSerializer

__all__ = ["AvroDeserializer", "AvroSerializer"]
