"""Stands where Confluent has ProtobufSerializer and ProtobufDeserializer, and says on import that they are not here."""

from .missing import missing

raise missing("protobuf")
