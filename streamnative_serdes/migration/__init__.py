"""Moves topics from Confluent's framing and registry to SNIP 42 and Pulsar's registry, and back, with nothing lost."""

from streamnative_serdes._kafka import patient
from streamnative_serdes._rewriting import BadMessageError, Direction, Rewriter

from .copying.copy import Report, TopicCopy
from .copying.groups import Moved, move_groups
from .copying.messages import Rules
from .copying.resuming import ChangedTopicError, Wishes, behind_copies
from .planning.plan import Findings, PlanOptions, plan
from .planning.problems import Problem, ProblemsError
from .planning.target import Target, ensure_target, transactions_by_default
from .route import Route, Side
from .schemas.back import BackReport, Returned, copy_schemas_back, preview_schemas_back
from .schemas.forward import Copied, SchemaReport, copy_schemas, preview_schemas, put_back_strategies
from .state import State, Widened
from .verifying.verification import Outcome, Scope, Verification

__all__ = [
    "BackReport",
    "BadMessageError",
    "ChangedTopicError",
    "Copied",
    "Direction",
    "Findings",
    "Moved",
    "Outcome",
    "PlanOptions",
    "Problem",
    "ProblemsError",
    "Report",
    "Returned",
    "Rewriter",
    "Route",
    "Rules",
    "SchemaReport",
    "Scope",
    "Side",
    "State",
    "Target",
    "TopicCopy",
    "Verification",
    "Widened",
    "Wishes",
    "behind_copies",
    "copy_schemas",
    "copy_schemas_back",
    "ensure_target",
    "move_groups",
    "patient",
    "plan",
    "preview_schemas",
    "preview_schemas_back",
    "put_back_strategies",
    "transactions_by_default",
]
