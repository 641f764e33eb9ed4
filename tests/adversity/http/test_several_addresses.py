"""Several addresses of one registry: one that hangs, or that answers what no registry would, does not stop the others."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from scripted_registry import FOUND, INFO, PATH, Answer, Clock, Connect, ScriptedRegistry

from streamnative_serdes import RegistryUnavailableError

AWAY = "http://away.example"


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[tuple[str, float]]:
    """Addresses at AWAY take each request and never answer. Return the requests, and the seconds of each's limit."""
    asked: list[tuple[str, float]] = []
    send = requests.adapters.HTTPAdapter.send

    def sent(self: Any, request: requests.PreparedRequest, *, timeout: Any, **options: Any) -> requests.Response:
        asked.append((str(request.url).removesuffix(PATH), timeout[1]))
        if not str(request.url).startswith(AWAY):
            return send(self, request, timeout=timeout, **options)
        clock.now += timeout[1]
        raise requests.ReadTimeout(f"timed out after {timeout[1]} s")

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", sent)
    return asked


def test_an_address_that_hangs_leaves_the_others_their_share_of_the_time(
    connect: Connect, server: ScriptedRegistry, clock: Clock, hanging: list[tuple[str, float]]
) -> None:
    asking = connect(server, clock, schema_registry_url=f"{AWAY},{AWAY}:81,{server.url}", retries_total_ms=3_000.0)
    assert asking.latest("t") == asking.latest("t") == INFO
    limits = [(AWAY, 1.0), (f"{AWAY}:81", 1.0), (server.url, 1.0), (server.url, 1.0)]
    assert hanging == [(url, pytest.approx(seconds)) for url, seconds in limits]
    assert clock.slept == []


def test_a_share_does_not_lengthen_the_read_timeout(
    connect: Connect, server: ScriptedRegistry, clock: Clock, hanging: list[tuple[str, float]]
) -> None:
    assert connect(server, clock, schema_registry_url=f"{AWAY},{server.url}").latest("t") == INFO
    assert [seconds for _, seconds in hanging] == [20.0, 20.0]


def test_the_next_attempt_begins_after_the_address_that_hung(
    connect: Connect, server: ScriptedRegistry, clock: Clock, hanging: list[tuple[str, float]]
) -> None:
    server.script(Answer(503), FOUND)
    assert connect(server, clock, schema_registry_url=f"{AWAY},{server.url}").latest("t") == INFO
    assert [url for url, _ in hanging] == [AWAY, server.url, server.url]


def test_the_error_tells_what_happened_and_not_that_time_was_over_then(
    connect: Connect, server: ScriptedRegistry, clock: Clock, hanging: list[tuple[str, float]]
) -> None:
    asking = connect(server, clock, schema_registry_url=f"{server.url},{AWAY}", retries_total_ms=100.0)
    server.script(Answer(503, b"busy"))
    with pytest.raises(RegistryUnavailableError, match="after 1 attempts in 0.1 s; last failure: HTTP 503: .*busy"):
        asking.latest("t")
    assert len(hanging) == 2
