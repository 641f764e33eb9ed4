"""Redirects: the client follows them where that is safe, up to a limit."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import requests
from scripted_registry import FOUND, INFO, PATH, TOKEN, Answer, Clock, Connect, ScriptedRegistry, redirect

from streamnative_serdes._http.api_request import next_hop
from streamnative_serdes.errors import (
    RegistryUnavailableError,
    SchemaRegistryError,
)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_keeps_method_body_query_and_credentials(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock, status: int
) -> None:
    server.script(redirect(f"{other.url}{PATH}?authoritative=true&x=%2F", status))
    other.script(Answer(body={"version": {"version": 4}}))
    assert connect(server, clock).register("t", '"int"') == 4
    (first,), (second,) = server.asked, other.asked
    assert second.path == f"{PATH}?authoritative=true&x=%2F"
    assert (second.method, second.body) == ("POST", first.body)
    for name in ("Authorization", "Accept", "Content-Type"):
        assert second.headers[name] == first.headers[name]
    assert second.headers["Authorization"] == f"Bearer {TOKEN}"


def test_each_call_starts_at_the_registrys_own_address_even_after_redirects(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock
) -> None:
    """The owner of a topic may change at any time, and only the registry knows."""
    server.script(redirect(other.url + PATH))
    client = connect(server, clock)
    assert [client.latest("t") for _ in range(3)] == [INFO] * 3
    for asked in (server.asked, other.asked):
        assert [one.path for one in asked] == [PATH] * 3
        assert {one.headers["Authorization"] for one in asked} == {f"Bearer {TOKEN}"}
        assert len({one.port for one in asked}) == 1  # one connection to each server
    with ScriptedRegistry(FOUND) as third:
        server.script(redirect(third.url + PATH), redirect(other.url + PATH), FOUND)
        assert [client.latest("t") for _ in range(3)] == [INFO] * 3
    assert (len(server.asked), len(other.asked), len(third.asked)) == (6, 4, 1)
    assert client.calls == {"GET": 11}
    assert clock.slept == []


@pytest.mark.parametrize("hops", [3, 5])
def test_several_redirects_in_a_row_are_followed(
    connect: Connect, server: ScriptedRegistry, other: ScriptedRegistry, clock: Clock, hops: int
) -> None:
    path = [f"{PATH}?hop={number}" for number in range(1, hops + 1)]
    places = [server, other] * 3
    scripts: dict[ScriptedRegistry, list[Answer]] = {server: [], other: []}
    for number, target in enumerate(path):
        scripts[places[number]].append(redirect(places[number + 1].url + target))
    scripts[places[hops]].append(FOUND)
    for place, answers in scripts.items():
        place.script(*answers)
    assert connect(server, clock).latest("t") == INFO
    assert sorted(one.path for one in server.asked + other.asked) == [PATH, *path]
    assert {one.headers["Authorization"] for one in server.asked + other.asked} == {f"Bearer {TOKEN}"}
    assert clock.slept == []


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/elsewhere?authoritative=false", "/elsewhere?authoritative=false"),
        ("other", PATH.removesuffix("schema") + "other"),
        ("?authoritative=true", f"{PATH}?authoritative=true"),
    ],
)
def test_a_redirect_may_be_relative(
    connect: Connect, server: ScriptedRegistry, clock: Clock, location: str, path: str
) -> None:
    server.script(redirect(location), FOUND)
    assert connect(server, clock).latest("t") == INFO
    assert [asked.path for asked in server.asked] == [PATH, path]


def test_endless_redirects_are_given_up(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    server.script(redirect(PATH))
    client = connect(server, clock, retries_total_ms=1000.0)
    with pytest.raises(RegistryUnavailableError, match="redirected more than 5 times"):
        client.latest("t")
    assert len(server.asked) % 6 == 0


def test_a_redirect_loop_that_ends_is_followed(connect: Connect, server: ScriptedRegistry, clock: Clock) -> None:
    server.script(*[redirect(PATH)] * 6, FOUND)
    assert connect(server, clock).latest("t") == INFO


@pytest.mark.parametrize(
    "location",
    [
        None,
        "",
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
        "javascript:x",
        "http:",
        "http://",
        "http://[::1",
        "http://a:b/x",
        "http://user:password@127.0.0.1/x",
        "//user:password@127.0.0.1/x",
    ],
)
def test_a_redirect_to_nowhere_is_an_error_at_once(
    connect: Connect, server: ScriptedRegistry, clock: Clock, location: str | None
) -> None:
    server.script(Answer(307, b"", {} if location is None else {"Location": location}))
    with pytest.raises(SchemaRegistryError, match="redirected to an invalid address") as caught:
        connect(server, clock).latest("t")
    assert caught.value.topic == "t"
    assert caught.value.url == server.url + PATH
    assert "password" not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Https"])
def test_a_redirect_never_leads_from_https_to_http(scheme: str) -> None:
    with pytest.raises(SchemaRegistryError, match="from https to http://broker") as caught:
        next_hop(f"{scheme}://proxy/x", "http://broker:8080/x", "/x")
    assert "https addresses" in str(caught.value)
    assert next_hop("http://proxy/x", "https://broker:8443/x", "/x") == "https://broker:8443/x"
    assert next_hop("https://proxy/x", "https://broker:8443/x", "/x") == "https://broker:8443/x"


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_a_redirect_to_the_default_port_has_the_same_origin(scheme: str, port: int) -> None:
    """The server that already has the credentials may get them again with a different path."""
    for one, other in ((f"{scheme}://p", f"{scheme}://p:{port}"), (f"{scheme}://p:{port}", f"{scheme}://p")):
        assert next_hop(f"{one}/x", f"{other}/login", "/x") == f"{other}/login"
    with pytest.raises(SchemaRegistryError, match="with a different path"):
        next_hop(f"{scheme}://p/x", f"{scheme}://p:{523 - port}/login", "/x")


def test_after_a_downgrade_nothing_is_sent(
    connect: Connect, server: ScriptedRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def send(_: object, request: requests.PreparedRequest, **options: object) -> requests.Response:
        sent.append(request.url or "")
        response = requests.Response()
        response.status_code, response.headers["Location"], response._content = 307, server.url + PATH, b""
        response._content_consumed, response.raw = True, SimpleNamespace()
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    client = connect(server, clock, schema_registry_url="https://broker:8443")
    with pytest.raises(SchemaRegistryError, match="from https to http"):
        client.latest("t")
    assert sent == [f"https://broker:8443{PATH}"]
