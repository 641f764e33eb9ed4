"""Schemas of topics that are deleted and recreated, and the options of another process."""

from __future__ import annotations

from typing import Any

from conf import conf

from streamnative_serdes.testing import LocalRegistry

USER: dict[str, Any] = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
ORDER: dict[str, Any] = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
WIDER = {**USER, "fields": [*USER["fields"], {"name": "age", "type": ["null", "int"], "default": None}]}
BOB = {"name": "bob"}
TTL = {"cache.latest.ttl.sec": 3600}


def elsewhere(registry: LocalRegistry) -> dict[str, Any]:
    """Return options that share no cache with :func:`conf`, as in another process."""
    return conf(registry, **{"pulsar.tenant": "public", "retries.wait.ms": 201})
