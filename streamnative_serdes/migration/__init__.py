"""Moves topics from Confluent's framing and registry to SNIP 42 and Pulsar's registry, and back, with nothing lost."""

from .copying import Report, TopicCopy
from .findings import Findings
from .framing import BadMessageError, Rewriter
from .groups import Moved, move_groups
from .messages import Rules
from .planning import PlanOptions, plan
from .problems import Problem, ProblemsError
from .resuming import Wishes, behind_copies
from .route import Direction, Route, Side
from .schema_copy import Copied
from .schemas import SchemaReport, copy_schemas, preview_schemas, put_back_strategies
from .schemas_back import BackReport, Returned, copy_schemas_back, preview_schemas_back
from .state import State, Widened
from .target import Target, ensure_target

__all__ = [
    "BackReport",
    "BadMessageError",
    "Copied",
    "Direction",
    "Findings",
    "Moved",
    "PlanOptions",
    "Problem",
    "ProblemsError",
    "Report",
    "Returned",
    "Rewriter",
    "Route",
    "Rules",
    "SchemaReport",
    "Side",
    "State",
    "Target",
    "TopicCopy",
    "Widened",
    "Wishes",
    "behind_copies",
    "copy_schemas",
    "copy_schemas_back",
    "ensure_target",
    "move_groups",
    "plan",
    "preview_schemas",
    "preview_schemas_back",
    "put_back_strategies",
]
