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
from .consuming import ASSIGNED, OffsetsGoneError, Range, RangeReader, StalledError
from .topics import bounds_of, partitions_of, place_of
from .transactions import idempotence, no_producer_ids, require_producer_ids

__all__ = [
    "ASSIGNED",
    "PATIENCE",
    "BrokerRefusedError",
    "BrokerUnavailableError",
    "ClientErrors",
    "OffsetsGoneError",
    "Range",
    "RangeReader",
    "StalledError",
    "ask",
    "bounds_of",
    "client",
    "hint_for",
    "idempotence",
    "is_waiting",
    "no_producer_ids",
    "partitions_of",
    "patient",
    "place_of",
    "require_options",
    "require_producer_ids",
    "within",
]
