"""Stands where Confluent has JSONSerializer and JSONDeserializer, and says on import that they are not here."""

from .missing import missing

raise missing("json_schema")
