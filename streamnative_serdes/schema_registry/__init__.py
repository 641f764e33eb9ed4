"""Clients of schema registries, without a cache: Pulsar's admin REST API, and Confluent's REST API."""

from .client import SchemaRegistryClient
from .confluent import ConfluentRegistryClient
from .confluent_info import ConfluentSchema
from .pulsar_api import Compatibility, SchemaInfo, require_version
from .topic_name import TopicName

__all__ = [
    "Compatibility",
    "ConfluentRegistryClient",
    "ConfluentSchema",
    "SchemaInfo",
    "SchemaRegistryClient",
    "TopicName",
    "require_version",
]
