"""Moves topics from Confluent's framing and registry to SNIP 42 and Pulsar's registry, and back, with nothing lost."""

from .copying import Report, TopicCopy
from .findings import Findings
from .framing import BadMessageError, Rewriter
from .groups import Moved, move_groups
from .messages import Rules
from .planning import Looking, plan
from .problems import Problem, ProblemsError
from .resuming import Wishes, behind_copies
from .route import Direction, Route, Side
from .state import State, Widened
from .target import Target, ensure_target

__all__ = [
    "BadMessageError",
    "Direction",
    "Findings",
    "Looking",
    "Moved",
    "Problem",
    "ProblemsError",
    "Report",
    "Rewriter",
    "Route",
    "Rules",
    "Side",
    "State",
    "Target",
    "TopicCopy",
    "Widened",
    "Wishes",
    "behind_copies",
    "ensure_target",
    "move_groups",
    "plan",
]
