"""Pytest plugin: real servers, started on first use and shared by a run, except the one for fault tests."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NoReturn

import pytest
from servers import (
    NEXT_KAFKA,
    NEXT_PULSAR,
    PULSAR,
    PULSARS,
    ConfluentRegistry,
    Kafka,
    Missing,
    Pulsar,
    PulsarCluster,
    Server,
    kafka_jars,
    pulsar_jars,
    requirements,
)
from servers.pulsar import signing_in

if TYPE_CHECKING:
    from connect import JavaConnect
    from servers.certificates import Certificates


_POLICIES = {"topicLevelPoliciesEnabled": True, "systemTopicEnabled": True}


@pytest.fixture(scope="session")
def servers_at_hand() -> None:
    """Skip tests if real servers are not available; in CI and with `make test-integration`, that is a failure."""
    try:
        requirements()
    except Missing as missing:
        _refuse_in_ci(missing)


def _refuse_in_ci(missing: Missing) -> NoReturn:
    if os.environ.get("CI") or os.environ.get("SERVERS_REQUIRED"):
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


@pytest.fixture(scope="session")
def java_connect() -> Iterator[JavaConnect]:
    """Connect's converters in Java: one process for all tests of a run."""
    from connect import JavaConnect

    try:
        oracle = JavaConnect()
    except Missing as missing:
        _refuse_in_ci(missing)
    with oracle:
        yield oracle


@pytest.fixture(scope="session")
def pulsar(servers_at_hand: None) -> Iterator[Pulsar]:
    with Pulsar() as server:
        yield server


@pytest.fixture(scope="session")
def jars_of_pulsar_4_2(servers_at_hand: None) -> None:
    """Skip tests, or fail, as ``servers_at_hand`` does."""
    try:
        pulsar_jars(NEXT_PULSAR)
    except Missing as missing:
        _refuse_in_ci(missing)


@pytest.fixture(scope="session")
def pulsar_4_2(jars_of_pulsar_4_2: None) -> Iterator[Pulsar]:
    """The newest Pulsar that is served."""
    with Pulsar(version=NEXT_PULSAR) as server:
        yield server


@pytest.fixture(scope="session")
def pulsar_4_2_with_policies(jars_of_pulsar_4_2: None) -> Iterator[Pulsar]:
    with Pulsar(version=NEXT_PULSAR, conf=_POLICIES) as server:
        yield server


@pytest.fixture(scope="session", params=PULSARS)
def each_pulsar(request: pytest.FixtureRequest) -> Pulsar:
    found: Pulsar = request.getfixturevalue("pulsar" if request.param == PULSAR else "pulsar_4_2")
    return found


@pytest.fixture(scope="session")
def pulsar_with_policies(servers_at_hand: None) -> Iterator[Pulsar]:
    """A Pulsar whose topics may have policies of their own, such as a compatibility strategy.

    Its start takes no longer: 10 s, and 11 s without policies (four of each by turns, 6 to 17 s). Policies are off in
    ``pulsar`` all the same, since many brokers have them off.
    """
    with Pulsar(conf=_POLICIES) as server:
        yield server


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """The CA of this run."""
    from servers.certificates import Certificates  # wheels are tested without the package that it needs

    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def pulsar_with_tokens(servers_at_hand: None, certificates: Certificates) -> Iterator[Pulsar]:
    """A Pulsar with authentication. Role ``admin`` has all rights; ``produce`` and ``consume`` have that right on
    public/default, all others none.

    It accepts tokens, certificates of the run's CA for a role (at ``secure_url``), and a password for ``produce``. It
    adds the index to entries, as a broker with KoP must.
    """
    index = "org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor"
    conf = signing_in(certificates) | {"brokerEntryMetadataInterceptors": index}
    with Pulsar(tokens=True, conf=conf) as server:
        yield server


@pytest.fixture(scope="module")
def careless_pulsar(servers_at_hand: None) -> Iterator[Pulsar]:
    """A Pulsar for fault tests: it deletes idle topics with their schemas after a second, instead of a minute.

    It is stopped after the module: a Pulsar (4.0.8, standalone) that was killed and restarted keeps a whole core busy,
    because two managers of its bookie's lock take the lock from each other.
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
    """Two brokers, with tokens. A killed broker is replaced after its ZooKeeper session: 8 s instead of 30 s."""
    with PulsarCluster(tokens=True, conf={"metadataStoreSessionTimeoutMillis": 8_000}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka(servers_at_hand: None) -> Iterator[Kafka]:
    with Kafka() as server:
        yield server


@pytest.fixture(scope="session")
def next_kafka(servers_at_hand: None) -> Iterator[Kafka]:
    """The newest Kafka that is served, which has share groups."""
    try:
        kafka_jars(NEXT_KAFKA)
    except Missing as missing:
        _refuse_in_ci(missing)
    with Kafka(version=NEXT_KAFKA) as server:
        yield server


@pytest.fixture
def kafka_to_kill(servers_at_hand: None) -> Iterator[Kafka]:
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
