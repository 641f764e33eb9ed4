from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from any_type import delete
from recreated import elsewhere

from streamnative_serdes import KafkaAvroSerializer
from streamnative_serdes.testing import LocalRegistry


@pytest.fixture
def recreate(registry: LocalRegistry) -> Callable[..., bytes]:
    """Delete the topic's schemas permanently, and write its first message, as if in another process."""

    def write(schema: dict[str, Any], value: Any = None, topic: str = "t") -> bytes:
        delete(registry, topic, force=True)
        with KafkaAvroSerializer(elsewhere(registry), schema) as other:
            framed = other.serialize(topic, value or {"id": "o-1"})
        assert framed is not None
        return framed

    return write
