"""Kafka clients: how they are created and asked; what consumes, produces, commits and describes topics."""

from .clients import (
    PATIENCE,
    BrokerRefusedError,
    BrokerUnavailableError,
    ClientErrors,
    ask,
    client,
    hint_for,
    is_waiting,
    patient,
    require_options,
    within,
)
from .consuming import (
    ASSIGNED,
    OffsetsGoneError,
    RangeReader,
    StalledError,
    TopicConsumer,
    bounds,
    committed_messages,
    has_messages,
    place_of,
)
from .topics import Cluster, Range, Topic, bounds_of, metadata
from .transactions import idempotence, no_producer_ids, require_producer_ids

__all__ = [
    "ASSIGNED",
    "PATIENCE",
    "BrokerRefusedError",
    "BrokerUnavailableError",
    "ClientErrors",
    "Cluster",
    "OffsetsGoneError",
    "Range",
    "RangeReader",
    "StalledError",
    "Topic",
    "TopicConsumer",
    "ask",
    "bounds",
    "bounds_of",
    "client",
    "committed_messages",
    "has_messages",
    "hint_for",
    "idempotence",
    "is_waiting",
    "metadata",
    "no_producer_ids",
    "patient",
    "place_of",
    "require_options",
    "require_producer_ids",
    "within",
]
