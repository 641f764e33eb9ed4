"""In-process stand-ins for servers, for tests and demos: a schema registry and a Kafka broker."""

from .faults import Fault
from .local_registry import LocalRegistry, RequestLine, serve
from .mock_broker import MockBroker
from .scopes import registry_of

__all__ = ["Fault", "LocalRegistry", "MockBroker", "RequestLine", "registry_of", "serve"]
