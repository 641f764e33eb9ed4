"""The module in which Spark finds the data source ``streamnative-kafka``; see streamnative_serdes.spark.

Spark imports each module named ``pyspark_*`` when a session first asks for a data source, and one that fails would
hide all Python data sources. So this module imports PySpark alone; everything else is imported when the source is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from streamnative_serdes.spark.datasource.source import Source
else:
    try:
        from pyspark.sql.datasource import DataSource
    except ImportError:  # PySpark before 4.0 has no Python data sources
        DataSource = object

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """Kafka topics as DataFrames, with Spark's own Kafka options; docs/spark-read.md and spark-write.md list them."""

    _made: Source | None = None

    @classmethod
    def name(cls) -> str:
        return "streamnative-kafka"

    def schema(self) -> StructType:
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        return self._source().stream_reader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return self._source().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 (Spark's name)
        return self._source().stream_writer(schema, overwrite)

    def _source(self) -> Source:
        """The source that does the work; Spark pickles this object with it, so a plan is made once."""
        if self._made is None:
            from streamnative_serdes.spark.datasource.source import Source

            self._made = Source(dict(self.options))
        return self._made
