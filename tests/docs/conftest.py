"""The broker that pages and examples send to; the registry and the Spark session are those of all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamnative_serdes.testing import MockBroker


@pytest.fixture
def kafka() -> Iterator[dict[str, str]]:
    """Configuration of a client of a broker of this test's own."""
    with MockBroker({"flights": 4}) as broker:
        # Workers keep their producers, which would say again and again that this broker is gone.
        yield {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0"}
