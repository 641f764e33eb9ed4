"""The fixture ``kafka``: a broker for the code in pages and examples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streamnative_serdes.testing import MockBroker


@pytest.fixture
def kafka() -> Iterator[dict[str, str]]:
    """The client configuration for a broker that only this test uses."""
    with MockBroker({"flights": 4}) as broker:
        # Workers keep their producers, which would log repeatedly that this broker is gone.
        yield {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0"}
