"""Pulsar's own clients, each made once for a run; the servers are fixtures of tests/helpers/server_fixtures.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from java_pulsar import JavaPulsar
from pulsar import Client, ConsoleLogger, LoggerLevel
from pulsar_topic import PulsarTopic
from servers import Pulsar


@pytest.fixture(scope="session")
def pulsar_client(pulsar: Pulsar) -> Iterator[Client]:
    """Pulsar's own client for Python."""
    client = Client(pulsar.service_url, logger=ConsoleLogger(LoggerLevel.Error))
    yield client
    client.close()


@pytest.fixture
def pulsar_topic(pulsar: Pulsar, pulsar_client: Client) -> PulsarTopic:
    return PulsarTopic(pulsar, pulsar_client)


@pytest.fixture(scope="session")
def java_client(pulsar: Pulsar) -> Iterator[JavaPulsar]:
    with JavaPulsar(pulsar.service_url) as client:
        yield client
