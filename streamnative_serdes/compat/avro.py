"""Counterpart of ``confluent_kafka.schema_registry.avro``: the same public names."""

from typing import TYPE_CHECKING, Any

from .asynchronous import AsyncAvroDeserializer, AsyncAvroSerializer
from .missing import missing
from .serdes import AvroDeserializer, AvroSerializer

__all__ = ["AsyncAvroDeserializer", "AsyncAvroSerializer", "AvroDeserializer", "AvroSerializer"]

if not TYPE_CHECKING:  # so that type checkers report these names as missing

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
