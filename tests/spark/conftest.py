"""Fixtures: a broker per test; the Spark session is shared by the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamnative_serdes.testing import MockBroker

if TYPE_CHECKING:
    from demo.round_trip import Destination
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 4


@pytest.fixture
def kafka() -> Iterator[dict[str, str]]:
    """The client configuration for a broker that has the topic `flights`."""
    with MockBroker({"flights": PARTITIONS}) as broker:
        # Workers keep their producers, which would log repeatedly that this broker is gone.
        yield {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0"}


@pytest.fixture
def orders(spark: SparkSession) -> DataFrame:
    from orders import COLUMNS, ROWS

    return spark.createDataFrame(spark.sparkContext.parallelize(ROWS, 5), COLUMNS)


@pytest.fixture
def to(kafka: dict[str, str], conf: dict[str, str]) -> Destination:
    from demo.round_trip import Destination

    # On a busy machine a job takes longer than a minute, and a round of checks would count as calls to the registry.
    return Destination(kafka, {**conf, "cache.latest.ttl.sec": "3600"})


@pytest.fixture
def flights_csv(tmp_path: Path) -> Path:
    """The first 3,000 flights; NA occurs in each of the six columns that may contain it."""
    from demo.flights import unzip_flights

    return unzip_flights(tmp_path, 3_000)
