"""One Spark session for all tests of a run, with a registry and a broker of their own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamnative_serdes.testing import LocalRegistry, MockBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamnative_serdes.spark.demo.round_trip import Target

PARTITIONS = 4


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'streamnative-serdes[spark]'")
    from streamnative_serdes.spark.session import local_session

    # A task that fails is run once more.
    with local_session("tests", cores="*,2") as session:
        # Several tasks for a small file, as the whole one has.
        session.conf.set("spark.sql.files.maxPartitionBytes", "100000")
        session.conf.set("spark.sql.files.openCostInBytes", "1")
        yield session


@pytest.fixture
def registry() -> Iterator[LocalRegistry]:
    with LocalRegistry() as running:
        yield running


@pytest.fixture
def kafka() -> Iterator[dict[str, str]]:
    """Configuration of a client of a broker that has the topic `flights`."""
    with MockBroker({"flights": PARTITIONS}) as broker:
        # Workers keep their producers, which would say again and again that this broker is gone.
        yield {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0"}


@pytest.fixture
def target(kafka: dict[str, str], registry: LocalRegistry) -> Target:
    from streamnative_serdes.spark.demo.round_trip import Target

    return Target(kafka, {"schema.registry.url": registry.url})


@pytest.fixture
def flights_csv(tmp_path: Path) -> Path:
    """The first 3,000 flights; each of the six columns that can say NA does so in them."""
    from streamnative_serdes.spark.demo.flights import unzip_flights

    return unzip_flights(tmp_path, 3_000)
