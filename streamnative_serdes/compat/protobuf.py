"""Placeholder for Confluent's Protobuf serializer and deserializer: importing it raises an error that explains why."""

from .missing import missing

raise missing("streamnative_serdes.compat", "protobuf")
