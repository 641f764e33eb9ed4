"""Source: makes a reader or a writer, of batches or streams, of the options of ``format("streamnative-kafka")``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

from streamnative_serdes.errors import ConfigError, SerdesError

from .user_options import names
from .user_options.secrets import warn_of_literal_secrets

if TYPE_CHECKING:
    from .reading.columns import Plan

READING: Final = frozenset(name.lower() for name in names.READING if name not in names.WRITING)
_SPARKS: Final = frozenset(name.lower() for name in names.SPARKS)
_OF_TABLES: Final = "option."  # PySpark 4.3 gives the options of CREATE TABLE twice: with this, and without


class Source:
    """One use of the data source, with Spark's options. Spark pickles it from one planning process to the next."""

    def __init__(self, given: Mapping[str, str]) -> None:
        warn_of_literal_secrets(given)
        self._given = dict(given)
        self._plan: Plan | None = None

    def schema(self) -> StructType:
        """The columns of a read, or the columns that an INSERT of SQL may have."""
        if any(name.lower().startswith(_OF_TABLES) for name in self._given):
            raise _without_options("a table would be of no use")
        if not self._reads():
            from .writing.writers import columns_to_write

            # Spark also asks when it is going to write. If it reads, reader() refuses.
            return columns_to_write(self._given)
        return self._planned().schema

    def reader(self, schema: StructType) -> DataSourceReader:
        from .reading import batch

        planned = self._checked(schema)
        return batch.PushingReader(planned) if batch.is_enabled() else batch.BatchReader(planned)

    def stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader of a stream. If the options are wrong, its methods raise the error."""
        from .reading.stream import stream_reader

        try:
            return stream_reader(self._checked(schema))
        except SerdesError as error:
            return _FailedStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .writing.writers import writer

        return writer(self._given, schema, overwrite)

    def stream_writer(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from .writing.writers import stream_writer

        return stream_writer(self._given, schema, overwrite)

    def _reads(self) -> bool:
        """Whether the options are probably for reading; reading refuses options for writing by name, and vice versa."""
        given = {name.lower() for name in self._given}
        if "topic" in given:
            given.discard("includeheaders")  # one that is easily given for both
        return not given.isdisjoint(READING | {"topics"})

    def _planned(self) -> Plan:
        from .reading.columns import plan

        if not {name.lower() for name in self._given} - _SPARKS:
            raise _without_options("no option has arrived")
        if self._plan is None:
            self._plan = plan(self._given)
        return self._plan

    def _checked(self, schema: StructType) -> Plan:
        """The plan, if ``schema`` is correct: Spark does not ask for the columns if the user gives ``.schema(...)``."""
        planned = self._planned()
        if [(each.name, each.dataType) for each in schema] != [(each.name, each.dataType) for each in planned.schema]:
            raise ConfigError(
                f"the columns are those of the source, and cannot be chosen with schema(...): expected "
                f"{planned.schema.simpleString()}, got {schema.simpleString()}"[:1000],
                hint="leave out .schema(...); columns=... chooses fields, and reader.schema the schema",
            )
        return planned


class _FailedStreamReader(DataSourceStreamReader):
    """Raises the error that prevented a stream's reader.

    Spark, up to 4.3 at least, stops the reader although it was not created, and reports an UnboundLocalError instead.
    """

    def __init__(self, error: SerdesError) -> None:
        self._error = error

    def _fail(self, *_given: Any) -> NoReturn:
        raise self._error

    initialOffset = latestOffset = partitions = read = _fail  # type: ignore[assignment]  # noqa: N815 (Spark's names)


def _without_options(what: str) -> ConfigError:
    return ConfigError(
        f"{what}: Spark drops the options of CREATE TABLE ... USING and of saveAsTable before the table is used",
        hint=f"CREATE TEMPORARY VIEW ... USING `{names.FORMAT}` OPTIONS (...) keeps them",
    )
