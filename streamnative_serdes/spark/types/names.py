"""Column names: validates, quotes and selects DataFrame columns, and matches them with fields of a schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamnative_serdes._schema import Record
from streamnative_serdes.errors import ConfigError

from .avro import parts_of


def backticked(name: str) -> str:
    """``name`` in backticks: Spark would interpret dots and backticks in a bare name."""
    return "`" + name.replace("`", "``") + "`"


def name_of(option: str, given: Any) -> str:
    """Return ``given``, the value of the argument ``option``, if it is a column name; otherwise raises ConfigError."""
    if isinstance(given, str) and given:
        return given
    raise ConfigError(
        f"{option}: expected a column name, got {given!r:.80}",
        hint="pass its name; use df.withColumn to name a computed column" if isinstance(given, Column) else None,
    )


def names_of(option: str, given: Any) -> tuple[str, ...]:
    """Return ``given``, the value of the argument ``option``, if it is a list of column names; else a ConfigError."""
    if isinstance(given, str | Column) or not isinstance(given, Iterable):
        raise ConfigError(f"{option}: expected a list of column names, got {given!r:.80}")
    return tuple(name_of(option, name) for name in given)


def require(df: DataFrame, name: str) -> T.StructField:
    """The column with this name. Raises ConfigError: the name is missing or ambiguous."""
    if df.columns.count(name) > 1:
        raise ConfigError(f"two columns have the name {name!r:.80}", hint="rename or drop one of them")
    if name not in df.columns:
        raise ConfigError(
            f"the DataFrame has no column {name!r:.80}", hint=f"its columns are {', '.join(df.columns)}"[:500]
        )
    field: T.StructField = df.schema[name]
    return field


def require_headers(df: DataFrame, name: str) -> str:
    """Return ``name`` if it is a column of Kafka's headers; otherwise raises ConfigError."""
    if name not in df.columns:
        raise ConfigError(
            f"framings has one that is in headers, and the DataFrame has no column {name!r:.80} with headers",
            hint="read them with the option includeHeaders=true of Spark's Kafka source, and keep the column",
        )
    refuse_other_headers(f"column {name}", require(df, name).dataType)
    return name


def refuse_other_headers(what: str, kind: T.DataType) -> None:
    """Raises ConfigError if ``kind`` is not the type that Spark's Kafka source has for headers."""
    if kind.simpleString() != "array<struct<key:string,value:binary>>":
        raise ConfigError(
            f"{what}: expected headers of type array<struct<key:string,value:binary>>, got {kind.simpleString()}"[:500]
        )


def column_index(df: DataFrame, name: str) -> int:
    """The index of the column with this name. Raises ConfigError: the name is missing or ambiguous."""
    require(df, name)
    return df.columns.index(name)


def pick(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Select these columns and rename them to 0, 1, ...: mapInArrow does not support dots and backticks in names."""
    for name in names:
        refuse_intervals(name, require(df, name).dataType, T.YearMonthIntervalType)
    return by_index(df, [column_index(df, name) for name in names])


def by_index(df: DataFrame, indexes: Sequence[int]) -> DataFrame:
    """Select columns by index and rename them to 0, 1, ...; by name, Spark cannot distinguish ``id`` from ``ID``."""
    numbered = df.toDF(*(str(index) for index in range(len(df.columns))))
    return numbered.select([F.col(str(index)).alias(str(number)) for number, index in enumerate(indexes)])


def refuse_intervals(name: str, kind: T.DataType, *intervals: type[T.DataType]) -> None:
    """Raises ConfigError if the column contains such intervals: Spark does not pass them to Python as numbers."""
    if isinstance(kind, intervals):
        raise ConfigError(
            f"column {name!r:.80} contains {kind.simpleString()}, which is not supported",
            hint='convert it to numbers first, such as with F.expr("extract(MONTH from ...)")',
        )
    for each in parts_of(kind):
        refuse_intervals(name, each, *intervals)


def refuse_doubles(df: DataFrame, names: Sequence[str]) -> None:
    """Raises ConfigError if two of ``names`` are equal to Spark, which by default ignores case."""
    if (df.sparkSession.conf.get("spark.sql.caseSensitive") or "").lower() == "true":
        same = list(names)
    else:
        same = [name.lower() for name in names]
    doubles = [name for name, alike in zip(names, same, strict=True) if same.count(alike) > 1]
    if doubles:
        raise ConfigError(
            f"two columns of the result would have the same name: {', '.join(doubles)}"[:500],
            hint="rename one of them, or do not keep it; spark.sql.caseSensitive distinguishes Id from ID",
        )


def refuse_other_case(record: Record, names: Sequence[str], topic: str) -> None:
    """Raises ConfigError if a column's name differs from a field's only in case: the field would get its default."""
    fields = {field.name for field in record.fields}
    others = {name.lower(): name for name in names if name not in fields}
    for field in record.fields:
        if field.name not in names and field.name.lower() in others:
            raise ConfigError(
                f"expected a column {field.name}, got {others[field.name.lower()]}",
                topic=topic,
                hint="rename the column: Avro names are case-sensitive",
            )
