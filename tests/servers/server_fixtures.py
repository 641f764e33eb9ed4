"""Pytest plugin: real servers, started on first use and shared by a run, except the one for fault tests."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from servers import ConfluentRegistry, Kafka, Missing, Pulsar, PulsarCluster, Server, requirements
from servers.pulsar import signing_in

if TYPE_CHECKING:
    from servers.certificates import Certificates


@pytest.fixture(scope="session")
def servers_at_hand() -> None:
    """Skip where real servers cannot be had; in CI, and by `make test-integration`, that is a failure."""
    try:
        requirements()
    except Missing as missing:
        if os.environ.get("CI") or os.environ.get("SERVERS_REQUIRED"):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def pulsar(servers_at_hand: None) -> Iterator[Pulsar]:
    with Pulsar() as server:
        yield server


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A CA of this run's own."""
    from servers.certificates import Certificates  # wheels are tested without what it needs

    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def pulsar_with_tokens(servers_at_hand: None, certificates: Certificates) -> Iterator[Pulsar]:
    """Roles: ``admin`` may all, ``produce`` and ``consume`` have that right on public/default, others have none.

    It takes tokens, certificates of its own CA that name the role (at ``secure_url``), and for ``produce`` a password.
    """
    with Pulsar(tokens=True, conf=signing_in(certificates)) as server:
        yield server


@pytest.fixture(scope="module")
def careless_pulsar(servers_at_hand: None) -> Iterator[Pulsar]:
    """For faults: it deletes topics that are idle for a second, with their schemas. By default that takes a minute.

    It ends with its module: a Pulsar that was killed and started again (4.0.8, standalone) is busy ever after, on a
    whole core: two managers of its bookie's lock take it from each other.
    """
    conf = {
        "brokerDeleteInactiveTopicsEnabled": True,
        "brokerDeleteInactiveTopicsFrequencySeconds": 1,
        "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds": 1,
    }
    with Pulsar(conf=conf) as server:
        yield server


@pytest.fixture(scope="session")
def pulsar_cluster(servers_at_hand: None) -> Iterator[PulsarCluster]:
    """With tokens. A broker that is killed is replaced after its ZooKeeper session: 30 s by default, 8 s here."""
    with PulsarCluster(tokens=True, conf={"metadataStoreSessionTimeoutMillis": 8_000}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka(servers_at_hand: None) -> Iterator[Kafka]:
    with Kafka() as server:
        yield server


@pytest.fixture(scope="session")
def confluent_registry(servers_at_hand: None) -> Iterator[ConfluentRegistry]:
    with ConfluentRegistry() as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the logs of the servers that a failed test used."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for used in item.funcargs.values():
            for server in used.servers if isinstance(used, PulsarCluster) else (used,):
                if isinstance(server, Server):
                    report.sections.append((f"log of {server.name}", server.end_of_log()))
    return report
