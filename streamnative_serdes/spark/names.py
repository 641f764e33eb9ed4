"""Names of columns: as Spark reads them, and as the fields of a schema are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamnative_serdes.errors import ConfigError
from streamnative_serdes.schema import Record

from .types import parts_of


def quoted(name: str) -> str:
    """For Spark, to which dots and backticks of a bare name would mean something."""
    return "`" + name.replace("`", "``") + "`"


def name_of(option: str, given: Any) -> str:
    """``given``, the value of an argument that takes the name of a column.

    Raises:
        ConfigError: it is something else.
    """
    if isinstance(given, str) and given:
        return given
    raise ConfigError(
        f"{option} takes the name of a column, got {given!r:.80}",
        hint="give its name; what is computed gets one by df.withColumn" if isinstance(given, Column) else None,
    )


def names_of(option: str, given: Any) -> tuple[str, ...]:
    """Likewise for a list of names."""
    if isinstance(given, str | Column) or not isinstance(given, Iterable):
        raise ConfigError(f"{option} takes a list of names of columns, got {given!r:.80}")
    return tuple(name_of(option, name) for name in given)


def require(df: DataFrame, name: str) -> T.StructField:
    """The column of this name.

    Raises:
        ConfigError: there is none, or there are two.
    """
    if df.columns.count(name) > 1:
        raise ConfigError(f"two columns are called {name!r:.80}", hint="rename one of them before, or drop it")
    if name not in df.columns:
        raise ConfigError(f"there is no column {name!r:.80}", hint=f"the columns are {', '.join(df.columns)}"[:500])
    field: T.StructField = df.schema[name]
    return field


def place(df: DataFrame, name: str) -> int:
    """Which of the columns has this name.

    Raises:
        ConfigError: none, or two.
    """
    require(df, name)
    return df.columns.index(name)


def pick(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """These columns, with numbers for names: mapInArrow takes none that has a dot or a backtick."""
    for name in names:
        refuse_intervals(name, require(df, name).dataType, T.YearMonthIntervalType)
    return by_place(df, [place(df, name) for name in names])


def by_place(df: DataFrame, places: Sequence[int]) -> DataFrame:
    """The columns at these places, with numbers for names. By name, Spark would not tell ``id`` from ``ID``."""
    numbered = df.toDF(*(str(place) for place in range(len(df.columns))))
    return numbered.select([F.col(str(place)).alias(str(number)) for number, place in enumerate(places)])


def refuse_intervals(name: str, kind: T.DataType, *intervals: type[T.DataType]) -> None:
    """Raises: ConfigError: the column holds such intervals, which Python does not get from Spark, or not as numbers."""
    if isinstance(kind, intervals):
        raise ConfigError(
            f"column {name!r:.80} holds {kind.simpleString()}, which is not supported",
            hint='make numbers of it before, as with F.expr("extract(MONTH from ...)")',
        )
    for each in parts_of(kind):
        refuse_intervals(name, each, *intervals)


def refuse_doubles(df: DataFrame, names: Sequence[str]) -> None:
    """Raises: ConfigError: Spark would take two of ``names`` for one."""
    if (df.sparkSession.conf.get("spark.sql.caseSensitive") or "").lower() == "true":
        same = list(names)
    else:
        same = [name.lower() for name in names]
    doubles = [name for name, alike in zip(names, same, strict=True) if same.count(alike) > 1]
    if doubles:
        raise ConfigError(
            f"two columns would be called {', '.join(doubles)}"[:500],
            hint="rename one of them before, or do not keep it; spark.sql.caseSensitive tells Id from ID",
        )


def refuse_other_case(record: Record, names: Sequence[str], topic: str) -> None:
    """Raises: ConfigError: a field would be given its default, for its column's name differs in case."""
    fields = {field.name for field in record.fields}
    others = {name.lower(): name for name in names if name not in fields}
    for field in record.fields:
        if field.name not in names and field.name.lower() in others:
            raise ConfigError(
                f"there is no column {field.name}, but {others[field.name.lower()]}",
                topic=topic,
                hint="rename it: upper and lower case differ in Avro",
            )
