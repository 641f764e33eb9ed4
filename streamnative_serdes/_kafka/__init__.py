"""Kafka clients: how they are created and asked, and the one reader of ranges of offsets."""

from .clients import (
    BrokerRefusedError,
    BrokerUnavailableError,
    ClientErrors,
    ask,
    client,
    hint_for,
    require_options,
    within,
)
from .partitions import bounds_of, partitions_of, place_of
from .patience import PATIENCE, is_waiting, patient
from .producer_ids import idempotence, no_producer_ids, require_producer_ids
from .ranges import ASSIGNED, OffsetsGoneError, Range, RangeReader, StalledError

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
