"""Fixtures: contract players for both servers; each case is played once per server and run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract import Player
from servers import Pulsar

from streamnative_serdes.testing import LocalRegistry


@pytest.fixture(scope="session")
def local() -> Iterator[Player]:
    with LocalRegistry() as registry:
        yield Player(registry.url).prepare()


@pytest.fixture(scope="session")
def real(pulsar: Pulsar) -> Player:
    return Player(pulsar.url).prepare()


@pytest.fixture(params=["local", "pulsar"])
def player(request: pytest.FixtureRequest) -> Player:
    """Players for LocalRegistry and Pulsar; Pulsar is skipped if it is not available."""
    found: Player = request.getfixturevalue("local" if request.param == "local" else "real")
    return found
