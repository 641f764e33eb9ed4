"""Warns when a later query reads the offsets of an earlier one.

From PySpark 4.1 on, Spark plans the read of a loaded DataFrame or a view once, and keeps the plan, so later queries end
where the topics ended at the first one. Spark tells a source nothing of later queries but their tasks, so the tasks
warn, in the workers' logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from pyspark import TaskContext

from streamnative_serdes._log import logger

_QUERY: Final = "spark.sql.execution.id"  # a property that Spark passes to each task
_MOST: Final = 1_000  # plans that a worker process remembers
_first: dict[str, str | None] = {}  # name of a plan -> the query that read by it first; None once it was warned about


@dataclass(frozen=True, slots=True)
class Planned:
    """When a read was planned, under a name of its own."""

    name: str
    at: str

    @classmethod
    def now(cls) -> Planned:
        return cls(uuid4().hex, datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))

    def note_query(self) -> None:
        """Warn, once for a plan and worker process, if another query than the first one reads by this plan."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        if query is None:
            return
        if len(_first) >= _MOST:
            _first.clear()
        first = _first.setdefault(self.name, query)
        if first is None or first == query:
            return
        _first[self.name] = None
        logger.warning(
            "the offsets are those of an earlier query, of %s: Spark keeps them with a loaded DataFrame or view; load "
            "it again, or create the view again, to read what has come since",
            self.at,
        )
