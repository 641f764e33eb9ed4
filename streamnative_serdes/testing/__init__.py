"""What tests and demos need instead of servers: a schema registry and a Kafka broker inside this process."""

from .faults import Fault
from .local_registry import Call, LocalRegistry, serve
from .mock_broker import MockBroker
from .scopes import registry_of

__all__ = ["Call", "Fault", "LocalRegistry", "MockBroker", "registry_of", "serve"]
