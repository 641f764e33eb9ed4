"""Client of Pulsar's schema registry: the schema endpoints of the admin REST API, without a cache."""

from .client import SchemaRegistryClient
from .schema_info import Compatibility, SchemaInfo
from .topic_name import TopicName

__all__ = ["Compatibility", "SchemaInfo", "SchemaRegistryClient", "TopicName"]
