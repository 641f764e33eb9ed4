"""Sessions and worker processes: a Java for Spark, local sessions, the workers' Python, and objects they keep."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .local import SparkError, local_session, reason, session_for, spark_errors

__all__ = ["SparkError", "local_session", "reason", "session_for", "spark_errors"]

_LOCAL: Final = f"{__name__}.local"


def __getattr__(name: str) -> Any:
    # Imported on first use: spark.session.java works without PySpark.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOCAL), name)
