"""Rows of Spark without Spark, which takes long to import."""

from __future__ import annotations

from typing import Any


class Row(tuple[Any, ...]):
    """Has the attributes of a pyspark.sql.Row: a tuple with the names of its columns."""

    __fields__: list[str]

    def __new__(cls, **columns: Any) -> Row:
        self = super().__new__(cls, columns.values())
        self.__fields__ = list(columns)
        return self
