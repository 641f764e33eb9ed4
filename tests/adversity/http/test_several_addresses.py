"""Several addresses of one registry: one that hangs, or answers what no registry would, does not hide the others."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from raw_server import RawServer
from scripted_registry import FOUND, INFO, PATH, Answer, Clock, Connect, ScriptedRegistry, redirect

from streamnative_serdes.errors import RegistryUnavailableError, SchemaNotFoundError, SchemaRegistryError

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
    with pytest.raises(RegistryUnavailableError, match=r"after 1 attempts in 0.1 s; last failure: HTTP 503: .*busy"):
        asking.latest("t")
    assert len(hanging) == 2


# Addresses that answer what no registry would

REFUSED = Answer(404, {"reason": "Schema not found"})
SICK = Answer(500, {"reason": "java.lang.OutOfMemoryError: Java heap space"})
PAGE = Answer(404, b"<html>404 Not Found</html>", {"Content-Type": "text/html"})
FAULTS = [SICK, Answer(501), PAGE, Answer(404, b"default backend - 404"), redirect("ftp://127.0.0.1/"), redirect("")]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_address_that_answers_unusably_does_not_hide_the_others(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock, fault: Answer
) -> None:
    server.script(fault)
    asking = connect(server, clock, schema_registry_url=f"{server.url},{other.url}")
    assert asking.latest("t") == asking.latest("t") == INFO
    assert (len(server.asked), len(other.asked)) == (1, 2)
    other.script(REFUSED)
    with pytest.raises(SchemaNotFoundError):
        asking.latest("t")
    assert clock.slept == []


def test_an_address_without_http_or_tls_does_not_hide_the_others(
    connect: Connect, server: ScriptedRegistry, clock: Clock
) -> None:
    secure = server.url.replace("http:", "https:")
    with RawServer(lambda *_: [b"SSH-2.0-OpenSSH_9.6\r\n"]) as shell:
        urls = f"{secure},{shell.url},{server.url}"
        assert connect(server, clock, schema_registry_url=urls).latest("t") == INFO
    with pytest.raises(SchemaRegistryError, match="does not speak TLS"):
        connect(server, clock, schema_registry_url=f"{secure},{AWAY}:0").latest("t")
    assert clock.slept == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_of_all_addresses_is_that_of_the_first(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock, fault: Answer
) -> None:
    server.script(fault)
    other.script(Answer(500, b"another"))
    with pytest.raises(SchemaRegistryError) as alone:
        connect(server, clock).latest("t")
    with pytest.raises(SchemaRegistryError) as caught:
        connect(server, clock, schema_registry_url=f"{server.url},{other.url}").latest("t")
    assert (type(caught.value), str(caught.value)) == (type(alone.value), str(alone.value))
    assert len(other.asked) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        REFUSED,
        Answer(401, {"reason": "no right"}),
        Answer(403, {"reason": "no"}),
        Answer(409, {"reason": "Incompatible schema"}),
        Answer(422, {"reason": "Invalid schema"}),
        Answer(500, {"reason": "Message: IncompatibleSchemaException: x"}),
    ],
)
def test_a_refusal_is_final(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock, refusal: Answer
) -> None:
    server.script(refusal)
    with pytest.raises(SchemaRegistryError):
        connect(server, clock, schema_registry_url=f"{server.url},{other.url}").register("t", '"int"')
    assert other.asked == []
