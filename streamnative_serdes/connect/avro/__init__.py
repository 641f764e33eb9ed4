"""Connect's data in Avro: AvroConverter, by Confluent's conventions."""

from .converter import AvroConverter

__all__ = ["AvroConverter"]
