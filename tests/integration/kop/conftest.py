"""Fixtures: a real KoP in each way that tests need; see tests/servers/kop_server.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kop_server import Kop, kop_server


@pytest.fixture(scope="session")
def kop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kop]:
    """With a transaction coordinator; entryFormat=pulsar."""
    with kop_server(tmp_path_factory.mktemp("kop")) as server:
        yield server


@pytest.fixture(scope="session")
def kop_as_delivered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kop]:
    """Without a transaction coordinator, which is KoP's default."""
    with kop_server(tmp_path_factory.mktemp("kop"), "kafkaTransactionCoordinatorEnabled=false") as server:
        yield server


@pytest.fixture(scope="module")
def kop_with_tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kop]:
    with kop_server(tmp_path_factory.mktemp("kop"), "--token") as server:
        yield server
