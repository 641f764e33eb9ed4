"""Fixtures: scripted servers, and registry clients that connect to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oauth_issuer import Issuer
from scripted_registry import CONF, FOUND, TOKEN, Clock, ScriptedRegistry

from streamnative_serdes.schema_registry import SchemaRegistryClient


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry(FOUND) as server:
        yield server


@pytest.fixture
def other() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry(FOUND) as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connect() -> Iterator[Callable[..., SchemaRegistryClient]]:
    """Creates clients of a server: ``connect(server, clock, **options)``, where ``_`` stands for a dot in an option."""
    clients: list[SchemaRegistryClient] = []

    def connect(server: ScriptedRegistry, clock: Clock, **options: Any) -> SchemaRegistryClient:
        conf = {**CONF, "schema.registry.url": server.url, "bearer.auth.token": TOKEN}
        conf |= {key.replace("_", "."): value for key, value in options.items()}
        clients.append(SchemaRegistryClient(conf, clock=clock, sleep=clock.sleep))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()
