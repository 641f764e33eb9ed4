"""Migrations in tests: `migrate` on the command line, between a registry of Confluent's API and one of Pulsar's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import CommandLine, Ended

from streamnative_serdes._broker_rules.schema_data import from_post
from streamnative_serdes.migration import Route, Side, State
from streamnative_serdes.testing import LocalRegistry

STATE = Path("m.json")
_NO_BROKER = "127.0.0.1:1"  # of steps that need none


@dataclass
class Migration:
    """``migrate STEP SOURCE TARGET`` with the addresses of both sides, and the state file ``m.json``."""

    confluent: str
    pulsar: str
    source: str = "orders"
    target: str = "orders"
    back: bool = False
    source_bootstrap: str = _NO_BROKER
    target_bootstrap: str = _NO_BROKER
    state: Path = STATE

    def arguments(self, step: str, *more: str) -> list[str]:
        servers = ["--source-registry", self.confluent, "--source-bootstrap", self.source_bootstrap]
        servers += ["--target-registry", self.pulsar, "--target-bootstrap", self.target_bootstrap]
        way = ["--back"] if self.back else []
        return ["migrate", step, self.source, self.target, "--state", str(self.state), *servers, *way, *more]

    def __call__(self, step: str, *more: str, code: int | None = 0) -> Ended:
        """Run a step in this process; unless it ends with ``code``, the test fails."""
        return CommandLine()(*self.arguments(step, *more), code=code)

    def start(self, step: str, *more: str, first: str = "") -> subprocess.Popen[bytes]:
        """Start a step as a process of its own, after the code ``first``."""
        program = [sys.executable, "-c", f"{first}\nfrom streamnative_serdes.cli import main; main()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*program, *self.arguments(step, *more)], env=environment, **pipes)

    @property
    def route(self) -> Route:
        sides = [
            Side({"bootstrap.servers": broker}, {"schema.registry.url": url})
            for broker, url in ((self.source_bootstrap, self.confluent), (self.target_bootstrap, self.pulsar))
        ]
        return Route("back" if self.back else "forward", self.source, self.target, *sides)

    def saved(self) -> State:
        """What is in the state file."""
        return State.load(self.state, self.route)


def tree(text: str | None) -> Any:
    """A schema's text as JSON."""
    return json.loads(text or "null")


def put(registry: LocalRegistry, topic: str, *schemas: Any, kind: str = "AVRO", **properties: str) -> None:
    """Register schemas in the registry itself."""
    for schema in schemas:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        registry.store.register(topic, from_post(kind, text, properties))


def versions(registry: LocalRegistry, topic: str) -> list[Any]:
    """The schemas of a topic, as JSON."""
    return [tree(entry.data.text) for entry in registry.store.versions(topic) if entry.data is not None]
