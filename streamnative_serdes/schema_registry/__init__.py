"""Pulsar's schema registry over its admin REST API: plain HTTP, nothing remembered between calls."""

from .client import SchemaRegistryClient
from .schema_info import Compatibility, SchemaInfo
from .topic_name import TopicName

__all__ = ["Compatibility", "SchemaInfo", "SchemaRegistryClient", "TopicName"]
