"""Moves topics from Confluent's framing and registry to SNIP 42 and Pulsar's registry, and back, with nothing lost."""

from .framing import BadMessageError, Rewriter
from .route import Direction, Route, Side
from .state import State, Widened

__all__ = [
    "BadMessageError",
    "Direction",
    "Rewriter",
    "Route",
    "Side",
    "State",
    "Widened",
]
