"""Fixtures: contract players for both servers and releases; each case is played once per server and run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract import Player
from servers import NEXT_PULSAR, PULSAR, PULSARS, Pulsar

from streamnative_serdes.testing import LocalRegistry


@pytest.fixture(scope="session")
def local_4_0() -> Iterator[Player]:
    with LocalRegistry() as registry:
        yield Player(registry.url).prepare()


@pytest.fixture(scope="session")
def local_4_2() -> Iterator[Player]:
    with LocalRegistry(flavour="4.2") as registry:
        yield Player(registry.url).prepare()


@pytest.fixture(scope="session")
def real_4_0(pulsar: Pulsar) -> Player:
    return Player(pulsar.url).prepare()


@pytest.fixture(scope="session")
def real_4_2(pulsar_4_2: Pulsar) -> Player:
    return Player(pulsar_4_2.url).prepare()


@pytest.fixture(scope="session", params=PULSARS)
def release(request: pytest.FixtureRequest) -> str:
    """The version of Pulsar."""
    version: str = request.param
    return version


_NAMES = {PULSAR: "4_0", NEXT_PULSAR: "4_2"}


@pytest.fixture(scope="session")
def local(request: pytest.FixtureRequest, release: str) -> Player:
    found: Player = request.getfixturevalue(f"local_{_NAMES[release]}")
    return found


@pytest.fixture(scope="session")
def real(request: pytest.FixtureRequest, release: str) -> Player:
    """Pulsar, whose tests are skipped if it is not available."""
    found: Player = request.getfixturevalue(f"real_{_NAMES[release]}")
    return found
