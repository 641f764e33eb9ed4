"""Moves topics from Confluent's framing and registry to SNIP 42 and Pulsar's registry, and back, with nothing lost."""

from .framing import BadMessageError, Rewriter
from .problems import Problem, ProblemsError
from .route import Direction, Route, Side
from .state import State, Widened
from .target import Target, ensure_target

__all__ = [
    "BadMessageError",
    "Direction",
    "Problem",
    "ProblemsError",
    "Rewriter",
    "Route",
    "Side",
    "State",
    "Target",
    "Widened",
    "ensure_target",
]
