"""Fixtures: Pulsar's own clients, created once per run; the servers come from tests/servers/server_fixtures.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_stand_in import ConfluentStandIn
from copied_topic import Migration
from java_pulsar import JavaPulsar
from plan_source import VERSIONS, PlanSource
from pulsar import Client, ConsoleLogger, LoggerLevel
from pulsar_topic import PulsarTopic
from servers import ConfluentRegistry, Kafka, Pulsar, Tokens

from streamnative_serdes import header
from streamnative_serdes._topics.binding import Binding


@pytest.fixture
def nothing_is_known() -> Iterator[None]:
    """Drop all cached schemas before and after the test, so that it makes all its registry requests itself."""
    Binding.forget()
    yield
    Binding.forget()


@pytest.fixture(scope="session")
def tokens(pulsar_with_tokens: Pulsar) -> Tokens:
    """Tokens for the roles of the Pulsar that requires them."""
    assert pulsar_with_tokens.tokens is not None
    return pulsar_with_tokens.tokens


@pytest.fixture(scope="session")
def pulsar_client(pulsar: Pulsar) -> Iterator[Client]:
    """Pulsar's own Python client."""
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


@pytest.fixture
def migration(kafka: Kafka, confluent_registry: ConfluentRegistry, pulsar: Pulsar, tmp_path: Path) -> Migration:
    return Migration(kafka, confluent_registry, pulsar, tmp_path)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is one of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def stand_in() -> Iterator[ConfluentStandIn]:
    """A registry with Confluent's API that supports GUIDs."""
    with ConfluentStandIn() as registry:
        yield registry


@pytest.fixture
def source(kafka: Kafka, stand_in: ConfluentStandIn) -> PlanSource:
    """A topic to migrate, with the stand-in as registry, and two messages of one schema."""
    source = PlanSource(kafka, stand_in.url)
    number = source.register(VERSIONS[0])
    for _ in range(2):
        source.send(header.pack_id(number) + b"\2")
    source.producer.flush(30)
    return source
