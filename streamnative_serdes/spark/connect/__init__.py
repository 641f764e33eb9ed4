"""Connect's data in Spark: schemas as StructTypes and back, values as Rows and back, JSON topics as columns."""

from .rows import from_row, to_row
from .types import from_spark_type, to_spark_type

__all__ = ["from_row", "from_spark_type", "to_row", "to_spark_type"]
