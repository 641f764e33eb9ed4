"""Messages to Arrow columns and back. Only this package and Spark import pyarrow."""

from .columns import ColumnCodec, Columns, ColumnWriter, Dialect, Routes, arrow_schema_of, in_parts

__all__ = ["ColumnCodec", "ColumnWriter", "Columns", "Dialect", "Routes", "arrow_schema_of", "in_parts"]
