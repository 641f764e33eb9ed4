"""A topic on a real Kafka to plan a migration of, and what the plan found."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import requests
from command import CommandLine, Ended
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]
from migrations import Sides, create
from schemas import record
from servers import Kafka
from waiting import until

from streamnative_serdes.migration import Route

AWAY = "http://127.0.0.1:1"
DAY = 86_400_000
OLD = int(time.time() * 1000) - 3 * DAY
ROOM = {"max_message_bytes": "2000000"}
VERSIONS = [
    record("Order", ("id", "long"), *((f"f{extra}", ["null", "int"], None) for extra in range(count)), namespace="shop")
    for count in range(4)
]


class PlanSource:
    """A topic with messages, and the registry that has their schemas."""

    def __init__(self, kafka: Kafka, registry: str, partitions: int = 3, **settings: str) -> None:
        self.name, self.target = f"plan-{uuid.uuid4().hex[:12]}", f"out-{uuid.uuid4().hex[:12]}"
        self.bootstrap, self.registry, self.other_registry = kafka.bootstrap_servers, registry, f"mock://{self.target}"
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        self.create(self.name, partitions, **settings)
        self.producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 2})

    def create(self, name: str, partitions: int = 3, **settings: str) -> None:
        create(self.bootstrap, name, partitions=partitions, **settings)
        until(lambda: name in self.topics(), "the topic is listed")

    def topics(self) -> list[str]:
        return list(self.admin.list_topics(timeout=30).topics)

    @property
    def scratch(self) -> list[str]:
        return [name for name in self.topics() if name.startswith(f"{self.target}.migration-probe-")]

    def wait_until_no_scratch(self) -> None:
        """Return as soon as no scratch topic is listed; a broker may list one for a moment after its deletion.

        Raises:
            AssertionError: one is listed for longer.
        """
        until(lambda: self.scratch == [], "the scratch topic is deleted")

    def settings(self, name: str) -> dict[str, str]:
        """Those that were set for the topic."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        found = self.admin.describe_configs([resource])[resource].result()
        return {key: entry.value for key, entry in found.items() if entry.source == 1}

    def send(self, value: bytes | None, key: bytes | None = b"k", topic: str | None = None, **more: Any) -> None:
        self.producer.produce(topic or self.name, value, key, partition=more.pop("partition", 0), **more)

    def register(self, schema: Any, subject: str | None = None, kind: str = "AVRO", **more: Any) -> int:
        body = {"schema": json.dumps(schema), "schemaType": kind, **more}
        url = f"{self.registry}/subjects/{subject or f'{self.name}-value'}/versions"
        answer = requests.post(url, json=body, timeout=60)
        assert answer.ok, answer.text
        return int(answer.json()["id"])

    def arguments(self, *more: str) -> tuple[str, ...]:
        return (*self._sides()("plan", self.name, self.target), *more)

    def plan(self, *more: str, code: int | None = 0) -> Ended:
        self.producer.flush(30)
        return CommandLine()(*self.arguments(*more), code=code)

    def found(self, *more: str, code: int | None = 0) -> dict[str, Any]:
        """The findings, without a probe."""
        found: dict[str, Any] = self.plan("--json", "--no-probe", *more, code=code).json
        return found

    def route(self) -> Route:
        return self._sides().route(self.name, self.target)

    def _sides(self) -> Sides:
        return Sides(self.registry, self.other_registry, self.bootstrap)


def names(found: dict[str, Any]) -> list[str]:
    return [problem["name"] for problem in found["problems"]]


def counts(found: dict[str, Any]) -> dict[str, tuple[int, list[int]]]:
    return {kind: (entry["count"], entry["first"]) for kind, entry in found["counts"].items()}
