"""The HTTP address of a cluster with two registries: Pulsar's own, and one with Confluent's API under ``/kafka``.

The second one stands for the vendor's, which no test here can reach: it drops the metadata and rules of a schema, and
answers the level NONE where none is set (docs/interoperability.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import requests
from confluent_stand_in import ConfluentStandIn
from scripted_registry import Answer, Asked

from streamnative_serdes.testing import LocalRegistry

PATH = "/kafka"
_DROPPED = ("metadata", "ruleSet")


class ClusterFront(ConfluentStandIn):
    """``with ClusterFront(pulsar) as cluster``: what is not below ``/kafka`` is asked of ``pulsar``."""

    def __init__(self, pulsar: LocalRegistry, **options: Any) -> None:
        super().__init__(**options)
        self.level = "NONE"
        self._pulsar = pulsar

    @property
    def kafka(self) -> str:
        """Address of the registry with Confluent's API."""
        return self.url + PATH

    def _next(self, asked: Asked) -> Answer:
        if asked.path.startswith(f"{PATH}/"):
            return super()._next(replace(asked, path=asked.path.removeprefix(PATH)))
        with self._lock:
            self.asked.append(asked)
        headers = {name: value for name, value in asked.headers.items() if name.lower() not in ("host", "connection")}
        answer = requests.request(
            asked.method, self._pulsar.url + asked.path, data=asked.body, headers=headers, timeout=30
        )
        return Answer(answer.status_code, answer.content, {"Content-Type": answer.headers.get("Content-Type", "")})

    def _register(self, subject: str, body: dict[str, Any]) -> Answer:
        return super()._register(subject, {name: value for name, value in body.items() if name not in _DROPPED})
