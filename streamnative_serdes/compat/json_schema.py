"""Placeholder for Confluent's JSON Schema serializer and deserializer: importing it raises an error that says why."""

from .missing import missing

raise missing("streamnative_serdes.compat", "json_schema")
