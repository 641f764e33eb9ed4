"""A registry with Confluent's REST API: Apicurio, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import requests

from .downloads import requirements
from .process import Server, free_ports


class ConfluentRegistry(Server):
    """Apicurio Registry; it stores schemas only in memory."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("confluent", folder)
        (self._port,) = free_ports(1)

    @property
    def url(self) -> str:
        """``schema.registry.url`` for Confluent's clients."""
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def command(self) -> Sequence[str]:
        (jar,) = requirements().apicurio.glob("*-runner.jar")
        return ["-Xmx512m", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self._port}", "-jar", str(jar)]

    def ready(self) -> bool:
        return requests.get(f"{self.url}/subjects", timeout=2).ok
