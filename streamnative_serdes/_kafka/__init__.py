"""Kafka clients: how they are created and asked, and the one reader of ranges of offsets."""

from .clients import (
    BrokerRefusedError,
    BrokerUnavailableError,
    ClientErrors,
    ask,
    client,
    require_options,
    within,
)
from .partitions import bounds_of, partitions_of, place_of
from .ranges import ASSIGNED, OffsetsGoneError, Range, RangeReader, StalledError

__all__ = [
    "ASSIGNED",
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
    "partitions_of",
    "place_of",
    "require_options",
    "within",
]
